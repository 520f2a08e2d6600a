"""Every example runs."""

from __future__ import annotations

import runpy
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


class Page(HTMLParser):
    """Counts the tags of a page and keeps where its pictures come from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]


def test_the_demo_writes_three_pictures_and_a_report_and_can_run_twice(tmp_path, capsys):
    demo = runpy.run_path(str(EXAMPLES / "demo_digits.py"))
    for _ in range(2):
        demo["main"](tmp_path / "demo", epochs=1, progress=False)
    printed = capsys.readouterr().out
    assert "test pictures are classified correctly" in printed
    assert printed.count(" is predicted ") == 6
    assert str(tmp_path / "demo" / "report.html") in printed
    files = sorted(file.name for file in (tmp_path / "demo").iterdir())
    assert files == ["least-certain.png", "report.html", "surest-correct.png", "surest-mistake.png"]
    page = Page((tmp_path / "demo" / "report.html").read_text(encoding="utf-8"))
    assert page.tags.count("article") == 3
    assert all(source.startswith(("data:", "#")) for source in page.sources)


def test_the_fraud_example_names_accounts_and_columns(tmp_path, capsys):
    fraud = runpy.run_path(str(EXAMPLES / "fraud.py"))
    fraud["main"](tmp_path, num_accounts=600, epochs=1, progress=False)
    printed = capsys.readouterr().out
    for words in (
        "opened    date",
        "purpose   text",
        "missing",
        "logistic regression, columns only",
        "se-gnn, columns",
    ):
        assert words in printed
    assert "column 'bank' is left out" in printed
    assert "Node ACC-" in printed
    assert "Node NEW-" in printed
    assert printed.count("Its columns, beside those of the three labeled accounts that count most:") == 2
    assert "  balance   " in printed
    assert {"accounts.csv", "payments.parquet", "graph"} <= {file.name for file in tmp_path.iterdir()}


def test_the_example_on_ratings_tells_who_trusts_whom_and_writes_a_report(tmp_path, capsys):
    generator = np.random.default_rng(0)
    labels = ["fraud"] * 40 + ["trusted"] * 40 + [""] * 20
    accounts = [f"{i},{label}" for i, label in enumerate(labels)]
    ratings = []
    for source in range(100):
        for target in generator.choice(100, 5, replace=False).tolist():
            low, high = (-10, 0) if target < 40 else (1, 11)
            ratings.append(f"{source},{target},{generator.integers(low, high)},{1289241911 + source}")
    data = tmp_path / "bitcoin_otc"
    data.mkdir()
    (data / "accounts.csv").write_text("\n".join(["account,label", *accounts]))
    (data / "ratings.csv").write_text("\n".join(["source,target,rating,time", *ratings]))
    example = runpy.run_path(str(EXAMPLES / "bitcoin_otc.py"))
    example["main"](data, tmp_path / "out", epochs=10, progress=False)
    printed = capsys.readouterr().out
    assert "verb    type      distrusts" in printed
    assert "with direction, type and rating" in printed
    assert (
        " trusts " in printed.split("Its ratings beside")[1] or " distrusts " in printed.split("Its ratings beside")[1]
    )
    assert "Types of edges" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_the_example_on_ratings_says_what_is_missing(tmp_path, capsys):
    runpy.run_path(str(EXAMPLES / "bitcoin_otc.py"))["main"](tmp_path / "nothing", tmp_path / "out")
    assert "needs accounts.csv and ratings.csv in" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_the_county_example_explains_a_number_and_predicts_a_later_year(tmp_path, capsys):
    draw = np.random.default_rng(0)
    for year in (2012, 2016):
        rows = [
            f"{1000 + i},County {i},{40_000 + 900 * (i % 30) + 300 * (year - 2012)},{i % 30},{draw.normal():.2f}"
            for i in range(150)
        ]
        header = "county,name,median_income,rate,other"
        (tmp_path / f"counties_{year}.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    near = [f"{1000 + i},{1000 + (i + 1) % 150}" for i in range(150)]
    (tmp_path / "borders.csv").write_text("\n".join(["county,neighbor", *near]) + "\n", encoding="utf-8")
    counties = runpy.run_path(str(EXAMPLES / "counties.py"))
    counties["main"](tmp_path, progress=False, epochs=4, members=1)
    printed = capsys.readouterr().out
    for words in ("the number to predict", "Test counties: R2", "nearest cases", "the others say", "2016, without"):
        assert words in printed
