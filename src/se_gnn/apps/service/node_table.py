"""All nodes as a table, on a plane and as text; arrays filter, sort and search a million rows in no time.

Shapes: N nodes, P points of the map, B bytes of text.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

import numpy as np
import numpy.typing as npt
from fastapi import Query
from pydantic import BeforeValidator, Field

from se_gnn.apps.service.columns import Columns, Keys, Sort, text_ranks
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.plot.projection import project
from se_gnn.report.predictions import SHOWN_PARTS, parts_of

MOST_VIEWS = 16  # results of filters that are kept for the next page
LARGEST_ID = 2**31 - 1
LONGEST_SEARCH = 200
MOST_ORDERS = 24  # that are kept: of each column, up and down
MOST_WORDS = 8  # of a search
MOST_POINTS = 200_000  # that a browser gets; of more nodes a part is drawn
STEPS = 65_535  # of a coordinate: whole numbers are short
BETWEEN = b"\xff"  # no byte of any text in UTF-8
_PLAIN_LETTERS = str.maketrans("øØłŁđĐıħĦ", "oOlLdDihH")  # accents that Unicode does not take apart


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


PARTS = (Part.none, *(Part(name) for name in SHOWN_PARTS.values()))
OUTCOMES = (Outcome.unknown, Outcome.wrong, Outcome.right)
NodeId = Annotated[int, Field(ge=0, le=LARGEST_ID)]
Blank = BeforeValidator(lambda given: None if given == "" else given)  # a field of a form that was left empty
Class = Annotated[NodeId | None, Blank, Query(description="number of a class")]
Bound = Annotated[float | None, Blank, Query(description="bound of the probability, or of the predicted number")]
Share = Annotated[float, Query(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeQuery:
    """Which nodes, in which order, as the query of an address gives it; None: any."""

    search: Annotated[str, Query(max_length=LONGEST_SEARCH, description="words of name or caption")] = ""
    of: Annotated[Class, Query(description="number of the class whose probability is meant; it is sorted by")] = None
    predicted: Class = None
    label: Class = None
    part: Annotated[Part | None, Blank, Query(description="part of the split")] = None
    outcome: Annotated[Outcome | None, Blank, Query(description="whether the prediction is right")] = None
    answered: Annotated[Answered | None, Blank, Query(description="whether the model gives an answer")] = None
    least: Bound = None
    most: Bound = None
    left: Annotated[Share, Query(description="region of the map, as a share of its width")] = 0.0
    bottom: Annotated[Share, Query(description="region of the map, as a share of its height")] = 0.0
    right: Share = 1.0
    top: Share = 1.0
    sort: Annotated[Sort, Query(description="column to sort by")] = Sort.node
    descending: bool = False

    def __post_init__(self) -> None:
        if self.of is not None and self.sort is Sort.node:  # a class to rank by comes with its order
            object.__setattr__(self, "sort", Sort.probability)
            object.__setattr__(self, "descending", True)

    @property
    def region(self) -> tuple[float, float, float, float] | None:
        """Left, bottom, right and top of a part of the map; None: the whole map."""
        corners = (self.left, self.bottom, self.right, self.top)
        return None if corners == (0, 0, 1, 1) else corners


class NodeTable:
    """All nodes: found by words, filters and regions of the map, in any order."""

    def __init__(self, columns: Columns, points: FloatArray | None = None) -> None:
        self.columns, self.graph = columns, columns.graph
        self._points = points  # where the nodes are on the map, [N, 2] from 0 to 1
        self.part: IntArray = parts_of(self.graph)  # [N], 0 for none, then the order of SHOWN_PARTS
        self.answered: BoolArray | None = None  # [N]; None until it is judged
        self._text = NodeText(self.graph)
        self.find = lru_cache(MOST_VIEWS)(self._find)
        self._order = lru_cache(MOST_ORDERS)(self._ordered)

    def __len__(self) -> int:
        return len(self.part)

    def judge(self, abstains: BoolArray) -> None:
        """Say which nodes are too unlike anything known for an answer, [N]."""
        self.answered = ~abstains
        self.find.cache_clear()

    def _find(self, query: NodeQuery) -> IntArray:
        """Ids of the nodes that a query asks for, in its order."""
        order = self._order(query.sort, query.descending, query.of if query.sort is Sort.probability else None)
        return order[self._passing(query)[order]]

    def part_name(self, node: int) -> Part:
        """The part of the split that a node is in."""
        return PARTS[int(self.part[node])]

    def outcome_name(self, node: int) -> Outcome:
        """Whether a node's prediction is right; of a number, whether the known one is in its interval."""
        return OUTCOMES[int(self.columns.outcome[node])]

    def _passing(self, query: NodeQuery) -> BoolArray:
        passing = self._text.having(query.search) & self.columns.having(query.predicted, query.label)
        measure = self.columns.measure(query.of).astype(np.float64)  # any bound can be compared with it
        if query.part is not None:
            passing &= self.part == PARTS.index(query.part)
        if query.outcome is not None:
            passing &= self.columns.outcome == OUTCOMES.index(query.outcome)
        if query.answered is not None and self.answered is not None:
            passing &= self.answered == (query.answered is Answered.yes)
        if query.least is not None:
            passing &= measure >= query.least
        if query.most is not None:
            passing &= measure <= query.most
        if query.region is not None and self._points is not None:
            left, bottom, right, top = query.region
            x, y = self._points[:, 0], self._points[:, 1]
            passing &= (x >= left) & (x <= right) & (y >= bottom) & (y <= top)
        return passing

    def _ordered(self, sort: Sort, descending: bool, of: int | None) -> IntArray:
        """Ids of all nodes in an order, equal ones by their ids."""
        keys: Keys = {
            Sort.node: lambda: np.arange(len(self)),
            Sort.name: lambda: text_ranks([self.graph.caption(node) for node in range(len(self))]),
            Sort.outcome: lambda: self.columns.outcome,
            Sort.part: lambda: self.part,
            Sort.weight: lambda: self.columns.weight,
            **self.columns.keys(of),
        }
        if sort not in keys:
            raise InputError(f"sort must be one of {', '.join(keys)} for this model, got {sort}")
        key = keys[sort]()
        return np.argsort(-key if descending else key, kind="stable")


