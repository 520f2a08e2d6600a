"""Nodes with their local graphs, prepared for either side of a comparison; nothing here depends on embeddings.

*Queries* are compared with *cases*. If both directions count, cases are compared with queries as well. So the edges of
a side come in two forms: as query edges, each of which looks for its best match, and as key edges, among which it is
found. Both forms are made when they are first needed, and kept. What is moved to a device is kept there: a recorded
CUDA step cannot wait for the host.

Shapes: T nodes, E edges of the graph, Q query edges, K key edges, P distinct ends of the key edges, H hubs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.graph import Graph, LocalGraphs, local_graphs
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import csr_rows
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity.edges import edge_parts, edge_weights

Kept = dict[tuple[str, torch.device], Any]  # what was moved to a device, by name


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a matrix that are to be summed: those at ``columns[ptr[t]:ptr[t + 1]]`` for each t; on one device."""

    ptr: Tensor
    columns: Tensor
    sizes: Tensor  # [T, 1], as numbers to divide by; 1 where there is no row

    @classmethod
    def of(
        cls, ptr: IntArray, columns: IntArray | Int32Array, device: torch.device, weights: FloatArray | None = None
    ) -> Rows:
        """Take over index arrays; with ``weights`` of the rows of the matrix, sizes are sums of them."""
        kind = np.int32 if len(columns) < 2**31 else np.int64  # PyTorch wants one type for both
        sizes = np.maximum(np.diff(ptr), 1).astype(np.float32)[:, None]
        if weights is not None:
            total = _weight_sums(ptr, columns, weights)
            sizes = np.where(total > 0, total, 1).astype(np.float32)[:, None]
        arrays = (ptr.astype(kind), columns.astype(kind, copy=False), sizes)
        return cls(*(torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays))


@dataclass(frozen=True, slots=True, eq=False)
class QueryEdges:
    r"""The distinct edges of some nodes, each of which looks for its best match.

    Shapes:
        - **ids** (ascending): :math:`(Q,)`, **ends** (rows of vectors, whose mean the edge is): :math:`(Q, 2)`
        - **ptr:** :math:`(T + 1,)`, **columns** (positions of a node's edges in ``ids``): :math:`(\sum_t |E_t|,)`
        - **weights** (how much each edge counts in a mean; None: all the same): :math:`(Q,)`
    """

    ids: IntArray
    ends: IntArray
    ptr: IntArray
    columns: Int32Array
    weights: FloatArray | None = None
    _kept: Kept = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, edges: IntArray, local: LocalGraphs, weights: FloatArray | None) -> QueryEdges:
        """The edges of some local graphs; ``edges`` and ``weights`` are those of the whole graph."""
        ids = local.union()
        own = None if weights is None else weights[ids]
        return cls(ids, edges[ids], local.ptr, local.positions(ids), own)

    def __len__(self) -> int:
        return len(self.ids)

    def with_own_vectors(self, rows: IntArray) -> QueryEdges:
        """The same edges, each of which is a row of its own: the one at its place in ``rows``, ascending edge ids."""
        kept = {key: value for key, value in self._kept.items() if key[0] != "ends"}
        return dataclasses.replace(self, ends=_own_rows(rows, self.ids), _kept=kept)

    def select(self, positions: IntArray) -> QueryEdges:
        """The edges of the nodes at some positions, with nothing on a device."""
        ptr, columns = csr_rows(self.ptr, self.columns, positions)
        kept, places = np.unique(columns, return_inverse=True)
        weights = None if self.weights is None else self.weights[kept]
        return QueryEdges(self.ids[kept], self.ends[kept], ptr, places.astype(np.int32), weights)

    def weighted(self, best: Tensor, low: int = 0) -> Tensor:
        """Best similarities of the edges from ``low`` on, each times its weight."""
        if self.weights is None:
            return best
        weights = self.weights[low : low + len(best), None]
        return best * torch.from_numpy(weights).to(best.device, best.dtype)

    def sums(self) -> FloatArray:
        """What the edges of each node count together, [T]."""
        if self.weights is None:
            return np.diff(self.ptr).astype(np.float32)
        return _weight_sums(self.ptr, self.columns, self.weights)

    def ends_on(self, device: torch.device) -> Tensor:
        """The ends on a device, [Q, 2]."""
        if ("ends", device) not in self._kept:
            self._kept["ends", device] = torch.tensor(self.ends, device=device)
        ends: Tensor = self._kept["ends", device]
        return ends

    def rows(self, device: torch.device) -> Rows:
        """The edges of each node, on a device."""
        if ("rows", device) not in self._kept:
            self._kept["rows", device] = Rows.of(self.ptr, self.columns, device, self.weights)
        rows: Rows = self._kept["rows", device]
        return rows

    def flipped(self, device: torch.device) -> Rows:
        """The nodes of each edge, on a device: what gradients run along."""
        if ("flipped", device) not in self._kept:
            owners = np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))
            order = np.argsort(self.columns, kind="stable")
            ptr = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=len(self)))])
            self._kept["flipped", device] = Rows.of(ptr, owners[order], device)
        flipped: Rows = self._kept["flipped", device]
        return flipped


