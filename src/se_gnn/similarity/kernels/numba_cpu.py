"""Edge matching on the CPU: agrees with `reference.match_edges`, and stores nothing of size queries x keys.

Shapes: Q query edges, K key edges (distinct edges of the local graphs), L local graphs, U distinct ends of the queries,
P distinct ends of the keys, D dimensions.

With mean pooling the product of a query (u, v) and a key (i, j) is a quarter of four products of *nodes*: one product
of the query nodes with the key nodes serves all pairs of edges. For either measure the best key of a local graph is
the largest `scale * sum of the four + offset`, which also is its similarity but for one rounding; where that would
lose digits (close edges, ends that cancel), the winner is scored again, exactly as the paper writes it. Every sum
runs in a fixed order, so that neither the block size nor the number of threads changes a bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.progress import tiles
from se_gnn.similarity.kernels.gradient_cpu import pull_back
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.lanes import (
    COLUMNS,
    LANES,
    argmax_lanes,
    argmax_rows,
    edges_to_lanes,
    transpose_tile,
)
from se_gnn.similarity.kernels.mean import RunningSums
from se_gnn.similarity.kernels.node_products import (
    GRAM_BYTES,
    ROOM,
    NodeProducts,
    exchange,
    multiplied,
    packed,
    take_queries,
)
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.kernels.rescoring import edge_squares, roots, to_cosines, to_distances
from se_gnn.similarity.kernels.rounding import CLOSE
from se_gnn.similarity.measure import Measure
from se_gnn.similarity.memory import items_within

CHUNK_BYTES = 1 << 27  # matches held at a time: more would only cost memory
HELD_BYTES = 1 << 29  # products of nodes held at a time, at most: to read them is less work than to form them again
QUICK_BYTES = 1 << 26  # and rather so many: memory that is written again and again is quicker than fresh memory
REPEATED = 1.25  # times that a product may be formed for that
FEWEST = 16  # local graphs at a time so that their products can be held; fewer would cost more than they save


class CpuKernel(Kernel):
    """Edge matching on the CPU, in float32."""

    def match(self, h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
        """As `reference.match_edges`."""
        best, winners = Matcher(Vectors.of(h, measure, origin), plan).match(0, plan.num_queries)
        return torch.from_numpy(best), torch.from_numpy(winners)

    def pull_back(
        self, h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the embeddings, [N, D], every sum in a fixed order."""
        return pull_back(h.contiguous(), plan, measure, best, winners, grad.contiguous())

    def means(
        self, h: Tensor, forward: OneWay, backward: OneWay | None, measure: Measure, origin: Tensor, budget: int
    ) -> tuple[Tensor, Tensor | None]:
        """Some queries at a time; both directions share the products of nodes where these fit the cache."""
        vectors = Vectors.of(h, measure, origin)
        shared = None if backward is None else _shared_products(vectors, forward.matching, backward.matching)
        there, back = (None, None) if shared is None else shared
        held = max(GRAM_BYTES, min(budget // 4, HELD_BYTES))
        way_there = _in_blocks(vectors, forward, there, held, budget)
        way_back = None if backward is None else _in_blocks(vectors, backward, back, held, budget)
        ROOM.give_back()
        return way_there, way_back


def _in_blocks(vectors: Vectors, way: OneWay, products: NodeProducts | None, held: int, budget: int) -> Tensor:
    """P M, [T, L], so many local graphs at a time that the products of all nodes with theirs can be held.

    So each product is formed once, and the work grows as the graph does.
    """
    plan = way.matching
    if products is not None or not plan.num_queries or not len(plan.key_ids):
        return _streamed(Matcher(vectors, plan, products, held), way, budget)
    nodes, ends = take_queries(plan.query_ends, len(vectors.moved), len(vectors.moved) + 2 * LANES, 0)
    cuts = _cuts(plan, 4 * len(nodes) * len(plan.key_nodes), held)
    if cuts is None:
        return _streamed(Matcher(vectors, plan, None, held), way, budget)
    way.rows(torch.device("cpu"))  # so that the blocks share it
    squares = edge_squares(vectors.moved, plan.query_ends)
    means = []
    for low, high in itertools.pairwise(cuts.tolist()):
        part = way if len(cuts) == 2 else way.answering(low, high, compact=True)
        gram = multiplied(vectors.moved, nodes, packed(vectors.moved, part.matching.key_nodes))
        matcher = Matcher(vectors, part.matching, NodeProducts(gram, ends), held, squares)
        means.append(_streamed(matcher, part, budget))
    return torch.cat(means, dim=1) if len(means) > 1 else means[0]


def _cuts(plan: MatchPlan, num_bytes: int, held: int) -> IntArray | None:
    """Where blocks of local graphs begin and end, for products of ``num_bytes`` in all; None: not even few can be held.

    They are as many as must be, and more where that forms few products twice: smaller ones are quicker.
    """
    most, least = max(1, plan.num_local // FEWEST), math.ceil(num_bytes / held)
    if least > most:
        return None
    quick = _even(plan, max(least, min(most, math.ceil(num_bytes / QUICK_BYTES))))
    if len(quick) - 1 > least and _times_formed(plan, quick) > REPEATED:
        return _even(plan, least)
    return quick


def _even(plan: MatchPlan, count: int) -> IntArray:
    return np.linspace(0, plan.num_local, count + 1).astype(np.int64)


def _times_formed(plan: MatchPlan, cuts: IntArray) -> float:
    """How often the products of a key node are formed when its local graphs are in different blocks, on average."""
    if len(plan.members) > REPEATED * len(plan.key_ids):  # local graphs that share edges share nodes
        return math.inf
    blocks = np.repeat(np.arange(len(cuts) - 1), np.diff(plan.ptr[cuts]))
    places = blocks[:, None] * len(plan.key_nodes) + plan.key_ends[plan.members]
    return len(np.unique(places)) / len(plan.key_nodes)


def _streamed(matcher: Matcher, way: OneWay, budget: int) -> Tensor:
    """P M, Eq. (6), [T, L], with some rows of M at a time."""
    num_queries, num_local = way.matching.num_queries, way.matching.num_local
    step = items_within(min(budget, CHUNK_BYTES), 8 * max(1, num_local), max(1, num_queries))
    sums = RunningSums(way.rows(torch.device("cpu")), num_local)
    for part in tiles(num_queries, step, unit="edge"):
        best, _ = matcher.match(part.start, part.stop)
        sums.add(way.weighted(torch.from_numpy(best), part.start))
    return sums.mean()


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Node vectors, [N, D], and the same as scores are made of: from the *center*, so that rounding shrinks."""

    h: FloatArray
    moved: FloatArray
    measure: Measure

    @classmethod
    def of(cls, h: Tensor, measure: Measure, origin: Tensor) -> Vectors:
        """Where lengths do not count, directions have to be taken from zero."""
        vectors = np.ascontiguousarray(h.detach().numpy())
        return cls(vectors, vectors if measure.unit else vectors - origin.numpy(), measure)


def _shared_products(vectors: Vectors, forward: MatchPlan, back: MatchPlan) -> tuple[NodeProducts, NodeProducts] | None:
    """Products for both directions at once, where the queries of each are keys of the other; None: too large.

    They hold until the next products of this thread.
    """
    if not (forward.num_queries and back.num_queries):
        return None
    if 4 * len(back.key_nodes) * len(forward.key_nodes) > GRAM_BYTES:
        return None
    gram = multiplied(vectors.moved, back.key_nodes, packed(vectors.moved, forward.key_nodes))
    ends = (
        keys.key_ends[np.searchsorted(keys.key_ids, queries.query_ids)]
        for queries, keys in ((forward, back), (back, forward))
    )
    exchanged = ROOM.take("exchanged", gram.shape[1], gram.shape[0])
    exchange(gram, exchanged)
    return NodeProducts(gram, next(ends)), NodeProducts(exchanged, next(ends))


@dataclass(frozen=True, slots=True, eq=False)
class ListedRows:
    r"""Rows of a matrix with a column for some local graphs each, one after the other in memory.

    Row q has the entries ``ptr[q]`` to ``ptr[q + 1]``; they are of the local graphs at ``first[q]`` and on in
    ``listed``.

    Shapes:
        - **ptr:** :math:`(Q + 1,)`, **first:** :math:`(Q,)`, **listed:** as long as needed
    """

    ptr: IntArray
    first: IntArray
    listed: IntArray

    @classmethod
    def full(cls, num_rows: int, num_local: int) -> ListedRows:
        """Every row has a column for each local graph."""
        return cls(np.arange(num_rows + 1) * num_local, np.zeros(num_rows, np.int64), np.arange(num_local))


class Matcher:
    """Matches the queries of a plan, some at a time; what the keys alone decide is made once."""

    def __init__(
        self,
        vectors: Vectors,
        plan: MatchPlan,
        products: NodeProducts | None = None,
        held: int | None = None,
        query_squares: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        self.vectors, self.plan, self.products, self.query_squares = vectors, plan, products, query_squares
        self.held = GRAM_BYTES if held is None else held  # bytes of products at a time
        self.key_ends = plan.key_node_ends
        self.key_squares, self.key_reach = edge_squares(vectors.moved, self.key_ends)  # [K]
        scale, offset = vectors.measure.scoring(torch.from_numpy(self.key_squares))
        self.scale, self.offset = (scale / 4).numpy(), offset.numpy()  # an edge product is a quarter of four of nodes
        self.right: FloatArray | None = None

    def match(self, low: int, high: int) -> tuple[FloatArray, Int32Array]:
        """Best similarity and winner of the queries ``low`` to ``high`` in each local graph, [high - low, L]."""
        plan, shape = self.plan, (high - low, self.plan.num_local)
        if not len(plan.key_ids):
            return np.full(shape, -np.inf, np.float32), np.full(shape, -1, np.int32)
        best, winners = np.empty(shape, np.float32), np.empty(shape, np.int32)
        rows = ListedRows.full(*shape)
        at = plan.cover
        cover = (at.at_hub_ptr, at.at_hub, at.hub_ptr, at.hubs, at.other_ptr, at.others)
        for part, some in self._products(low, high):
            padded = np.concatenate([some.ends, np.zeros((-len(some.ends) % LANES, 2), np.int32)])
            segment_argmax(some.gram, padded, plan.key_ends, self.scale, self.offset, *cover, best[part], winners[part])
        known = None if self.query_squares is None else tuple(part[low:high] for part in self.query_squares)
        self.finish(plan.query_ends[low:high], rows, best.reshape(-1), winners.reshape(-1), known)
        return best, winners

    def finish(
        self,
        query_ends: IntArray,
        rows: ListedRows,
        best: FloatArray,
        winners: Int32Array,
        query_squares: tuple[FloatArray, ...] | None = None,
    ) -> None:
        """Turn scores into similarities; where that would lose digits, score again, as the paper writes it."""
        ends, plan = (query_ends, self.key_ends), self.plan
        squares, reach = query_squares or edge_squares(self.vectors.moved, query_ends)  # [Q]
        if self.vectors.measure.unit:
            lengths = roots(squares), roots(self.key_squares)
            stretch: FloatArray = reach / (lengths[0] * lengths[0])
            key_stretch: FloatArray = self.key_reach / (lengths[1] * lengths[1])
            to_cosines(self.vectors.h, *ends, *lengths, stretch, key_stretch, rows.ptr, winners, best)
        else:
            limits = reach * CLOSE, self.key_reach * CLOSE
            listed = (rows.ptr, rows.first, rows.listed)
            to_distances(self.vectors.h, *ends, plan.ptr, plan.members, *listed, squares, *limits, winners, best)

    def _products(self, low: int, high: int) -> Iterator[tuple[slice, NodeProducts]]:
        """Products for some of the queries at a time, with where they stand."""
        if self.products is not None:
            yield slice(None), NodeProducts(self.products.gram, self.products.ends[low:high])
            return
        moved, start = self.vectors.moved, low
        if self.right is None:
            self.right = packed(moved, self.plan.key_nodes)
        most_nodes = self.held // (4 * COLUMNS * len(self.right))
        while low < high:
            least = 4 * LANES * numba.get_num_threads()
            nodes, ends = take_queries(self.plan.query_ends[low:high], len(moved), most_nodes, least)
            part = slice(low - start, low - start + len(ends))
            yield part, NodeProducts(multiplied(moved, nodes, self.right), ends)
            low += len(ends)


@numba.njit(parallel=True, cache=True, nogil=True)  # no fastmath: -inf must survive
def segment_argmax(
    gram: FloatArray,
    ends: Int32Array,
    key_ends: Int32Array,
    scale: FloatArray,
    offset: FloatArray,
    at_hub_ptr: IntArray,
    at_hub: Int32Array,
    hub_ptr: IntArray,
    hubs: Int32Array,
    other_ptr: IntArray,
    others: Int32Array,
    best: FloatArray,
    winners: Int32Array,
) -> None:
    """Best key of each query in each local graph, `LANES` queries at a time; ties: lowest key."""
    num_queries, num_local = best.shape
    num_hubs = len(at_hub_ptr) - 1
    for block in numba.prange(len(ends) // LANES):
        low = block * LANES
        count = min(LANES, num_queries - low)
        product = np.empty((gram.shape[1], LANES), np.float32)
        for lane in range(0, LANES, WIDTH):
            edges_to_lanes(gram, ends, low + lane, lane, product)  # type: ignore[call-arg]
        hub_scores, hub_keys = np.empty((num_hubs, LANES), np.float32), np.empty((num_hubs, LANES), np.int32)
        for hub in range(num_hubs):
            start, end = at_hub_ptr[hub], at_hub_ptr[hub + 1]
            argmax_lanes(product, key_ends, scale, offset, at_hub, start, end, hub_scores, hub_keys, hub)  # type: ignore[call-arg]
        scores, keys = np.empty((WIDTH, LANES), np.float32), np.empty((WIDTH, LANES), np.int32)
        for first in range(0, num_local, WIDTH):
            some = min(WIDTH, num_local - first)
            for i in range(some):
                start, end = other_ptr[first + i], other_ptr[first + i + 1]
                argmax_lanes(product, key_ends, scale, offset, others, start, end, scores, keys, i)  # type: ignore[call-arg]
                start, end = hub_ptr[first + i], hub_ptr[first + i + 1]
                argmax_rows(hub_scores, hub_keys, hubs, start, end, scores, keys, i)
            full = count // WIDTH * WIDTH if some == WIDTH else 0  # lanes that are written as whole tiles
            for lane in range(0, full, WIDTH):
                transpose_tile(scores, 0, lane, best, low + lane, first)  # type: ignore[call-arg]
                transpose_tile(keys, 0, lane, winners, low + lane, first)
            for q in range(full, count):
                for i in range(some):
                    best[low + q, first + i] = scores[i, q]
                    winners[low + q, first + i] = keys[i, q]
