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
from se_gnn.model import Prediction
from se_gnn.model.numbers import Calibration, NumberPrediction
from se_gnn.plot.style import class_style, number_style
from se_gnn.report.predictions import certainty

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


class _Columns:
    """What is predicted of each node, or known of it, [N] each.

    ``outcome`` is 0 where nothing is known, 1 where the prediction is wrong and 2 where it is right.
    """

    kind: ClassVar[str]

    def __init__(
        self, graph: Graph, predicted: Any, outcome: IntArray, found: Prediction | NumberPrediction | None = None
    ) -> None:
        self.graph, self.predicted, self.outcome = graph, predicted, outcome
        self.closest: IntArray | None = None if found is None else found.cases[:, 0]
        self.weight: FloatArray = np.zeros(len(outcome), np.float32) if found is None else found.weights[:, 0]

    def measure(self, of: int | None) -> Any:
        """What bounds are compared with: the predicted numbers; of classes a probability, [N]."""
        if of is not None:
            raise InputError("of names a class, and this model predicts none")
        return self.predicted

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """Nodes with a predicted and a known class, [N]; None: any."""
        if predicted is not None or label is not None:
            raise InputError("predicted and label are classes, and this model predicts none: use least and most")
        return np.ones(len(self.outcome), bool)


class ClassColumns(_Columns):
    """A class for each node, with its probability."""

    kind = "class"

    def __init__(self, graph: Graph, found: Prediction) -> None:
        known = graph.labels[found.nodes]
        outcome = np.where(known == UNKNOWN, 0, 1 + (known == found.classes))
        super().__init__(graph, found.classes, outcome, found)
        self.found = found
        self.probability: FloatArray = np.minimum(certainty(found), 1)  # sums of float32 weights may pass 1

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
        is_predicted = True if predicted is None else self.predicted == predicted
        is_known = True if label is None else self.graph.labels == label
        return np.full(len(self.outcome), True) & is_predicted & is_known

    def row(self, node: int) -> dict[str, Any]:
        """What is predicted of one node."""
        name = self.graph.class_names[self.predicted[node]]
        return {"predicted": name, "probability": float(self.probability[node])}

    def colors(self) -> Colors:
        """The predicted classes."""
        colors = [class_style(label).color for label in range(self.graph.num_classes)]
        return Colors(list(self.graph.class_names), colors, self.predicted)


class NumberColumns(_Columns):
    """A number for each node, with its interval; without calibration nodes it is not bounded."""

    kind = "number"

    def __init__(self, graph: Graph, found: NumberPrediction, intervals: Calibration | None) -> None:
        known = graph.values[found.nodes]
        reach = np.full(len(known), np.inf) if intervals is None else intervals.reach(found.spread)
        self.low: Float64Array = found.values - reach
        self.high: Float64Array = found.values + reach
        self.error: Float64Array = np.abs(known - found.values)
        outcome = np.where(np.isnan(known) | np.isinf(reach), 0, 1 + (self.error <= reach))
        super().__init__(graph, found.values, outcome, found)

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by; a number that is not known comes first, as the lowest."""
        return {
            Sort.predicted: lambda: self.measure(of),
            Sort.label: lambda: np.nan_to_num(self.graph.values, nan=-np.inf, posinf=None, neginf=None),
            Sort.error: lambda: np.nan_to_num(self.error, nan=-1.0),
            Sort.width: lambda: self.high - self.low,
        }

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


class LinkColumns(_Columns):
    """How many links each node has: links are predicted for pairs of nodes."""

    kind = "link"

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, graph.degrees, np.zeros(graph.num_nodes, np.int64))

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by."""
        return {Sort.links: lambda: self.predicted}

    def row(self, node: int) -> dict[str, Any]:
        """What is known of one node."""
        return {"links": int(self.predicted[node])}

    def colors(self) -> Colors:
        """The node types."""
        names, types = list(self.graph.node_type_names) or ["node"], self.graph.node_types
        group = np.zeros(self.graph.num_nodes, np.int64) if types is None else types.astype(np.int64)
        return Colors(names, [class_style(one).color for one in range(len(names))], group)


Columns = ClassColumns | NumberColumns | LinkColumns


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
