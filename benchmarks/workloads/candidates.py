"""Candidates by node similarity against an exact search, where many nodes are labeled."""

from __future__ import annotations

import numpy as np

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import community_graph
from benchmarks.measure import Outcome, RunSettings, Side, Spread, alternate, round_ratios

NUM_NODES, NUM_LABELED = 20_000, 8_000


def against_exact(case: Case, run: RunSettings) -> Outcome:
    """Every node of a graph of communities, with its candidates and with all labeled nodes."""
    num_nodes, num_labeled = (400, 160) if run.quick else (NUM_NODES, NUM_LABELED)
    graph = community_graph(num_nodes, num_labeled=num_labeled, seed=run.seed)
    config = ours.config_for(graph, preset=case.preset, settings=case.settings)
    few = ours.untrained_model(graph, config, seed=run.seed)
    exact = ours.untrained_model(graph, config.override(["similarity.candidates=none"]), seed=run.seed)
    for model in (few, exact):  # compiles, and finds embeddings and labeled nodes, which both sides share
        model.predict(np.arange(20))
    sides = {"candidates": Side(few.predict), "exact": Side(exact.predict)}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    recall = few.candidate_recall(seed=run.seed)
    return Outcome(
        figures={
            "speedup": round_ratios(samples["exact"], samples["candidates"]),
            "recall": Spread.of([recall]),
        },
        samples=samples,
        details={
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "labeled nodes": len(graph.train),
            "candidates": config.similarity.candidates,
            "K": config.similarity.num_nearest,
        },
    )
