"""The mean of Eq. (6) of some pairs of nodes alone, with the bits that a comparison of all pairs gives them.

Each node that asks is matched with the local graphs of the nodes listed for it: the products of its nodes with theirs,
and the maxima over them, by the vector code of `lanes.py`, whose sums do not depend on who else is compared.
Shapes: A nodes that ask, Q their distinct edges, K key edges, D dimensions, n pairs.
"""

from __future__ import annotations

import itertools

import numba
import numpy as np

from se_gnn.deterministic.llvm import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import csr_rows
from se_gnn.similarity.kernels.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    argmax_lanes,
    edges_to_lanes,
    gather_tile,
    product_tile,
)
from se_gnn.similarity.kernels.numba_cpu import ListedRows, Matcher
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.pair_bounds import BITS

MATCHES_AT_A_TIME = 1 << 23  # best matches held at a time, 8 bytes each


def pair_means(
    matcher: Matcher, way: OneWay, asking: IntArray, ptr: IntArray, answers: IntArray, relevant: IntArray
) -> FloatArray:
    r"""Mean similarity of the edges of nodes with their best matches in the local graph of each node listed for them.

    Bit k of ``relevant`` says whether the k-th edge of the node that answers may be a best match; one that cannot is
    left out.

    Shapes:
        - **asking** (positions of nodes that ask): :math:`(A,)`
        - **ptr:** :math:`(A + 1,)`, **answers** (positions of nodes that answer): :math:`(n,)`
        - **relevant:** :math:`(n, words)`
        - **output:** :math:`(n,)`; what it is where one of the two has no edges means nothing
    """
    means = np.zeros(len(answers), np.float32)
    sizes = np.diff(way.ptr)[asking]
    if not len(way.matching.key_ids) or not sizes.any():
        return means
    edge_ptr, columns = csr_rows(way.ptr, way.columns, asking)
    matches = np.cumsum(sizes * np.diff(ptr))  # best matches of the nodes that ask so far
    marks = np.searchsorted(matches, np.arange(MATCHES_AT_A_TIME, matches[-1], MATCHES_AT_A_TIME))
    bounds = np.unique(np.concatenate([[0], marks, [len(sizes)]])).tolist()
    for start, end in itertools.pairwise(bounds):
        own = slice(start, end + 1)
        _some_means(matcher, columns, edge_ptr[own], ptr[own], answers, relevant, means)
    return means


def _some_means(
    matcher: Matcher,
    columns: Int32Array,
    edge_ptr: IntArray,
    ptr: IntArray,
    answers: IntArray,
    relevant: IntArray,
    means: FloatArray,
) -> None:
    """The means of some nodes that ask."""
    plan, edges = matcher.plan, columns[edge_ptr[0] : edge_ptr[-1]]
    owners = np.repeat(np.arange(len(ptr) - 1), np.diff(edge_ptr))
    row_ptr = np.concatenate([[0], np.cumsum(np.diff(ptr)[owners])])
    best, winners = np.empty(row_ptr[-1], np.float32), np.empty(row_ptr[-1], np.int32)
    chunks = np.linspace(0, len(ptr) - 1, num=min(len(ptr) - 1, 8 * numba.get_num_threads()) + 1).astype(np.int64)
    _pair_argmax(
        matcher.vectors.moved, plan.query_ends, edge_ptr, columns,
        plan.key_nodes, plan.key_ends, matcher.scale, matcher.offset, plan.ptr, plan.members,
        ptr, answers, relevant, chunks, row_ptr, best, winners,
    )  # fmt: skip
    matcher.finish(plan.query_ends[edges], ListedRows(row_ptr, ptr[owners], answers), best, winners)
    _means(best, row_ptr, edge_ptr, ptr, means)


@numba.njit(parallel=True, cache=True, nogil=True)  # no fastmath: sums in the order of the edges
def _means(best: FloatArray, row_ptr: IntArray, edge_ptr: IntArray, ptr: IntArray, means: FloatArray) -> None:
    for a in numba.prange(len(ptr) - 1):
        total = means[ptr[a] : ptr[a + 1]]
        for row in range(edge_ptr[a] - edge_ptr[0], edge_ptr[a + 1] - edge_ptr[0]):
            values = best[row_ptr[row] : row_ptr[row + 1]]
            for i in range(len(total)):
                total[i] += values[i]
        size = np.float32(max(edge_ptr[a + 1] - edge_ptr[a], 1))
        for i in range(len(total)):
            total[i] /= size