@dataclass(frozen=True, slots=True, eq=False)
class KeyCover:
    r"""The keys of each local graph as a union: all keys at its *hubs*, nodes that local graphs share, and *others*.

    Shapes:
        - **at_hub_ptr:** :math:`(H + 1,)`, **at_hub:** keys, ascending in a row
        - **hub_ptr:** :math:`(T + 1,)`, **hubs**
        - **other_ptr:** :math:`(T + 1,)`, **others:** keys, ascending in a row
    """

    at_hub_ptr: IntArray
    at_hub: Int32Array
    hub_ptr: IntArray
    hubs: Int32Array
    other_ptr: IntArray
    others: Int32Array

    @classmethod
    def one_by_one(cls, ptr: IntArray, members: Int32Array) -> KeyCover:
        """Without hubs."""
        nothing = np.empty(0, np.int32)
        return cls(np.zeros(1, np.int64), nothing, np.zeros(len(ptr), np.int64), nothing, ptr, members)

    @classmethod
    def of(cls, edges: IntArray, key_ids: IntArray, local: LocalGraphs) -> KeyCover:
        """By the cover that the local graphs come with, if that takes fewer steps than their members one by one."""
        plain = cls.one_by_one(local.ptr, local.positions(key_ids))
        cover = local.cover
        if cover is None or len(cover.inner) + len(cover.rim) >= len(plain.others):
            return plain
        place = np.full(1 + max(cover.inner.max(initial=0), edges.max(initial=0)), -1, np.int32)
        place[cover.inner] = 0
        inner = np.flatnonzero(place == 0)
        place[inner] = np.arange(len(inner), dtype=np.int32)
        at_hub_ptr, at_hub = _keys_at(edges, key_ids, place, len(inner))
        if len(at_hub) + len(cover.inner) + len(cover.rim) >= len(plain.others):
            return plain
        others = dataclasses.replace(local, ptr=cover.rim_ptr, edge_ids=cover.rim).positions(key_ids)
        return cls(at_hub_ptr, at_hub, cover.inner_ptr, place[cover.inner], cover.rim_ptr, others)

    def block(self, low: int, high: int) -> KeyCover:
        """The local graphs ``low`` to ``high`` alone."""
        rows = slice(low, high + 1)
        return dataclasses.replace(self, hub_ptr=self.hub_ptr[rows], other_ptr=self.other_ptr[rows])

    def select(self, positions: IntArray, place: Int32Array) -> KeyCover:
        """Some local graphs with the keys and hubs that they have; ``place``: where each key stands then."""
        hub_ptr, hubs = csr_rows(self.hub_ptr, self.hubs, positions)
        used, hub_places = np.unique(hubs, return_inverse=True)
        at_hub_ptr, at_hub = csr_rows(self.at_hub_ptr, self.at_hub, used)
        other_ptr, others = csr_rows(self.other_ptr, self.others, positions)
        return KeyCover(at_hub_ptr, place[at_hub], hub_ptr, hub_places.astype(np.int32), other_ptr, place[others])


