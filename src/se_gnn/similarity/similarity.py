"""How similar nodes of a graph are under one set of embeddings: what everything else asks.

Nobody outside of `similarity/` knows which backend runs, whether all pairs are compared or the nearest are searched, or
how matches are laid out. Shapes: T queries, L cases, K of them for each query, Q distinct edges of the queries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import items_within, memory_budget
from se_gnn.files.npy import take_rows
from se_gnn.graph import Graph, LocalGraphs
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import MAX_NODES
from se_gnn.graph.rows import take
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity.backend import Nearest, Points
from se_gnn.similarity.comparison import Comparison, Matches, combine
from se_gnn.similarity.edges import Terms, edge_vectors
from se_gnn.similarity.items import Items, items_of
from se_gnn.similarity.measure import Measure, measure_named

MOST_MAPPED = 4096  # queries whose embeddings are read from a mapped file at a time


@dataclass(frozen=True, eq=False)
class Similarities:
    """Node, structure and overall similarity of queries and cases, each [T, L], or [n] for listed pairs.

    Structure is -inf where one of the two nodes has no edges; such a pair is compared by node similarity alone.
    """

    node: Tensor  # s^n, Eq. (2)
    structure: Tensor  # s^e, Eq. (6)
    node_weight: float  # lambda

    @cached_property
    def overall(self) -> Tensor:
        """s, Eq. (7)."""
        return combine(self.node, self.structure, self.node_weight)

    def weighted(self, node_weight: float) -> Similarities:
        """The same with another lambda: nothing is compared again."""
        return dataclasses.replace(self, node_weight=node_weight)


class Similarity:
    """Compares nodes of a graph.

    Args:
        graph: in memory or mapped.
        h: embeddings of all its nodes, [N, D]: a tensor, or the array of a mapped file.
        settings: what is compared, and how.
        terms: what is added to the vectors of edges; None: nothing. It is asked for in each comparison.
        max_memory: memory that a comparison may take, such as ``"4GB"``; None: a quarter of what is free.
        device: where rows of a mapped file are compared; tensors are compared on their own device.
    """

    def __init__(
        self,
        graph: Graph,
        h: Tensor | FloatArray,
        settings: SimilaritySettings,
        *,
        terms: Terms | None = None,
        max_memory: int | str | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.graph, self.h, self.settings, self.terms, self.max_memory = graph, h, settings, terms, max_memory
        self.device = h.device if isinstance(h, Tensor) else torch.device(device)

    @property
    def measure(self) -> Measure:
        """sim(a, b)."""
        return measure_named(self.settings.measure)

    @cached_property
    def origin(self) -> Tensor:
        """The point that distances are computed from, [D]: that of all nodes, whichever are compared."""
        return self.measure.origin(self.h).to(self.device)

    def items(self, nodes: IntArray) -> Items:
        """Some nodes with their local graphs, for either side of a comparison."""
        found = items_of(self.graph, nodes, self.settings)
        self.graph.neighbors().release()
        return found

    def compare(
        self, queries: Items, cases: Items, *, edge_weights: Tensor | None = None, node: Tensor | None = None
    ) -> Similarities:
        """Eq. (2)-(7) of all pairs, with gradients to the embeddings and to the terms.

        ``edge_weights``, [E]: how much each edge of the graph counts in the mean of Eq. (6), with gradients. ``node``:
        the node similarities, [T, L], if they are known already.
        """
        return self._similarities(self.comparison(queries, cases), edge_weights, node)

    def compare_among(self, items: Items, sample: Items | None = None) -> Similarities:
        """As :meth:`compare`, of some nodes with each other: if both directions count, one is the transpose.

        With a ``sample`` of the edges of each node, the means of Eq. (6) are over the sample, and each best match is
        over the whole local graph: without bias.
        """
        asking = items if sample is None else sample
        return self._similarities(dataclasses.replace(self.comparison(asking, items), symmetric=True))

    @torch.no_grad()
    def compare_listed(self, queries: Items, cases: Items, ptr: IntArray, positions: IntArray) -> Similarities:
        """Each query with the cases at ``positions[ptr[t]:ptr[t + 1]]`` alone, [n]; no gradients.

        On the CPU a pair has the same bits as in :meth:`compare`. With lambda = 1 no edges are matched.
        """
        comparison, weight = self.comparison(queries, cases), self.settings.node_weight
        everyone = np.arange(len(queries))
        node = comparison.listed_nodes(everyone, ptr, positions)
        if weight == 1:
            return Similarities(node, torch.full_like(node, -torch.inf), weight)
        return Similarities(node, comparison.listed_structure(everyone, ptr, positions), weight)

    @torch.no_grad()
    def compare_with_matches(self, queries: Items, cases: Items) -> tuple[Similarities, Matches]:
        """As :meth:`compare`, with the best matches of the queries' edges in all cases; no gradients."""
        comparison = self.comparison(queries, cases)
        structure, matching = comparison.structure_and_matches(self.max_memory)
        return Similarities(comparison.node(), structure, self.settings.node_weight), matching

    @torch.no_grad()
    def nearest(self, queries: Items, cases: Items, count: int) -> Nearest:
        """The ``count`` most similar cases of each query, [T, count], or all there are.

        A query that is a case itself comes last, with an overall similarity of -inf. If there are many cases, most are
        proved to be farther and are not compared: the result is the same. If not all pairs fit the memory, cases come
        in blocks, and the nearest so far are kept.
        """
        comparison = self.comparison(queries, cases)
        found = comparison.backend.search(comparison, count, self._budget)
        if found is not None:
            return found
        kept: list[Nearest] = []
        for positions, similarities in self._blocks(comparison):
            some = self._voting(queries, cases, positions, similarities)
            kept = [Nearest.joined([*kept, some], dim=1).cut(count)]
        return kept[0]

    @torch.no_grad()
    def match(self, queries: Items, cases: Items, positions: IntArray) -> Matches:
        """Best matches of the edges of each query in the local graphs of some cases, ``positions`` [T, K]; -1: none.

        They are found for these cases alone, or in one table for all cases, whichever holds fewer numbers.
        """
        if _table_is_smaller(queries, cases, positions.shape[1]):
            return self.compare_with_matches(queries, cases)[1].among(positions)
        matched_in, places = cases, positions
        if not isinstance(self.h, Tensor):  # only what is matched is read
            used = np.unique(positions[positions >= 0])
            matched_in, places = cases.select(used), np.where(positions < 0, -1, np.searchsorted(used, positions))
        comparison = self.comparison(queries, matched_in)
        rows: Int32Array = np.arange(len(queries.local.edge_ids), dtype=np.int32)
        return Matches(positions, queries.local.ptr, rows, *comparison.listed_matches(places), listed=True)

    @torch.no_grad()
    def nearest_with_matches(self, queries: Items, cases: Items, count: int, *, depth: int) -> tuple[Nearest, Matches]:
        """As :meth:`nearest` for ``depth`` cases, with the matches of the first ``count`` of them that can vote.

        What was matched once is not matched again.
        """
        if not _table_is_smaller(queries, cases, count):
            found = self.nearest(queries, cases, depth)
            return found, self.match(queries, cases, who_votes(found.first(count)))
        similarities, table = self.compare_with_matches(queries, cases)
        everyone = torch.arange(len(cases), device=self.device)
        found = self._voting(queries, cases, everyone, similarities).cut(depth)
        return found, table.among(who_votes(found.first(count)))

    def queries_at_a_time(self, most: int) -> int:
        """How many queries to compare at a time; all that there are if embeddings are in memory.

        Of a mapped file, the rows of the nodes and edges in their local graphs are read for each comparison.
        """
        if isinstance(self.h, Tensor):
            return max(1, most)
        each = 4 * self.h.shape[1] * (MAX_NODES + (self.settings.max_edges or 0))
        return items_within(self._budget // 2, each, max(1, min(most, MOST_MAPPED)))

    @staticmethod
    def match_bytes(queries: Items, cases: Items, count: int) -> int:
        """Memory that the matches of queries with ``count`` cases each take."""
        return 8 * min(queries.num_queries * len(cases), len(queries.local.edge_ids) * count)

    @property
    def _budget(self) -> int:
        return memory_budget(self.max_memory, self.device)

    def comparison(self, queries: Items, cases: Items) -> Comparison:
        """Both sides with the vectors that they are compared by: what backends read."""
        h, names = self.h, None
        if not isinstance(h, Tensor):
            h, names, queries, cases = self._read(h, queries, cases)
        vectors, rows = h, None
        if self.terms is not None:
            used = np.zeros(len(queries.edges), dtype=bool)
            for side in (queries, cases):
                used[side.local.edge_ids] = True
            rows = np.flatnonzero(used)
            arrays = queries.edges[rows], rows if names is None else names[rows]
            ends, ids = (torch.from_numpy(array).to(self.device) for array in arrays)
            vectors = edge_vectors(self.measure.points(h), ends) + self.terms(ids)
        return Comparison(
            h=h,
            points=Points(vectors, self.origin, self.measure),
            queries=queries,
            cases=cases,
            both=self.settings.directions == "both",
            node_weight=self.settings.node_weight,
            rows=rows,
            names=names,
        )

    def _read(self, h: FloatArray, queries: Items, cases: Items) -> tuple[Tensor, IntArray, Items, Items]:
        """The rows of a mapped file that a comparison needs, ids of the edges, and both sides by positions in these."""
        edge_ids = np.union1d(queries.local.edge_ids, cases.local.edge_ids).astype(np.int64)
        edges = self.graph.edges.pairs.take(edge_ids)
        used = np.unique(np.concatenate([edges.ravel(), queries.nodes, cases.nodes]))
        ends = np.searchsorted(used, edges).reshape(-1, 2)
        weights = None if queries.weights is None else take(queries.weights, edge_ids)
        asking, answering = (Items(ends, _renumbered(side.local, used, edge_ids), weights) for side in (queries, cases))
        return torch.from_numpy(take_rows(h, used)).to(self.device), edge_ids, asking, answering

    def _similarities(
        self, comparison: Comparison, edge_weights: Tensor | None = None, node: Tensor | None = None
    ) -> Similarities:
        structure = comparison.structure(self.max_memory, edge_weights)
        node = comparison.node() if node is None else node
        return Similarities(node, structure, self.settings.node_weight)

    def _blocks(self, comparison: Comparison) -> Iterator[tuple[Tensor, Similarities]]:
        num_queries, num_cases = len(comparison.queries), len(comparison.cases)
        step = items_within(self._budget // 2, 16 * max(1, num_queries), num_cases)
        for low in range(0, num_cases, step):
            high = min(low + step, num_cases)
            yield torch.arange(low, high, device=self.device), self._similarities(comparison.block(low, high))

    def _voting(self, queries: Items, cases: Items, positions: Tensor, found: Similarities) -> Nearest:
        """The cases at some positions; a query that is one of them cannot vote."""
        itself = queries.nodes_on(self.device)[:, None] == cases.nodes_on(self.device)[positions]
        overall = found.overall.masked_fill(itself, -torch.inf)
        return Nearest(positions.expand_as(overall), overall, found.node, found.structure)


def _table_is_smaller(queries: Items, cases: Items, count: int) -> bool:
    return queries.num_queries * len(cases) <= len(queries.local.edge_ids) * count


def who_votes(nearest: Nearest) -> IntArray:
    """Positions of the cases that can vote, [T, K]; -1 where one cannot."""
    return torch.where(torch.isfinite(nearest.overall), nearest.positions, -1).cpu().numpy()


def _renumbered(local: LocalGraphs, used: IntArray, edge_ids: IntArray) -> LocalGraphs:
    """The same local graphs by positions among the nodes and edges that are used."""
    return LocalGraphs(
        np.searchsorted(used, local.nodes),
        local.ptr,
        np.searchsorted(edge_ids, local.edge_ids).astype(np.int32),
        len(edge_ids),
        left_out=local.left_out,
        parts=local.parts,
    )