class NodeText:
    """Finds the nodes whose name or caption contains some words, whatever their case and accents.

    All texts are one array of bytes: a search is a few passes over it, with no loop over rows.
    """

    def __init__(self, graph: Graph) -> None:
        names = (_bytes(name) for name in graph.node_names)
        if graph.captions is not None:
            names = (name + BETWEEN + _bytes(caption) for name, caption in zip(names, graph.captions))
        rows = list(names)
        sizes = np.fromiter((len(row) + 1 for row in rows), np.int64, len(rows))
        self._starts: IntArray = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(rows) else np.zeros(0, np.int64)
        self._text: npt.NDArray[np.uint8] = np.frombuffer(BETWEEN.join([*rows, b""]), np.uint8)  # [B]
        self._counts = np.bincount(self._text, minlength=256)

    def __len__(self) -> int:
        return len(self._starts)

    def having(self, query: str) -> BoolArray:
        """Whether each node has all words of a query, [N]."""
        found = np.ones(len(self), dtype=bool)
        for word in map(_bytes, query.split()[:MOST_WORDS]):
            if word:  # an accent alone leaves nothing to search for
                found &= self._having(word)
        return found

    def _having(self, word: bytes) -> BoolArray:
        pattern = np.frombuffer(word, np.uint8)
        rarest = int(np.argmin(self._counts[pattern]))
        at = np.flatnonzero(self._text == pattern[rarest]) - rarest
        at = at[(at >= 0) & (at <= len(self._text) - len(pattern))]
        for place in np.argsort(self._counts[pattern], kind="stable").tolist():  # those that rule out most come first
            at = at[self._text[at + place] == pattern[place]]
        found = np.zeros(len(self), dtype=bool)
        found[np.searchsorted(self._starts, at, side="right") - 1] = True
        return found


def _bytes(text: str) -> bytes:
    """A text as it is searched: without case and accents.

    >>> _bytes("Müller"), _bytes("MULLER"), _bytes("Łódź")
    (b'muller', b'muller', b'lodz')
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTERS))
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    return text.casefold().encode("utf-8", "surrogatepass")


class NodeMap:
    """Where each node is, from 0 to 1 along both axes, and which nodes are drawn."""

    def __init__(self, embeddings: FloatArray, columns: Columns) -> None:
        points = np.clip((project(embeddings, "pca") + 1) / 2, 0, 1)
        low, high = points.min(axis=0), points.max(axis=0)
        span = np.where(high > low, high - low, 1)
        labeled = columns.graph.train if columns.kind != "link" else np.empty(0, np.int64)
        self.points: FloatArray = (0.02 + 0.96 * (points - low) / span).astype(np.float32)  # [N, 2]
        self.nodes: IntArray = _drawn(len(points), labeled)  # [P]
        self.colors = columns.colors()
        steps = np.round(self.points[self.nodes] * STEPS).astype(np.int64)
        self.drawn = {
            "node": self.nodes.tolist(),
            "x": steps[:, 0].tolist(),
            "y": steps[:, 1].tolist(),
            "predicted": self.colors.group[self.nodes].tolist(),
            "labeled": np.isin(self.nodes, labeled).astype(np.int64).tolist(),
        }


def _drawn(num_nodes: int, labeled: IntArray) -> IntArray:
    """All nodes, or the labeled ones and others at random; the labeled last, so that they are on top."""
    others = np.setdiff1d(np.arange(num_nodes), labeled)
    room = max(0, MOST_POINTS - len(labeled))
    if len(others) > room:
        others = np.sort(np.random.default_rng(0).choice(others, room, replace=False))
    return np.concatenate([others, labeled])