class KeyIndex(NamedTuple):
    """The index arrays of key edges as tensors on a device."""

    node_ends: Tensor  # [K, 2] rows of vectors
    ptr: Tensor
    members: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class KeyEdges:
    r"""The distinct edges of some local graphs, in which query edges find their best matches.

    Shapes:
        - **ids** (ascending): :math:`(K,)`, **ends:** :math:`(K, 2)` positions in ``nodes``
        - **nodes:** :math:`(P,)` rows of vectors; the mean of its two ends is the vector of an edge
        - **ptr:** :math:`(T + 1,)`, **members:** :math:`(\sum_t |E_t|,)` positions in ``ids``, ascending in a row
    """

    ids: IntArray
    ends: Int32Array
    nodes: IntArray
    ptr: IntArray
    members: Int32Array
    cover: KeyCover
    _kept: Kept = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, edges: IntArray, local: LocalGraphs) -> KeyEdges:
        """The edges of some local graphs; ``edges`` are those of the whole graph."""
        ids = local.union()
        nodes, ends = np.unique(edges[ids], return_inverse=True)
        cover = KeyCover.of(edges, ids, local)
        return cls(ids, ends.reshape(-1, 2).astype(np.int32), nodes, local.ptr, local.positions(ids), cover)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def num_local(self) -> int:
        """Number of local graphs."""
        return len(self.ptr) - 1

    @property
    def sizes(self) -> IntArray:
        """Edges of each local graph."""
        return np.diff(self.ptr)

    @property
    def node_ends(self) -> IntArray:
        """Rows of vectors that each edge is the mean of, [K, 2]."""
        return self.nodes[self.ends]

    def with_own_vectors(self, rows: IntArray) -> KeyEdges:
        """The same edges, each of which is a row of its own: the one at its place in ``rows``, ascending edge ids."""
        own = np.arange(len(self.ids))
        return KeyEdges(
            ids=self.ids,
            ends=np.stack([own, own], axis=1).astype(np.int32),
            nodes=np.searchsorted(rows, self.ids),
            ptr=self.ptr,
            members=self.members,
            cover=KeyCover.one_by_one(self.ptr, self.members),  # hubs are nodes, and these edges are not made of nodes
        )

    def on(self, device: torch.device) -> KeyIndex:
        """What a backend on another device reads."""
        if ("index", device) not in self._kept:
            arrays = (self.node_ends, self.ptr, self.members)
            self._kept["index", device] = KeyIndex(*(torch.tensor(array, device=device) for array in arrays))
        index: KeyIndex = self._kept["index", device]
        return index

    def block(self, low: int, high: int) -> KeyEdges:
        """The local graphs ``low`` to ``high``, with all key edges; what is on a device stays there."""
        kept = {key: index._replace(ptr=index.ptr[low : high + 1]) for key, index in self._kept.items()}
        return dataclasses.replace(self, ptr=self.ptr[low : high + 1], cover=self.cover.block(low, high), _kept=kept)

    def select(self, positions: IntArray) -> KeyEdges:
        """The local graphs at some positions, with no other key edges than theirs, and nothing on a device."""
        ptr, members = csr_rows(self.ptr, self.members, positions)
        kept = np.unique(members)
        place = np.full(len(self.ids), -1, np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        nodes, ends = np.unique(self.ends[kept], return_inverse=True)
        return KeyEdges(
            ids=self.ids[kept],
            ends=ends.reshape(-1, 2).astype(np.int32),
            nodes=self.nodes[nodes],
            ptr=ptr,
            members=place[members],
            cover=self.cover.select(positions, place),
        )


class Way(NamedTuple):
    """One direction of a comparison in one part: who asks, and who answers."""

    queries: QueryEdges
    keys: KeyEdges


@dataclass(frozen=True, eq=False)
class Items:
    """Some nodes and their local graphs, ready to be compared.

    Shapes:
        - **edges** (of the whole graph, node ids): :math:`(E, 2)`, **weights** (None: all the same): :math:`(E,)`
    """

    edges: IntArray
    local: LocalGraphs
    weights: FloatArray | None = None
    _whole: tuple[Items, int, int] | None = field(default=None, repr=False)  # what this is a block of
    _parts: dict[int, Items] = field(default_factory=dict, init=False, repr=False)
    _kept: Kept = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.local)

    @property
    def nodes(self) -> IntArray:
        """Ids of the nodes, [T]."""
        return self.local.nodes

    @property
    def sizes(self) -> IntArray:
        """Edges of each local graph, [T]."""
        return self.local.sizes

    @cached_property
    def queries(self) -> QueryEdges:
        """Their edges as query edges, whatever part they are of."""
        return QueryEdges.of(self.edges, self.local, self.weights)

    @cached_property
    def keys(self) -> KeyEdges:
        """Their edges as key edges, whatever part they are of; a block shares those of the whole."""
        if self._whole is not None:
            whole, low, high = self._whole
            return whole.keys.block(low, high)
        return KeyEdges.of(self.edges, self.local)

    @cached_property
    def part_names(self) -> tuple[int, ...]:
        """The parts that their edges are of."""
        return tuple(np.unique(self.local.parts).tolist()) if self.local.parts is not None else ()

    def part(self, name: int) -> Items:
        """The same nodes with their edges of one part alone."""
        if name not in self._parts:
            whole = None if self._whole is None else (self._whole[0].part(name), *self._whole[1:])
            self._parts[name] = Items(self.edges, self.local.of_part(name), self.weights, _whole=whole)
        return self._parts[name]

    @cached_property
    def shares(self) -> tuple[FloatArray, ...]:
        """Of what the edges of a node count together, the share of each part, [T] each."""
        sums = [self.part(name).queries.sums() for name in self.part_names]
        total = np.zeros(len(self), np.float32)
        for own in sums:  # one after the other: np.sum adds in another order where there is one node alone
            total += own
        return tuple((own / np.where(total > 0, total, 1)).astype(np.float32) for own in sums)

    @cached_property
    def columns(self) -> Int32Array:
        """The query edge of each edge of each local graph; those of a part come after those of the parts before it."""
        if not self.part_names:
            return self.queries.columns
        columns, first = np.empty(len(self.local.edge_ids), np.int32), 0
        for name in self.part_names:
            own = self.part(name).queries
            columns[self.local.parts == name] = own.columns + first
            first += len(own)
        return columns

    @property
    def num_queries(self) -> int:
        """Distinct edges; an edge counts once for each part that it is of."""
        return sum(len(self.part(name).queries) for name in self.part_names) if self.part_names else len(self.queries)

    def ways(self, answering: Items, rows: IntArray | None = None) -> tuple[Way, ...]:
        """Their edges matched in the local graphs of other nodes, part by part; without parts there is one way.

        ``rows``: ids of all edges that have vectors of their own, ascending; None: vectors are those of the nodes.
        """
        pairs = [(self.part(name), answering.part(name)) for name in self.part_names] or [(self, answering)]
        ways = (Way(own.queries, others.keys) for own, others in pairs)
        if rows is None:
            return tuple(ways)
        return tuple(Way(one.with_own_vectors(rows), other.with_own_vectors(rows)) for one, other in ways)

    def block(self, low: int, high: int) -> Items:
        """The nodes ``low`` to ``high`` alone; on a device their edges share what is there."""
        if low == 0 and high == len(self):
            return self
        return Items(self.edges, self.local.select(np.arange(low, high)), self.weights, _whole=(self, low, high))

    def sampled(self, most: int, *, generator: np.random.Generator) -> Items:
        """The same nodes with at most ``most`` edges of each, drawn without replacement."""
        return Items(self.edges, self.local.sampled(most, generator=generator), self.weights)

    def select(self, positions: IntArray) -> Items:
        """The nodes at some positions, in that order."""
        return Items(self.edges, self.local.select(positions), self.weights)

    def nodes_on(self, device: torch.device) -> Tensor:
        """Ids of the nodes on a device, [T]."""
        if ("nodes", device) not in self._kept:
            self._kept["nodes", device] = torch.tensor(self.nodes, device=device)
        nodes: Tensor = self._kept["nodes", device]
        return nodes

    def with_edges(self, device: torch.device) -> Tensor:
        """Which nodes have edges, on a device, [T]."""
        if ("with edges", device) not in self._kept:
            self._kept["with edges", device] = torch.tensor(self.sizes > 0, device=device)
        with_edges: Tensor = self._kept["with edges", device]
        return with_edges


