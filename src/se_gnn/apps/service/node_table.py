"""The nodes of a graph as a table and on a plane; a million rows are filtered, sorted and searched at once.

These are all nodes, or of a large graph some (`se_gnn.graph.spread`). The table, the map and the service ask a model
for nothing else that depends on the kind of its answers: classes, numbers or links. Shapes: T nodes of the table, C
classes, P points of the map.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from se_gnn.apps.service.models import STEPS, MapAnswer, NodeQuery, Outcome, Part, Sort
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.graph.spread import MOST_ROWS
from se_gnn.model import Prediction
from se_gnn.model.numbers import Calibration, NumberPrediction
from se_gnn.plot.projection import project
from se_gnn.plot.style import class_style, number_style
from se_gnn.report.predictions import SHOWN_PARTS, certainty, parts_of

MOST_VIEWS = 16  # results of filters that are kept for the next page
MOST_ORDERS = 24  # that are kept: of each column, up and down
MOST_WORDS = 8  # of a search
SHADES = 8  # of numbers on the map
_DIGITS = re.compile(r"(\d+)")
_PLAIN_LETTERS = str.maketrans("øØłŁđĐıħĦ", "oOlLdDihH")  # accents that Unicode does not take apart


PARTS = (Part.none, *(Part(name) for name in SHOWN_PARTS.values()))
OUTCOMES = (Outcome.unknown, Outcome.wrong, Outcome.right)
Found = Prediction | NumberPrediction
Keys = dict[Sort, Callable[[], IntArray | FloatArray | Float64Array]]


@dataclass(frozen=True, slots=True)
class Colors:
    """Groups of nodes for the map, with their names and colors; ``group`` is the one of each node, [T]."""

    names: list[str]
    colors: list[str]
    group: IntArray


class NodeTable(ABC):
    """Nodes, ascending, and what is predicted or known of each, [T]; found by words, filters and regions of the map.

    ``outcome`` is a position in ``OUTCOMES``; of a number, the prediction is right if the known one is in its interval.
    """

    kind: ClassVar[str]

    def __init__(
        self, graph: Graph, nodes: IntArray, predicted: Any, outcome: IntArray, found: Found | None = None
    ) -> None:
        self.graph, self.nodes, self.predicted, self.outcome = graph, nodes, predicted, outcome
        self.closest: IntArray | None = None if found is None else found.cases[:, 0]
        self.weight: FloatArray = np.zeros(len(outcome), np.float32) if found is None else found.weights[:, 0]
        self.points: FloatArray | None = None  # where the nodes are on the map, [T, 2] from 0 to 1; NaN: nowhere
        self.part: IntArray = parts_of(graph, nodes)  # [T], 0 for none, then the order of SHOWN_PARTS
        self.answered: BoolArray | None = None  # [T]; None until it is judged
        captions = graph.captions
        self._texts = [
            search_text(f"{graph.node_names[node]}\n{'' if captions is None else captions[node]}")
            for node in nodes.tolist()
        ]
        self.find = lru_cache(MOST_VIEWS)(self._find)
        self._order = lru_cache(MOST_ORDERS)(self._ordered)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def every(self) -> bool:
        """Whether all nodes of the graph are in the table."""
        return len(self) == self.graph.num_nodes

    def at(self, node: int) -> int:
        """The row of a node; below 0: it has none."""
        place = int(np.searchsorted(self.nodes, node))
        return place if place < len(self) and self.nodes[place] == node else -1

    @abstractmethod
    def keys(self, of: int | None) -> Keys:
        """What the columns of a kind of table are sorted by."""

    def row(self, at: int) -> dict[str, Any]:
        """What is known and predicted of the node of a row, as the service answers it."""
        row: dict[str, Any] = {"part": self.part_name(at), "outcome": self.outcome_name(at)}
        row |= {"answered": None if self.answered is None else bool(self.answered[at])}
        if self.closest is not None:
            row |= {"closest": int(self.closest[at]), "weight": float(self.weight[at])}
        return row

    @abstractmethod
    def colors(self) -> Colors:
        """Groups of nodes for the map."""

    def map(self) -> MapAnswer:
        """The nodes on a plane."""
        assert self.points is not None
        labeled = self.graph.train if self.kind != "link" else np.empty(0, np.int64)
        labels = np.isin(self.nodes, labeled)
        rows, groups = _drawn(labels), self.colors()  # [P]
        steps = np.round(self.points[rows] * STEPS).astype(np.int64)
        return MapAnswer(
            total=self.graph.num_nodes, steps=STEPS, classes=groups.names, colors=groups.colors,
            node=self.nodes[rows].tolist(), x=steps[:, 0].tolist(), y=steps[:, 1].tolist(),
            predicted=groups.group[rows].tolist(), labeled=labels[rows].astype(np.int64).tolist(),
        )  # fmt: skip

    def measure(self, of: int | None) -> Any:
        """What bounds are compared with: the predicted numbers; of classes a probability, [T]."""
        if of is not None:
            raise InputError("of names a class, and this model predicts none")
        return self.predicted

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """Nodes with a predicted and a known class, [T]; None: any."""
        if predicted is not None or label is not None:
            raise InputError("predicted and label are classes, and this model predicts none: use least and most")
        return np.ones(len(self), bool)

    def judge(self, abstains: BoolArray) -> None:
        """Say which nodes are too unlike anything known for an answer, [T]."""
        self.answered = ~abstains
        self.find.cache_clear()

    def _find(self, query: NodeQuery) -> IntArray:
        """Ids of the nodes that a query asks for, in its order."""
        order = self._order(query.sort, query.descending, query.of if query.sort is Sort.probability else None)
        return self.nodes[order[self._passing(query)[order]]]

    def part_name(self, at: int) -> Part:
        """The part of the split that the node of a row is in."""
        return PARTS[int(self.part[at])]

    def outcome_name(self, at: int) -> Outcome:
        """Whether the prediction of a row is right."""
        return OUTCOMES[int(self.outcome[at])]

    def _passing(self, query: NodeQuery) -> BoolArray:
        passing = self.having(query.predicted, query.label) & self._matching(query.search.strip())
        measure = self.measure(query.of).astype(np.float64)  # any bound can be compared with it
        if query.part is not None:
            passing &= self.part == PARTS.index(query.part)
        if query.outcome is not None:
            passing &= self.outcome == OUTCOMES.index(query.outcome)
        if query.answered is not None and self.answered is not None:
            passing &= self.answered == query.answered
        if query.least is not None:
            passing &= measure >= query.least
        if query.most is not None:
            passing &= measure <= query.most
        if query.region is not None and self.points is not None:
            left, bottom, right, top = query.region
            x, y = self.points[:, 0], self.points[:, 1]
            passing &= (x >= left) & (x <= right) & (y >= bottom) & (y <= top)
        return passing

    def _matching(self, search: str) -> BoolArray:
        """Nodes whose texts have all words of a search, or the one at #POSITION, [T]."""
        matching = np.ones(len(self), bool)
        for word in search_text(search).split()[:MOST_WORDS]:
            matching &= np.fromiter((word in text for text in self._texts), bool, len(self))
        if search.startswith("#"):
            with contextlib.suppress(InputError):
                matching |= self.nodes == self.graph.nodes.find(search)
        return matching

    def _ordered(self, sort: Sort, descending: bool, of: int | None) -> IntArray:
        """The rows in an order, equal ones by the ids of their nodes."""
        keys: Keys = {
            Sort.node: lambda: np.arange(len(self)),
            Sort.name: lambda: text_ranks([self.graph.caption(node) for node in self.nodes.tolist()]),
            Sort.outcome: lambda: self.outcome,
            Sort.part: lambda: self.part,
            Sort.weight: lambda: self.weight,
            **self.keys(of),
        }
        if sort not in keys:
            raise InputError(f"sort must be one of {', '.join(keys)} for this model, got {sort}")
        key = keys[sort]()
        return np.argsort(-key if descending else key, kind="stable")


