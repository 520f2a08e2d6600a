"""Results of many nodes as a folder of Parquet files, written by one process or by several.

The shards of a run are collected in `.parts-DIGEST`, by the digest of all that their bytes depend on; beside each there
is a record with its own digest, written first. A shard counts as done when it has the digest of its record: then it is
kept, whoever asks for it again. When all are done the first rank adds `_manifest.json`, which lists them with their
digests, hides the result of another run, if there is one, and renames the folder to `parts-DIGEST`. Readers of Parquet
folders pass over names that begin with a dot: wherever this ends, they see one result or none, and what they see is
whole.
"""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import (
    check_format,
    json_bytes,
    locked,
    parse_json,
    read_file,
    remove_tree,
    replace_file,
    sha256,
    visible_names,
    writing_to,
)
from se_gnn.files.writing import sync_folder
from se_gnn.optional import require
from se_gnn.progress import bar
from se_gnn.ranks import Ranks

RUN = ".run.json"  # what the shards in a folder are the result of
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


def is_content(shard: Shard, content: bytes) -> bool:
    """Whether the content is that of the shard."""
    return len(content) == shard.bytes and sha256(content) == shard.sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRun:
    """One piece of work: its shards do not depend on how many processes write them.

    >>> run = ShardRun(kind="predictions", num_nodes=5, shard_nodes=2, values={})
    >>> len(run), run.rows(2)
    (3, slice(4, 5, None))
    """

    kind: str  # what a row is: `predictions`, `explanations`
    num_nodes: int  # rows of all shards together
    shard_nodes: int  # rows of one shard; the last one may have fewer
    values: Mapping[str, str]  # model, graph, versions and settings, by name

    def __post_init__(self) -> None:
        if self.shard_nodes < 1:
            raise InputError(f"shard_nodes must be at least 1, got {self.shard_nodes}")

    def __len__(self) -> int:
        return -(-self.num_nodes // self.shard_nodes)

    def rows(self, shard: int) -> slice:
        """Which of the nodes are in a shard."""
        first = shard * self.shard_nodes
        return slice(first, min(first + self.shard_nodes, self.num_nodes))

    def shard(self, number: int, content: bytes) -> Shard:
        """The shard of this run that has this content."""
        rows = self.rows(number)
        return Shard(shard_name(number), rows.start, rows.stop - rows.start, len(content), sha256(content))

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
    def parts(self) -> str:
        """The folder of its shards, the same for runs that write the same bytes."""
        return f"parts-{sha256(json.dumps(self.to_dict(), sort_keys=True).encode())[:12]}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of a folder of shards: what it is the result of, and the files in the order of the nodes."""

    run: ShardRun
    shards: tuple[Shard, ...]

    def place(self, folder: Path) -> Path:
        """Where the files are; hidden, where the command that wrote them was ended before its last step."""
        shown = folder / self.run.parts
        return shown if shown.is_dir() else _hidden(shown)

    def to_bytes(self) -> bytes:
        """As it is written."""
        shards = [asdict(shard) for shard in self.shards]
        return json_bytes({"format": FORMAT, "version": VERSION, "values": self.run.to_dict(), "shards": shards})


def shard_name(shard: int) -> str:
    """File of a shard.

    >>> shard_name(7)
    'part-00007.parquet'
    """
    return f"part-{shard:05d}.parquet"


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
    found = sorted(path.glob(f"parts-*/{MANIFEST}")) or sorted(path.glob(f".parts-*/{MANIFEST}"))
    if not found:
        raise InputError(
            f"{path} is not a folder of shards, or is not finished: {MANIFEST} is missing; run the command "
            "that writes it again to continue"
        )
    return manifest_of(found[0].parent)


def manifest_of(parts: Path) -> Manifest:
    """The manifest among some shards; forged types and names, and anything but all shards in order, are refused."""
    path = parts / MANIFEST
    about = parse_json(read_file(path, limit=LARGEST), path)
    check_format(about, path, expected=FORMAT, newest=VERSION)
    try:
        values = about["values"]
        if not all(isinstance(text, str) for text in values.values()):
            raise ValueError("values must be texts")
        run, shards = ShardRun.of(values), tuple(Shard(**entry) for entry in about["shards"])
        if parts.name.removeprefix(".") != run.parts:
            raise ValueError(f"its values are those of {run.parts}")
        if len(shards) != len(run):
            raise ValueError(f"{run.num_nodes:,} nodes are {len(run):,} shards, it lists {len(shards):,}")
        for number, shard in enumerate(shards):
            if shard != Shard(**{**asdict(run.shard(number, b"")), "bytes": int(shard.bytes), "sha256": shard.sha256}):
                raise ValueError(f"it does not list shard {number} of the run")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
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
    beside = sorted(other for other in path.iterdir() if other.name != manifest.run.parts and is_read(other.name))
    others = [*beside, *strangers(manifest.place(path), len(manifest.shards))]
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


class ShardFolder:
    """The folder into which the shards of one run are written."""

    def __init__(self, path: Path, run: ShardRun) -> None:
        self.path, self.run = path, run
        self.parts = path / run.parts
        self.work = _hidden(self.parts)

    def prepare(self, *, overwrite: bool) -> bool:
        """Refuse a folder whose files would be lost, and make the place for the shards; whether all is done already."""
        foreign = [name for name in visible_names(self.path) if not name.startswith(("parts-", ".parts-"))]
        if self.parts.is_dir():
            foreign += [f"{self.parts.name}/{path.name}" for path in strangers(self.parts, len(self.run))]
        if foreign:
            raise InputError(
                f"{self.path} exists and holds other files ({', '.join(foreign[:3])}); name another folder"
            )
        if self.parts.is_dir() and self._is_whole(overwrite=overwrite):
            self._tidy()  # where it ended before its last step
            return True
        for other in self._others():
            if not overwrite:
                raise InputError(
                    f"{self.path} already holds a result, of another model, graph, version or setting; --overwrite "
                    "replaces it"
                    if is_read(other.name)
                    else f"{self.path} holds the unfinished result of another model, graph, version or setting; "
                    "--overwrite removes it, the same command as before continues it"
                )
            if not is_read(other.name):
                remove_tree(other)
        self.work.mkdir(exist_ok=True)
        replace_file(self.work / RUN, json_bytes(self.run.to_dict()))
        return False

    def _is_whole(self, *, overwrite: bool) -> bool:
        """Whether the result of this run, which is shown, is whole; with ``overwrite`` what it lacks is made again."""
        shards: tuple[Shard, ...] = ()
        try:
            shards = manifest_of(self.parts).shards
            changed = [shard.file for shard in shards if not self._holds(self.parts, shard)]
            if not changed:
                return True
            text = f"{self.parts / changed[0]} is missing or was changed ({len(changed)} such shards)"
            if not overwrite:
                raise InputError(f"{text}; --overwrite writes them again")
            warnings.warn(text, stacklevel=3)
        except InputError:
            if not overwrite:
                raise
        remove_tree(self.work)
        self.parts.rename(self.work)
        for shard in shards:
            self._write_record(shard)
        return False

    def check_seen(self) -> None:
        """Refuse to go on where this rank does not see what the first one wrote."""
        path = self.work / RUN
        if not path.is_file() or parse_json(read_file(path), path) != self.run.to_dict():
            raise InputError(
                f"{self.path} is not the same folder on every rank: name one that all machines share (a network folder)"
            )

    def is_done(self, number: int) -> bool:
        """Whether the shard is there and has the digest of its record."""
        record = self._record(number)
        return record is not None and self._holds(self.work, record)

    def write(self, number: int, content: bytes) -> None:
        """Write a shard beside and rename it, after the record that it is known by."""
        record = self.run.shard(number, content)
        self._write_record(record)
        replace_file(self.work / record.file, content)

    def finish(self) -> Manifest:
        """Write the manifest and put the shards in place of what was there before."""
        shards = []
        for number in range(len(self.run)):
            record, path = self._record(number), self.work / shard_name(number)
            if record is None or not path.is_file() or path.stat().st_size != record.bytes:
                raise InputError(
                    f"{path} is missing or was cut short while the other shards were written; run it again"
                )
            shards.append(record)
        manifest = Manifest(self.run, tuple(shards))
        replace_file(self.work / MANIFEST, manifest.to_bytes())
        for path in self._others():
            if is_read(path.name):
                path.rename(_hidden(path))
        self.work.rename(self.parts)
        sync_folder(self.path)
        self._tidy()
        return manifest

    def _tidy(self) -> None:
        """Remove the records, which the manifest holds by now, and the shards of other runs."""
        for number in range(len(self.run)):
            _record_path(self.parts, shard_name(number)).unlink(missing_ok=True)
        for path in self._others():
            remove_tree(path)

    def _others(self) -> list[Path]:
        """Folders of shards that are none of this run, those of a result before those that were begun."""
        found = [*self.path.glob("parts-*"), *self.path.glob(".parts-*")]
        return [path for path in found if path not in (self.parts, self.work)]

    def _holds(self, folder: Path, shard: Shard) -> bool:
        path = folder / shard.file
        return path.is_file() and is_content(shard, read_file(path))

    def _write_record(self, shard: Shard) -> None:
        replace_file(_record_path(self.work, shard.file), json_bytes(asdict(shard)))

    def _record(self, number: int) -> Shard | None:
        """What the shard must be; None: it has not been made yet, or is to be made again."""
        path = _record_path(self.work, shard_name(number))
        try:
            return Shard(**parse_json(read_file(path), path)) if path.is_file() else None
        except (InputError, TypeError):  # damaged
            return None


def _hidden(parts: Path) -> Path:
    """The same folder under a name that readers of Parquet folders pass over."""
    return parts.with_name(f".{parts.name}")


def _record_path(folder: Path, file: str) -> Path:
    return folder / f".{file}.json"


def write_shards(
    ranks: Ranks,
    folder: Path,
    run: ShardRun,
    make: Callable[[slice], bytes],
    *,
    overwrite: bool = False,
    progress: bool = False,
) -> Manifest:
    """Write what is missing of a run, together with the other ranks; the manifest comes last, from the first rank.

    Args:
        ranks: this process among the others, which call this with the same run.
        folder: where to write; all ranks must see it.
        run: what is written.
        make: the content of a shard from its rows; the same on every rank, bit for bit.
        overwrite: replace the result of another run.
        progress: show a bar of the shards on stderr.
    """
    ranks.check_same(run.to_dict())
    with writing_to(folder), locked(folder) if ranks.first else contextlib.nullcontext():
        target = ShardFolder(folder, run)
        whole = target.prepare(overwrite=overwrite) if ranks.first else False
        if ranks.several and ranks.first:
            ranks.broadcast("prepared", b"whole" if whole else b"begun")
        elif ranks.several:
            whole = ranks.receive("prepared", [0]) == b"whole"
        if not whole:
            if not ranks.first:
                target.check_seen()
            _make_missing(ranks, target, make, progress=progress)
            ranks.barrier("written")
            if ranks.first:
                target.finish()
            ranks.barrier("finished")
        return read_manifest(folder)


def _make_missing(ranks: Ranks, target: ShardFolder, make: Callable[[slice], bytes], *, progress: bool) -> None:
    count = len(target.run)
    with bar(total=count, name="shards", unit="shard", shown=progress and ranks.first) as shown:
        while (shard := ranks.claim("shard")) < count:
            if not target.is_done(shard):
                target.write(shard, make(target.run.rows(shard)))
            ranks.heartbeat()
            shown.update(shard + 1 - shown.n)
