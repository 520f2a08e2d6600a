"""Scoring test nodes, local graphs included."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from benchmarks import ours
from benchmarks.baselines.dense import DenseVoter
from benchmarks.cases import Case
from benchmarks.graphs import load_graph, with_dense_features
from benchmarks.measure import Disagreement, Outcome, RunSettings, Side, alternate, round_ratios

TRAINING_EPOCHS = 20
TOLERANCE = 1e-2  # of a class probability; the dense distances come from a matrix product in float32


def against_dense(case: Case, run: RunSettings) -> Outcome:
    """All test nodes at once against the dense formulation node by node."""
    graph = load_graph(case.dataset, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    nodes = graph.test[:20] if run.quick else graph.test
    trained = ours.trained_model(graph, chosen, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    score = ours.scoring(trained, nodes)
    dense_graph = with_dense_features(graph)
    voter, inputs, model = DenseVoter(dense_graph, chosen), trained.encoder.inputs(dense_graph), trained.encoder

    @torch.no_grad()
    def score_densely() -> Tensor:
        return voter.one_by_one(model(inputs), nodes)

    difference = float(np.abs(score().probabilities - score_densely().numpy()).max())
    if not difference <= TOLERANCE:
        raise Disagreement(f"class probabilities differ by up to {difference}")
    sides = {"ours": Side(score), "dense": Side(score_densely)}
    samples = alternate(sides, rounds=run.rounds(case.rounds), shortest=run.shortest_sample)
    return Outcome(
        figures={"speedup": round_ratios(samples["dense"], samples["ours"])},
        samples=samples,
        details={"nodes": len(nodes), "largest difference of a class probability": difference},
    )
