"""Results of many nodes as a folder of Parquet files of so many nodes each, written by one process or by several."""

from se_gnn.shards.manifest import Manifest, Shard, read_manifest
from se_gnn.shards.read import read_shards, verify_shards
from se_gnn.shards.run import ShardRun
from se_gnn.shards.write import write_shards

__all__ = ["Manifest", "Shard", "ShardRun", "read_manifest", "read_shards", "verify_shards", "write_shards"]
