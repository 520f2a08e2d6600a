"""What edges that carry something cost: `python -m benchmarks.rich_edges [DATASET ...]`, as ratios within one run.

Edges of a data set get random directions, types, weights and attributes. Each setting compares all nodes with the
labeled ones, and the labeled ones with each other with gradients, in turns with the plain graph; of each the fastest
turn counts, in seconds of processor time, so that other work on the machine changes little.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.machine import describe_commit, describe_machine
from lab.datasets import load_dataset
from se_gnn.graph import EdgeValues, Graph
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Similarity, items_of
from se_gnn.similarity.edges import edge_features

TURNS, WIDTH = 5, 32
DATASETS = ("cora", "amazon-photo")
RESULTS = Path(__file__).resolve().parent / "published" / "rich-edges.json"
SETTINGS: dict[str, dict[str, object]] = {
    "plain": {},
    "weights": {"weighted_mean": True},
    "direction": {"match_direction": True},
    "three types": {"match_types": "own"},
    "direction and types": {"match_direction": True, "match_types": "own"},
    "attributes": {"match_attributes": True},
    "all": {"match_direction": True, "match_types": "own", "match_attributes": True, "weighted_mean": True},
}


def with_values(graph: Graph, *, seed: int = 0) -> Graph:
    """The same graph with random values on its edges: three types, three attributes."""
    generator, count = np.random.default_rng(seed), graph.num_edges
    values = EdgeValues(
        direction=generator.choice(np.array([-1, 1], np.int8), count),
        weight=generator.uniform(0.5, 2, count).astype(np.float32),
        type=generator.integers(0, 3, count).astype(np.int32),
        type_names=("a", "b", "c"),
        attributes=generator.normal(size=(count, 3)).astype(np.float32),
    )
    return graph.replace(edges=dataclasses.replace(graph.edges, values=values))


def tasks(graph: Graph, config: SimilaritySettings) -> tuple[Callable[[], object], Callable[[], object]]:
    """To compare all nodes with the labeled ones; to compare the labeled ones with each other, with gradients."""
    h = torch.randn(graph.num_nodes, WIDTH, generator=torch.Generator().manual_seed(0))
    carried, weight = edge_features(graph.edge_values, config), torch.randn(3, WIDTH).requires_grad_()
    terms = None if carried is None else lambda ids: torch.from_numpy(carried)[ids] @ weight
    labeled, every = (items_of(graph, nodes, config) for nodes in (graph.train, np.arange(graph.num_nodes)))

    def predict() -> object:
        with torch.no_grad():
            return Similarity(graph, h, config, terms=terms).compare(every, labeled).overall

    def learn() -> object:
        leaf = h.clone().requires_grad_()
        found = Similarity(graph, leaf, config, terms=terms).compare_among(labeled)
        found.overall.sum().backward()  # type: ignore[no-untyped-call]
        return leaf.grad

    return predict, learn


def measured(dataset: str) -> dict[str, Any]:
    """Processor time of each setting as a multiple of the plain graph's: all nodes, and a training step."""
    graph = with_values(load_dataset(dataset))
    every = {name: tasks(graph, SimilaritySettings(max_edges=64, **values)) for name, values in SETTINGS.items()}  # type: ignore[arg-type]
    fastest = {(name, i): float("inf") for name in every for i in range(2)}
    for _ in range(1 + TURNS):  # the first compiles
        for name, pair in every.items():
            for i, task in enumerate(pair):
                start = time.process_time()
                task()
                fastest[name, i] = min(fastest[name, i], time.process_time() - start)
    sizes = {"nodes": graph.num_nodes, "edges": graph.num_edges, "labeled": len(graph.train)}
    times = {name: [fastest[name, i] / fastest["plain", i] for i in range(2)] for name in every if name != "plain"}
    return {**sizes, "times": times}


def main(datasets: Sequence[str], path: Path) -> None:
    """Measure, print a row per setting, and write."""
    results = {
        "command": "NUMBA_NUM_THREADS=1 python -m benchmarks.rich_edges",
        "commit": describe_commit(),
        "machine": describe_machine(),
        "datasets": {dataset: measured(dataset) for dataset in datasets},
    }
    path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    for dataset, found in results["datasets"].items():
        sizes = f"{found['nodes']:,} nodes, {found['edges']:,} edges, {found['labeled']} labeled"
        print(f"{dataset}: {sizes}; times the plain graph")
        for name, (predict, learn) in found["times"].items():
            print(f"  {name:<20} all nodes {predict:5.2f}   labeled, with gradients {learn:5.2f}")


if __name__ == "__main__":
    main(sys.argv[1:] or DATASETS, RESULTS)
