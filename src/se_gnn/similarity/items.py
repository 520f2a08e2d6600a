"""Nodes with their local graphs, prepared for either side of a comparison; nothing here depends on embeddings.

*Queries* are compared with *cases*. If both directions count, cases are compared with queries as well. So the edges of
a side come in two forms: as query edges, each of which looks for its best match, and as key edges, among which it is
found. Both forms are made when they are first needed, and kept. What is moved to a device is kept there: a recorded
CUDA step cannot wait for the host.

Shapes: T nodes, E edges of the graph, Q query edges, K key edges, P distinct ends of the key edges.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph import Graph, LocalGraphs, local_graphs
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import csr_rows
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity.edges import edge_parts, edge_weights

Kept = dict[tuple[str, torch.device], Any]  # what was moved to a device, by name
Made = TypeVar("Made")


def _held(kept: Kept, name: str, device: torch.device, make: Callable[[], Made]) -> Made:
    """What was made for a device, the first time it is asked for."""
    if (name, device) not in kept:
        kept[name, device] = make()
    found: Made = kept[name, device]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a matrix that are to be summed: those at ``columns[ptr[t]:ptr[t + 1]]`` for each t; on one device."""

    ptr: Tensor
    columns: Tensor
    sizes: Tensor  # [T, 1], as numbers to divide by; 1 where there is no row

    @classmethod
    def of(cls, ptr: IntArray, columns: IntArray | Int32Array, sums: FloatArray, device: torch.device) -> Rows:
        """Take over index arrays, and what the rows of each t count together."""
        kind = np.int32 if len(columns) < 2**31 else np.int64  # PyTorch wants one type for both
        sizes = np.where(sums > 0, sums, 1).astype(np.float32)[:, None]
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
        place = np.searchsorted(rows, self.ids)
        return dataclasses.replace(self, ends=np.stack([place, place], axis=1), _kept=kept)

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
        owners = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        return np.bincount(owners, self.weights[self.columns], minlength=len(self.ptr) - 1).astype(np.float32)

    def ends_on(self, device: torch.device) -> Tensor:
        """The ends on a device, [Q, 2]."""
        return _held(self._kept, "ends", device, lambda: torch.tensor(self.ends, device=device))

    def rows(self, device: torch.device) -> Rows:
        """The edges of each node, on a device."""
        return _held(self._kept, "rows", device, lambda: Rows.of(self.ptr, self.columns, self.sums(), device))

    def flipped(self, device: torch.device) -> Rows:
        """The nodes of each edge, on a device: what gradients run along."""

        def make() -> Rows:
            owners = np.repeat(np.arange(len(self.ptr) - 1, dtype=np.int32), np.diff(self.ptr))
            order = np.argsort(self.columns, kind="stable")
            ptr = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=len(self)))])
            return Rows.of(ptr, owners[order], np.diff(ptr), device)

        return _held(self._kept, "flipped", device, make)


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
    _kept: Kept = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, edges: IntArray, local: LocalGraphs) -> KeyEdges:
        """The edges of some local graphs; ``edges`` are those of the whole graph."""
        ids = local.union()
        nodes, ends = np.unique(edges[ids], return_inverse=True)
        return cls(ids, ends.reshape(-1, 2).astype(np.int32), nodes, local.ptr, local.positions(ids))

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
        ends, nodes = np.stack([own, own], axis=1).astype(np.int32), np.searchsorted(rows, self.ids)
        return KeyEdges(self.ids, ends, nodes, self.ptr, self.members)

    def on(self, device: torch.device) -> KeyIndex:
        """What a backend on another device reads."""
        arrays = (self.node_ends, self.ptr, self.members)
        return _held(self._kept, "index", device, lambda: KeyIndex(*(torch.tensor(a, device=device) for a in arrays)))

    def block(self, low: int, high: int) -> KeyEdges:
        """The local graphs ``low`` to ``high``, with all key edges; what is on a device stays there."""
        kept = {key: index._replace(ptr=index.ptr[low : high + 1]) for key, index in self._kept.items()}
        return dataclasses.replace(self, ptr=self.ptr[low : high + 1], _kept=kept)

    def select(self, positions: IntArray) -> KeyEdges:
        """The local graphs at some positions, with no other key edges than theirs, and nothing on a device."""
        ptr, members = csr_rows(self.ptr, self.members, positions)
        kept = np.unique(members)
        place = np.full(len(self.ids), -1, np.int32)
        place[kept] = np.arange(len(kept), dtype=np.int32)
        nodes, ends = np.unique(self.ends[kept], return_inverse=True)
        own_ends = ends.reshape(-1, 2).astype(np.int32)
        return KeyEdges(self.ids[kept], own_ends, self.nodes[nodes], ptr, place[members])


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
        """Share of each part in the total weight of a node's edges, [T] each."""
        sums = [self.part(name).queries.sums() for name in self.part_names]
        total = np.zeros(len(self), np.float32)
        for own in sums:  # one after the other: np.sum adds in another order if there is one node alone
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
        return _held(self._kept, "nodes", device, lambda: torch.tensor(self.nodes, device=device))

    def with_edges(self, device: torch.device) -> Tensor:
        """Which nodes have edges, on a device, [T]."""
        return _held(self._kept, "with edges", device, lambda: torch.tensor(self.sizes > 0, device=device))


def items_of(graph: Graph, nodes: IntArray, settings: SimilaritySettings) -> Items:
    """Some nodes of a graph as the settings compare them: local graphs, parts and weights of their edges."""
    local = local_graphs(graph, nodes, settings.hops, settings.max_edges)
    parts = edge_parts(graph, local, settings)
    local = local if parts is None else dataclasses.replace(local, parts=parts)
    pairs = graph.edges.pairs  # if they are mapped, `Similarity` reads those of a comparison
    edges: Any = pairs.whole() if pairs.in_memory else pairs
    weights: Any = edge_weights(graph, settings)  # as the pairs
    return Items(edges, local, weights)
