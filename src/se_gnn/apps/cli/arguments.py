"""What several commands are given: a model, another graph, a file or folder to write, names of nodes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.graph import AttributedGraph
    from se_gnn.graph.attributed import IntArray

GraphName = Annotated[
    str, typer.Argument(metavar="DATA", help="A data set by name (see `se-gnn datasets`), or a stored graph's folder.")
]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder, as `se-gnn train` writes it.")]
OtherGraph = Annotated[
    Path | None,
    typer.Option("--graph", metavar="DIR", help="Another graph, imported with --like; its labeled nodes vote."),
]
OverwriteFile = Annotated[bool, typer.Option("--overwrite", help="Replace FILE if it exists.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")]


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


def node_ids(graph: AttributedGraph, names: list[str] | None) -> IntArray | None:
    """Ids of the nodes asked for, in that order; a name that holds a comma is taken whole."""
    import numpy as np

    if not names:
        return None
    known = set(graph.node_names)
    split = [name for text in names for name in ([text] if text in known else text.split(","))]
    ids = [graph.node_id(name.strip()) for name in split if name.strip()]
    if not ids:
        raise InputError("--nodes must name at least one node")
    return np.array(list(dict.fromkeys(ids)), dtype=np.int64)  # each once
