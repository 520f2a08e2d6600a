"""Nodes with their local graphs, prepared for either side of a comparison; nothing here depends on embeddings.

*Queries* are compared with *cases*: each edge of a query, a *query edge*, looks for its best match among the edges of
a case, the *key edges*. If both directions count, cases are compared with queries as well: the same edges ask and
answer. They are made when they are first needed, and kept. What is moved to a device is kept there: a recorded CUDA
step cannot wait for the host.

Shapes: T nodes, E edges of the graph, Q distinct edges of these nodes, P distinct ends of those.
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
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray, row_starts
from se_gnn.graph.local import csr_rows
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity.edges import edge_parts, edge_weights

CPU = torch.device("cpu")
Kept = dict[tuple[str, torch.device], Any]  # what was moved to a device, by name
Made = TypeVar("Made")


def _held(kept: Kept, name: str, device: torch.device, make: Callable[[], Made]) -> Made:
    """What was made for a device, the first time it is asked for."""
    if (name, device) not in kept:
        kept[name, device] = make()
    found: Made = kept[name, device]
    return found


class Rows(NamedTuple):
    """Rows of a matrix, those at ``columns[ptr[t]:ptr[t + 1]]`` for each t; on one device."""

    ptr: Tensor
    columns: Tensor
    sizes: Tensor  # [T, 1], what a sum is to be divided by; 1 where there is no row

    @classmethod
    def of(cls, ptr: IntArray, columns: Tensor, sums: FloatArray) -> Rows:
        """Take over index arrays, and what the rows of each t count together."""
        starts = torch.from_numpy(ptr).to(columns.device, columns.dtype)  # PyTorch wants one type for both
        sizes = np.where(sums > 0, sums, 1).astype(np.float32)[:, None]
        return cls(starts, columns, torch.from_numpy(sizes).to(columns.device))


@dataclass(frozen=True, slots=True, eq=False)
class LocalEdges:
    r"""The distinct edges of some local graphs: each looks for its best match elsewhere, or others look among them.

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
    _of_edges: Kept = field(default_factory=dict, repr=False)  # what depends on the edges alone, not on `ptr`
    _of_rows: Kept = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, edges: IntArray, local: LocalGraphs, weights: FloatArray | None = None) -> LocalEdges:
        """The edges of some local graphs; ``edges`` and ``weights`` are those of the whole graph."""
        ids = local.union()
        own = None if weights is None else weights[ids]
        return cls(ids, edges[ids], local.ptr, local.positions(ids), own)

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
    def owners(self) -> IntArray:
        """The local graph of each entry of ``columns``."""
        return np.repeat(np.arange(self.num_local), self.sizes)

    @property
    def distinct_ends(self) -> tuple[IntArray, Int32Array]:
        """The distinct ends of all edges, ascending, [P], and where those of each edge stand among them, [Q, 2]."""

        def make() -> tuple[IntArray, Int32Array]:
            nodes, places = np.unique(self.ends, return_inverse=True)
            return nodes, places.reshape(-1, 2).astype(np.int32)

        return _held(self._of_edges, "distinct", CPU, make)

    def with_own_vectors(self, rows: IntArray) -> LocalEdges:
        """The same edges, each of which is a row of its own: the one at its place in ``rows``, ascending edge ids."""
        place = np.searchsorted(rows, self.ids)
        ends, made = self._of_edges.get(("own", CPU), (None, {}))
        if ends is None or not np.array_equal(ends[:, 0], place):
            ends, made = self._of_edges["own", CPU] = np.stack([place, place], axis=1), {}
        return dataclasses.replace(self, ends=ends, _of_edges=made)

    def block(self, low: int, high: int) -> LocalEdges:
        """The local graphs ``low`` to ``high``, with all edges; what is on a device stays there."""
        return dataclasses.replace(self, ptr=self.ptr[low : high + 1], _of_rows={})

    def select(self, positions: IntArray) -> LocalEdges:
        """The local graphs at some positions, with no other edges than theirs, and nothing on a device."""
        ptr, columns = csr_rows(self.ptr, self.columns, positions)
        kept, places = np.unique(columns, return_inverse=True)
        weights = None if self.weights is None else self.weights[kept]
        return LocalEdges(self.ids[kept], self.ends[kept], ptr, places.astype(np.int32), weights)

    def weighted(self, best: Tensor, low: int = 0) -> Tensor:
        """Best similarities of the edges from ``low`` on, each times its weight."""
        if self.weights is None:
            return best
        weights = self.weights[low : low + len(best), None]
        return best * torch.from_numpy(weights).to(best.device, best.dtype)

    @property
    def counts(self) -> FloatArray:
        """How much each edge counts in a mean, [Q]."""
        return np.ones(len(self), np.float32) if self.weights is None else self.weights

    def sums(self) -> FloatArray:
        """What the edges of each node count together, [T]."""
        if self.weights is None:
            return self.sizes.astype(np.float32)
        counts = self.weights[self.columns[self.ptr[0] : self.ptr[-1]]]
        return np.bincount(self.owners, counts, minlength=self.num_local).astype(np.float32)

    def ends_on(self, device: torch.device) -> Tensor:
        """The ends on a device, [Q, 2]."""
        return _held(self._of_edges, "ends", device, lambda: torch.tensor(self.ends, device=device))

    def rows(self, device: torch.device) -> Rows:
        """The edges of each node, on a device."""

        def make() -> Rows:
            columns = _held(self._of_edges, "columns", device, lambda: _moved(self.columns, device))
            return Rows.of(self.ptr, columns, self.sums())

        return _held(self._of_rows, "rows", device, make)

    def flipped(self, device: torch.device) -> Rows:
        """The nodes of each edge, on a device: what gradients run along."""

        def make() -> Rows:
            order = np.argsort(self.columns, kind="stable")
            sizes = np.bincount(self.columns, minlength=len(self))
            return Rows.of(row_starts(sizes), _moved(self.owners[order], device), sizes.astype(np.float32))

        return _held(self._of_rows, "flipped", device, make)


def _moved(columns: IntArray | Int32Array, device: torch.device) -> Tensor:
    kind = np.int32 if len(columns) < 2**31 else np.int64  # so that `ptr` can have the same type
    return torch.from_numpy(np.ascontiguousarray(columns, kind)).to(device)


class Way(NamedTuple):
    """One direction of a comparison in one part: who asks, and who answers."""

    queries: LocalEdges
    keys: LocalEdges


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
    def queries(self) -> LocalEdges:
        """Their edges, whatever part they are of, each of which looks for its best match."""
        return LocalEdges.of(self.edges, self.local, self.weights)

    @cached_property
    def keys(self) -> LocalEdges:
        """Their edges, whatever part they are of, among which matches are found; a block shares those of the whole."""
        if self._whole is None:
            return self.queries
        whole, low, high = self._whole
        return whole.keys.block(low, high)

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
