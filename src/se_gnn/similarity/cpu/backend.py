"""The CPU: edge matching, its gradient, means, distances, the largest of rows, and the search, in compiled code.

Every sum runs in a fixed order. Shapes: N nodes, T queries, L cases or local graphs, Q query edges, K key edges, D
dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.layers import map_parts
from se_gnn.deterministic.vectors import WIDTH, apart_of_rows
from se_gnn.device import items_within
from se_gnn.graph.arrays import BoolArray, FloatArray, Int32Array, IntArray
from se_gnn.progress import tiles
from se_gnn.similarity.backend import Backend, Nearest, Points, few_wanted
from se_gnn.similarity.cpu.lanes import pull_row
from se_gnn.similarity.cpu.matching import GRAM_BYTES, ROOM, Matcher, Vectors
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
        if points.measure.unit:
            return _pull_cosines(points, Way(queries, keys), winners, _each(grad))
        h = points.vectors.contiguous()  # d(-|a - b|) / da = (b - a) / |a - b|; two equal vectors have no slope there
        a, b = (edge_vectors(h, torch.from_numpy(side.ends)) for side in (queries, keys))
        own = (grad / best).masked_fill((best == 0) | (winners < 0), 0)
        start = torch.from_numpy(own.numpy().sum(axis=1))[:, None] * a
        counted = torch.nn.functional.pad(a, (0, 1), value=1.0)  # the last number of a key is the sum of weights
        to_queries, to_keys = _pulled(counted, b, start, winners, _each(-own))
        return _to_ends(h, Way(queries, keys), to_queries[:, :-1], to_keys[:, :-1] - to_keys[:, -1:] * b)

    def add_mean(self, total: Tensor, way: Way, best: Tensor, share: Tensor) -> None:
        """Row by row, with the bits of the means of all parts that are added up."""
        rows, counts = way.queries.rows(best.device), way.queries.counts
        index = (rows.ptr.numpy(), rows.columns.numpy(), counts, rows.sizes[:, 0].numpy(), share[:, 0].numpy())
        _add_mean(best.numpy(), way.keys.sizes == 0, *index, total.numpy())

    def pull_back_mean(
        self, points: Points, way: Way, best: Tensor, winners: Tensor, share: Tensor, grad: Tensor
    ) -> Tensor:
        """Through the winning pairs alone; the gradients of a query edge are added up when they are needed."""
        rows, flipped = way.queries.rows(grad.device), way.queries.flipped(grad.device)
        columns, ptr = flipped.columns.numpy(), flipped.ptr.numpy()
        counts = (share / rows.sizes)[:, 0].numpy()[columns] * np.repeat(way.queries.counts, np.diff(ptr))
        return _pull_cosines(points, way, winners, Weights(ptr, columns, counts, grad.contiguous().numpy()))

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


@compiled(parallel=True)
def _add_mean(
    best: FloatArray,
    missing: BoolArray,
    ptr: Int32Array,
    columns: Int32Array,
    counts: FloatArray,
    sizes: FloatArray,
    share: FloatArray,
    total: FloatArray,
) -> None:
    for t in numba.prange(len(total)):
        sums, lowest = np.zeros(total.shape[1], np.float32), np.float32(0)
        for i in range(ptr[t], ptr[t + 1]):
            row, count = columns[i], counts[columns[i]]
            lowest -= count
            for c in range(len(sums)):
                sums[c] += best[row, c] * count
        for c in range(len(sums)):
            total[t, c] += share[t] * ((lowest if missing[c] else sums[c]) / sizes[t])


class Weights(NamedTuple):
    """How much each pair of a query edge and its match in a local graph counts, [Q, L], as a product.

    Row q is the sum of the rows ``columns[ptr[q]:ptr[q + 1]]`` of ``grad``, [T, L], each times its count.
    """

    ptr: Int32Array
    columns: Int32Array
    counts: FloatArray
    grad: FloatArray


def _each(weights: Tensor) -> Weights:
    """Weights that are given row by row."""
    count = len(weights)
    ptr = np.arange(count + 1, dtype=np.int32)
    return Weights(ptr, ptr[:-1], np.ones(count, np.float32), weights.contiguous().numpy())


def _pull_cosines(points: Points, way: Way, winners: Tensor, weights: Weights) -> Tensor:
    """The gradient of all cosines, (b / |b| - cos a / |a|) / |a| each: of b / |b|, what is at right angles to a."""
    h = points.vectors.contiguous()
    both = [edge_vectors(h, torch.from_numpy(side.ends)) for side in way]
    units = [points.measure.points(vectors) for vectors in both]
    pulls = _pulled(units[0], units[1], torch.zeros_like(units[0]), winners, weights)
    grads = [
        (pull - (pull * unit).sum(dim=1, keepdim=True) * unit) / vectors.norm(dim=1, keepdim=True).clamp_min(EPS)
        for vectors, unit, pull in zip(both, units, pulls)
    ]
    return _to_ends(h, way, *grads)


def _to_ends(h: Tensor, way: Way, to_queries: Tensor, to_keys: Tensor) -> Tensor:
    """The gradient to h, [N, D], of those to the edges of both sides."""
    grad_h = np.zeros(h.shape, np.float32)
    _add_to_ends(grad_h, way.queries.ends, to_queries.contiguous().numpy())
    _add_to_ends(grad_h, way.keys.ends, to_keys.contiguous().numpy())
    return torch.from_numpy(grad_h)


def _pulled(queries: Tensor, keys: Tensor, start: Tensor, winners: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """``start`` and the keys that each query has matched, and the queries that each key was matched by, weighted.

    Shapes:
        - **queries:** :math:`(Q, D)`, **keys** and **start:** the same or fewer dimensions, the others are 0
        - **winners** (-1: none): :math:`(Q, L)`
        - **output:** :math:`(Q, D)` and :math:`(K, D)`
    """
    blocks, depth = -(-queries.shape[1] // WIDTH), queries.shape[1]

    def in_blocks(vectors: Tensor, sums: Tensor) -> FloatArray:
        """Some dimensions of all vectors, then the next ones, each vector beside its sum: [blocks, rows, 2, WIDTH]."""
        sides = [torch.nn.functional.pad(one, (0, blocks * WIDTH - one.shape[1])) for one in (vectors, sums)]
        both = torch.stack(sides, dim=1).view(-1, 2, blocks, WIDTH)
        return both.permute(2, 0, 1, 3).contiguous().numpy()

    with_none = torch.nn.functional.pad(keys, (0, 0, 1, 0))  # the first key stands for none
    asking, answering = in_blocks(queries, start), in_blocks(with_none, torch.zeros_like(with_none))
    _pull(winners.contiguous().numpy(), *weights, asking, answering)
    found = [torch.from_numpy(side[:, :, 1]).transpose(0, 1).flatten(1)[:, :depth] for side in (asking, answering)]
    return found[0], found[1][1:]


@compiled(parallel=True)
def _pull(
    winners: Int32Array,
    ptr: Int32Array,
    columns: Int32Array,
    counts: FloatArray,
    grad: FloatArray,
    asking: FloatArray,
    answering: FloatArray,
) -> None:
    for block in numba.prange(len(asking)):
        weights = np.empty(grad.shape[1], np.float32)
        for q in range(asking.shape[1]):
            weights[:] = 0
            for i in range(ptr[q], ptr[q + 1]):
                row, count = columns[i], counts[i]
                for c in range(len(weights)):
                    weights[c] += count * grad[row, c]
            own = block * asking.shape[1] + q
            pull_row(winners, q, weights, asking, own, answering, block * answering.shape[1] + 1)


@compiled
def _add_to_ends(grad_h: FloatArray, ends: IntArray, grad: FloatArray) -> None:
    """An edge is the mean of its two ends: each end receives half."""
    for e in range(len(ends)):
        for d in range(grad.shape[1]):
            half = grad[e, d] / 2
            grad_h[ends[e, 0], d] += half
            grad_h[ends[e, 1], d] += half
