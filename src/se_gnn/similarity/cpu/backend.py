"""The CPU: edge matching, its gradient, means, distances, the largest of rows, and the search, in compiled code.

Every sum runs in a fixed order. Shapes: N nodes, T queries, L cases or local graphs, Q query edges, K key edges, D
dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.layers import map_parts
from se_gnn.deterministic.vectors import apart_of_rows, dot_of_rows
from se_gnn.device import items_within
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.progress import tiles
from se_gnn.similarity.backend import Backend, Nearest, Points, few_wanted
from se_gnn.similarity.cpu.matching import (
    GRAM_BYTES,
    ROOM,
    Matcher,
    Vectors,
)
from se_gnn.similarity.cpu.pairs import pair_matches, pair_means
from se_gnn.similarity.edges import edge_vectors
from se_gnn.similarity.items import LocalEdges, Rows, Way
from se_gnn.similarity.measure import EPS

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison

CHUNK_BYTES = 1 << 27  # matches held at a time: more would only cost memory
HELD_BYTES = 1 << 29  # products of nodes held at a time, at most: reading them is less work than forming them again
MANY = 2**16  # similarities that are worth a thread


class CpuBackend(Backend):
    """Comparisons in float32, with the same bits for any number of threads."""

    def match(self, points: Points, queries: LocalEdges, keys: LocalEdges) -> tuple[Tensor, Tensor]:
        """Find best matches by products of nodes: see `matching.py`."""
        best, winners = Matcher(Vectors.of(points), queries, keys).match(0, len(queries))
        return torch.from_numpy(best), torch.from_numpy(winners)

    def pull_back(
        self, points: Points, queries: LocalEdges, keys: LocalEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Through the winning pairs alone, every sum in a fixed order."""
        h, query_ends, key_ends = points.vectors.contiguous(), queries.ends, keys.ends
        if not len(keys):
            return torch.zeros_like(h)
        asking, answering = (edge_vectors(h, torch.from_numpy(ends)).numpy() for ends in (query_ends, key_ends))
        lengths = (torch.from_numpy(_lengths(vectors)) for vectors in (asking, answering))
        weights = points.measure.gradient(best, grad.contiguous(), winners, *lengths)
        (cross, own_query, own_key), chosen = (weight.numpy() for weight in weights), winners.numpy()
        grad_h = np.zeros(h.shape, np.float32)
        grad_queries, grad_keys = np.empty_like(asking), np.empty_like(answering)
        _pull_queries(answering, chosen, cross, own_query.sum(axis=1), asking, grad_queries)
        _add_to_ends(grad_h, query_ends, grad_queries)
        order, key_ptr = _by_key(chosen.ravel(), len(keys))
        _pull_keys(asking, cross.ravel(), own_key.ravel(), order, key_ptr, chosen.shape[1], answering, grad_keys)
        _add_to_ends(grad_h, key_ends, grad_keys)
        return torch.from_numpy(grad_h)

    def row_sums(self, values: Tensor, rows: Rows) -> Tensor:
        """Add rows in the order of the edges."""
        total = RunningSums(rows, values.shape[1], values.dtype)
        total.add(values)
        return total.sums

    def means(self, points: Points, way: Way, budget: int) -> Tensor:
        """P M, Eq. (6), [T, L], with some rows of M at a time."""
        (queries, keys), held = way, max(GRAM_BYTES, min(budget // 4, HELD_BYTES))
        step = items_within(min(budget, CHUNK_BYTES), 8 * max(1, keys.num_local), max(1, len(queries)))
        matcher = Matcher(Vectors.of(points), queries, keys, held)
        sums = RunningSums(queries.rows(points.device), keys.num_local)
        for part in tiles(len(queries), step, unit="edge"):
            best, _ = matcher.match(part.start, part.stop)
            sums.add(queries.weighted(torch.from_numpy(best), part.start))
        ROOM.give_back()
        return sums.mean()

    def listed_matches(
        self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray
    ) -> tuple[Tensor, Tensor]:
        """Pair by pair, with the bits of :meth:`match`."""
        best, winners = pair_matches(Matcher(Vectors.of(points), *way), asking, ptr, answers)
        return torch.from_numpy(best), torch.from_numpy(winners)

    def listed_means(self, points: Points, way: Way, asking: IntArray, ptr: IntArray, answers: IntArray) -> Tensor:
        """Pair by pair, with the bits of :meth:`means`."""
        return torch.from_numpy(pair_means(Matcher(Vectors.of(points), *way), asking, ptr, answers))

    def distances(self, a: Tensor, b: Tensor) -> Tensor:
        """Computed from the differences: equal vectors have distance 0, and a pair always has the same bits."""
        if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
            return super().distances(a, b)
        ptr = np.arange(len(a) + 1) * len(b)
        found = distances_of_rows(_array(a), _array(b), ptr, np.zeros(len(a), np.int64), np.arange(len(b)))
        return torch.from_numpy(found).view(len(a), len(b))

    def listed_distances(self, a: Tensor, b: Tensor, ptr: IntArray, listed: IntArray) -> Tensor:
        """With the bits of :meth:`distances`."""
        return torch.from_numpy(distances_of_rows(_array(a), _array(b), ptr, ptr[:-1].copy(), listed))

    def top(self, overall: Tensor, count: int) -> Tensor:
        """Few by insertion, many by sorting."""
        if not few_wanted(overall, count):
            return super().top(overall, count)
        values = _array(overall)
        order = np.empty((len(values), min(count, values.shape[1])), np.int64)

        def find(part: slice) -> None:
            first_few(values[part], np.empty(order.shape[1], np.float32), order[part])

        map_parts(find, len(values), fewest=max(1, MANY // max(1, values.shape[1])))
        return torch.from_numpy(order)

    def search(self, comparison: Comparison, count: int, budget: int) -> Nearest | None:
        """Search by bounds: see `search.py`."""
        from se_gnn.similarity.cpu.search import nearest_by_bounds  # loads much that explaining a node does not need

        return nearest_by_bounds(comparison, count, budget)


CPU = CpuBackend()


class RunningSums:
    """Sums of rows of a matrix that comes in parts, one after the other, on the CPU."""

    def __init__(self, rows: Rows, width: int, dtype: torch.dtype = torch.float32) -> None:
        self.rows = rows
        self.sums = torch.zeros(len(rows.ptr) - 1, width, dtype=dtype)
        self.taken = 0  # rows of the matrix so far
        self.cursor = rows.ptr[:-1].numpy().copy()

    def add(self, part: Tensor) -> None:
        """The next rows of the matrix."""
        index = (self.rows.columns.numpy(), self.rows.ptr.numpy(), self.cursor)
        _add_rows(np.ascontiguousarray(part.detach().numpy()), self.taken, *index, self.sums.numpy())
        self.taken += len(part)

    def mean(self) -> Tensor:
        """P M, when all parts came."""
        return self.sums.div_(self.rows.sizes)


@compiled(parallel=True)
def _add_rows(
    part: FloatArray, low: int, columns: Int32Array, ptr: Int32Array, cursor: Int32Array, sums: FloatArray
) -> None:
    """Add to each t those of its rows that lie in this part."""
    high = low + len(part)
    for t in numba.prange(len(sums)):
        i = cursor[t]
        while i < ptr[t + 1] and columns[i] < high:
            row = columns[i] - low
            for c in range(sums.shape[1]):
                sums[t, c] += part[row, c]
            i += 1
        cursor[t] = i


def _array(vectors: Tensor) -> FloatArray:
    array: FloatArray = np.ascontiguousarray(vectors.detach().numpy())
    return array


@compiled(parallel=True)
def distances_of_rows(a: FloatArray, b: FloatArray, ptr: IntArray, first: IntArray, listed: IntArray) -> FloatArray:
    """Entries ``ptr[t]`` to ``ptr[t + 1]``: the distances of a_t and the b that are listed from ``first[t]`` on."""
    distances = np.empty(ptr[-1], np.float32)
    for t in numba.prange(len(a)):
        for i in range(ptr[t + 1] - ptr[t]):
            other = listed[first[t] + i]
            distances[ptr[t] + i] = np.sqrt(apart_of_rows(a, t, b, other))
    return distances


@compiled
def first_few(overall: FloatArray, held: FloatArray, order: IntArray) -> None:
    """Each row's largest, largest first, by insertion; ties go to the first."""
    count = len(held)
    for t in range(len(overall)):
        kept = 0
        for i in range(overall.shape[1]):
            value = overall[t, i]
            if kept == count and not value > held[count - 1]:
                continue
            slot = kept if kept < count else count - 1
            while slot > 0 and value > held[slot - 1]:
                held[slot] = held[slot - 1]
                order[t, slot] = order[t, slot - 1]
                slot -= 1
            held[slot] = value
            order[t, slot] = i
            if kept < count:
                kept += 1


@compiled
def _lengths(vectors: FloatArray) -> FloatArray:
    """Length of each vector."""
    lengths = np.empty(len(vectors), np.float32)
    for i in range(len(vectors)):
        lengths[i] = max(np.sqrt(dot_of_rows(vectors, i, vectors, i)), np.float32(EPS))
    return lengths


@compiled(parallel=True)
def _pull_queries(
    keys: FloatArray, winners: Int32Array, cross: FloatArray, own: FloatArray, queries: FloatArray, out: FloatArray
) -> None:
    for q in numba.prange(len(queries)):
        total = out[q]
        for d in range(len(total)):  # loops: whole rows take the compiler seconds
            total[d] = own[q] * queries[q, d]
        for t in range(winners.shape[1]):
            weight = cross[q, t]
            if weight != 0:
                key = winners[q, t]
                for d in range(len(total)):
                    total[d] += weight * keys[key, d]


@compiled(parallel=True)
def _pull_keys(
    queries: FloatArray,
    cross: FloatArray,
    own: FloatArray,
    order: IntArray,
    key_ptr: IntArray,
    num_local: int,
    keys: FloatArray,
    out: FloatArray,
) -> None:
    for k in numba.prange(len(keys)):
        total = np.zeros(keys.shape[1], np.float32)
        weight_own = np.float32(0)
        for i in range(key_ptr[k], key_ptr[k + 1]):
            pair = order[i]
            weight = cross[pair]
            if weight != 0:
                weight_own += own[pair]
                query = pair // num_local
                for d in range(len(total)):
                    total[d] += weight * queries[query, d]
        for d in range(len(total)):
            out[k, d] = total[d] + weight_own * keys[k, d]


@compiled
def _by_key(winners: Int32Array, num_keys: int) -> tuple[IntArray, IntArray]:
    """Pairs grouped by their key, in order: a counting sort."""
    key_ptr = np.zeros(num_keys + 1, np.int64)
    for key in winners:
        if key >= 0:
            key_ptr[key + 1] += 1
    key_ptr = np.cumsum(key_ptr)
    slot = key_ptr[:-1].copy()
    order = np.empty(key_ptr[-1], np.int64)
    for pair in range(len(winners)):
        key = winners[pair]
        if key >= 0:
            order[slot[key]] = pair
            slot[key] += 1
    return order, key_ptr


@compiled
def _add_to_ends(grad_h: FloatArray, ends: IntArray, grad: FloatArray) -> None:
    """An edge is the mean of its two ends: each end receives half."""
    for e in range(len(ends)):
        for d in range(grad.shape[1]):
            half = grad[e, d] / 2
            grad_h[ends[e, 0], d] += half
            grad_h[ends[e, 1], d] += half
