"""Prediction into a folder of shards: two processes of one thread each against one process of one thread."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import generated_graph, load_graph
from benchmarks.measure import Disagreement, Outcome, RunSettings, round_ratios
from se_gnn.model.folder import save_model
from se_gnn.shards import MANIFEST, RUN, verify_shards

NUM_NODES = 10_000
LABELED_A_CLASS = 60
SHARD_NODES = 500
ROOT = Path(__file__).resolve().parents[2]


def prediction(case: Case, run: RunSettings) -> Outcome:
    """Seconds from the first look at the folder to the manifest; each process loads, embeds and compares by itself."""
    graph = load_graph("tiny", seed=run.seed) if run.quick else generated_graph(
        NUM_NODES, seed=run.seed, labeled_a_class=LABELED_A_CLASS
    )  # fmt: skip
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    samples: dict[str, list[float]] = {name: [] for name in ("one process", "two processes")}
    whole: dict[str, list[float]] = {name: [] for name in samples}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_model(ours.untrained_model(graph, chosen, seed=run.seed), folder / "model")
        for number in range(run.rounds(case.rounds)):
            results = []
            for size, name in enumerate(samples, start=1):
                out = folder / f"{number}-{size}"
                seconds, command = _predict(folder / "model", out, size, 20 if run.quick else SHARD_NODES)
                samples[name].append(seconds)
                whole[name].append(command)
                results.append([shard.sha256 for shard in verify_shards(out).shards])
            if results[0] != results[1]:
                raise Disagreement("two processes write other bytes than one")
    return Outcome(
        figures={"speedup": round_ratios(samples["one process"], samples["two processes"])},
        samples={**samples, **{f"whole command, {name}": values for name, values in whole.items()}},
        details={
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "labeled nodes": len(graph.train),
            "shards": len(results[0]),
            "whole command, start-up included, x faster": round_ratios(*whole.values()).median,
        },
    )


def _predict(model: Path, out: Path, size: int, shard_nodes: int) -> tuple[float, float]:
    """Seconds of the work itself, and of the whole command with its start-up."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    command = [sys.executable, *launcher, "-m", "se_gnn", "predict", str(model), "--out", str(out), "--quiet"]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT / "src")}
    start = time.perf_counter()
    subprocess.run([*command, "--set", f"shard={shard_nodes}"], check=True, env=environment, capture_output=True)
    elapsed = time.perf_counter() - start
    (parts,) = out.glob("parts-*")
    return (parts / MANIFEST).stat().st_mtime - (parts / RUN).stat().st_mtime, elapsed
