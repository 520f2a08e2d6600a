"""The predictions as a table: columns for the page's script, and the first rows for pages without it.

The script sorts, searches and filters columns of numbers, and makes only the rows that are seen. Shapes: N nodes, T
nodes that the page is about, which are all nodes unless the graph is large.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.labels.novelty import Novelty
from se_gnn.model import Prediction
from se_gnn.model.numbers import NumberPrediction
from se_gnn.plot.style import readable

SHOWN_PARTS = {"train": "labeled", "validation": "validation", "test": "test"}  # whose accuracy people see
UNITS = 10_000  # of a share; whole numbers are short
FIRST_ROWS = 12


def predicted_of(nodes: IntArray, prediction: Prediction | NumberPrediction) -> IntArray:
    """Those of some nodes that were predicted."""
    return nodes[np.isin(nodes, prediction.nodes)]


class PredictionTable(NamedTuple):
    """The predictions: the columns, also as JSON, and the rows that a page without script shows, least certain first.

    Shares are in :data:`UNITS`, and classes and parts are positions in ``classes`` and ``parts``. Nodes are positions
    in ``name``: first those that were predicted, then others that are the closest labeled node of one.
    """

    nodes: IntArray  # that ``name`` names
    columns: dict[str, Any]
    json: str
    first: tuple[int, ...]


def prediction_table(
    prediction: Prediction, graph: Graph, *, explained: IntArray, novelty: Novelty | None = None
) -> PredictionTable:
    """The predictions of all nodes of a graph, or of some, ascending; the ``explained`` ones (ids) become links.

    A node that is too unlike anything known has no answer, -1 in the columns; without ``novelty`` every node has one.
    """
    predicted, closest = prediction.nodes, prediction.cases[:, 0]
    answered = np.ones(len(predicted), dtype=bool) if novelty is None else ~novelty.of(predicted).abstains
    parts = ["", *SHOWN_PARTS.values()]
    nodes = np.concatenate([predicted, np.setdiff1d(closest, predicted)])
    order = np.argsort(nodes, kind="stable")

    def places(ids: IntArray) -> list[int]:
        return order[np.searchsorted(nodes, ids, sorter=order)].tolist()  # type: ignore[no-any-return]

    columns: dict[str, Any] = {
        "classes": [readable(name) for name in graph.class_names],
        "parts": parts,
        "name": [readable(graph.node_names[i]) for i in nodes.tolist()],
        "caption": None if graph.captions is None else [readable(graph.caption(i)) for i in nodes.tolist()],
        "predicted": np.where(answered, prediction.classes, UNKNOWN).tolist(),
        "probability": shares_in_units(certainty(prediction)),
        "label": graph.labels[nodes].tolist(),
        "part": parts_of(graph, predicted).tolist(),
        "closest": places(closest),
        "weight": shares_in_units(prediction.weights[:, 0]),
        "explained": places(explained),
    }
    if len(predicted) < graph.num_nodes:
        columns["id"] = nodes.tolist()  # that links lead to; else the position
    first = np.argsort(columns["probability"], kind="stable")[:FIRST_ROWS].tolist()  # as the script sorts
    text = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    # a name may hold </script> or <!--, which would end or change the element that the text stands in
    return PredictionTable(nodes, columns, text.replace("<", "\\u003c"), tuple(first))


def certainty(prediction: Prediction) -> FloatArray:
    """Probability of the predicted class, [T]."""
    highest: FloatArray = prediction.probabilities.max(axis=1)
    return highest


def unlabeled(graph: Graph) -> IntArray:
    """Nodes that do not vote; all where every node does."""
    others = np.setdiff1d(np.arange(graph.num_nodes), graph.train)
    return others if len(others) else np.arange(graph.num_nodes)


def shares_in_units(shares: FloatArray) -> list[int]:
    """Shares as whole numbers of 1 / 10,000; what is neither 0 nor 1 does not become it.

    >>> shares_in_units(np.array([0, 1e-9, 0.81234, 0.99999, 1]))
    [0, 1, 8123, 9999, 10000]
    """
    exact = shares.astype(np.float64)
    units = np.round(exact * UNITS)
    between = (exact > 0) & (exact < 1 - 1e-6)  # weights add up to 1 but for their last bits
    return np.where(between, np.clip(units, 1, UNITS - 1), units).astype(np.int64).tolist()  # type: ignore[no-any-return]


def parts_of(graph: Graph, nodes: IntArray) -> IntArray:
    """The part of the split that each of some nodes is in, 0 for none, [T]."""
    parts = np.zeros(len(nodes), dtype=np.int64)
    for number, part in enumerate(SHOWN_PARTS, start=1):
        parts[np.isin(nodes, getattr(graph, part))] = number
    return parts
