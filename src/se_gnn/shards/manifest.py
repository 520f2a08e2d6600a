"""What a folder of shards is the result of, which files belong to it, and reading them.

`_manifest.json` lists the shards with their digests: every file is compared with it before it is believed.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import check_format, json_bytes, parse_json, read_file, sha256
from se_gnn.optional import require


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun:
    """One piece of work: its shards do not depend on how many processes write them.

    Args:
        kind: what a row is: ``predictions``, ``explanations``.
        num_nodes: rows of all shards together.
        shard_nodes: rows of one shard; the last one may have fewer.
        values: model, graph, versions and settings, by name.

    >>> run = ShardRun(kind="predictions", num_nodes=5, shard_nodes=2, values={})
    >>> len(run), run.rows(2)
    (3, slice(4, 5, None))
    """

    kind: str
    num_nodes: int
    shard_nodes: int
    values: Mapping[str, str]

    def __post_init__(self) -> None:
        if self.shard_nodes < 1:
            raise InputError(f"shard_nodes must be at least 1, got {self.shard_nodes}")

    def __len__(self) -> int:
        return -(-self.num_nodes // self.shard_nodes)

    def rows(self, shard: int) -> slice:
        """Which of the nodes are in a shard."""
        first = shard * self.shard_nodes
        return slice(first, min(first + self.shard_nodes, self.num_nodes))

    def to_dict(self) -> dict[str, str]:
        """All of it as texts: what ranks must agree on."""
        sizes = {"num_nodes": str(self.num_nodes), "shard_nodes": str(self.shard_nodes)}
        return {"kind": self.kind, **sizes, **self.values}

    @classmethod
    def of(cls, values: Mapping[str, str]) -> ShardRun:
        """The run that :meth:`to_dict` describes."""
        rest = dict(values)
        kind, num_nodes, shard_nodes = (rest.pop(name) for name in ("kind", "num_nodes", "shard_nodes"))
        return cls(kind=kind, num_nodes=int(num_nodes), shard_nodes=int(shard_nodes), values=rest)

    @property
    def digest(self) -> str:
        """The same for runs that write the same bytes."""
        return sha256(json.dumps(self.to_dict(), sort_keys=True).encode())


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
    """All of a folder of shards: what it is the result of, and the files in the order of the nodes."""

    run: ShardRun
    shards: tuple[Shard, ...]

    @property
    def parts(self) -> str:
        """Folder with the files, beside the manifest."""
        return parts_name(self.run.digest)

    def place(self, folder: Path) -> Path:
        """Where the files are; hidden, where the command that wrote them was ended before its last step."""
        shown = folder / self.parts
        return hidden(shown) if hidden(shown).is_dir() and not shown.is_dir() else shown

    def to_bytes(self) -> bytes:
        """As it is written."""
        run = {"kind": self.run.kind, "run": self.run.digest, "values": self.run.to_dict(), "parts": self.parts}
        shards = [asdict(shard) for shard in self.shards]
        return json_bytes({"format": FORMAT, "version": VERSION, **run, "shards": shards})


def shard_of(run: ShardRun, number: int, content: bytes) -> Shard:
    """The shard of a run that has this content."""
    rows = run.rows(number)
    return Shard(shard_name(number), rows.start, rows.stop - rows.start, len(content), sha256(content))


def is_content(shard: Shard, content: bytes) -> bool:
    """Whether the content is that of the shard."""
    return len(content) == shard.bytes and sha256(content) == shard.sha256


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
            f"{path} is not a folder of shards, or is not finished: {MANIFEST} is missing; run the command "
            "that writes it again to continue"
        )
    about = parse_json(read_file(path / MANIFEST, limit=LARGEST), path / MANIFEST)
    check_format(about, path / MANIFEST, expected=FORMAT, newest=VERSION)
    try:
        return _checked(about)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path / MANIFEST} is damaged: {error}") from error


def _checked(about: dict[str, Any]) -> Manifest:
    """Refuse forged types and names, and anything but all shards of the run, in order."""
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
        own = shard_of(run, number, b"")
        if (shard.file, shard.first, shard.nodes) != (own.file, own.first, own.nodes) or type(shard.bytes) is not int:
            raise ValueError(f"shard {number} must be {own.file} with the {own.nodes:,} nodes from {own.first:,}")
    return Manifest(run, shards)


def read_shards(folder: str | Path) -> Iterator[Any]:
    """The shards of a finished folder as `pyarrow.Table`, in the order of the nodes; needs `se-gnn[tables]`.

    Raises:
        InputError: the folder is not finished, or a shard is missing, cut short or changed. The text names the file.
    """
    parquet: Any = require("pyarrow.parquet", extra="tables", feature="Parquet files")
    manifest = read_manifest(folder)
    return (parquet.read_table(io.BytesIO(_content(Path(folder), manifest, shard))) for shard in manifest.shards)


def verify_shards(folder: str | Path) -> Manifest:
    """Compare every shard with the manifest; raises as :func:`read_shards`, and where there is more than the shards."""
    manifest, path = read_manifest(folder), Path(folder)
    for shard in manifest.shards:
        _content(path, manifest, shard)
    beside = sorted(other for other in path.iterdir() if other.name != manifest.parts and is_read(other.name))
    others = [*beside, *(strangers(manifest.place(path), len(manifest.shards)) if manifest.shards else ())]
    if others:
        raise InputError(
            f"{others[0]} is none of the shards in {MANIFEST}, but readers of the folder take it for one: move it away"
        )
    return manifest


def _content(folder: Path, manifest: Manifest, shard: Shard) -> bytes:
    path = manifest.place(folder) / shard.file
    content = read_file(path)
    if not is_content(shard, content):
        raise InputError(f"{path} is truncated or was changed: it does not have the digest in {MANIFEST}")
    return content
