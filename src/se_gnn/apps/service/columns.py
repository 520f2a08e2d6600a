"""What a model answers, as columns of all nodes: classes, numbers or links.

The table, the map and the service ask a model for nothing else that depends on the kind of its answers. Shapes: N
nodes, C classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import COVERAGE, NumberPrediction, calibrate_intervals, predict_numbers
from se_gnn.plot.style import class_style, number_style
from se_gnn.report.predictions import certainty
from se_gnn.results import as_file, number_columns, prediction_columns

SHADES = 8  # of numbers on the map
_DIGITS = re.compile(r"(\d+)")

Value = str | float


class Sort(StrEnum):
    """Columns to sort by; which of them there are depends on what is predicted."""

    node = "node"
    name = "name"
    predicted = "predicted"
    probability = "probability"
    label = "label"
    outcome = "outcome"
    part = "part"
    weight = "weight"
    error = "error"
    width = "width"
    links = "links"


Keys = dict[Sort, Callable[[], IntArray | FloatArray | Float64Array]]


@dataclass(frozen=True, slots=True)
class Colors:
    """Groups of nodes for the map, with their names and colors; ``group`` is the one of each node, [N]."""

    names: list[str]
    colors: list[str]
    group: IntArray


class ClassColumns:
    """A class for each node, with its probability."""

    kind: ClassVar = "class"

    def __init__(self, graph: Graph, found: Prediction) -> None:
        self.graph, self.found = graph, found
        self.predicted: IntArray = found.classes
        self.probability: FloatArray = np.minimum(certainty(found), 1)  # sums of float32 weights may pass 1
        self.closest: IntArray = found.cases[:, 0]
        self.weight: FloatArray = found.weights[:, 0]
        known = graph.labels[found.nodes]
        self.outcome: IntArray = np.where(known == UNKNOWN, 0, 1 + (known == self.predicted))

    def measure(self, of: int | None) -> FloatArray:
        """Probability of a class, or of the predicted class of each node, [N]."""
        if of is None:
            return self.probability
        if not 0 <= of < self.graph.num_classes:
            raise InputError(f"of must be the number of a class, from 0 to {self.graph.num_classes - 1}, got {of}")
        return np.asarray(np.minimum(self.found.probabilities[:, of], 1))

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by."""
        ranks = np.append(text_ranks(self.graph.class_names), len(self.graph.class_names))  # last: an unknown class
        return {
            Sort.predicted: lambda: ranks[self.predicted],
            Sort.probability: lambda: self.measure(of),
            Sort.label: lambda: ranks[self.graph.labels],
        }

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """Nodes with a predicted and a known class, [N]; None: any."""
        everyone = np.ones(len(self.predicted), bool)
        is_predicted = everyone if predicted is None else self.predicted == predicted
        return is_predicted & (everyone if label is None else self.graph.labels == label)

    def row(self, node: int) -> dict[str, Any]:
        """What is predicted of one node."""
        name = self.graph.class_names[self.predicted[node]]
        return {"predicted": name, "probability": float(self.probability[node])}

    def colors(self) -> Colors:
        """The predicted classes."""
        colors = [class_style(label).color for label in range(self.graph.num_classes)]
        return Colors(list(self.graph.class_names), colors, self.predicted)

    def as_csv(self, nodes: IntArray) -> bytes:
        """As `se-gnn predict` writes some nodes."""
        return as_file(".csv", prediction_columns(self.found.rows(nodes), self.graph))


