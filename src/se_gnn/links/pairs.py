"""The links of a graph by type, and the neighbors that may vote on a pair.

A pair (u, v) asks whether u links to v. The neighbors that u links to are compared with v, those that link to v are
compared with u; without directions the two lists are the neighbors in the graph. The pair itself is always left out.
Shapes: N nodes, n pairs, m cases of all pairs.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.files import read_file
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray, row_entries, row_starts


@dataclass(frozen=True, slots=True)
class LinkType:
    """What kind of link is asked for."""

    name: str  # type of the edge, or the two node types, "customer - product"; empty if there is one type only
    edge_type: int | None  # its number among the edge types; None: edges have no types
    directed: bool  # whether (u, v) and (v, u) are different links
    # node types that such links join, source first; without directions both orders are listed
    ends: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Neighbors:
    """Neighbors of each node in one direction, each once, ascending."""

    ptr: IntArray  # [N + 1]
    nodes: IntArray
    shares: FloatArray  # weight of the edge over the heaviest at that node

    @classmethod
    def of(cls, ends: IntArray, weights: FloatArray | None, num_nodes: int) -> Neighbors:
        """Build it from pairs (node, neighbor); of parallel edges, the heaviest counts."""
        keys, place = np.unique(ends[:, 0] * num_nodes + ends[:, 1], return_inverse=True)
        owners = keys // num_nodes
        shares = np.ones(len(keys), np.float32)
        if weights is not None:
            shares = np.zeros(len(keys), np.float32)
            np.maximum.at(shares, place, weights)
            heaviest = np.zeros(num_nodes, np.float32)
            np.maximum.at(heaviest, owners, shares)
            shares = shares / heaviest[owners]
        return cls(row_starts(np.bincount(owners, minlength=num_nodes)), keys % num_nodes, shares)

    def entries(self, node: int) -> slice:
        """Where the neighbors of one node are."""
        return slice(self.ptr[node], self.ptr[node + 1])

    def of_node(self, node: int) -> IntArray:
        """The neighbors of one node."""
        return self.nodes[self.entries(node)]

    @property
    def counts(self) -> IntArray:
        """How many neighbors there are in each row, [N]."""
        return np.diff(self.ptr)

    def voters(self, owners: IntArray, others: IntArray) -> Voters:
        """The neighbors of each owner but the other end of its pair."""
        ptr, places = row_entries(self.ptr, owners)
        rows = np.repeat(np.arange(len(owners)), np.diff(ptr))
        kept = self.nodes[places] != others[rows]
        rows, places = rows[kept], places[kept]
        ptr = row_starts(np.bincount(rows, minlength=len(owners)))
        return Voters(ptr, self.nodes[places], self.shares[places], others[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Voters(Neighbors):
    """The neighbors that may vote on some pairs, from one side: a row for each pair, :math:`(n + 1,)`."""

    others: IntArray  # the end of the pair that each neighbor is compared with


class Links:
    """The links of one type in a graph, which is in memory."""

    def __init__(self, graph: Graph, kind: LinkType) -> None:
        self.graph, self.kind, self.types = graph, kind, node_types(graph)
        self._of_types: dict[tuple[int, bool], BoolArray] = {}

    @cached_property
    def _arcs(self) -> tuple[IntArray, IntArray]:
        """Ends of the links, source first, and the ids of their edges; without a direction a link leads both ways."""
        values, ends = self.graph.edge_values, self.graph.edges.ends
        way = np.zeros(len(ends), np.int8)
        if self.kind.directed and values is not None and values.direction is not None:
            way = values.direction
        arcs = np.concatenate([ends[way >= 0], ends[way <= 0][:, ::-1]])
        ids = np.concatenate([np.flatnonzero(way >= 0), np.flatnonzero(way <= 0)])
        if self.kind.edge_type is not None and values is not None and values.type is not None:
            fits = values.type[ids] == self.kind.edge_type
        else:
            fits = np.isin(self._keys(self.types[arcs]), self._keys(np.array(list(self.kind.ends))))
        return arcs[fits], ids[fits]

    def _keys(self, pairs: IntArray) -> IntArray:
        """A number for each pair, by which pairs are found."""
        return pairs[:, 0] * self.graph.num_nodes + pairs[:, 1]

    @cached_property
    def pairs(self) -> IntArray:
        """Each link once, source first, [n, 2]; without directions the lower id first."""
        arcs = self._arcs[0]
        return np.unique(arcs if self.kind.directed else np.sort(arcs, axis=1), axis=0).reshape(-1, 2)

    @cached_property
    def ahead(self) -> Neighbors:
        """The nodes that each node links to."""
        return self._neighbors(self._arcs[0])

    @cached_property
    def behind(self) -> Neighbors:
        """The nodes that link to each node; without directions the same as `ahead`."""
        return self._neighbors(self._arcs[0][:, ::-1]) if self.kind.directed else self.ahead

    def _neighbors(self, arcs: IntArray) -> Neighbors:
        values = self.graph.edge_values
        weights = None if values is None or values.weight is None else values.weight[self._arcs[1]]
        return Neighbors.of(arcs, weights, self.graph.num_nodes)

    def exist(self, pairs: IntArray) -> BoolArray:
        """Which pairs are links already, [n]."""
        return np.isin(self._keys(pairs), self._keys(self._arcs[0]))

    def voters(self, pairs: IntArray) -> tuple[Voters, Voters]:
        """The neighbors of the sources, to be compared with the targets; and those of the targets, with the sources."""
        return self.ahead.voters(pairs[:, 0], pairs[:, 1]), self.behind.voters(pairs[:, 1], pairs[:, 0])

    def without(self, pairs: IntArray) -> Links:
        """The same with some links hidden, as if nobody knew of them."""
        arcs, ids = self._arcs
        kept = np.ones(self.graph.num_edges, dtype=bool)
        kept[ids[np.isin(self._keys(arcs), self._keys(pairs))]] = False
        return Links(self.graph.replace(edges=self.graph.edges.keep(kept)), self.kind)

    def open_ends(self, node: int, *, source: bool = True) -> BoolArray:
        """The nodes that a node may link to (or that may link to it), by node types, and does not yet, [N]."""
        own = int(self.types[node])
        if (own, source) not in self._of_types:
            fitting = [b if source else a for a, b in self.kind.ends if (a if source else b) == own]
            self._of_types[own, source] = np.isin(self.types, fitting)
        found = self._of_types[own, source].copy()
        found[node] = False
        found[(self.ahead if source else self.behind).of_node(node)] = False
        return found


def link_types(graph: Graph) -> tuple[LinkType, ...]:
    """The types of links that a graph has: its edge types, else the pairs of node types that edges join.

    >>> graph = Graph.build(features=[[0.0], [1.0], [2.0]], edges=[[0, 1], [1, 2]], labels=[0, 1, 0])
    >>> [kind.name for kind in link_types(graph)]
    ['']
    """
    values, ends, names = graph.edge_values, node_types(graph)[graph.edges.ends], graph.node_type_names
    way = None if values is None else values.direction
    directed = way is not None
    if way is not None:
        ends = np.where((way < 0)[:, None], ends[:, ::-1], ends)
    both = np.ones(len(ends), dtype=bool) if way is None else way == 0
    if values is not None and values.type is not None:
        return tuple(
            LinkType(name, number, directed, _joined(ends[own], ends[own & both][:, ::-1]))
            for number, name in enumerate(values.type_names)
            for own in [values.type == number]
        )
    if len(names) < 2:
        return (LinkType("", None, directed, frozenset({(0, 0)})),)
    pairs = sorted(_joined(ends if directed else np.sort(ends, axis=1)))
    return tuple(
        LinkType(f"{names[a]} - {names[b]}", None, directed, frozenset({(a, b), (a, b) if directed else (b, a)}))
        for a, b in pairs
    )


def type_joining(graph: Graph, types: Sequence[LinkType], name: str | None, pairs: IntArray) -> LinkType:
    """The type that is asked for; None: the only one that may join all of some pairs, [n, 2]. Others are refused."""
    joined, names = _joined(node_types(graph)[pairs]), graph.node_type_names
    kind = type_named(types, name, lambda one: joined <= one.ends)
    if len(names) > 1 and not joined <= kind.ends:
        a, b = min(joined - kind.ends)
        raise InputError(f"links of type {kind.name!r} do not join nodes of types {names[a]!r} and {names[b]!r}")
    return kind


def type_named(types: Sequence[LinkType], name: str | None, fits: Callable[[LinkType], bool]) -> LinkType:
    """The type that is asked for; None: the only one that fits."""
    names = ", ".join(repr(one.name) for one in types)
    if name is None:
        found = [one for one in types if len(types) == 1 or fits(one)]
        if len(found) != 1:
            raise InputError(f"type must be given: several types of links fit these nodes, or none does, of {names}")
        return found[0]
    for one in types:
        if one.name == name:
            return one
    raise InputError(f"type must be one of {names}, got {shortened(name)}")


def as_pairs(graph: Graph, pairs: Any) -> IntArray:
    """Pairs of node ids, [n, 2], from positions or names."""
    rows = list(pairs) if not isinstance(pairs, np.ndarray) else pairs
    if not len(rows):
        return np.empty((0, 2), np.int64)
    if any(isinstance(one, str) or np.size(one) != 2 for one in rows):
        raise InputError("pairs must hold two nodes each, for example [(17, 204)] or [('a', 'b')]")
    ids = np.stack([graph.node_ids([one[i] for one in rows]) for i in range(2)], axis=1)
    same = np.flatnonzero(ids[:, 0] == ids[:, 1])
    if len(same):
        raise InputError(f"a pair must join two different nodes, got {graph.node_names[ids[same[0], 0]]!r} twice")
    return ids


def pair_in_text(graph: Graph, text: str, types: Sequence[str] = ()) -> tuple[int, int, str | None]:
    """Two nodes, from ``A,B`` or ``A,B,TYPE``, and the type of the link if it is one of ``types``.

    Names may contain commas if only one reading makes sense.
    """
    parts, kind = text.split(","), None
    if len(parts) > 2 and parts[-1].strip() in types:
        kind = parts.pop().strip()
    readings, reason = [], None
    for i in range(1, len(parts)):
        try:
            readings.append(tuple(graph.nodes.find(",".join(some).strip()) for some in (parts[:i], parts[i:])))
        except InputError as error:
            reason = error
    if len(readings) == 1:
        return readings[0][0], readings[0][1], kind
    if reason is not None and len(parts) == 2:
        raise reason
    raise InputError(f"a pair is two nodes with a comma between, for example A,B, got {shortened(text)}")


def pairs_in_file(graph: Graph, path: Path) -> tuple[list[tuple[int, int]], list[str | None]]:
    """The pairs of a CSV file: a header, then two nodes per line; a column named ``type`` holds the types of links."""
    try:
        rows = list(csv.reader(io.StringIO(read_file(path).decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    place = rows[0].index("type") if rows and "type" in rows[0][2:] else None
    pairs, types = [], []
    for line, row in enumerate(rows[1:], start=2):
        if row and len(row) < max(2, (place or 0) + 1):
            raise InputError(f"{path}, line {line}: a pair needs two columns, source and target, as in the header")
        if row:
            pairs.append((graph.nodes.find(row[0]), graph.nodes.find(row[1])))
            types.append((row[place] or None) if place is not None else None)
    if not pairs:
        raise InputError(f"{path} holds no pairs: write a header, then two nodes per line, source and target")
    return pairs, types


def node_types(graph: Graph) -> IntArray:
    """Type of each node, [N]; 0 where all are of one type."""
    types = graph.node_types
    return np.zeros(graph.num_nodes, np.int64) if types is None else types.astype(np.int64)


def _joined(*ends: IntArray) -> frozenset[tuple[int, int]]:
    return frozenset((int(a), int(b)) for a, b in np.unique(np.concatenate(ends), axis=0))
