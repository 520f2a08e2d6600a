"""Full explanations, amortized over all nodes."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from benchmarks import ours
from benchmarks.baselines.gcn import GCNTraining
from benchmarks.baselines.gnn_explainer import EPOCHS, MaskOptimizer
from benchmarks.cases import Case
from benchmarks.graphs import load_graph, with_dense_features
from benchmarks.measure import Outcome, RunSettings, Side, alternate, round_ratios

TRAINING_EPOCHS = 20
GCN_EPOCHS = 200


def against_gnn_explainer(case: Case, run: RunSettings) -> Outcome:
    """Explanations of all nodes, in seconds per node, against GNNExplainer on another test node each round."""
    graph = load_graph(case.dataset, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    nodes = graph.test[:5] if run.quick else np.arange(graph.num_nodes)
    trained = ours.trained_model(graph, chosen, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    gcn = GCNTraining(with_dense_features(graph), seed=run.seed)
    for _ in range(1 if run.quick else GCN_EPOCHS):
        accuracy = gcn.step()
    optimizer = MaskOptimizer(gcn, epochs=2 if run.quick else EPOCHS)
    others = itertools.cycle(np.random.default_rng(run.seed).permutation(graph.test).tolist())

    explained = ours.explain_nodes(trained, nodes)
    ours.explain_one(trained, next(others))
    optimizer.explain(next(others))
    sides = {
        "ours": Side(lambda: ours.explain_nodes(trained, nodes), units=len(nodes)),
        "ours, a single node as an object": Side(lambda: ours.explain_one(trained, next(others))),
        "gnn explainer": Side(lambda: optimizer.explain(next(others))),
    }
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    single = round_ratios(samples["gnn explainer"], samples["ours, a single node as an object"])
    return Outcome(
        figures={"speedup": round_ratios(samples["gnn explainer"], samples["ours"])},
        samples=samples,
        details={
            **{f"explained {name.replace('_', ' ')}": n for name, n in dataclasses.asdict(explained).items()},
            "times faster, a single node as an object": single.median,
            "validation accuracy of the GCN": accuracy,
        },
    )
