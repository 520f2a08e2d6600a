"""Reading a folder of shards: every file is compared with the manifest before it is believed."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.files import read_file, sha256
from se_gnn.optional import require
from se_gnn.shards.manifest import MANIFEST, Manifest, Shard, is_read, read_manifest, strangers


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
    if len(content) != shard.bytes or sha256(content) != shard.sha256:
        raise InputError(f"{path} is truncated or was changed: it does not have the digest in {MANIFEST}")
    return content