class NumberColumns:
    """A number for each node, with its interval."""

    kind: ClassVar = "number"

    def __init__(self, model: Model, found: NumberPrediction) -> None:
        self.model, self.graph, self.predicted = model, model.graph, found.values
        known = model.graph.values[found.nodes]
        self.closest: IntArray = found.cases[:, 0]
        self.weight: FloatArray = found.weights[:, 0]
        calibration = calibrate_intervals(model)
        reach = np.full(len(known), np.inf) if calibration is None else calibration.reach(found.spread)
        self.low: Float64Array = self.predicted - reach
        self.high: Float64Array = self.predicted + reach
        self.error: Float64Array = np.abs(known - self.predicted)
        self.outcome: IntArray = np.where(np.isnan(known) | np.isinf(reach), 0, 1 + (self.error <= reach))

    def measure(self, of: int | None) -> Float64Array:
        """The predicted numbers, [N]."""
        if of is not None:
            raise InputError(f"of names a class, and this model predicts a number: {self.graph.numbers.name}")
        return self.predicted

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by; a number that is not known comes first, as the lowest."""
        return {
            Sort.predicted: lambda: self.measure(of),
            Sort.label: lambda: np.nan_to_num(self.graph.values, nan=-np.inf, posinf=None, neginf=None),
            Sort.error: lambda: np.nan_to_num(self.error, nan=-1.0),
            Sort.width: lambda: self.high - self.low,
        }

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """All nodes: numbers are asked for by their range."""
        if predicted is not None or label is not None:
            raise InputError("predicted and label are classes, and this model predicts a number: use least and most")
        return np.ones(len(self.predicted), bool)

    def interval(self, node: int) -> tuple[float, float] | None:
        """The interval of a node; None: it has none."""
        ends = float(self.low[node]), float(self.high[node])
        return ends if np.isfinite(ends).all() else None

    def row(self, node: int) -> dict[str, Any]:
        """What is predicted of one node."""
        return {"predicted": float(self.predicted[node]), "interval": self.interval(node)}

    def colors(self) -> Colors:
        """The predicted numbers in ranges that hold equally many nodes, light to dark."""
        cuts = np.unique(np.quantile(self.predicted, np.linspace(0, 1, SHADES + 1)[1:-1]))
        group, text = np.searchsorted(cuts, self.predicted, side="right"), self.graph.numbers.text
        names = [f"below {text(cuts[0])}", *(f"from {text(cut)}" for cut in cuts)]
        shades = [number_style(share).color for share in np.linspace(0.1, 1, len(names))]
        return Colors(names, shades, group)

    def as_csv(self, nodes: IntArray) -> bytes:
        """As `se-gnn predict` writes some nodes."""
        coverage = COVERAGE if np.isfinite(self.low).all() else None
        return as_file(".csv", number_columns(self.model, nodes, coverage=coverage))


class LinkColumns:
    """How many links each node has: links are predicted for pairs of nodes."""

    kind: ClassVar = "link"

    def __init__(self, graph: Graph) -> None:
        self.graph, self.links = graph, graph.degrees
        self.outcome: IntArray = np.zeros(graph.num_nodes, np.int64)
        self.weight, self.closest = np.zeros(graph.num_nodes, np.float32), None

    def measure(self, of: int | None) -> IntArray:
        """The numbers of links, [N]."""
        return self.links

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by."""
        return {Sort.links: lambda: self.links}

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """All nodes."""
        return np.ones(len(self.links), bool)

    def row(self, node: int) -> dict[str, Any]:
        """What is known of one node."""
        return {"links": int(self.links[node])}

    def colors(self) -> Colors:
        """The node types."""
        names, types = list(self.graph.node_type_names) or ["node"], self.graph.node_types
        group = np.zeros(len(self.links), np.int64) if types is None else types.astype(np.int64)
        return Colors(names, [class_style(one).color for one in range(len(names))], group)

    def as_csv(self, nodes: IntArray) -> bytes:
        """Refused: there is nothing to predict of a node alone."""
        raise InputError("links are predicted for pairs: se-gnn recommend writes the likeliest links of all nodes")


Columns = ClassColumns | NumberColumns | LinkColumns


def predict(model: Model, nodes: IntArray) -> Prediction | NumberPrediction:
    """What a model predicts of some nodes."""
    return predict_numbers(model, nodes) if model.graph.predicts_numbers else model.predict(nodes)


def columns_of(model: Model, found: Prediction | NumberPrediction) -> Columns:
    """The columns of a model, from the prediction of all nodes."""
    return ClassColumns(model.graph, found) if isinstance(found, Prediction) else NumberColumns(model, found)


def known_value(graph: Graph, node: int) -> Value | None:
    """The known class or number of a node."""
    if not graph.target.known[node]:
        return None
    return float(graph.values[node]) if graph.predicts_numbers else graph.class_names[graph.labels[node]]


def text_ranks(texts: Sequence[str]) -> IntArray:
    """Place of each text in their order; numbers in them count as numbers.

    >>> text_ranks(["n10", "N2", "n1"]).tolist()
    [2, 1, 0]
    """
    keys = [_natural(text) for text in texts]
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[sorted(range(len(texts)), key=keys.__getitem__)] = np.arange(len(texts))
    return ranks


def _natural(text: str) -> list[tuple[int, str]]:
    """Texts and numbers in turn; numbers are first recognized by their length, which spares reading them."""
    pieces = _DIGITS.split(text.casefold())
    return [(len(piece.lstrip("0")), piece.lstrip("0")) if i % 2 else (0, piece) for i, piece in enumerate(pieces)]
