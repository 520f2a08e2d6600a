"""What people read is plain English, and one thing has one name.

Checked are the strings of the package (docstrings, messages, help), the templates, the README, the pages, the
notebooks, and the help of every command as it is printed. Names in backticks are code and may be anything.
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

AVOIDED = {
    r"\brelations?\b": "edge",
    r"\bsurroundings?\b": "local graph",
    r"\bvoters?\b": "case",
    r"\b(?:hears?|heard)\b": "aggregates, propagates",
    r"\b(?:is|are|was|were) (?:said|told)\b": "prints, states, knows; or name who does it",
    r"\bspeaks? for\b": "supports",
    r"\bthese are no\b": "this does not look like a",
    r"\bgone back\b": "undo",
    r"\bdoes not get on\b": "stalled",
    r"\bwould be (?:others|another)\b": "would change",
}
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")


def strings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every sentence in a Python file; a single word may be a name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def texts() -> Iterator[tuple[str, int, str]]:
    """File, line and text of all that people read."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        yield from ((str(path.relative_to(ROOT)), line, text) for line, text in strings_of(path))
    pages = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    templates = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".html", ".js")]
    for path in (*pages, *templates):
        if "_build" in path.parts:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        yield from ((str(path.relative_to(ROOT)), number, line) for number, line in enumerate(lines, start=1))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            yield str(path.relative_to(ROOT)), 0, "".join(cell["source"])


def found_in(text: str) -> Iterator[tuple[str, str]]:
    """Each avoided word of a text, and what to write instead."""
    plain = _CODE.sub("", text)
    for pattern, better in AVOIDED.items():
        yield from ((match.group(), better) for match in re.finditer(pattern, plain, flags=re.I))


def test_what_people_read_is_plain_english():
    found = [
        f"{where}:{line}: {word!r}; write: {better}" for where, line, text in texts() for word, better in found_in(text)
    ]
    assert not found, "\n".join(["", *found])


def commands() -> list[str]:
    from typer.main import get_command

    from se_gnn.apps.cli import app

    found = get_command(app).commands  # type: ignore[attr-defined]
    return ["", *found, *(f"labels {name}" for name in found["labels"].commands)]


@pytest.mark.parametrize("command", commands())
def test_help_is_plain_english(command):
    from se_gnn.apps.cli import app

    printed = CliRunner().invoke(app, [*command.split(), "--help"]).output
    assert printed
    assert not list(found_in(" ".join(printed.split())))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("which relation was matched", "relation"),
        ("how a node hears its neighbors", "hears"),
        ("all voters agree", "voters"),
        ("the reasons are said", "are said"),
    ],
)
def test_words_are_found(text, word):
    assert [found for found, _ in found_in(text)] == [word]


@pytest.mark.parametrize("text", ["`voter.plan`", "a vote of a node", "it is a node", "the number of a class", "ties"])
def test_names_of_code_and_other_words_pass(text):
    assert not list(found_in(text))
