"""Results of many nodes as a folder of Parquet files, written by one process or by several."""

from se_gnn.shards.folder import write_shards
from se_gnn.shards.manifest import Manifest, Shard, ShardRun, read_manifest, read_shards, verify_shards

__all__ = ["Manifest", "Shard", "ShardRun", "read_manifest", "read_shards", "verify_shards", "write_shards"]