class ClassTable(NodeTable):
    """A class for each node, with its probability."""

    kind = "class"

    def __init__(self, graph: Graph, found: Prediction) -> None:
        self.known: IntArray = graph.labels[found.nodes]
        outcome = np.where(self.known == UNKNOWN, 0, 1 + (self.known == found.classes))
        super().__init__(graph, found.nodes, found.classes, outcome, found)
        self.found = found
        self.probability: FloatArray = np.minimum(certainty(found), 1)  # sums of float32 weights may pass 1

    def measure(self, of: int | None) -> FloatArray:
        """Probability of a class, or of the predicted class of each node, [T]."""
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
            Sort.label: lambda: ranks[self.known],
        }

    def having(self, predicted: int | None, label: int | None) -> BoolArray:
        """Nodes with a predicted and a known class, [T]; None: any."""
        is_predicted = True if predicted is None else self.predicted == predicted
        is_known = True if label is None else self.known == label
        return np.full(len(self), True) & is_predicted & is_known

    def row(self, at: int) -> dict[str, Any]:
        """What is predicted of the node of a row."""
        name = self.graph.class_names[self.predicted[at]]
        return super().row(at) | {"predicted": name, "probability": float(self.probability[at])}

    def colors(self) -> Colors:
        """The predicted classes."""
        colors = [class_style(label).color for label in range(self.graph.num_classes)]
        return Colors(list(self.graph.class_names), colors, self.predicted)