@numba.njit(parallel=True, cache=True, nogil=True)  # no fastmath: -inf must survive
def _pair_argmax(
    moved: FloatArray,
    query_ends: IntArray,
    edge_ptr: IntArray,
    columns: Int32Array,
    key_nodes: IntArray,
    key_ends: Int32Array,
    scale: FloatArray,
    offset: FloatArray,
    key_ptr: IntArray,
    members: Int32Array,
    ptr: IntArray,
    answers: IntArray,
    relevant: IntArray,
    chunks: IntArray,
    row_ptr: IntArray,
    best: FloatArray,
    winners: Int32Array,
) -> None:
    """Best key of each edge of each node that asks in each local graph listed for it; ties: lowest key."""
    depth, first_edge = moved.shape[1], edge_ptr[0]
    for c in numba.prange(len(chunks) - 1):
        place, key_place = np.full(len(moved), -1, np.int32), np.full(len(key_nodes), -1, np.int32)
        room = np.empty(0, np.float32)  # for what one node needs, kept for the next
        scores, names = np.empty((1, LANES), np.float32), np.empty((1, LANES), np.int32)
        for a in range(chunks[c], chunks[c + 1]):
            size, count = edge_ptr[a + 1] - edge_ptr[a], ptr[a + 1] - ptr[a]
            if size == 0 or count == 0:
                continue
            # the distinct nodes of its edges, and where the ends of each edge stand among them
            ends, nodes = np.zeros((size + -size % LANES, 2), np.int32), np.empty(2 * size, np.int64)
            num_nodes = 0
            for e in range(size):
                for side in range(2):
                    node = query_ends[columns[edge_ptr[a] + e], side]
                    if place[node] < 0:
                        place[node] = num_nodes
                        nodes[num_nodes] = node
                        num_nodes += 1
                    ends[e, side] = place[node]
            # the keys of all local graphs that may win, one after the other, and their distinct nodes
            starts, total = np.zeros(count + 1, np.int64), 0
            for i in range(count):
                answer = answers[ptr[a] + i]
                total += key_ptr[answer + 1] - key_ptr[answer]
            keys, every = np.empty(total, np.int32), np.arange(total).astype(np.int32)
            own_ends = np.empty((total, 2), np.int32)
            own_scale, own_offset = np.empty(total, np.float32), np.empty(total, np.float32)
            others, num_others = np.empty(2 * total, np.int64), 0
            for i in range(count):
                start, end = key_ptr[answers[ptr[a] + i]], key_ptr[answers[ptr[a] + i] + 1]
                k = starts[i]
                for m in range(end - start):
                    if not (relevant[ptr[a] + i, m // BITS] >> (m % BITS)) & 1:
                        continue
                    key = members[start + m]
                    keys[k], own_scale[k], own_offset[k] = key, scale[key], offset[key]
                    for side in range(2):
                        node = key_ends[key, side]
                        if key_place[node] < 0:
                            key_place[node] = num_others
                            others[num_others] = node
                            num_others += 1
                        own_ends[k, side] = key_place[node]
                    k += 1
                starts[i + 1] = k
            # products of these nodes with those, as in a comparison of all pairs
            num_rows, num_blocks = num_nodes + -num_nodes % ROWS, (num_others + COLUMNS - 1) // COLUMNS
            width, whole = num_blocks * COLUMNS, depth - depth % WIDTH
            needed = (num_rows + COLUMNS) * depth + num_rows * COLUMNS + len(ends) * width
            if len(room) < needed:
                room = np.empty(2 * needed, np.float32)
            used = 0
            left = room[used : used + num_rows * depth].reshape(num_rows, depth)
            used += num_rows * depth
            right = room[used : used + depth * COLUMNS].reshape(1, depth, COLUMNS)
            used += depth * COLUMNS
            gram = room[used : used + num_rows * COLUMNS].reshape(num_rows, COLUMNS)
            used += num_rows * COLUMNS
            products = room[used : used + len(ends) * width].reshape(len(ends) // LANES, width, LANES)
            for i in range(num_rows):
                for d in range(depth):
                    left[i, d] = moved[nodes[i], d] if i < num_nodes else np.float32(0)
            theirs = np.zeros(width, np.int64)  # where nodes end any will do: nobody reads their products
            for i in range(num_others):
                theirs[i] = key_nodes[others[i]]
            for block in range(num_blocks):
                first = block * COLUMNS
                for column in range(0, COLUMNS, WIDTH):
                    for d in range(0, whole, WIDTH):
                        gather_tile(moved, theirs, first + column, d, right[0], d, column)  # type: ignore[call-arg]
                    for d in range(whole, depth):
                        for j in range(column, column + WIDTH):
                            right[0, d, j] = moved[theirs[first + j], d]
                for row in range(0, num_rows, ROWS):
                    product_tile(left, row, right, 0, gram)  # type: ignore[call-arg]
                for some in range(len(products)):
                    for lane in range(0, LANES, WIDTH):
                        target = products[some, first : first + COLUMNS]
                        edges_to_lanes(gram, ends, some * LANES + lane, lane, target)  # type: ignore[call-arg]
            for low in range(0, size, LANES):
                product = products[low // LANES]
                for i in range(count):
                    argmax_lanes(  # type: ignore[call-arg]
                        product, own_ends, own_scale, own_offset, every, starts[i], starts[i + 1], scores, names, 0
                    )
                    for q in range(min(LANES, size - low)):
                        at = row_ptr[edge_ptr[a] - first_edge + low + q] + i
                        best[at] = scores[0, q]
                        winners[at] = keys[names[0, q]] if names[0, q] >= 0 else -1
            for i in range(num_nodes):
                place[nodes[i]] = -1
            for i in range(num_others):
                key_place[others[i]] = -1
