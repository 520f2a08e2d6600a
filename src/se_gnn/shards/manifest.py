"""`_manifest.json`: which shards belong together, and how each is told from one that was cut short or changed."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import check_format, json_bytes, parse_json, read_file

MANIFEST = "_manifest.json"  # readers of Parquet folders pass over names that begin with _ or .
FORMAT, VERSION = "se-gnn-shards", 1
LARGEST = 1 << 30  # bytes of a manifest
_PARTS = re.compile(r"parts-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Shard:
    """One file: the rows ``first`` to ``first + nodes``."""

    file: str
    first: int
    nodes: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of a folder of shards.

    Args:
        kind: what a row is: ``predictions``, ``explanations``.
        run: digest of all that the bytes depend on.
        values: model, graph, versions and settings, by name.
        parts: folder with the files, beside the manifest.
        shards: the files in the order of the nodes.
    """

    kind: str
    run: str
    values: dict[str, str]
    parts: str
    shards: tuple[Shard, ...]

    @property
    def num_nodes(self) -> int:
        """Rows of all shards together."""
        return sum(shard.nodes for shard in self.shards)

    def to_bytes(self) -> bytes:
        """As it is written."""
        return json_bytes({"format": FORMAT, "version": VERSION, **asdict(self)})


def shard_name(shard: int) -> str:
    """File of a shard.

    >>> shard_name(7)
    'part-00007.parquet'
    """
    return f"part-{shard:05d}.parquet"


def parts_name(run: str) -> str:
    """Folder with the shards of a run, by its digest."""
    return f"parts-{run[:12]}"


def read_manifest(folder: str | Path) -> Manifest:
    """The manifest of a folder; a folder without one is not whole, whatever it holds."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"{path} is not a folder of shards: there is no such folder")
    if not os.path.lexists(path / MANIFEST):
        raise InputError(
            f"{path} is not a folder of shards, or is not finished: {MANIFEST} is missing; the command that writes it "
            "goes on where it stopped"
        )
    about = parse_json(read_file(path / MANIFEST, limit=LARGEST), path / MANIFEST)
    check_format(about, path / MANIFEST, expected=FORMAT, newest=VERSION)
    try:
        return _checked(about)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path / MANIFEST} is damaged: {error}") from error


def _checked(about: dict[str, Any]) -> Manifest:
    """Types and names are ours: no path that somebody made up."""
    shards = tuple(Shard(**entry) for entry in about["shards"])
    first = 0
    for number, shard in enumerate(shards):
        if shard.file != shard_name(number):
            raise ValueError(f"shard {number} must be called {shard_name(number)}, not {shard.file!r}")
        if shard.first != first or type(shard.nodes) is not int or type(shard.bytes) is not int or shard.nodes < 0:
            raise ValueError(f"shard {number} must begin at node {first}, where the one before it ends")
        first += shard.nodes
    kind, run, values, parts = (about[name] for name in ("kind", "run", "values", "parts"))
    if not all(isinstance(text, str) for text in (kind, run, parts, *values, *values.values())):
        raise ValueError("kind, run, parts and values must be texts")
    if not _PARTS.fullmatch(parts):
        raise ValueError(f"parts must be the name of a folder of ours, not {parts!r}")
    return Manifest(kind, run, values, parts, shards)
