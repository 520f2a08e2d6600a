"""The output of the commands that a page shows, as it is now.

A block of the language `text` that begins with `$ se-gnn ...` or `$ python -m lab ...` shows that command and what it
prints. A comment before it, `<!-- not run: why; first 12 lines -->`, keeps the beginning of the output.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from pathlib import Path

from typer.testing import CliRunner, Result

from docs.generate.blocks import ROOT

PAGES = (
    ROOT / "docs" / "reference" / "command-line.md",
    ROOT / "README.md",
    ROOT / "docs" / "how-to" / "labels.md",
    ROOT / "docs" / "understanding" / "lab.md",
)
WIDTH = "80"
_COMMAND = r"(?:se-gnn|python -m lab) [^\n]*"
_BLOCK = re.compile(rf"(<!-- [^>]*first (\d+) lines -->\n)?^```text\n\$ ({_COMMAND})\n.*?^```", flags=re.S | re.M)


def write_examples() -> None:
    """Run the commands of every page, in order, and put what they print into it."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            _prepare(text)
            page.write_text(_BLOCK.sub(_renewed, text), encoding="utf-8")


def _prepare(text: str) -> None:
    """A page whose first command needs a model gets one: `model`, trained on digits."""
    first = _BLOCK.search(text)
    if first is not None and not first.group(3).startswith("se-gnn train"):
        printed("se-gnn train digits --out model")


def _renewed(block: re.Match[str]) -> str:
    comment, count, command = block.group(1) or "", block.group(2), block.group(3)
    lines = printed(command).splitlines()
    shown = lines if count is None else [*lines[: int(count)], "..."]
    return comment + "\n".join(["```text", f"$ {command}", *shown, "```"])


def printed(command: str) -> str:
    """What a command prints on a terminal of a common width."""
    os.environ |= {"COLUMNS": WIDTH, "TERMINAL_WIDTH": WIDTH}
    result = invoked(command)
    if result.exit_code:
        raise RuntimeError(f"{command}: {result.output}")
    return result.stdout.strip("\n") + "\n"


def invoked(command: str, *more: str) -> Result:
    """Run `se-gnn ...` or `python -m lab ...` within this process, with ``more`` arguments."""
    if command.startswith("python -m lab "):
        from lab.commands import app
    else:
        from se_gnn.apps.cli import app
    arguments = command.removeprefix("se-gnn ").removeprefix("python -m lab ")
    return CliRunner().invoke(app, [*shlex.split(arguments, comments=True), *more])


def commands_of(page: Path) -> list[str]:
    """The commands whose output a page shows."""
    return [found.group(3) for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))]
