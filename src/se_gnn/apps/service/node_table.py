"""All nodes as a table, on a plane and as text; a million rows are filtered, sorted and searched at once.

Shapes: N nodes, P points of the map.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

import numpy as np
from fastapi import Query
from pydantic import BeforeValidator, Field

from se_gnn.apps.service.columns import Columns, Keys, Sort, text_ranks
from se_gnn.errors import InputError
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
        captions = self.graph.captions or [""] * len(self)
        self._texts = [search_text(f"{name}\n{more}") for name, more in zip(self.graph.node_names, captions)]
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
        passing = self.columns.having(query.predicted, query.label)
        for word in search_text(query.search).split()[:MOST_WORDS]:
            passing &= np.fromiter((word in text for text in self._texts), bool, len(self))
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


def search_text(text: str) -> str:
    """A text as it is searched: without case and accents.

    >>> search_text("Müller"), search_text("MULLER"), search_text("Łódź")
    ('muller', 'muller', 'lodz')
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN_LETTERS))
        text = "".join(character for character in decomposed if not unicodedata.combining(character))
    return text.casefold()


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
