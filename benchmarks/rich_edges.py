"""What edges that carry something cost: `python -m benchmarks.rich_edges [DATASET]`, as ratios within one run.

Edges of a data set get random directions, types, weights and attributes. Each setting compares all nodes with the
labeled ones, and the labeled ones with each other with gradients, in turns with the plain graph; of each the fastest
turn counts, in seconds of processor time, so that other work on the machine changes little.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from se_gnn.config import SimilarityConfig
from se_gnn.datasets import load_dataset
from se_gnn.graph import AttributedGraph, EdgeValues
from se_gnn.similarity import ComparisonPlan, compare
from se_gnn.similarity.carried import CarriedByEdges, compared_graphs, edge_features

TURNS, WIDTH = 5, 32
SETTINGS: dict[str, dict[str, object]] = {
    "plain": {},
    "weights": {"weighted_mean": True},
    "direction": {"match_direction": True},
    "types": {"match_kinds": "own"},
    "direction and types": {"match_direction": True, "match_kinds": "own"},
    "attributes": {"match_attributes": True},
    "all": {"match_direction": True, "match_kinds": "own", "match_attributes": True, "weighted_mean": True},
}


def with_values(graph: AttributedGraph, *, seed: int = 0) -> AttributedGraph:
    """The same graph with random values on its edges: three types, three attributes."""
    generator, count = np.random.default_rng(seed), graph.num_edges
    values = EdgeValues(
        direction=generator.choice(np.array([-1, 1], np.int8), count),
        weight=generator.uniform(0.5, 2, count).astype(np.float32),
        kind=generator.integers(0, 3, count).astype(np.int32),
        kind_names=("a", "b", "c"),
        attributes=generator.normal(size=(count, 3)).astype(np.float32),
    )
    return dataclasses.replace(graph, edge_values=values)


def tasks(graph: AttributedGraph, config: SimilarityConfig) -> tuple[Callable[[], object], Callable[[], object]]:
    """To compare all nodes with the labeled ones; to compare the labeled ones with each other, with gradients."""
    h = torch.randn(graph.num_nodes, WIDTH, generator=torch.Generator().manual_seed(0))
    carried, weight = edge_features(graph.edge_values, config), torch.randn(3, WIDTH).requires_grad_()
    terms = None if carried is None else lambda ids: torch.from_numpy(carried)[ids] @ weight
    known = CarriedByEdges.of(graph, config, terms)
    labeled = compared_graphs(graph, graph.train, config)
    every = compared_graphs(graph, np.arange(graph.num_nodes), config)
    whole = ComparisonPlan.build(graph.edges, every, labeled, config, known)
    among = ComparisonPlan.among(graph.edges, labeled, config, known)

    def predict() -> object:
        with torch.no_grad():
            return compare(h, whole).overall

    def learn() -> object:
        leaf = h.clone().requires_grad_()
        compare(leaf, among).overall.sum().backward()  # type: ignore[no-untyped-call]
        return leaf.grad

    return predict, learn


def main(dataset: str) -> None:
    """Print a row per setting."""
    graph = with_values(load_dataset(dataset))
    every = {name: tasks(graph, SimilarityConfig(max_edges=64, **values)) for name, values in SETTINGS.items()}  # type: ignore[arg-type]
    fastest = {(name, i): float("inf") for name in every for i in range(2)}
    for _ in range(1 + TURNS):  # the first compiles
        for name, pair in every.items():
            for i, task in enumerate(pair):
                start = time.process_time()
                task()
                fastest[name, i] = min(fastest[name, i], time.process_time() - start)
    size = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {len(graph.train)} labeled"
    print(f"{dataset}: {size}; times the plain graph")
    for name in every:
        predict, learn = (fastest[name, i] / fastest["plain", i] for i in range(2))
        print(f"  {name:<20} all nodes {predict:5.2f}   labeled, with gradients {learn:5.2f}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cora")
