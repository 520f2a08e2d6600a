"""`se-gnn start`: from tables to an explanation with one command."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

from commands import QUICK

NUM = 48
DRAW = np.random.default_rng(0)
CLASS = np.arange(NUM) % 2
ENDS = DRAW.integers(0, NUM // 2, (2, 160)) * 2 + DRAW.integers(0, 2, 160)  # within a class


def german(values):
    return [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in values]


def bank():
    """German accounts: cp1252, semicolons, decimal commas, empty weights."""
    nodes = pd.DataFrame({"konto": [f"K {i}" for i in range(NUM)], "inhaber": [f"Änne Groß {i}" for i in range(NUM)]})
    nodes["saldo"] = german(1000 * (2 + CLASS + DRAW.normal(scale=0.2, size=NUM)))
    nodes["betrug"] = np.where(np.arange(NUM) < 40, np.array(["nein", "ja"])[CLASS], None)
    edges = pd.DataFrame(nodes.konto.to_numpy()[ENDS.T], columns=["zahler", "empfänger"])
    edges["betrag"] = np.where(np.arange(160) % 20, german(DRAW.uniform(1, 9, 160)), None)
    edges["art"] = DRAW.choice(["bar", "Überweisung"], 160)
    edges["tag"] = [f"{day:02d}.03.2026" for day in DRAW.integers(1, 28, 160)]
    return {"konten.csv": nodes, "zahlungen.csv": edges}


def papers():
    """Citations with titles, whose words are learned from."""
    titles = [
        " ".join(DRAW.choice([["query", "index"], ["pixel", "image"]][c], 4)) + f" part {i % 9}"
        for i, c in enumerate(CLASS)
    ]
    nodes = pd.DataFrame(
        {"doi": [f"10.1/{i}" for i in range(NUM)], "title": titles, "topic": np.array(["db", "cv"])[CLASS]}
    )
    return {"papers.csv": nodes, "cites.csv": pd.DataFrame(nodes.doi.to_numpy()[ENDS.T], columns=["citing", "cited"])}


def shop():
    """Customers and products: two tables of nodes."""
    customers = pd.DataFrame(
        {"customer_no": [f"C-{i}" for i in range(NUM)], "full_name": [f"Ann {i}" for i in range(NUM)]}
    )
    customers["age"], customers["segment"] = (
        20 + 9 * CLASS + DRAW.integers(0, 20, NUM),
        np.array(["new", "loyal"])[CLASS],
    )
    products = pd.DataFrame({"sku": [f"P{i}" for i in range(NUM)], "price": DRAW.uniform(1, 9, NUM).round(2)})
    bought = pd.DataFrame({"customer_no": customers.customer_no[ENDS[0]], "sku": products.sku.to_numpy()[ENDS[1]]})
    bought["quantity"] = DRAW.integers(1, 5, 160)
    return {"customers.csv": customers, "products.csv": products, "purchases.csv": bought}


def sensors():
    """A number to predict, empty for some sensors; positions as IDs."""
    nodes = pd.DataFrame({"sensor": 1001 + np.arange(NUM), "lat": 48 + DRAW.random(NUM), "kind": "B"})
    nodes["temperature"] = np.where(np.arange(NUM) % 6, (15 + CLASS + DRAW.random(NUM)).round(2), np.nan)
    return {"sensors.csv": nodes, "near.csv": pd.DataFrame(1001 + ENDS.T, columns=["sensor_1", "sensor_2"])}


def friends():
    """Odd headers and file names, and few labels."""
    nodes = pd.DataFrame({"User #": [f"u{i}" for i in range(NUM)], "Nick Name": [f"o’neil_{i}" for i in range(NUM)]})
    nodes[" Posts/Week "] = (3 + CLASS + DRAW.random(NUM)).round(1)
    nodes["Is a bot (by hand)"] = np.where(np.arange(NUM) % 3, None, np.array(["no", "yes"])[CLASS])
    return {
        "people & bots.csv": nodes,
        "who knows whom.csv": pd.DataFrame(nodes["User #"].to_numpy()[ENDS.T], columns=["Friend A", "Friend B"]),
    }


def saved(tables, folder):
    german = "konten.csv" in tables
    for name, table in tables.items():
        table.to_csv(folder / name, index=False, sep=";" if german else ",", encoding="cp1252" if german else "utf-8")
    return [folder / name for name in tables]


SETS = [
    (
        bank,
        "--directed --column inhaber=caption --edge-column betrag=weight --edge-column art=type --edge-column tag=time",
    ),
    (papers, "--label topic --source citing --target cited --directed --column title=caption --column title=text"),
    (shop, "--id customers=customer_no,products=sku --label segment --source customer_no --target sku"),
    (sensors, "--id sensor --target-number temperature --source sensor_1 --target sensor_2"),
    (friends, "--label 'Is a bot (by hand)' --source 'Friend A' --target 'Friend B' --column 'Nick Name=caption'"),
]


@pytest.mark.parametrize(("made", "understood"), SETS, ids=[made.__name__ for made, _ in SETS])
def test_tables_become_an_explanation_and_every_printed_command_runs(run, tmp_path, made, understood):
    result = run("start", *saved(made(), tmp_path), "--yes", "--no-serve", "--out", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.output
    commands = [line.strip() for line in result.output.splitlines() if line.startswith("  se-gnn ")]
    assert understood in commands[0]
    assert "cases that vote" in result.output
    words = [shlex.split(one)[1:] for one in commands]
    assert [one[0] for one in words] == ["import", "explain", "serve"]
    assert run(*words[0], "--overwrite").exit_code == 0
    assert run(*words[1]).exit_code == 0


@pytest.fixture
def tables(tmp_path):
    saved(bank(), tmp_path)
    return tmp_path


def test_nothing_is_replaced_unless_asked(run, tables):
    for folder in ("graph", "model"):
        (tables / "out" / folder).mkdir(parents=True, exist_ok=True)
        (tables / "out" / folder / "mine.txt").write_text("x")
        result = run("start", tables / "konten.csv", tables / "zahlungen.csv", "--yes", "--out", tables / "out")
        assert result.exit_code == 2
        assert "holds other files (mine.txt); name another folder" in result.output


def test_a_number_is_trained_and_explained_as_well(run, tables):
    files = (tables / "konten.csv", tables / "zahlungen.csv")
    result = run("start", *files, "--yes", "--label", "saldo", "--no-serve", "--out", tables / "out", *QUICK)
    assert result.exit_code == 0, result.output
    assert "counts most" in result.output
    assert "se-gnn serve" in result.output


def test_without_a_terminal_nothing_is_done_unless_yes_is_said(run, tables):
    result = run("start", tables / "konten.csv", tables / "zahlungen.csv", "--out", tables / "out")
    assert result.exit_code == 2
    assert "Proposal:" in result.output
    assert "add --yes" in result.output
    assert not (tables / "out").exists()
