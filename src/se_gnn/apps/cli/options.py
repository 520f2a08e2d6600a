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

from se_gnn.apps.cli.commands import Only, beside
from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray

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


def option(metavar: str, help: str, *names: str, heading: str | None = None, **more: Any) -> Any:
    """An option with a value; a required one has no default to show."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=heading, **more)


def rare(metavar: str, help: str, *names: str, **more: Any) -> Any:
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
    """What a command takes under one name of ``--set``.

    Attributes:
        kind: type of the value.
        least: smallest value of a number.
        most: largest value of a number.
        only: the calls that read it; None: all.
    """

    kind: type
    least: float = -math.inf
    most: float = math.inf
    only: Only | None = None

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
