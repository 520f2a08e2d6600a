r"""Which pair of nodes to flip: the one whose flip raises the attacker's loss fastest, among those that are allowed.

Let :math:`M` be the gradient of :math:`\hat A = D^{-1/2} (A + I) D^{-1/2}` and :math:`d` the row sums of :math:`A + I`.
The loss rises by :math:`(M_{uv} + M_{vu}) / \sqrt{d_u d_v} + c_u + c_v` as the edge (u, v) is added, and falls by it as
the edge is taken out, where :math:`c_u = -\sum_j (\hat A_{uj} M_{uj} + \hat A_{ju} M_{ju}) / 2 d_u` is what a higher
degree does. All pairs are scored, some rows at a time. Shapes: N nodes, R rank.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from lab.attack.gradient import LowRank
from se_gnn.graph.arrays import BoolArray, IntArray
from se_gnn.graph.sparse import SparseMatrix

ROWS = 256  # scored at a time


def best_flip(
    gradient: LowRank,
    adjacency: SparseMatrix,
    edges: IntArray,
    degrees: IntArray,
    forbidden: IntArray,
    allowed: BoolArray | None = None,
) -> tuple[float, tuple[int, int]]:
    """The highest score and its pair u < v; minus infinity where no pair is allowed.

    Args:
        gradient: with respect to the normalized adjacency.
        adjacency: normalized.
        edges: canonical edges, sorted; their flip takes them out.
        degrees: number of edges at each node, [N].
        forbidden: pairs u < v that may not be flipped, sorted by u.
        allowed: where given, whether a new edge may join nodes of two degrees, a square table.
    """
    root, bend = _derivatives(gradient, adjacency, degrees)
    rows = torch.cat([gradient.left, gradient.right], 1) * root[:, None]  # [N, 2R]
    columns = torch.cat([gradient.right, gradient.left], 1) * root[:, None]
    best, pair = -torch.inf, (0, 0)
    for start in range(0, len(degrees), ROWS):
        stop = min(start + ROWS, len(degrees))
        scores = torch.addmm(bend[start:stop, None] + bend[None, start:], rows[start:stop], columns[start:].T)
        removed = _within(edges, start, stop)
        if allowed is not None:
            table = allowed[degrees[start:stop]][:, degrees[start:]]
            table[removed] = True  # whether an edge may be taken out, `forbidden` says
            scores.masked_fill_(~torch.from_numpy(table).to(scores.device), -torch.inf)
        scores[removed] *= -1
        scores[_within(forbidden, start, stop)] = -torch.inf
        scores[:, : stop - start].masked_fill_(
            torch.ones(stop - start, stop - start, dtype=torch.bool, device=scores.device).tril(), -torch.inf
        )
        top, where = scores.flatten().max(0)
        if float(top) > best:
            best, place = float(top), int(where)
            pair = (start + place // scores.shape[1], start + place % scores.shape[1])
    return best, pair


def _derivatives(gradient: LowRank, adjacency: SparseMatrix, degrees: IntArray) -> tuple[Tensor, Tensor]:
    """1 / sqrt(d) and c, [N] each; the sums over neighbors need no entry of M."""
    left, right = gradient.left, gradient.right
    looped = torch.tensor(degrees + 1, dtype=left.dtype, device=left.device)
    sums = (left * (adjacency @ right) + right * (adjacency @ left)).sum(1)
    return looped.rsqrt(), -sums / (2 * looped)


def _within(pairs: IntArray, start: int, stop: int) -> tuple[IntArray, IntArray]:
    """The pairs, sorted by u, with u in some rows, as places in the block of those rows and the columns from there."""
    first, last = np.searchsorted(pairs[:, 0], [start, stop])
    inside = pairs[first:last] - start
    return inside[:, 0], inside[:, 1]


def leaf_edges(edges: IntArray, degrees: IntArray) -> IntArray:
    """Edges that are the last one of a node: without them it would be alone, and stand out."""
    last: IntArray = edges[(degrees[edges] == 1).any(axis=1)]
    return last
