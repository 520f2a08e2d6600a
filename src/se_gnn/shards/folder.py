"""A folder of shards while it is written.

The shards of a run lie in `.parts-DIGEST`, by the digest of all that their bytes depend on; beside each there is a
record with its own digest, written first. A shard counts as done when it has the digest of its record: then it is kept,
whoever asks for it again. When all are done the first rank hides the result of another run, if there is one, writes the
manifest, and renames the folder to `parts-DIGEST`. Readers of Parquet folders pass over names that begin with a dot:
wherever this ends, they see one result or none, and the manifest is that of a whole one.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from se_gnn.errors import InputError
from se_gnn.files import (
    json_bytes,
    locked,
    parse_json,
    read_file,
    remove_tree,
    replace_file,
    visible_names,
    writing_to,
)
from se_gnn.files.writing import sync_folder
from se_gnn.progress import bar
from se_gnn.ranks import Ranks
from se_gnn.shards.manifest import (
    MANIFEST,
    Manifest,
    Shard,
    ShardRun,
    hidden,
    is_content,
    is_read,
    parts_name,
    read_manifest,
    shard_name,
    shard_of,
    strangers,
)

RUN = ".run.json"  # what the shards in a folder are the result of


class ShardFolder:
    """The folder into which the shards of one run are written."""

    def __init__(self, path: Path, run: ShardRun) -> None:
        self.path, self.run = path, run
        self.parts = path / parts_name(run.digest)
        self.work = hidden(self.parts)
        self.known: tuple[Shard, ...] = ()  # of a manifest of the same run

    def prepare(self, *, overwrite: bool) -> bool:
        """Refuse a folder whose files would be lost, and make the place for the shards; whether all is done already."""
        foreign = [name for name in visible_names(self.path) if not _ours(name)]
        if self.parts.is_dir():
            foreign += [f"{self.parts.name}/{path.name}" for path in strangers(self.parts, len(self.run))]
        if foreign:
            raise InputError(
                f"{self.path} exists and holds other files ({', '.join(foreign[:3])}); name another folder"
            )
        if self._holds_this_run(overwrite=overwrite):
            self._tidy()  # where it ended between its manifest and its last step
            return True
        others = [path for path in self._others() if not is_read(path.name) and not self._is_result(path)]
        if others and not overwrite:
            raise InputError(
                f"{self.path} holds the unfinished result of another model, graph, version or setting; --overwrite "
                "removes it, the same command as before continues it"
            )
        for path in others:
            remove_tree(path)
        if not self.parts.is_dir():
            self.work.mkdir(exist_ok=True)
        replace_file(self.place / RUN, json_bytes(self.run.to_dict()))
        return False

    def check_seen(self) -> None:
        """Refuse to go on where this rank does not see what the first one wrote."""
        path = self.place / RUN
        if not path.is_file() or parse_json(read_file(path), path) != self.run.to_dict():
            raise InputError(
                f"{self.path} is not the same folder on every rank: name one that all machines share (a network folder)"
            )
        if os.path.lexists(self.path / MANIFEST):
            self._read_known()

    @property
    def place(self) -> Path:
        """The folder that holds the shards now."""
        return self.parts if self.parts.is_dir() else self.work

    def is_done(self, shard: int) -> bool:
        """Whether the shard is there and has the digest of its record."""
        expected, path = self._record(shard), self.place / shard_name(shard)
        return expected is not None and path.is_file() and is_content(expected, read_file(path))

    def write(self, shard: int, content: bytes) -> None:
        """Write a shard beside and rename it, after the record that it is known by."""
        record = shard_of(self.run, shard, content)
        replace_file(self._record_path(shard), json_bytes(asdict(record)))
        replace_file(self.place / record.file, content)

    def finish(self) -> Manifest:
        """Write the manifest and put the shards in place of what was there before."""
        shards = []
        for number in range(len(self.run)):
            record, path = self._record(number), self.place / shard_name(number)
            if record is None or not path.is_file() or path.stat().st_size != record.bytes:
                raise InputError(
                    f"{path} is missing or was cut short while the other shards were written; run it again"
                )
            shards.append(record)
        manifest = Manifest(self.run, tuple(shards))
        for path in self._others():
            if is_read(path.name):
                remove_tree(hidden(path))
                path.rename(hidden(path))
        sync_folder(self.path)
        replace_file(self.path / MANIFEST, manifest.to_bytes())
        self._tidy()
        return manifest

    def _tidy(self) -> None:
        """Show the shards, which the manifest names by now; its records and the shards of other runs go."""
        if not self.parts.is_dir():
            self.work.rename(self.parts)
            sync_folder(self.path)
        for number in range(len(self.run)):
            self._record_path(number).unlink(missing_ok=True)
        for path in self._others():
            remove_tree(path)

    def _others(self) -> Iterator[Path]:
        """Folders of shards that are none of this run."""
        found = [*self.path.glob("parts-*"), *self.path.glob(".parts-*")]
        return (path for path in found if path not in (self.parts, self.work))

    def _is_result(self, parts: Path) -> bool:
        """Whether these shards are what the manifest names: they stay until there is another."""
        try:
            return parts == read_manifest(self.path).place(self.path)
        except InputError:
            return False

    def _holds_this_run(self, *, overwrite: bool) -> bool:
        """Whether the folder holds the finished result of this run; one of another run is an error, or to be lost."""
        if not os.path.lexists(self.path / MANIFEST):
            return False
        try:
            if not self._read_known():
                raise InputError(
                    f"{self.path} already holds a result, of another model, graph, version or setting; --overwrite "
                    "replaces it"
                )
        except InputError:
            if not overwrite:
                raise
            return False
        changed = [shard.file for number, shard in enumerate(self.known) if not self.is_done(number)]
        if changed and not overwrite:
            raise InputError(
                f"{self.parts / changed[0]} is missing or was changed ({len(changed)} such shards); --overwrite writes "
                "them again"
            )
        if changed:
            warnings.warn(f"{len(changed)} shards of {self.path} were missing or changed", stacklevel=3)
        return not changed

    def _read_known(self) -> bool:
        """Take over the digests of a manifest; whether it is one of this run."""
        manifest = read_manifest(self.path)
        same = manifest.run.digest == self.run.digest
        self.known = manifest.shards if same else ()
        return same

    def _record_path(self, shard: int) -> Path:
        return self.place / f".{shard_name(shard)}.json"

    def _record(self, shard: int) -> Shard | None:
        """What the shard must be; None: it has not been made yet."""
        path = self._record_path(shard)
        if not path.is_file():
            return self.known[shard] if shard < len(self.known) else None
        try:
            return Shard(**parse_json(read_file(path), path))
        except (InputError, TypeError):  # damaged: the shard is made again
            return None


def _ours(name: str) -> bool:
    return name == MANIFEST or name.startswith(("parts-", ".parts-"))


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
