"""Structure similarity of listed pairs of nodes, and bounds of it, on CUDA: as `pairs_any.py`.

One program takes a few pairs, one after the other, some edges at a time; a pair whose bound is below what is needed is
left after these. Shapes: n pairs, D dimensions, S numbers of a short vector.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from se_gnn.similarity.kernels.pairs_any import PairEdges, Slack
from se_gnn.similarity.kernels.triton_gpu import _similarity
from se_gnn.similarity.measure import Measure

GROUP = 8  # pairs of one program
QUERIES = 16  # edges of a node that ask at a time
KEYS = 64


def pair_bounds(
    edges: PairEdges, asking: Tensor, answering: Tensor, needed: Tensor, slack: Slack, *, unit: bool
) -> tuple[Tensor, Tensor]:
    """As `pairs_any.pair_bounds`."""
    upper, lower = torch.empty(len(asking), device=asking.device), torch.empty(len(asking), device=asking.device)
    if len(asking):
        _bounds[(triton.cdiv(len(asking), GROUP),)](
            edges.queries, edges.query_offsets, edges.query_ptr, edges.query_rows,
            edges.keys, edges.key_offsets, edges.key_ptr, edges.key_rows,
            asking, answering, needed, upper, lower, len(asking), slack.above, slack.below, slack.apart,
            UNIT=unit, SHORT=edges.queries.shape[1], QUERIES=QUERIES, KEYS=KEYS, GROUP=GROUP, num_warps=1,
        )  # fmt: skip
    return upper, lower


def pair_means(edges: PairEdges, asking: Tensor, answering: Tensor, measure: Measure) -> Tensor:
    """As `pairs_any.pair_means`."""
    means = torch.empty(len(asking), device=asking.device)
    depth = edges.queries.shape[1]
    if len(asking):
        _means[(len(asking),)](
            edges.queries, edges.query_ptr, edges.query_rows, edges.keys, edges.key_offsets, edges.key_ptr,
            edges.key_rows, asking, answering, means, depth,
            UNIT=measure.unit, DEPTH=max(16, triton.next_power_of_2(depth)), QUERIES=32, KEYS=32, num_warps=4,
        )  # fmt: skip
    return means


@triton.jit
def _bounds(
    queries, query_offsets, query_ptr, query_rows, keys, key_offsets, key_ptr, key_rows,
    asking, answering, needed, upper_out, lower_out, num_pairs, above, below, apart,
    UNIT: tl.constexpr, SHORT: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, SHORT)
    along = d[None, :] < SHORT - 1
    first = tl.program_id(0).to(tl.int64) * GROUP
    for i in range(GROUP):
        pair = first + i
        inside = pair < num_pairs
        t = tl.load(asking + pair, mask=inside, other=0)
        other = tl.load(answering + pair, mask=inside, other=0)
        least = tl.load(needed + pair, mask=inside, other=float("inf"))
        start = tl.load(query_ptr + t)
        size = tl.load(query_ptr + t + 1) - start
        key_start = tl.load(key_ptr + other)
        key_size = tl.load(key_ptr + other + 1) - key_start
        most = 1.0 + above if UNIT else 0.0
        upper = size * most  # what is not looked at counts as equal to its match
        lower = size * 0.0
        low = 0
        while (low < size) & (upper >= least * size):
            e = low + tl.arange(0, QUERIES)
            asked = e < size
            row = tl.load(query_rows + start + e, mask=asked, other=0).to(tl.int64)
            a = tl.load(queries + row[:, None] * SHORT + d[None, :], mask=asked[:, None] & along, other=0.0)
            rest = tl.load(queries + row * SHORT + SHORT - 1, mask=asked, other=0.0)
            shift = tl.load(query_offsets + row, mask=asked, other=0.0)
            high = tl.full([QUERIES], float("-inf"), tl.float32)
            less = tl.full([QUERIES], float("-inf"), tl.float32)
            for key_low in range(0, key_size, KEYS):
                k = key_low + tl.arange(0, KEYS)
                there = k < key_size
                key = tl.load(key_rows + key_start + k, mask=there, other=0).to(tl.int64)
                b = tl.load(keys + key[:, None] * SHORT + d[None, :], mask=there[:, None] & along, other=0.0)
                key_rest = tl.load(keys + key * SHORT + SHORT - 1, mask=there, other=0.0)
                offset = tl.load(key_offsets + key, mask=there, other=float("-inf"))
                score = tl.dot(a, tl.trans(b), input_precision="tf32x3") + offset[None, :]
                both = rest[:, None] * key_rest[None, :]
                high = tl.maximum(high, tl.max(score + both, axis=1))
                less = tl.maximum(less, tl.max(score - both, axis=1))
            high += shift
            less += shift
            if UNIT:
                high = tl.minimum(high, 1.0) + above
                less = less - below
            else:
                high = -tl.maximum(tl.sqrt_rn(tl.maximum(-2.0 * (high + above), 0.0)) - apart, 0.0)
                less = -(tl.sqrt_rn(tl.maximum(-2.0 * (less - below), 0.0)) + apart)
            upper += tl.sum(tl.where(asked, high - most, 0.0), axis=0)
            lower += tl.sum(tl.where(asked, less, 0.0), axis=0)
            low += QUERIES
        tl.store(upper_out + pair, upper / size, mask=inside)
        tl.store(lower_out + pair, lower / size, mask=inside)


@triton.jit
def _means(
    queries, query_ptr, query_rows, keys, key_offsets, key_ptr, key_rows, asking, answering, means_out, depth,
    UNIT: tl.constexpr, DEPTH: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, DEPTH)
    pair = tl.program_id(0).to(tl.int64)
    t = tl.load(asking + pair)
    other = tl.load(answering + pair)
    start = tl.load(query_ptr + t)
    size = tl.load(query_ptr + t + 1) - start
    key_start = tl.load(key_ptr + other)
    key_size = tl.load(key_ptr + other + 1) - key_start
    total = size * 0.0
    for low in range(0, size, QUERIES):
        e = low + tl.arange(0, QUERIES)
        asked = e < size
        row = tl.load(query_rows + start + e, mask=asked, other=0).to(tl.int64)
        a = tl.load(queries + row[:, None] * depth + d[None, :], mask=asked[:, None] & (d[None, :] < depth), other=0.0)
        best = tl.full([QUERIES], float("-inf"), tl.float32)
        win = tl.full([QUERIES], 0, tl.int64)
        for key_low in range(0, key_size, KEYS):
            k = key_low + tl.arange(0, KEYS)
            there = k < key_size
            key = tl.load(key_rows + key_start + k, mask=there, other=0).to(tl.int64)
            b = tl.load(keys + key[:, None] * depth + d[None, :], mask=there[:, None] & (d[None, :] < depth), other=0.0)
            score = tl.dot(a, tl.trans(b), input_precision="tf32x3")
            if UNIT:
                length = tl.maximum(tl.sqrt_rn(tl.sum(b * b, axis=1)), 1e-12)
                score = score / length[None, :]
            offset = tl.load(key_offsets + key, mask=there, other=float("-inf"))
            score = tl.where(there[None, :], score + offset[None, :], float("-inf"))
            top, at = tl.max(score, axis=1, return_indices=True, return_indices_tie_break_left=True)
            better = top > best
            best = tl.where(better, top, best)
            win = tl.where(better, key_low + at.to(tl.int64), win)
        key = tl.load(key_rows + key_start + win).to(tl.int64)
        b = tl.load(keys + key[:, None] * depth + d[None, :], mask=asked[:, None] & (d[None, :] < depth), other=0.0)
        total += tl.sum(tl.where(asked, _similarity(a, b, UNIT), 0.0), axis=0)
    tl.store(means_out + pair, total / size)
