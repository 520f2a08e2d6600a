"""Results of many nodes as a folder of Parquet files, written by one process or by those that `torchrun` starts.

Every process loads the model and embeds the whole graph; then each takes the next shard that is not taken. Which nodes
are compared in which blocks depends only on the shard and the settings, so the bytes do not depend on who writes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from se_gnn.apps.cli.options import Device, shows_progress
from se_gnn.apps.cli.printing import count, say
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation
from se_gnn.ranks.joining import started_by_torchrun

if TYPE_CHECKING:
    import torch

    from se_gnn.graph.arrays import IntArray
    from se_gnn.model import Model

    Make = Callable[[IntArray], bytes]  # the file of some nodes

FILES = (".csv", ".jsonl", ".parquet")
MEMORY = "1GB"  # never what is free: how work is cut into blocks must not differ between processes


def is_shard_folder(out: Path | None) -> bool:
    """Whether a path means a folder: it has no ending, or is a folder whose name is not that of a file."""
    return out is not None and (not out.suffix or (out.suffix.lower() not in FILES and out.is_dir()))


def refuse_several_ranks(out: Path) -> None:
    """Only one process can write a file."""
    if started_by_torchrun():
        raise InputError(f"several processes cannot write one file: let --out name a folder, not {out.name!r}")


def write_folder(
    kind: str,
    folder: Path,
    graph: Path | None,
    prepare: Callable[[Model], tuple[IntArray, Make]],
    *,
    out: Path,
    shard_nodes: int,
    device: Device,
    overwrite: bool,
    quiet: bool,
    **settings: str,
) -> bool:
    """Write the results of some nodes; whether this process is the one that should report on them.

    Args:
        kind: what a row is: predictions or explanations.
        folder: the model.
        graph: another graph than the model's.
        prepare: which nodes of a model, and what to write about some of them.
        out: where to write.
        shard_nodes: nodes of a file.
        device: where to compute.
        overwrite: replace the results of another call.
        quiet: print nothing.
        settings: everything else that the bytes depend on.
    """
    from se_gnn.device import memory_budget
    from se_gnn.files import sha256
    from se_gnn.graph.storage import graph_digest
    from se_gnn.model.facts import versions
    from se_gnn.model.folder import load_model, model_digest
    from se_gnn.optional import require
    from se_gnn.ranks import divided_threads, joined
    from se_gnn.shards import ShardRun, write_shards

    require("pyarrow.parquet", extra="tables", feature="Parquet files")
    shown = shows_progress(quiet)
    with joined() as ranks, announce_compilation(shown=shown and ranks.first):
        divided_threads(ranks.local_size)
        budget = memory_budget(os.environ.get("SE_GNN_MAX_MEMORY") or MEMORY)
        where = rank_device(device.value)
        ids, make = prepare(load_model(folder, graph, device=where, max_memory=budget))
        run = ShardRun(
            kind=kind,
            num_nodes=len(ids),
            shard_nodes=shard_nodes,
            values={
                "model": model_digest(folder),
                "graph": graph_digest(folder if graph is None else graph),
                "nodes": sha256(ids.astype("<i8").tobytes()),
                "max_memory": str(budget),
                "device": where.type,
                **settings,
                **versions(),
                "pyarrow": metadata.version("pyarrow"),
            },
        )
        manifest = write_shards(ranks, out, run, lambda rows: make(ids[rows]), overwrite=overwrite, progress=shown)
    if ranks.first and not quiet:
        say(
            f"Wrote the {kind} of {count(manifest.run.num_nodes, 'node')} to {out}, in "
            f"{count(len(manifest.shards), 'shard')}."
        )
    return ranks.first


def rank_device(device: str) -> torch.device:
    """The device asked for; several processes on a machine take turns in using its CUDA devices."""
    import torch

    from se_gnn.device import resolve_device

    resolved = resolve_device(device)
    if resolved.type == "cuda" and resolved.index is None and "LOCAL_RANK" in os.environ:
        return resolve_device(f"cuda:{int(os.environ['LOCAL_RANK']) % torch.cuda.device_count()}")
    return resolved
