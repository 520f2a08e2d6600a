"""One thing has one name: what people read has no word that we do not use.

Checked are the strings of the package (docstrings, messages, help), the templates of the report, the README, the pages,
the notebooks, and the help of every command as it is printed. Names in backticks are code and may be anything.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]

_PER = "node|class|edge|epoch|seed|line|target|column|row|round|neighbor|figure|job|graph|data set|second|step"
_COUNTED = (
    "rows?|entry|entries|lines?|objects?|explanations?|numbers?|features?|columns?|labeled|index|negatives|seconds?|"
    r"steps?|bytes|motifs?|papers|hidden|files?|GCN|\d+"
)
AVOIDED = {
    r"\brelations?\b": "edge",
    r"\bsurroundings?\b": "local graph",
    r"\b(?:hears?|heard|overhears?)\b|\blistens? to\b": "aggregates, propagates",
    rf"\b(?:{_COUNTED}) an? (?:{_PER})\b": "per node, per class",
    r"\bvoters?\b": "labeled neighbor",
    r"\btwins?\b": "match",
    r"\bthere where\b": "only where, only on",
    r"\bwith anything in it\b": "uninitialized array",
    r"\bso it is without\b": "removing any one of the other 3 changes nothing",
    r"\bneighborhood pictures?\b": "local graph",
}
# file, and words that may stand there: quotations, and words that mean something else
ALLOWED: set[tuple[str, str]] = {
    ("src/se_gnn/apps/cli/explain.py", "relation"),
    ("src/se_gnn/apps/cli/explain.py", "relations"),
    ("docs/command-line.md", "relations"),
}
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string in a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _is_class_name(node.value):
            yield node.lineno, node.value


def _is_class_name(text: str) -> bool:
    return text.isidentifier() and text[0].isupper()


def texts() -> Iterator[tuple[str, int, str]]:
    """File, line and text of all that people read."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from ((str(path.relative_to(ROOT)), line, text) for line, text in strings_of(path))
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += [path for path in (ROOT / "SECURITY.md",) if path.exists()]
    templates = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".html", ".js", ".css", ".json")]
    for path in (*pages, *templates):
        if "_build" in path.parts or path.name == "tuned.json":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        yield from ((str(path.relative_to(ROOT)), number, line) for number, line in enumerate(lines, start=1))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield str(path.relative_to(ROOT)), 0, "".join(cell["source"])


def found_in(text: str) -> Iterator[tuple[str, str]]:
    """Each avoided word of a text, and what to say."""
    plain = _CODE.sub("", text)
    for pattern, better in AVOIDED.items():
        yield from ((match.group(), better) for match in re.finditer(pattern, plain, flags=re.I))


def test_what_people_read_has_no_word_that_we_do_not_use():
    found = [
        f"{where}:{line}: {word!r}; say: {better}"
        for where, line, text in texts()
        for word, better in found_in(text)
        if (where, word.lower()) not in ALLOWED
    ]
    assert not found, "\n".join(["", *found])


def commands() -> list[str]:
    from typer.main import get_command

    from se_gnn.apps.cli import app

    return ["", *get_command(app).commands]  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", commands())
def test_help_has_no_word_that_we_do_not_use(command):
    from se_gnn.apps.cli import app

    printed = CliRunner().invoke(app, [*command.split(), "--help"]).output
    assert printed
    module = f"src/se_gnn/apps/cli/{command}.py"
    found = [word for word, _ in found_in(" ".join(printed.split())) if (module, word.lower()) not in ALLOWED]
    assert not found


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("which relation was matched", "relation"),
        ("a row a node", "row a node"),
        ("one entry an edge", "entry an edge"),
        ("20 labeled a class", "labeled a class"),
        ("how a node hears its neighbors", "hears"),
        ("all voters agree", "voters"),
    ],
)
def test_words_are_found(text, word):
    assert [found for found, _ in found_in(text)] == [word]


@pytest.mark.parametrize("text", ["`voter.plan`", "a vote of a node", "it is a node", "the number of a class", "ties"])
def test_names_of_code_and_other_words_pass(text):
    assert not list(found_in(text))