def items_of(graph: Graph, nodes: IntArray, settings: SimilaritySettings) -> Items:
    """Some nodes of a graph as the settings compare them: local graphs, parts and weights of their edges."""
    local = local_graphs(graph, nodes, settings.hops, settings.max_edges)
    parts = edge_parts(graph, local, settings)
    local = local if parts is None else dataclasses.replace(local, parts=parts)
    pairs = graph.edges.pairs  # if they are mapped, `Similarity` reads those of a comparison
    edges: Any = pairs.whole() if pairs.in_memory else pairs
    return Items(edges, local, edge_weights(graph, settings))


def _own_rows(rows: IntArray, ids: IntArray) -> IntArray:
    place = np.searchsorted(rows, ids)
    return np.stack([place, place], axis=1)


def _weight_sums(ptr: IntArray, columns: IntArray | Int32Array, weights: FloatArray) -> FloatArray:
    """The sum of the weights of each t, each in the order of its edges, [T]."""
    owners = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    return np.bincount(owners, weights[columns], minlength=len(ptr) - 1).astype(np.float32)


@numba.njit(cache=True, nogil=True)
def _keys_at(edges: IntArray, key_ids: IntArray, place: Int32Array, num_hubs: int) -> tuple[IntArray, Int32Array]:
    """Keys that end at each hub, in order; ``place`` is the hub of a node, or -1."""
    ptr = np.zeros(num_hubs + 1, np.int64)
    for edge in key_ids:
        for side in range(2):
            ptr[place[edges[edge, side]] + 1] += place[edges[edge, side]] >= 0
    ptr = np.cumsum(ptr)
    slot = ptr[:-1].copy()
    keys = np.empty(ptr[-1], np.int32)
    for k in range(len(key_ids)):
        for side in range(2):
            hub = place[edges[key_ids[k], side]]
            if hub >= 0:
                keys[slot[hub]] = k
                slot[hub] += 1
    return ptr, keys
