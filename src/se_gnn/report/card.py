"""The model card: data, settings in words, how good the model is, and what it rests on. Shapes: T nodes, C classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.sets import PredictionSets, prediction_sets
from se_gnn.model import Model, Prediction
from se_gnn.model.metrics import by_class, calibrate, classification_metrics, evaluate_nodes
from se_gnn.model.numbers import NumberPrediction
from se_gnn.report.predictions import SHOWN_PARTS, predicted_of
from se_gnn.settings import Resolved

MOST_CONFUSED = 8


class Confused(NamedTuple):
    """Nodes of one class that were predicted as another."""

    label: int
    predicted: int
    nodes: int
    of: int  # nodes of the class


def card_values(trained: Model, prediction: Prediction | NumberPrediction) -> dict[str, Any]:
    """What a reader has to know of a model before its answers, for the template `model.html`.

    Figures are those of the test nodes; of the validation nodes where there are none, and of the labeled nodes where
    there are none of these either.
    """
    graph = trained.graph
    parts = {part: predicted_of(getattr(graph, part), prediction) for part in SHOWN_PARTS}
    measured = next((part for part in ("test", "validation", "train") if len(getattr(graph, part))), "train")
    nodes = parts[measured]
    card: dict[str, Any] = {
        "run": trained.facts,
        "rests_on": _rests_on(prediction.of_nodes(nodes), graph, trained.settings) if len(nodes) else None,
        "measured": SHOWN_PARTS[measured],
        "measured_nodes": len(nodes),
        "classes": None,
        "scatter": None,
    }
    if isinstance(prediction, Prediction):
        found = prediction.of_nodes(nodes)
        figures = classification_metrics(found.probabilities, graph.labels[nodes])
        confusion = np.array(figures["confusion"])
        card["parts"] = [
            (SHOWN_PARTS[part], len(own), int((prediction.of_nodes(own).classes == graph.labels[own]).sum()))
            for part, own in parts.items()
        ]
        card["classes"] = {
            "metrics": figures,
            "figures": by_class(graph, confusion),
            "confusion": confusion,
            "confused": most_confused(confusion),
            "calibration": calibrate(found.probabilities, graph.labels[nodes]),
            "sets": set_table(trained, prediction.nodes),
        }
    else:
        card["parts"] = [
            (part, len(parts[part]), evaluate_nodes(trained, parts[part])) for part in ("validation", "test")
        ]
        if len(nodes):
            card["scatter"] = {
                "known": graph.values[nodes].tolist(),
                "predicted": prediction.of_nodes(nodes).values.tolist(),
            }
    return {"card": card}


def most_confused(confusion: IntArray) -> tuple[Confused, ...]:
    """The classes that are most often taken for one another, from the confusion matrix [C, C]; most nodes first.

    >>> most_confused(np.array([[5, 1], [3, 4]]))[0]
    Confused(label=1, predicted=0, nodes=3, of=7)
    """
    wrong = confusion - np.diag(confusion.diagonal())
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = (divmod(int(place), len(confusion)) for place in order)
    return tuple(
        Confused(label, predicted, int(wrong[label, predicted]), int(confusion[label].sum()))
        for label, predicted in pairs
        if wrong[label, predicted]
    )


def _rests_on(found: Prediction | NumberPrediction, graph: Graph, settings: Resolved) -> dict[str, Any]:
    """How some votes are spread."""
    weights, cases = found.weights.astype(np.float64), found.cases  # [T, K], nearest first
    spread: dict[str, Any] = {
        "cases": len(np.unique(cases[weights > 0])),
        "nearest": weights[:, 0].mean(),
        "half": np.median(1 + (np.cumsum(weights, axis=1) < 0.5).sum(axis=1)),
    }
    if not isinstance(found, Prediction):
        return {**spread, "spread": float(np.median(found.spread))}
    agree = (graph.labels[cases] == found.classes[:, None]) | (weights == 0)
    compared = np.isfinite(found.structure)
    shares = settings.similarity.node_weight, 1 - settings.similarity.node_weight
    terms = zip(shares, (found.node[compared].astype(np.float64), found.structure[compared].astype(np.float64)))
    node, structure = (np.abs(share * values).sum() for share, values in terms)
    return {
        **spread,
        "unanimous": agree.all(axis=1).mean(),
        "node_share": node / (node + structure) if node + structure > 0 else None,
        "alone": 1 - compared.mean(),
    }


COVERAGES = (0.8, 0.9, 0.95)


def set_table(trained: Model, nodes: IntArray) -> list[PredictionSets]:
    """Sets of the test nodes among ``nodes`` by APS; none without any, or with too few calibration nodes."""
    graph = trained.graph
    test = graph.test[np.isin(graph.test, nodes)]
    needed = {coverage: math.ceil(coverage / (1 - coverage) - 1e-9) for coverage in COVERAGES}
    usable = [one for one, least in needed.items() if len(graph.calibration) >= least and len(test)]
    return [prediction_sets(trained, test, coverage=one, seed=trained.facts.seed) for one in usable]
