"""All nodes as columns, filtered and sorted by arrays, so that a million rows stay quick. Shapes: N nodes."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from se_gnn.apps.service.node_text import NodeText
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.model import Prediction
from se_gnn.report.predictions import SHOWN_PARTS, certainty, parts_of

MOST_VIEWS = 16  # results of filters that are kept for the next page
_DIGITS = re.compile(r"(\d+)")


class Part(StrEnum):
    """Part of the split."""

    labeled = "labeled"
    validation = "validation"
    test = "test"
    none = "none"


class Outcome(StrEnum):
    """What the known class says of the prediction."""

    right = "right"
    wrong = "wrong"
    unknown = "unknown"


class Answered(StrEnum):
    """Whether anything known is near enough to a node for an answer."""

    yes = "yes"
    no = "no"


class Sort(StrEnum):
    """Columns to sort by."""

    node = "node"
    name = "name"
    predicted = "predicted"
    probability = "probability"
    label = "label"
    outcome = "outcome"
    part = "part"
    weight = "weight"


Region = tuple[float, float, float, float]  # of the map: left, bottom, right, top, each from 0 to 1
WHOLE: Region = (0.0, 0.0, 1.0, 1.0)


def part_of_map(*corners: float) -> Region | None:
    """The region with these corners (left, bottom, right, top); None, any node, where it is the whole map."""
    left, bottom, right, top = corners
    return None if corners == WHOLE else (left, bottom, right, top)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeQuery:
    """Which nodes, in which order; None: any."""

    search: str = ""
    predicted: int | None = None
    label: int | None = None
    part: Part | None = None
    outcome: Outcome | None = None
    answered: Answered | None = None
    least: float = 0.0  # probability of the predicted class
    most: float = 1.0
    region: Region | None = None
    sort: Sort = Sort.node
    descending: bool = False


class NodeTable:
    """The columns of all nodes, each [N]."""

    def __init__(self, graph: Graph, prediction: Prediction) -> None:
        self.graph = graph
        self.predicted: IntArray = prediction.classes
        self.probability: FloatArray = certainty(prediction)
        self.closest: IntArray = prediction.neighbors[:, 0]
        self.weight: FloatArray = prediction.weights[:, 0]
        self.part: IntArray = parts_of(graph)  # 0 for none, then the order of SHOWN_PARTS
        self.outcome: IntArray = np.where(graph.labels == UNKNOWN, 0, 1 + (graph.labels == self.predicted))
        self.answered: BoolArray | None = None  # None until it is judged
        self._text = NodeText(graph)
        self._points: FloatArray | None = None
        self._orders: dict[tuple[Sort, bool], IntArray] = {}
        self._views: OrderedDict[NodeQuery, IntArray] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.predicted)

    def place(self, points: FloatArray) -> None:
        """Say where the nodes are on the map, [N, 2] from 0 to 1: regions are asked for by it."""
        self._points = points

    def judge(self, abstains: BoolArray) -> None:
        """Say which nodes are too unlike anything known for an answer, [N]."""
        with self._lock:
            self.answered = ~abstains
            self._views.clear()

    def find(self, query: NodeQuery) -> IntArray:
        """Ids of the nodes that a query asks for, in its order."""
        with self._lock:
            if query in self._views:
                self._views.move_to_end(query)
                return self._views[query]
        order = self._order(query.sort, query.descending)
        view = order[self._passing(query)[order]]
        with self._lock:
            self._views[query] = view
            while len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)
        return view

    def part_name(self, node: int) -> Part:
        """The part of the split that a node is in."""
        return [Part.none, *(Part(name) for name in SHOWN_PARTS.values())][int(self.part[node])]

    def outcome_name(self, node: int) -> Outcome:
        """Whether a node's prediction is right."""
        return (Outcome.unknown, Outcome.wrong, Outcome.right)[int(self.outcome[node])]

    def _passing(self, query: NodeQuery) -> BoolArray:
        passing = self._text.having(query.search)
        if query.predicted is not None:
            passing &= self.predicted == query.predicted
        if query.label is not None:
            passing &= self.graph.labels == query.label
        if query.part is not None:
            passing &= self.part == [Part.none, *SHOWN_PARTS.values()].index(query.part)
        if query.outcome is not None:
            passing &= self.outcome == (Outcome.unknown, Outcome.wrong, Outcome.right).index(query.outcome)
        if query.answered is not None and self.answered is not None:
            passing &= self.answered == (query.answered is Answered.yes)
        if query.least > 0:
            passing &= self.probability >= query.least
        if query.most < 1:
            passing &= self.probability <= query.most
        if query.region is not None and self._points is not None:
            left, bottom, right, top = query.region
            x, y = self._points[:, 0], self._points[:, 1]
            passing &= (x >= left) & (x <= right) & (y >= bottom) & (y <= top)
        return passing

    def _order(self, sort: Sort, descending: bool) -> IntArray:
        """Ids of all nodes in an order, equal ones by their ids; made once."""
        if (sort, descending) not in self._orders:
            key = self._keys()[sort]()
            self._orders[sort, descending] = np.argsort(-key if descending else key, kind="stable")
        return self._orders[sort, descending]

    def _keys(self) -> dict[Sort, Callable[[], IntArray | FloatArray]]:
        ranks = _class_ranks(self.graph.class_names)  # the last is that of an unknown class
        return {
            Sort.node: lambda: np.arange(len(self)),
            Sort.name: self._name_ranks,
            Sort.predicted: lambda: ranks[self.predicted],
            Sort.probability: lambda: self.probability,
            Sort.label: lambda: ranks[self.graph.labels],
            Sort.outcome: lambda: self.outcome,
            Sort.part: lambda: self.part,
            Sort.weight: lambda: self.weight,
        }

    def _name_ranks(self) -> IntArray:
        """Place of each node by what people see of it; numbers in it count as numbers."""
        return _ranks([self.graph.caption(node) for node in range(len(self))])


def _class_ranks(names: tuple[str, ...]) -> IntArray:
    return np.append(_ranks(names), len(names))


def _ranks(texts: list[str] | tuple[str, ...]) -> IntArray:
    """Place of each text in their order.

    >>> _ranks(["n10", "N2", "n1"]).tolist()
    [2, 1, 0]
    """
    keys = [_natural(text) for text in texts]
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[sorted(range(len(texts)), key=keys.__getitem__)] = np.arange(len(texts))
    return ranks


def _natural(text: str) -> list[tuple[int, str]]:
    """Texts and numbers in turn; a number is first told by its length, which spares reading it."""
    pieces = _DIGITS.split(text.casefold())
    return [(len(piece.lstrip("0")), piece.lstrip("0")) if i % 2 else (0, piece) for i, piece in enumerate(pieces)]
