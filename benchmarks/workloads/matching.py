"""Edge matching against the matrix product that would be its least work if all pairs were multiplied."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from benchmarks import ours
from benchmarks.baselines.product import products
from benchmarks.cases import Case
from benchmarks.graphs import load_graph
from benchmarks.measure import Outcome, RunSettings, Side, alternate, round_ratios
from se_gnn.similarity import Similarity
from se_gnn.similarity.comparison import match_edges
from se_gnn.similarity.edges import edge_vectors

TRAINING_EPOCHS = 20


def against_product(case: Case, run: RunSettings) -> Outcome:
    """All edges of the graph in all labeled local graphs, one direction."""
    graph = load_graph(case.dataset, seed=run.seed)
    settings = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    trained = ours.trained_model(graph, settings, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    h = trained.embeddings
    one_way = Similarity(graph, h, dataclasses.replace(settings.similarity, directions="one"))
    comparison = one_way.comparison(one_way.items(np.arange(graph.num_nodes)), trained.cases.items)
    (way,) = comparison.there()
    queries, keys = (edge_vectors(h, torch.from_numpy(ends)).numpy() for ends in (way.queries.ends, way.keys.ends))

    @torch.no_grad()
    def match() -> object:
        return match_edges(comparison.points, way)

    @torch.no_grad()
    def match_and_average() -> object:
        return comparison.structure(None)

    by_library = products(queries, keys)
    calls = {"ours": match, "ours with the mean": match_and_average, **by_library}
    for call in calls.values():
        call()
    sides = {name: Side(call) for name, call in calls.items()}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    samples["product"] = [min(pair) for pair in zip(*(samples[name] for name in by_library), strict=True)]
    with_mean = round_ratios(samples["ours with the mean"], samples["product"])
    return Outcome(
        figures={"time": round_ratios(samples["ours"], samples["product"])},
        samples=samples,
        details={
            "query edges": len(queries),
            "distinct labeled edges": len(keys),
            "edges in labeled local graphs": len(way.keys.columns),
            "dimensions": queries.shape[1],
            "times the product, with the mean over each node's edges": with_mean.median,
        },
    )
