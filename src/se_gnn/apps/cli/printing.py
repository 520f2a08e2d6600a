"""How the commands print."""

from __future__ import annotations

import typer

from se_gnn.display.terminal import count, paragraph, percent, table
from se_gnn.display.text import printable

__all__ = ["count", "paragraph", "percent", "say", "table"]


def say(text: str, *, err: bool = False) -> None:
    """Print a text. Control characters, which a name from a table may contain, are shown and not obeyed."""
    typer.echo(printable(text), err=err)
