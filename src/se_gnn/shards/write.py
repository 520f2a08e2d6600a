"""Writing shards with as many processes as there are: each takes the next one that nobody has, until none is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from se_gnn.files import locked, writing_to
from se_gnn.progress import bar
from se_gnn.ranks import Ranks
from se_gnn.shards.folder import ShardFolder
from se_gnn.shards.manifest import Manifest, read_manifest
from se_gnn.shards.run import ShardRun


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
