"""Our side of the cases: the one place that says which calls of se-gnn are measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from se_gnn.explain import Explanation, explain
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import SEGNN, Model, Prediction
from se_gnn.ranking import Ranker
from se_gnn.settings import Resolved
from se_gnn.settings.reading import asked_settings
from se_gnn.similarity import Similarity
from se_gnn.training import TrainingRun, fit


def settings_for(graph: Graph, *, preset: str, settings: Sequence[str] = ()) -> Resolved:
    """A preset for a graph with some settings changed; fewer cases vote than a small graph has."""
    asked = asked_settings(preset, None, settings)
    if asked.resolve(dataset=graph.dataset).vote.num_nearest >= len(graph.train):
        asked = asked.changed(num_nearest=len(graph.train) - 1)
    return asked.resolve(graph)


def epochs(graph: Graph, settings: Resolved, *, seed: int) -> Callable[[], dict[str, Any]]:
    """A function that trains one more epoch of one member, validation included, and returns its record."""
    return TrainingRun(graph, settings, seed=seed, device=torch.device("cpu"), folder=None).step


def trained_model(graph: Graph, settings: Resolved, *, seed: int, num_epochs: int) -> Model:
    """A model after some epochs."""
    return fit(graph, settings.asked.changed(epochs=num_epochs), seed=seed)


def untrained_model(graph: Graph, settings: Resolved, *, seed: int) -> Model:
    """A model with its first random weights; where only time and memory count."""
    model = SEGNN(graph.num_features, settings, generator=torch.Generator().manual_seed(seed))
    return Model(model.eval(), graph, model.settings)


def scoring(trained: Model, nodes: IntArray) -> Callable[[], Prediction]:
    """A function that predicts nodes from scratch: embeddings, their local graphs, similarities and vote.

    The labeled nodes and the encoder's inputs are ready, as they are after training.
    """
    model, cases, inputs = trained.encoder, trained.cases, trained.encoder.inputs(trained.graph)
    settings, terms = trained.settings, model.edge_terms(trained.graph)

    @torch.no_grad()
    def score() -> Prediction:
        similarity = Similarity(
            trained.graph, model(inputs), settings.similarity, terms=terms, max_memory=trained.max_memory
        )
        ranker = Ranker(similarity, cases, settings.vote)
        ranking = ranker.rank(similarity.items(nodes), depth=settings.vote.num_nearest)
        return Prediction.of([ranking])

    return score


@dataclass(slots=True)
class ExplainedNodes:
    """What was handed out, counted so that nothing is left undone."""

    nodes: int = 0
    votes: int = 0
    matched_edges: int = 0
    ranked_edges: int = 0


def explain_nodes(trained: Model, nodes: IntArray | None = None) -> ExplainedNodes:
    """Full explanations of some nodes, or of all, from scratch: embeddings, local graphs, votes, matches, importance.

    The matched edge of every edge of a node in the local graph of every case is read out and counted.
    """
    explanations = explain(dataclasses.replace(trained), nodes)  # a copy has computed nothing yet
    total = ExplainedNodes(nodes=len(explanations), ranked_edges=len(explanations.importance))
    for i in range(len(explanations)):
        _, matched = explanations.matched.of(i)  # [M, K], -1 in a case without edges
        total.votes += int(np.count_nonzero(explanations.matched.positions[i] >= 0))
        total.matched_edges += int(np.count_nonzero(matched >= 0))
    return total


def explain_one(trained: Model, node: int) -> Explanation:
    """The explanation of one node as an object, with matches in both directions where both count."""
    return explain(trained, node)[0]
