"""The K nearest among many labeled nodes: by bounds, against a comparison with all of them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import torch
from torch import Tensor

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import generated_graph
from benchmarks.measure import Disagreement, Outcome, RunSettings, Side, alternate, round_ratios
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction
from se_gnn.ranking import Cases, Ranker
from se_gnn.settings import Resolved
from se_gnn.similarity import Similarity
from se_gnn.similarity.cpu import search

NUM_NODES, NUM_LABELED = 20_000, 8_000
TRAINING_EPOCHS = 10


def trained(case: Case, run: RunSettings) -> Outcome:
    """The workload, with embeddings of a model that was trained on a few of the labels."""
    graph = generated_graph(600 if run.quick else NUM_NODES, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    model = ours.trained_model(graph, chosen, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    ranker = _ranker(_with_labels(graph, run), model.embeddings, model.settings)
    return _measured(case, run, ranker, "speedup", by_search=True)


def random_vectors(case: Case, run: RunSettings) -> Outcome:
    """With random vectors, among which nothing can be told apart before all is compared."""
    graph = generated_graph(600 if run.quick else NUM_NODES, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    h = torch.randn(graph.num_nodes, 160, generator=torch.Generator().manual_seed(run.seed))
    ranker = _ranker(_with_labels(graph, run), h, chosen)
    return _measured(case, run, ranker, "time", by_search=False)


def _ranker(graph: Graph, h: Tensor, settings: Resolved) -> Ranker:
    return Ranker(Similarity(graph, h, settings.similarity), Cases.of(graph, settings), settings.vote)


def _with_labels(graph: Graph, run: RunSettings) -> Graph:
    """The graph with two of five nodes labeled."""
    count = graph.num_nodes * NUM_LABELED // NUM_NODES
    chosen: IntArray = np.sort(np.random.default_rng(run.seed).permutation(graph.num_nodes)[:count])
    rest = np.setdiff1d(np.arange(graph.num_nodes), chosen)
    return graph.with_split(train=chosen, test=rest)


def _measured(case: Case, run: RunSettings, ranker: Ranker, figure: str, *, by_search: bool) -> Outcome:
    similarity, settings = ranker.similarity, ranker.settings
    queries = similarity.items(np.arange(similarity.graph.num_nodes))

    def predict(fewest: int) -> Prediction:
        with mock.patch.object(search, "FEWEST_CASES", fewest), mock.patch.object(search, "FEWEST_PAIRS", fewest):
            return Prediction.of([ranker.rank(queries, depth=settings.num_nearest)])

    counts = 1 if run.quick else search.FEWEST_CASES
    comparison = similarity.comparison(queries, ranker.cases.items)
    used = search.Search(comparison, settings.num_nearest).pays()
    if not run.quick and used != by_search:
        raise Disagreement(f"the search is {'' if used else 'not '}used")
    found, wanted = predict(counts), predict(1 << 60)
    for name in ("cases", "overall", "node", "structure", "weights", "probabilities"):
        if getattr(found, name).tobytes() != getattr(wanted, name).tobytes():
            raise Disagreement(f"{name} differ")
    sides = {"ours": Side(lambda: predict(counts)), "full": Side(lambda: predict(1 << 60))}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    above, below = ("full", "ours") if figure == "speedup" else ("ours", "full")
    return Outcome(
        figures={figure: round_ratios(samples[above], samples[below])},
        samples=samples,
        details={
            "nodes": similarity.graph.num_nodes,
            "labeled nodes": len(ranker.cases),
            "dimensions": similarity.h.shape[1],
            "K": settings.num_nearest,
            "lambda": similarity.settings.node_weight,
            "same bits": "yes",
        },
    )
