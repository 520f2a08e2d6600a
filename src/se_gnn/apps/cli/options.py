"""Options that several commands share, and how the nodes named on the command line are found."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import QUIET, Only, beside
from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray
    from se_gnn.tables import EdgeTable

LARGEST_SEED = 2**63 - 1
SHARD_NODES = 4096
LESS_COMMON = "Less common options"
TYPE_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "text",
    Path: "a path",
    list: 'a word, or ["a", "b"]',
}


Device = StrEnum("Device", ["auto", "cpu", "cuda"])


def option(metavar: str | None, help: str, *names: str, heading: str | None = None, **more: Any) -> Any:
    """An option; a switch, or a choice of words, needs no name for its value."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=heading, **more)


def rare(metavar: str | None, help: str, *names: str, **more: Any) -> Any:
    """An option that few calls need."""
    return option(metavar, help, *names, heading=LESS_COMMON, **more)


GraphName = Annotated[
    str,
    typer.Argument(metavar="DATA", help="Folder of an imported graph, or name of a data set (see `se-gnn datasets`)."),
]
ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Model folder written by `se-gnn train`.")]
OtherGraph = Annotated[
    Path | None,
    rare(
        "DIR", "Use another graph, imported with --like, instead of the model's own; its labeled nodes vote.", "--graph"
    ),
]
OnDevice = Annotated[Device, rare(None, "auto: use CUDA if available; with torchrun, one device per process.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
OverwriteFile = Annotated[Overwrite, beside("--out")]
Quiet = Annotated[bool, typer.Option(*QUIET, help="Print only warnings and errors.")]
QuietFile = Annotated[Quiet, beside("--out")]
Quick = Annotated[
    bool, typer.Option("--quick", help="Train one recipe and a single model: much faster, often just as accurate.")
]
Seed = Annotated[int, option("N", "Random seed.", min=0, max=LARGEST_SEED)]
Assignments = Annotated[
    list[str] | None, option("NAME=VALUE", "Change a setting, for example num_nearest=20. Repeatable.", "--set")
]
Nodes = Annotated[
    list[str] | None,
    option("NAMES", "Only these nodes: names, captions or #POSITION, separated by commas. Repeatable."),
]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a command takes under one name of ``--set``."""

    kind: type  # type of the value
    least: float = -math.inf  # smallest value of a number
    most: float = math.inf  # largest value of a number
    only: Only | None = None  # the calls that read it; None: all

    def read(self, name: str, value: Any) -> Any:
        """A value with the type of the setting."""
        words = [value] if isinstance(value, str) else value
        if self.kind is list and isinstance(words, list) and all(isinstance(word, str) for word in words):
            return tuple(words)
        if self.kind in (str, Path) and not isinstance(value, list | dict):
            return self.kind(str(value))
        is_number = self.kind in (int, float) and type(value) in (int, self.kind)
        if (is_number and self.least <= value <= self.most) or (self.kind is bool and isinstance(value, bool)):
            return self.kind(value)
        raise InputError(f"--set {name} must be {TYPE_WORDS[self.kind]}{self._bounds()}, got {shortened(value)}")

    def _bounds(self) -> str:
        if self.most < math.inf:
            return f" between {self.least:g} and {self.most:g}"
        return f" of at least {self.least:g}" if self.least > -math.inf else ""


def read_settings(given: list[str] | None, known: Mapping[str, Setting], values: Mapping[str, Any]) -> dict[str, Any]:
    """What ``--set`` of a command gives, by name; ``values`` are those of its other options."""
    from se_gnn.settings.reading import read_assignments

    found = read_assignments(given or ())
    for name, value in found.items():
        if name not in known:
            names = " and ".join(", ".join(known).rsplit(", ", 1))
            raise InputError(f"--set takes {names}, got {shortened(name)}{did_you_mean(name, known)}")
        only = known[name].only
        if only is not None and not only.holds({**values, **found}):
            raise InputError(f"--set {name} has an effect only {only.situation}: leave it out")
        found[name] = known[name].read(name, value)
    return found


def shows_progress(quiet: bool = False) -> bool:
    """Whether to report progress on stderr: bars on a terminal, otherwise one line per phase."""
    return not quiet and sys.stderr is not None  # None: closed


@contextmanager
def working(name: str, quiet: bool = False) -> Iterator[bool]:
    """Within it, compilation and long work are reported on stderr; yields whether they are."""
    shown = shows_progress(quiet)
    with announce_compilation(shown=shown), phase(name, shown=shown):
        yield shown


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


def column_roles(
    texts: list[str] | None, single: Sequence[str], several: Sequence[str], *, beside: str = ""
) -> dict[str, Any]:
    """The columns that have each role, from texts such as ``income=number``; each column has one.

    A column may have the role ``beside`` and another one. Of the roles that are ``single`` one column has each.

    >>> column_roles(["account=id", "a=b=ignore"], ["id", "caption"], ["ignore"])
    {'id': 'account', 'caption': None, 'ignore': ['a=b']}
    """
    found: dict[str, Any] = {**dict.fromkeys(single), **{role: [] for role in several}}
    seen: dict[str, str] = {}
    for text in texts or ():
        column, _, role = (part.strip() for part in text.rpartition("="))
        if not column or role not in found:
            raise InputError(f"write COLUMN=ROLE, where ROLE is one of {', '.join(found)}, got {shortened(text)}")
        if column in seen and beside not in (role, seen[column]):
            raise InputError(f"column {column!r} is given as {seen[column]} and as {role}: give it once")
        seen[column] = role
        if role in several:
            found[role].append(column)
        elif found[role] is None:
            found[role] = column
        else:
            raise InputError(f"only one column can be the {role}, got {found[role]!r} and {column!r}")
    return found


def table_path(given: str) -> Path:
    """The file of a table, with a type before it or without."""
    return Path(given) if Path(given).exists() else Path(given.partition("=")[2] or given)


def node_tables(given: list[str], option: str = "--nodes", shape: str = "paper=FILE") -> str | dict[str, str]:
    """The one table, or the table of each type."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return given[0]
    tables: dict[str, str] = {}
    for text in given:
        name, _, path = text.partition("=")
        if not name.strip() or not path:
            raise InputError(f"{option} must look like {shape} if there are several types, got {text!r}")
        if name.strip() in tables:
            raise InputError(f"{option} {name.strip()}=... is given twice; each type has one table")
        tables[name.strip()] = path
    return tables


def edge_tables(given: list[str], option: str = "--edges") -> str | list[EdgeTable]:
    """The one edge table, or the table of each edge type with the node types that it joins, if declared."""
    from se_gnn.tables import EdgeTable

    tables, found = node_tables(given, option, shape := "writes=FILE or writes:author-paper=FILE"), []
    if isinstance(tables, str):
        return tables
    for what, path in tables.items():
        name, colon, joined = what.partition(":")
        start, dash, end = (one.strip() for one in joined.partition("-"))
        if colon and (not dash or "-" in end):
            raise InputError(f"{option} must look like {shape} if there are several types, got {what!r}")
        found.append(EdgeTable(type=name.strip(), table=path, joins=(start, end) if colon else None))
    return found


def column_by_type(given: str, types: Sequence[str], option: str) -> str | dict[str, str]:
    """The column that an option names, or that of each type; without ``types`` there is one table."""
    if not types or "=" not in given:
        return given
    columns = {}
    for text in given.split(","):
        name, equals, column = (part.strip() for part in text.partition("="))
        if not equals or not column or name not in types:
            shape = ",".join(f"{name}=COLUMN" for name in types)
            raise InputError(f"{option} must look like {shape} or be one column, got {given!r}")
        columns[name] = column
    return columns
