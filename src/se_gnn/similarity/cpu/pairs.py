"""Listed pairs of nodes on the CPU, with the bits that a comparison of all pairs gives them.

Each node that asks is matched with the local graphs of the nodes listed for it: the products of its nodes with theirs,
and the maxima over them, by the vector code of `lanes.py`, whose sums do not depend on who else is compared.
Shapes: A nodes that ask, Q query edges, K key edges, D dimensions, n pairs.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numba
import numpy as np
import torch

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import csr_rows
from se_gnn.similarity.cpu.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    argmax_lanes,
    edges_to_lanes,
    gather_tile,
    product_tile,
)
from se_gnn.similarity.cpu.matching import ListedRows, Matcher, ScoredKeys

MATCHES_AT_A_TIME = 1 << 23  # best matches held at a time, 8 bytes each
KEYS_AT_A_TIME = 1 << 16  # key edges, about, that the edges of one node are compared with at a time


class Lists(NamedTuple):
    """The edges of nodes that ask, and the nodes that answer each of them, as CSR rows.

    Shapes:
        - **edge_ptr**, **ptr:** :math:`(A + 1,)`, **edges** (positions of query edges), **answers:** as long as needed
    """

    edge_ptr: IntArray
    edges: Int32Array
    ptr: IntArray
    answers: IntArray


def pair_means(matcher: Matcher, asking: IntArray, ptr: IntArray, answers: IntArray) -> FloatArray:
    r"""Mean similarity of the edges of nodes with their best matches in the local graph of each node listed for them.

    Shapes:
        - **asking** (positions of nodes that ask): :math:`(A,)`
        - **ptr:** :math:`(A + 1,)`, **answers** (positions of nodes that answer): :math:`(n,)`
        - **output:** :math:`(n,)`; what it is where one of the two has no edges means nothing
    """
    queries, means = matcher.queries, np.zeros(len(answers), np.float32)
    if not (len(matcher.keys) and len(queries) and len(answers)):
        return means
    asking, ptr = _pieces(matcher.keys.sizes, asking, ptr, answers)
    edge_ptr, columns = csr_rows(queries.ptr, queries.columns, asking)
    matches = np.cumsum(np.diff(edge_ptr) * np.diff(ptr))  # best matches of the nodes that ask so far
    marks = np.searchsorted(matches, np.arange(MATCHES_AT_A_TIME, matches[-1], MATCHES_AT_A_TIME))
    sizes = queries.rows(torch.device("cpu")).sizes.numpy()[asking, 0]
    weights = np.empty(0, np.float32) if queries.weights is None else queries.weights
    for start, end in itertools.pairwise(np.unique(np.concatenate([[0], marks, [len(asking)]])).tolist()):
        lists = Lists(edge_ptr[start : end + 1], columns, ptr[start : end + 1], answers)
        best, _, row_ptr = _matched(matcher, lists)
        _means(best, row_ptr, lists, weights, sizes[start:end], means)
    return means


def pair_matches(matcher: Matcher, asking: IntArray, ptr: IntArray, answers: IntArray) -> tuple[FloatArray, Int32Array]:
    """Best matches of the edges of nodes in the local graphs of the nodes listed for them: similarity and position.

    They come edge after edge of each node that asks; for an edge, in the order of the list.
    """
    lists = Lists(*csr_rows(matcher.queries.ptr, matcher.queries.columns, asking), ptr, answers)
    if not len(matcher.keys):
        count = int((np.diff(lists.edge_ptr) * np.diff(ptr)).sum())
        return np.full(count, -np.inf, np.float32), np.full(count, -1, np.int32)
    best, winners, _ = _matched(matcher, lists)
    return best, winners


def _pieces(sizes: IntArray, asking: IntArray, ptr: IntArray, answers: IntArray) -> tuple[IntArray, IntArray]:
    """The same lists, a long one in pieces, so that memory is bounded."""
    before = np.concatenate([[0], np.cumsum(sizes[answers])])  # key edges of all pairs up to each
    owners = np.repeat(np.arange(len(asking)), np.diff(ptr))
    pieces = (before[:-1] - before[ptr[owners]]) // KEYS_AT_A_TIME
    begins = np.flatnonzero(np.diff(owners, prepend=-1) | np.diff(pieces, prepend=0))
    return asking[owners[begins]], np.append(begins, len(answers))


def _matched(matcher: Matcher, lists: Lists) -> tuple[FloatArray, Int32Array, IntArray]:
    """Best matches of some nodes that ask, and where those of each of their edges begin."""
    queries, count = matcher.queries, len(lists.ptr) - 1
    owners = np.repeat(np.arange(count), np.diff(lists.edge_ptr))
    row_ptr = np.concatenate([[0], np.cumsum(np.diff(lists.ptr)[owners])])
    best, winners = np.empty(row_ptr[-1], np.float32), np.empty(row_ptr[-1], np.int32)
    chunks = np.linspace(0, count, num=min(count, 8 * numba.get_num_threads()) + 1).astype(np.int64)
    nodes, scored = matcher.key_nodes, matcher.scored
    _pair_argmax(matcher.vectors.moved, queries.ends, nodes, scored, lists, chunks, row_ptr, best, winners)
    rows = ListedRows(row_ptr, lists.ptr[owners], lists.answers)
    matcher.finish(lists.edges[lists.edge_ptr[0] : lists.edge_ptr[-1]], rows, best, winners)
    return best, winners, row_ptr


@compiled(parallel=True)  # no fastmath: sums in the order of the edges
def _means(
    best: FloatArray, row_ptr: IntArray, lists: Lists, weights: FloatArray, sizes: FloatArray, means: FloatArray
) -> None:
    """Means over the edges of each node that asks, each edge with its weight if there are weights."""
    edge_ptr, ptr = lists.edge_ptr, lists.ptr
    for a in numba.prange(len(ptr) - 1):
        total = means[ptr[a] : ptr[a + 1]]
        for e in range(edge_ptr[a], edge_ptr[a + 1]):
            row = e - edge_ptr[0]
            values = best[row_ptr[row] : row_ptr[row + 1]]
            weight = weights[lists.edges[e]] if len(weights) else np.float32(1)
            for i in range(len(total)):
                total[i] += values[i] * weight
        for i in range(len(total)):
            total[i] /= sizes[a]


@compiled(parallel=True)  # no fastmath: -inf must survive
def _pair_argmax(
    moved: FloatArray,
    query_ends: IntArray,
    key_nodes: IntArray,
    scored: ScoredKeys,
    lists: Lists,
    chunks: IntArray,
    row_ptr: IntArray,
    best: FloatArray,
    winners: Int32Array,
) -> None:
    """Best key of each edge of each node that asks in each local graph listed for it; ties: lowest key."""
    edge_ptr, columns, ptr, answers = lists
    key_ends, scale, offset, key_ptr, members = scored
    depth, first_edge = moved.shape[1], edge_ptr[0]
    whole = depth - depth % WIDTH
    for c in numba.prange(len(chunks) - 1):
        place, key_place = np.full(len(moved), -1, np.int32), np.full(len(key_nodes), -1, np.int32)
        right = np.empty((1, depth, COLUMNS), np.float32)
        scores, names = np.empty((1, LANES), np.float32), np.empty((1, LANES), np.int32)
        for a in range(chunks[c], chunks[c + 1]):
            size, count = edge_ptr[a + 1] - edge_ptr[a], ptr[a + 1] - ptr[a]
            if size == 0 or count == 0:
                continue
            ends = np.zeros((size + -size % LANES, 2), np.int32)
            for e in range(size):
                for side in range(2):
                    ends[e, side] = query_ends[columns[edge_ptr[a] + e], side]
            nodes = _distinct(ends[:size], place)
            # the keys of all local graphs, one after the other
            starts = np.zeros(count + 1, np.int64)
            for i in range(count):
                answer = answers[ptr[a] + i]
                starts[i + 1] = starts[i] + key_ptr[answer + 1] - key_ptr[answer]
            total = starts[count]
            keys, every = np.empty(total, np.int32), np.arange(total).astype(np.int32)
            own_ends = np.empty((total, 2), np.int32)
            own_scale, own_offset = np.empty(total, np.float32), np.empty(total, np.float32)
            for i in range(count):
                first = key_ptr[answers[ptr[a] + i]] - starts[i]
                for k in range(starts[i], starts[i + 1]):
                    key = members[first + k]
                    keys[k], own_scale[k], own_offset[k] = key, scale[key], offset[key]
                    own_ends[k, 0], own_ends[k, 1] = key_ends[key, 0], key_ends[key, 1]
            others = _distinct(own_ends, key_place)
            # products of these nodes with those, as in a comparison of all pairs
            left = np.zeros((len(nodes) + -len(nodes) % ROWS, depth), np.float32)
            for i in range(len(nodes)):
                for d in range(depth):
                    left[i, d] = moved[nodes[i], d]
            gram = np.empty((len(left), COLUMNS), np.float32)
            theirs = np.zeros(len(others) + -len(others) % COLUMNS, np.int64)
            for i in range(len(others)):  # where they end any will do: nobody reads their products
                theirs[i] = key_nodes[others[i]]
            products = np.empty((len(ends) // LANES, len(theirs), LANES), np.float32)
            for first in range(0, len(theirs), COLUMNS):
                for column in range(0, COLUMNS, WIDTH):
                    for d in range(0, whole, WIDTH):
                        gather_tile(moved, theirs, first + column, d, right[0], d, column)
                    for d in range(whole, depth):
                        for j in range(column, column + WIDTH):
                            right[0, d, j] = moved[theirs[first + j], d]
                for row in range(0, len(left), ROWS):
                    product_tile(left, row, right, 0, gram)
                for some in range(len(products)):
                    for lane in range(0, LANES, WIDTH):
                        target = products[some, first : first + COLUMNS]
                        edges_to_lanes(gram, ends, some * LANES + lane, lane, target)
            for low in range(0, size, LANES):
                product = products[low // LANES]
                for i in range(count):
                    argmax_lanes(
                        product, own_ends, own_scale, own_offset, every, starts[i], starts[i + 1], scores, names, 0
                    )
                    for q in range(min(LANES, size - low)):
                        at = row_ptr[edge_ptr[a] - first_edge + low + q] + i
                        best[at] = scores[0, q]
                        winners[at] = keys[names[0, q]] if names[0, q] >= 0 else -1


@compiled
def _distinct(ends: Int32Array, place: Int32Array) -> IntArray:
    """The distinct ends of some edges, which become places among these; ``place`` is -1 everywhere, also afterwards."""
    nodes, count = np.empty(2 * len(ends), np.int64), 0
    for e in range(len(ends)):
        for side in range(2):
            node = ends[e, side]
            if place[node] < 0:
                place[node], nodes[count] = count, node
                count += 1
            ends[e, side] = place[node]
    for i in range(count):
        place[nodes[i]] = -1
    return nodes[:count]
