"""What several commands are given: a model, another graph, a file or folder to write, names of nodes, a seed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.errors import InputError, shortened

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray


class Device(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


GraphName = Annotated[
    str, typer.Argument(metavar="DATA", help="A data set by name (see `se-gnn datasets`), or a stored graph's folder.")
]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, as `se-gnn train` writes it.")]
OtherGraph = Annotated[
    Path | None,
    typer.Option("--graph", metavar="DIR", help="Another graph, imported with --like; its labeled nodes vote."),
]
OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Replace FILE if it exists.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what PATH holds.")]
Nodes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Only these nodes: names or #POSITION, with commas between. Repeatable."),
]
LARGEST_SEED = 2**63 - 1
MOST_DIGITS = 18  # of a position: Python refuses to read numbers of thousands


def shows_progress(progress: bool, quiet: bool = False) -> bool:
    """Whether bars are shown: on a terminal, or where they are asked for."""
    if progress and quiet:
        raise InputError("--quiet prints nothing and --progress shows bars: give one of them")
    if quiet or sys.stderr is None:  # closed
        return False
    return progress or sys.stderr.isatty()


def check_file(out: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or would be lost; nothing is written yet."""
    try:
        if out.is_dir():
            raise InputError(f"--out {out} is a folder; name a file")
        if os.path.lexists(out) and not overwrite:
            raise InputError(f"{out} already exists; --overwrite replaces it")
        if not out.parent.is_dir():
            raise InputError(f"--out {out}: the folder {out.parent} does not exist")
        out.lstat()  # a name that is too long is found out here
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"--out {out} cannot be written: {error.strerror or error}") from error


def node_id(graph: Graph, text: str) -> int:
    """The node that a text on the command line means: a name, or ``#17``, the node at position 17.

    A name that begins with ``#`` itself is written with one more: ``##17`` is the node called ``#17``.
    """
    if not text.startswith("#"):
        return graph.node_id(text)
    if text.startswith("##"):
        return graph.node_id(text[1:])
    digits = text[1:].strip()
    if not (digits.isascii() and digits.isdigit()):
        raise InputError(
            f"#POSITION must be a whole number such as #17, got {shortened(text)}; a name that begins with # is "
            f"written with one more, {shortened('#' + text)}"
        )
    if len(digits) > MOST_DIGITS:
        raise InputError(f"#POSITION must be between 0 and {graph.num_nodes - 1:,}, got {shortened(text)}")
    return graph.node_id(int(digits))


def column_roles(texts: list[str] | None, roles: Sequence[str]) -> dict[str, list[str]]:
    """The columns that have each role, from texts such as ``income=number``; each column has one.

    >>> column_roles(["account=id", "a=b=ignore"], ["id", "ignore"])
    {'id': ['account'], 'ignore': ['a=b']}
    """
    found: dict[str, list[str]] = {role: [] for role in roles}
    seen: dict[str, str] = {}
    for text in texts or ():
        column, _, role = (part.strip() for part in text.rpartition("="))
        if not column or role not in found:
            raise InputError(f"write COLUMN=ROLE, where ROLE is one of {', '.join(roles)}, got {shortened(text)}")
        if column in seen:
            raise InputError(f"column {column!r} is given as {seen[column]} and as {role}: give it once")
        seen[column] = role
        found[role].append(column)
    return found


def node_text(graph: Graph, node: int) -> str:
    """A node as :func:`node_id` reads it."""
    name = graph.node_names[node]
    return f"#{name}" if name.startswith("#") else name


def node_ids(graph: Graph, texts: list[str] | None) -> IntArray | None:
    """Ids of the nodes asked for, in that order, each once; a name that holds a comma is taken whole."""
    import numpy as np

    if not texts:
        return None
    known = set(graph.node_names) if any("," in text for text in texts) else set()
    split = [part for text in texts for part in ([text] if _name(text) in known else text.split(","))]
    try:
        ids = [node_id(graph, part.strip()) for part in split if part.strip()]
    except InputError as error:
        if len(split) == len(texts) or not any("," in name for name in graph.node_names):
            raise
        raise InputError(f"{error}; a name that holds a comma needs a --nodes of its own") from error
    if not ids:
        raise InputError("--nodes must name at least one node")
    return np.array(list(dict.fromkeys(ids)), dtype=np.int64)


def _name(text: str) -> str | None:
    """The name that a text is, if it is one and no position."""
    if text.startswith("##"):
        return text[1:]
    return None if text.startswith("#") else text
