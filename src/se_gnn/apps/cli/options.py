"""Options that several commands share, and how the nodes named on the command line are found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.commands import beside
from se_gnn.errors import InputError, shortened

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray

LARGEST_SEED = 2**63 - 1
SHARD_NODES = 4096
LESS_COMMON = "Less common options"


class Device(StrEnum):
    """Device to compute on."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


GraphName = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Folder of an imported graph, or name of a data set (see `se-gnn datasets`)."),
]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder written by `se-gnn train`.")]
OtherGraph = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        metavar="DIR",
        help="Use another graph, imported with --like, instead of the model's own; its labeled nodes vote.",
        rich_help_panel=LESS_COMMON,
    ),
]
OnDevice = Annotated[
    Device,
    typer.Option(
        help="auto: use CUDA if available; with torchrun, one device per process.", rich_help_panel=LESS_COMMON
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
OverwriteFile = Annotated[Overwrite, beside("--out")]
QuietFile = Annotated[bool, beside("--out")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Train one recipe and a single model: much faster, often just as accurate.")
]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, metavar="N", help="Random seed.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, for example num_nearest=20. Repeatable."),
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Only these nodes: names, captions or #POSITION, separated by commas. Repeatable."
    ),
]
ShardNodes = Annotated[int, typer.Option("--shard", min=1, metavar="N", help="Number of nodes per file.")]


def shows_progress(quiet: bool = False) -> bool:
    """Whether to report progress on stderr: bars on a terminal, otherwise one line per phase."""
    return not quiet and sys.stderr is not None  # None: closed


def node_ids(graph: Graph, texts: list[str] | None) -> IntArray | None:
    """Ids of the nodes that ``--nodes`` lists, in that order, each once; a name may contain a comma."""
    import numpy as np

    if not texts:
        return None
    whole = [text for text in texts if "," in text]
    known = set(graph.nodes.known([text.removeprefix("#") for text in whole]))
    known |= set(whole) & set(graph.captions or ())
    split = [part for text in texts for part in ([text] if text.removeprefix("#") in known else text.split(","))]
    try:
        ids = [graph.nodes.find(part.strip()) for part in split if part.strip()]
    except InputError as error:
        if len(split) == len(texts) or not any("," in name for name in graph.node_names):
            raise
        raise InputError(f"{error}; a name that contains a comma needs its own --nodes") from error
    if not ids:
        raise InputError("--nodes must name at least one node")
    return np.array(list(dict.fromkeys(ids)), dtype=np.int64)


def column_roles(texts: list[str] | None, roles: Sequence[str], *, beside: str = "") -> dict[str, list[str]]:
    """The columns that have each role, from texts such as ``income=number``; each column has one.

    A column may have the role ``beside`` and another one.

    >>> column_roles(["account=id", "a=b=ignore"], ["id", "ignore"])
    {'id': ['account'], 'ignore': ['a=b']}
    """
    found: dict[str, list[str]] = {role: [] for role in roles}
    seen: dict[str, str] = {}
    for text in texts or ():
        column, _, role = (part.strip() for part in text.rpartition("="))
        if not column or role not in found:
            raise InputError(f"write COLUMN=ROLE, where ROLE is one of {', '.join(roles)}, got {shortened(text)}")
        if column in seen and beside not in (role, seen[column]):
            raise InputError(f"column {column!r} is given as {seen[column]} and as {role}: give it once")
        seen[column] = role
        found[role].append(column)
    return found


def one_column(roles: dict[str, list[str]], role: str) -> str | None:
    """The column with a role, if there is one; two are an error."""
    if len(roles[role]) > 1:
        raise InputError(f"only one column can be the {role}, got {' and '.join(map(repr, roles[role]))}")
    return roles[role][0] if roles[role] else None