class NumberTable(NodeTable):
    """A number for each node, with its interval; without calibration nodes it is not bounded."""

    kind = "number"

    def __init__(self, graph: Graph, found: NumberPrediction, intervals: Calibration | None) -> None:
        self.known: Float64Array = graph.values[found.nodes]
        reach = np.full(len(self.known), np.inf) if intervals is None else intervals.reach(found.spread)
        self.low: Float64Array = found.values - reach
        self.high: Float64Array = found.values + reach
        self.error: Float64Array = np.abs(self.known - found.values)
        outcome = np.where(np.isnan(self.known) | np.isinf(reach), 0, 1 + (self.error <= reach))
        super().__init__(graph, found.nodes, found.values, outcome, found)

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by; a number that is not known comes first, as the lowest."""
        return {
            Sort.predicted: lambda: self.measure(of),
            Sort.label: lambda: np.nan_to_num(self.known, nan=-np.inf, posinf=None, neginf=None),
            Sort.error: lambda: np.nan_to_num(self.error, nan=-1.0),
            Sort.width: lambda: self.high - self.low,
        }

    def interval(self, at: int) -> tuple[float, float] | None:
        """The interval of a row; None: it has none."""
        ends = float(self.low[at]), float(self.high[at])
        return ends if np.isfinite(ends).all() else None

    def row(self, at: int) -> dict[str, Any]:
        """What is predicted of the node of a row."""
        return super().row(at) | {"predicted": float(self.predicted[at]), "interval": self.interval(at)}

    def colors(self) -> Colors:
        """The predicted numbers in ranges that hold equally many nodes, light to dark."""
        cuts = np.unique(np.quantile(self.predicted, np.linspace(0, 1, SHADES + 1)[1:-1]))
        group, text = np.searchsorted(cuts, self.predicted, side="right"), self.graph.numbers.text
        names = [f"below {text(cuts[0])}", *(f"from {text(cut)}" for cut in cuts)]
        shades = [number_style(share).color for share in np.linspace(0.1, 1, len(names))]
        return Colors(names, shades, group)


class LinkTable(NodeTable):
    """How many links each node has: links are predicted for pairs of nodes."""

    kind = "link"

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, np.arange(graph.num_nodes), graph.degrees, np.zeros(graph.num_nodes, np.int64))

    def keys(self, of: int | None) -> Keys:
        """What each column is sorted by."""
        return {Sort.links: lambda: self.predicted}

    def row(self, at: int) -> dict[str, Any]:
        """What is known of the node of a row."""
        return super().row(at) | {"links": int(self.predicted[at])}

    def colors(self) -> Colors:
        """The node types."""
        names, types = list(self.graph.node_type_names) or ["node"], self.graph.node_types
        group = np.zeros(self.graph.num_nodes, np.int64) if types is None else types.astype(np.int64)
        return Colors(names, [class_style(one).color for one in range(len(names))], group)


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


def search_text(text: str) -> str:
    """A text as it is searched: without case and accents.

    >>> search_text("Müller"), search_text("MULLER"), search_text("Łódź")
    ('muller', 'muller', 'lodz')
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTERS))
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    return text.casefold()


def placed(embeddings: FloatArray) -> FloatArray:
    """Where each node is on the map, from 0 to 1 along both axes, [T, 2]."""
    points = np.clip((project(embeddings, "pca") + 1) / 2, 0, 1)
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1)
    found: FloatArray = (0.02 + 0.96 * (points - low) / span).astype(np.float32)
    return found


def _drawn(labeled: BoolArray) -> IntArray:
    """All rows, or the labeled ones and others at random; the labeled last, so that they are on top."""
    others = np.flatnonzero(~labeled)
    room = max(0, MOST_ROWS - int(labeled.sum()))
    if len(others) > room:
        others = np.sort(np.random.default_rng(0).choice(others, room, replace=False))
    return np.concatenate([others, np.flatnonzero(labeled)])
