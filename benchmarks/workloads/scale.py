"""Whole runs on larger graphs, each in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import generated_graph, load_graph, smaller
from benchmarks.measure import Outcome, RunSettings, round_ratios
from benchmarks.memory import peak_bytes, reset_peak, resident_bytes, run_apart, time_and_memory
from se_gnn.graph import Graph
from se_gnn.training import fit

NUM_NODES = 20_000  # N of the doubled graph
WARM_UP_NODES = 500


def everything(case: Case, run: RunSettings) -> Outcome:
    """Load, train, predict and explain every node."""
    arguments = {
        "dataset": case.dataset,
        "preset": case.preset,
        "settings": case.settings,
        "seed": run.seed,
        "quick": run.quick,
    }
    reports = [run_apart(f"{__name__}:whole_run", arguments) for _ in range(run.rounds(case.rounds))]
    return time_and_memory(reports)


def whole_run(dataset: str, preset: str, settings: Sequence[str], seed: int, quick: bool) -> dict[str, Any]:
    """Job: everything, and the seconds of each phase."""
    clock = _Clock()
    graph = load_graph(dataset, seed=seed)
    if quick:
        graph = smaller(graph, 600, seed=seed)
    chosen = ours.settings_for(graph, preset=preset, settings=settings)
    if quick:
        chosen = chosen.changed(epochs=1)
    clock.lap("load")
    trained = fit(graph, chosen.asked, seed=seed)
    clock.lap("train")
    prediction = trained.predict()
    clock.lap("predict")
    explained = ours.explain_nodes(trained, np.arange(5) if quick else None)
    clock.lap("explain")
    return {
        "seconds of each phase": clock.laps,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "labeled nodes": len(graph.train),
        "epochs": trained.facts.epochs,
        "test accuracy": float((prediction.classes == graph.labels)[graph.test].mean()),
        **{f"explained {name.replace('_', ' ')}": n for name, n in dataclasses.asdict(explained).items()},
    }


def doubling(case: Case, run: RunSettings) -> Outcome:
    """Scoring every node of a graph with N and with 2N nodes."""
    small = 1_000 if run.quick else NUM_NODES
    samples: dict[str, list[float]] = {}

    def score(num_nodes: int) -> dict[str, float]:
        arguments = {"num_nodes": num_nodes, "preset": case.preset, "seed": run.seed}
        return run_apart(f"{__name__}:score_generated", arguments).result

    score(WARM_UP_NODES)  # leaves compiled kernels on disk: a compiler takes memory of its own
    for _ in range(run.rounds(case.rounds)):
        for name, num_nodes in (("N", small), ("2N", 2 * small)):
            for quantity, value in score(num_nodes).items():
                samples.setdefault(f"{name} {quantity}", []).append(value)
    return Outcome(
        figures={
            "time": round_ratios(samples["2N seconds"], samples["N seconds"]),
            "memory": round_ratios(samples["2N bytes"], samples["N bytes"]),
        },
        samples=samples,
        details={
            "N": small,
            "peak of the whole process, times": statistics.median(samples["2N peak bytes"])
            / statistics.median(samples["N peak bytes"]),
        },
    )


def score_generated(num_nodes: int, preset: str, seed: int) -> dict[str, float]:
    """Job: predict every node of a generated graph; memory is counted from after the kernels are compiled."""
    _score(generated_graph(WARM_UP_NODES, seed=seed), preset, seed)
    before = resident_bytes()
    reset_peak()
    graph = generated_graph(num_nodes, seed=seed)
    start = time.perf_counter()
    _score(graph, preset, seed)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    return {"seconds": seconds, "bytes": float(peak - before), "peak bytes": float(peak), "bytes before": float(before)}


def _score(graph: Graph, preset: str, seed: int) -> None:
    chosen = ours.settings_for(graph, preset=preset)
    ours.untrained_model(graph, chosen, seed=seed).predict()


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
