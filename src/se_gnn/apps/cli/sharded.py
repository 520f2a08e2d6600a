"""Predictions and explanations as a folder of shards, by one process or by those that `torchrun` starts.

Every rank loads the model and embeds the whole graph; then each takes the next shard that nobody has. What is compared
with what, and in which blocks, follows from the shard and the settings alone: the bytes do not depend on who writes it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from se_gnn.apps.cli.arguments import node_ids, shows_progress
from se_gnn.apps.cli.shard_options import SHARD_MEMORY, ShardOptions
from se_gnn.apps.cli.tables import count
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    import torch

    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray
    from se_gnn.model import TrainedModel

    Make = Callable[[TrainedModel, IntArray], bytes]

PACKAGES = ("numba", "numpy", "pyarrow", "torch")  # whose versions may change a bit


def predict_in_shards(
    folder: Path,
    graph: Path | None,
    options: ShardOptions,
    *,
    nodes: list[str] | None,
    sample: int | None,
    seed: int,
) -> None:
    """Write the predictions of all nodes, of some, or of a sample."""
    from se_gnn.apps.cli.prediction_files import as_parquet

    if nodes and sample is not None:
        raise InputError("--nodes names the nodes and --sample draws them: give one of them")
    _write(
        "predictions",
        folder,
        graph,
        options,
        lambda of: _sample(of, sample, seed) if sample is not None else node_ids(of, nodes),
        lambda trained, ids: as_parquet(trained.predict(ids), trained.graph),
    )


def explain_in_shards(folder: Path, graph: Path | None, k: int, options: ShardOptions) -> None:
    """Write the explanations of all nodes, with the matched edges of the ``k`` nearest."""
    from se_gnn.apps.cli.explanation_files import explanations_as_parquet

    _write(
        "explanations",
        folder,
        graph,
        options,
        lambda _: None,
        lambda trained, ids: explanations_as_parquet(trained, ids, k),
        explained=str(k),
    )


def _sample(graph: Graph, size: int, seed: int) -> IntArray:
    import numpy as np

    if size > graph.num_nodes:
        raise InputError(f"--sample must be at most the {graph.num_nodes:,} nodes, got {size:,}")
    return np.sort(np.random.default_rng(seed).choice(graph.num_nodes, size, replace=False))


def _write(
    kind: str,
    folder: Path,
    graph: Path | None,
    options: ShardOptions,
    choose: Callable[[Graph], IntArray | None],
    make: Make,
    **settings: str,
) -> None:
    import numpy as np
    import typer

    from se_gnn.files import sha256
    from se_gnn.graph.storage import graph_digest
    from se_gnn.model.folder import load_model_on, model_digest
    from se_gnn.optional import require
    from se_gnn.ranks import divided_threads, joined
    from se_gnn.shards import ShardRun, write_shards
    from se_gnn.similarity.memory import memory_budget

    require("pyarrow.parquet", extra="tables", feature="Parquet files")
    shown = shows_progress(options.progress, options.quiet)
    with joined(patience=options.wait) as ranks, announce_compilation(shown=shown and ranks.first):
        divided_threads(ranks.local_size)
        budget = memory_budget(options.max_memory or SHARD_MEMORY)
        device = rank_device(options.device.value)
        trained = load_model_on(folder, graph, device=device, max_memory=budget)
        wanted = choose(trained.graph)
        ids = np.arange(trained.graph.num_nodes) if wanted is None else wanted
        run = ShardRun(
            kind=kind,
            num_nodes=len(ids),
            shard_nodes=options.shard_nodes,
            values={
                "model": model_digest(folder),
                "graph": graph_digest(folder if graph is None else graph),
                "nodes": sha256(ids.astype("<i8").tobytes()),
                "max_memory": str(budget),
                "device": device.type,
                **settings,
                **versions(),
            },
        )
        manifest = write_shards(
            ranks, options.out, run, lambda rows: make(trained, ids[rows]), overwrite=options.overwrite, progress=shown
        )
    if ranks.first and not options.quiet:
        told = (
            f"{kind} of {count(manifest.num_nodes, 'node')} to {options.out}, in {count(len(manifest.shards), 'shard')}"
        )
        typer.echo(f"Wrote the {told}.")


def versions() -> dict[str, str]:
    """What the bits of a result depend on beside model, graph and settings."""
    from se_gnn import __version__

    found = {f"version of {name}": metadata.version(name) for name in PACKAGES}
    return {"version of se-gnn": __version__, **found, "kind of processor": platform.machine()}


def rank_device(device: str) -> torch.device:
    """The device asked for; of several ranks on a machine each has a CUDA device of its own."""
    from se_gnn.device import resolve_device

    resolved = resolve_device(device)
    if resolved.type == "cuda" and resolved.index is None and "LOCAL_RANK" in os.environ:
        return resolve_device(f"cuda:{int(os.environ['LOCAL_RANK'])}")
    return resolved
