"""Every Python snippet and every command of the README and the pages runs, in order, page by page.

A block that cannot run in a test has a comment before it that says why: `<!-- not run: needs a download -->`.
"""

from __future__ import annotations

import importlib
import re
import runpy
from pathlib import Path
from typing import NamedTuple

import pytest

from docs.generate.examples import invoked
from lab.datasets import register
from se_gnn.datasets import dataset_infos

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ("$ se-gnn ", "$ python -m lab ")
BLOCK = re.compile(r"(<!-- not run: [^>]+ -->\s*)?^```(\w+)\n(.*?)^```", flags=re.S | re.M)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


class Snippet(NamedTuple):
    """A block of a page that is run: Python, or one command."""

    language: str
    text: str


def snippets(page: Path) -> list[Snippet]:
    found = []
    for skipped, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if skipped:
            continue
        if language == "python":
            found.append(Snippet("python", text))
        if language in ("console", "text"):
            lines = text.replace("\\\n", " ").splitlines()  # a backslash at its end continues a command
            found += [Snippet("command", line[2:]) for line in lines if line.startswith(COMMANDS)]
    return found


def downloads(page: Path) -> list[str]:
    """Data sets that the snippets of a page load and that do not come with the package."""
    register()
    text = "\n".join(snippet.text for snippet in snippets(page))
    loaded = re.findall(r'load_dataset\("([^"]+)"|^se-gnn train (\S+)', text, flags=re.M)
    embedded = {name for info in dataset_infos() if info.embedded for name in info.names}
    known = {name for info in dataset_infos() for name in info.names}
    return [name for pair in loaded for name in pair if name in known - embedded]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("[!_]*/[!0-9]*.md"))) if snippets(page)]


@pytest.fixture
def quick(monkeypatch):
    """The same code paths, one recipe and one model of two epochs."""
    from se_gnn import SEGNNClassifier

    whole = SEGNNClassifier.fit

    def fit(self, X, y=None, **given):
        few = {"epochs": 2}
        if self.preset == "best":
            few |= {"members": 1, "settings": {**(self.settings or {}), "portfolio": False}}
        return whole(self.set_params(**few), X, y, **given)

    monkeypatch.setattr(SEGNNClassifier, "fit", fit)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_snippets_of_a_page_run(page, quick, tmp_path, monkeypatch, request):
    if downloads(page):
        monkeypatch.setenv("SE_GNN_DATA", str(request.getfixturevalue("data_dir")))  # or it is skipped
    monkeypatch.chdir(tmp_path)
    if page.name in ("import-tables.md", "tables.md"):
        write_tables(tmp_path)
    names: dict[str, object] = {}
    for snippet in snippets(page):
        if snippet.language == "python":
            exec(compile(snippet.text, page.name, "exec"), names)
        else:
            run_command(snippet.text)


def write_tables(folder: Path) -> None:
    """The tables that the pages on tables speak of: those of the example, and a month later with a new account."""
    import pandas as pd

    accounts, payments = runpy.run_path(str(ROOT / "examples" / "fraud.py"))["make_tables"]()
    accounts.to_csv(folder / "accounts.csv", index=False)
    payments.to_csv(folder / "payments.csv", index=False)
    payments.to_parquet(folder / "payments.parquet", index=False)
    later = pd.concat([accounts, accounts.iloc[:1].assign(account="NEW-00259", fraud=None)])
    later.to_csv(folder / "may.csv", index=False)
    payments.to_csv(folder / "may-payments.csv", index=False)


def run_command(line: str) -> None:
    short = line.startswith("se-gnn train ") and "epochs=" not in line and "--task links" not in line
    few = ["--set", "epochs=2", *([] if "--preset" in line or "--quick" in line else ["--quick"])] if short else []
    result = invoked(line, *few)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def test_pages_with_snippets_are_found():
    assert {"README.md", "research.md", "read-explanation.md", "other-tools.md", "command-line.md"} <= {
        page.name for page in PAGES
    }


def test_links_between_pages_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 100
    assert not [(str(page), link) for page, link in links if not (page.parent / link).exists()]


def test_the_code_that_the_table_of_symbols_names_is_there():
    page = (ROOT / "docs" / "understanding" / "method.md").read_text(encoding="utf-8")
    table = page.split("## Symbols and code")[1].split("\n## ")[0]
    names = re.findall(r"`(se_gnn\.[\w.]+)`", table)
    assert len(names) > 10
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = importlib.import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            break
        for attribute in parts[cut:]:
            found = getattr(found, attribute)


def test_options_that_pages_name_exist():
    """An option that was removed must not stay on a page; those of other programs are not in backticks of their own."""
    from typer.main import get_command

    from lab.commands import app as lab
    from se_gnn.apps.cli import app

    known, commands = {"--help"}, [get_command(app), get_command(lab)]
    for command in commands:
        commands.extend(getattr(command, "commands", {}).values())
        known.update(option for one in command.params for option in (*one.opts, *one.secondary_opts))
    pages = [page for page in (ROOT / "docs").glob("[!_]*/[!0-9]*.md") if page.parent.name != "understanding"]
    named = [(page.name, option) for page in pages for option in re.findall(r"`(--[\w-]+)", page.read_text("utf-8"))]
    assert len(named) > 100
    assert not [(page, option) for page, option in named if option not in known]


def test_make_targets_that_pages_name_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    experiments = re.search(r"^REPRODUCE := (.*)$", makefile, flags=re.M)[1].split()
    targets = {*re.findall(r"^([a-z-]+):", makefile, flags=re.M), *(f"reproduce-{name}" for name in experiments)}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("[!_]*/*.md")]
    code = re.compile(r"(?:`|^ {4}|\$ )(?:\w+=\S+ )*make ([a-z][a-z0-9-]*)", flags=re.M)
    named = [(page.name, target) for page in pages for target in code.findall(page.read_text(encoding="utf-8"))]
    assert len(named) > 20
    assert not [(page, target) for page, target in named if target not in targets]
