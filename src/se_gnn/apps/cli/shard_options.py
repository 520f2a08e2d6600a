"""What `predict` and `explain` are given to write a folder of shards."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.arguments import Device
from se_gnn.errors import InputError
from se_gnn.ranks.joining import started_by_torchrun
from se_gnn.ranks.ranks import PATIENCE

FILES = (".csv", ".jsonl", ".parquet")
SHARD_NODES = 4096
SHARD_MEMORY = "1GB"  # never by what is free: how work is cut into blocks must not differ between ranks


ShardNodes = Annotated[
    int, typer.Option("--shard", min=1, metavar="N", help="Nodes per file of a folder, however many processes write.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory limit for comparisons, for example 4GB.  [default: 1GB for a folder]"),
]
OnDevice = Annotated[Device, typer.Option(help="auto: use CUDA if available; under torchrun, one device per process.")]
Wait = Annotated[
    float,
    typer.Option(min=1, metavar="SECONDS", help="Under torchrun: how long to wait for a stalled process."),
]


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """The options of a folder of shards."""

    out: Path
    shard_nodes: int
    max_memory: str | None
    device: Device
    wait: float
    overwrite: bool
    quiet: bool
    progress: bool


def is_shard_folder(out: Path) -> bool:
    """Whether a folder is meant: its name has no ending, or it is one and its name is not that of a file."""
    return not out.suffix or (out.suffix.lower() not in FILES and out.is_dir())


def refuse_several_ranks(out: Path) -> None:
    """A file is written by one process."""
    if started_by_torchrun():
        raise InputError(f"several processes cannot write one file: let --out name a folder, not {out.name!r}")


__all__ = [
    "PATIENCE", "SHARD_MEMORY", "SHARD_NODES", "Device", "MaxMemory", "OnDevice", "ShardNodes", "ShardOptions", "Wait",
    "is_shard_folder", "refuse_several_ranks",
]  # fmt: skip
