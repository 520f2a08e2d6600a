"""The CPU: edge matching, means, distances, the largest numbers of rows, and the search, all in compiled code.

Shapes: T queries, L cases, Q query edges, D dimensions.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic.sums import apart_of_rows
from se_gnn.deterministic.threads import map_parts
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.progress import tiles
from se_gnn.similarity.backend import Nearest, Points
from se_gnn.similarity.cpu.gradient import pull_back
from se_gnn.similarity.cpu.lanes import LANES
from se_gnn.similarity.cpu.matching import (
    GRAM_BYTES,
    ROOM,
    Matcher,
    NodeProducts,
    Vectors,
    exchange,
    multiplied,
    packed,
    take_queries,
)
from se_gnn.similarity.cpu.pairs import pair_matches, pair_means
from se_gnn.similarity.cpu.scores import edge_squares
from se_gnn.similarity.items import KeyEdges, QueryEdges, Rows, Way
from se_gnn.similarity.memory import items_within
from se_gnn.similarity.torch_backend import TorchBackend, few_wanted

if TYPE_CHECKING:
    from se_gnn.similarity.comparison import Comparison

CHUNK_BYTES = 1 << 27  # matches held at a time: more would only cost memory
HELD_BYTES = 1 << 29  # products of nodes held at a time, at most: to read them is less work than to form them again
QUICK_BYTES = 1 << 26  # and rather so many: memory that is written again and again is quicker than fresh memory
REPEATED = 1.25  # times that a product may be formed for that
FEWEST = 16  # local graphs at a time so that their products can be held; fewer would cost more than they save
MANY = 2**16  # similarities that are worth a thread


class CpuBackend(TorchBackend):
    """Comparisons in float32, with the same bits for any number of threads."""

    def match(self, points: Points, queries: QueryEdges, keys: KeyEdges) -> tuple[Tensor, Tensor]:
        """By products of nodes: see `matching.py`."""
        best, winners = Matcher(Vectors.of(points), queries, keys).match(0, len(queries))
        return torch.from_numpy(best), torch.from_numpy(winners)

    def pull_back(
        self, points: Points, queries: QueryEdges, keys: KeyEdges, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Every sum in a fixed order: see `gradient.py`."""
        return pull_back(points.vectors.contiguous(), queries, keys, points.measure, best, winners, grad.contiguous())

    def row_sums(self, values: Tensor, rows: Rows) -> Tensor:
        """In the order of the edges."""
        total = RunningSums(rows, values.shape[1], values.dtype)
        total.add(values)
        return total.sums

    def means(self, points: Points, there: Way, back: Way | None, budget: int) -> tuple[Tensor, Tensor | None]:
        """Some queries at a time; both directions share the products of nodes where these fit the cache."""
        vectors = Vectors.of(points)
        shared = None if back is None else _shared_products(vectors, there, back)
        products, products_back = (None, None) if shared is None else shared
        held = max(GRAM_BYTES, min(budget // 4, HELD_BYTES))
        forth = _in_blocks(vectors, there, products, held, budget)
        returned = None if back is None else _in_blocks(vectors, back, products_back, held, budget)
        ROOM.give_back()
        return forth, returned

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
        """From the differences: equal vectors have distance 0, and a pair has the same bits alone and among others."""
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
        """By bounds: see `search.py`."""
        from se_gnn.similarity.cpu.search import nearest_by_bounds  # loads much that explaining a node does not need

        return nearest_by_bounds(comparison, count, budget)


CPU = CpuBackend()


def _in_blocks(vectors: Vectors, way: Way, products: NodeProducts | None, held: int, budget: int) -> Tensor:
    """P M, [T, L], so many local graphs at a time that the products of all nodes with theirs can be held.

    So each product is formed once, and the work grows as the graph does.
    """
    queries, keys = way
    if products is not None or not len(queries) or not len(keys):
        return _streamed(Matcher(vectors, queries, keys, products, held), budget)
    nodes, ends = take_queries(queries.ends, len(vectors.moved), len(vectors.moved) + 2 * LANES, 0)
    cuts = _cuts(keys, 4 * len(nodes) * len(keys.nodes), held)
    if cuts is None:
        return _streamed(Matcher(vectors, queries, keys, None, held), budget)
    squares = edge_squares(vectors.moved, queries.ends)
    means = []
    for low, high in itertools.pairwise(cuts.tolist()):
        part = keys if len(cuts) == 2 else keys.select(np.arange(low, high))
        gram = multiplied(vectors.moved, nodes, packed(vectors.moved, part.nodes))
        matcher = Matcher(vectors, queries, part, NodeProducts(gram, ends), held, squares)
        means.append(_streamed(matcher, budget))
    return torch.cat(means, dim=1) if len(means) > 1 else means[0]


def _cuts(keys: KeyEdges, num_bytes: int, held: int) -> IntArray | None:
    """Where blocks of local graphs begin and end, for products of ``num_bytes`` in all; None: not even few can be held.

    They are as many as must be, and more where that forms few products twice: smaller ones are quicker.
    """
    most, least = max(1, keys.num_local // FEWEST), math.ceil(num_bytes / held)
    if least > most:
        return None
    quick = _even(keys, max(least, min(most, math.ceil(num_bytes / QUICK_BYTES))))
    if len(quick) - 1 > least and _times_formed(keys, quick) > REPEATED:
        return _even(keys, least)
    return quick


def _even(keys: KeyEdges, count: int) -> IntArray:
    return np.linspace(0, keys.num_local, count + 1).astype(np.int64)


def _times_formed(keys: KeyEdges, cuts: IntArray) -> float:
    """How often the products of a key node are formed when its local graphs are in different blocks, on average."""
    if len(keys.members) > REPEATED * len(keys):  # local graphs that share edges share nodes
        return math.inf
    blocks = np.repeat(np.arange(len(cuts) - 1), np.diff(keys.ptr[cuts]))
    places = blocks[:, None] * len(keys.nodes) + keys.ends[keys.members[keys.ptr[0] : keys.ptr[-1]]]
    return len(np.unique(places)) / len(keys.nodes)


def _streamed(matcher: Matcher, budget: int) -> Tensor:
    """P M, Eq. (6), [T, L], with some rows of M at a time."""
    queries, num_local = matcher.queries, matcher.keys.num_local
    step = items_within(min(budget, CHUNK_BYTES), 8 * max(1, num_local), max(1, len(queries)))
    sums = RunningSums(queries.rows(torch.device("cpu")), num_local)
    for part in tiles(len(queries), step, unit="edge"):
        best, _ = matcher.match(part.start, part.stop)
        sums.add(queries.weighted(torch.from_numpy(best), part.start))
    return sums.mean()


def _shared_products(vectors: Vectors, there: Way, back: Way) -> tuple[NodeProducts, NodeProducts] | None:
    """Products for both directions at once, where the queries of each are keys of the other; None: too large.

    They hold until the next products of this thread.
    """
    if not (len(there.queries) and len(back.queries)):
        return None
    if 4 * len(back.keys.nodes) * len(there.keys.nodes) > GRAM_BYTES:
        return None
    gram = multiplied(vectors.moved, back.keys.nodes, packed(vectors.moved, there.keys.nodes))
    ends = (
        keys.ends[np.searchsorted(keys.ids, queries.ids)]
        for queries, keys in ((there.queries, back.keys), (back.queries, there.keys))
    )
    exchanged = ROOM.take("exchanged", gram.shape[1], gram.shape[0])
    exchange(gram, exchanged)
    return NodeProducts(gram, next(ends)), NodeProducts(exchanged, next(ends))


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


@numba.njit(parallel=True, cache=True, nogil=True)
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


@numba.njit(parallel=True, cache=True, nogil=True)
def distances_of_rows(a: FloatArray, b: FloatArray, ptr: IntArray, first: IntArray, listed: IntArray) -> FloatArray:
    """Entries ``ptr[t]`` to ``ptr[t + 1]``: the distances of a_t and the b that are listed from ``first[t]`` on."""
    distances = np.empty(ptr[-1], np.float32)
    for t in numba.prange(len(a)):
        for i in range(ptr[t + 1] - ptr[t]):
            other = listed[first[t] + i]
            distances[ptr[t] + i] = np.sqrt(apart_of_rows(a, t, b, other))
    return distances


@numba.njit(cache=True, nogil=True)
def first_few(overall: FloatArray, held: FloatArray, order: IntArray) -> None:
    """Each row's largest, largest first, by insertion; of equals the first comes first."""
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
