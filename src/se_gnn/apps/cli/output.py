"""What the commands print: the one way to a terminal for text that holds names from data."""

from __future__ import annotations

import typer

from se_gnn.display.terminal import printable


def say(text: str, *, err: bool = False) -> None:
    """Print a text; control characters in it, which a name may have brought along, are shown and not obeyed."""
    typer.echo(printable(text), err=err)
