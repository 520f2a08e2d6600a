"""`_manifest.json`: which shards belong together, and how each is told from one that was cut short or changed."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import check_format, json_bytes, parse_json, read_file
from se_gnn.shards.run import ShardRun

MANIFEST = "_manifest.json"
FORMAT, VERSION = "se-gnn-shards", 1
LARGEST = 1 << 30  # bytes of a manifest


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

    def place(self, folder: Path) -> Path:
        """Where the files are; hidden, where the command that wrote them was ended before its last step."""
        shown = folder / self.parts
        return hidden(shown) if hidden(shown).is_dir() and not shown.is_dir() else shown

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


def hidden(parts: Path) -> Path:
    """The same folder under a name that readers of Parquet folders pass over."""
    return parts.with_name(f".{parts.name}")


def strangers(parts: Path, shards: int) -> list[Path]:
    """What lies among the shards and is none of them: readers of Parquet folders would take it for one."""
    names = {shard_name(shard) for shard in range(shards)}
    return sorted(path for path in parts.iterdir() if path.name not in names and is_read(path.name))


def is_read(name: str) -> bool:
    """Whether readers of Parquet folders look at what has this name."""
    return not name.startswith(("_", "."))


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
    """Types and names are ours: no path that somebody made up; and the shards are all those of the run, in order."""
    kind, digest, values, parts = (about[name] for name in ("kind", "run", "values", "parts"))
    if not isinstance(values, dict) or not all(isinstance(text, str) for text in (*values, *values.values())):
        raise ValueError("values must be texts by name")
    run = ShardRun.of(values)
    if (digest, kind, parts) != (run.digest, run.kind, parts_name(run.digest)):
        raise ValueError("kind, run or parts is not that of its values")
    shards = tuple(Shard(**entry) for entry in about["shards"])
    if len(shards) != len(run):
        raise ValueError(f"{run.num_nodes:,} nodes are {len(run):,} shards, it lists {len(shards):,}")
    for number, shard in enumerate(shards):
        rows = run.rows(number)
        expected = (shard_name(number), rows.start, rows.stop - rows.start)
        if (shard.file, shard.first, shard.nodes) != expected or type(shard.bytes) is not int:
            raise ValueError(f"shard {number} must be {expected[0]} with the {expected[2]:,} nodes from {rows.start:,}")
    return Manifest(kind, digest, values, parts, shards)
