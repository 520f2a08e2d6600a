"""Structure similarity of listed pairs of nodes, and bounds of it, in plain PyTorch on any device.

Bounds are those of `bounds_cpu.py`, from short vectors, in one direction. Where Triton is, `pairs_triton.py` does the
same. Shapes: T nodes that ask, L nodes that answer, n pairs, S numbers of a short vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.measure import Measure

BLOCK_BYTES = 1 << 27  # scores held at a time


@dataclass(frozen=True, slots=True, eq=False)
class PairEdges:
    r"""Edges of the nodes that ask and of those that answer, by any vectors, on one device.

    ``*_rows[*_ptr[t]:*_ptr[t + 1]]`` are the rows of the edges of node t in ``queries`` or ``keys``.

    Shapes:
        - **query_ptr:** :math:`(T + 1,)`, **key_ptr:** :math:`(L + 1,)`
        - **query_offsets**, **key_offsets** (what each adds to its scores): one per row
    """

    queries: Tensor
    query_offsets: Tensor
    query_ptr: Tensor
    query_rows: Tensor
    keys: Tensor
    key_offsets: Tensor
    key_ptr: Tensor
    key_rows: Tensor
    most_queries: int  # of one node
    most_keys: int

    @classmethod
    def of(cls, way: OneWay, queries: Tensor, keys: Tensor, measure: Measure) -> PairEdges:
        """The edges of a direction by their vectors; a score is a.b, or minus half of the squared distance."""
        index, rows = way.matching.on(queries.device), way.rows(queries.device)
        offsets = [
            torch.zeros(len(vectors), device=vectors.device)
            if measure.unit
            else vectors.double().square().sum(dim=1).div(-2).float()
            for vectors in (queries, keys)
        ]
        return cls(
            queries, offsets[0], rows.ptr, rows.columns, keys, offsets[1], index.ptr, index.members,
            int((way.ptr[1:] - way.ptr[:-1]).max(initial=0)), int(way.answer_sizes.max(initial=0)),
        )  # fmt: skip

    def scores(self, asking: Tensor, answering: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Rows of the queries [n, q] and keys [n, k] of some pairs, and where there is one."""
        rows = []
        for nodes, ptr, listed, most in (
            (asking, self.query_ptr, self.query_rows, self.most_queries),
            (answering, self.key_ptr, self.key_rows, self.most_keys),
        ):
            place = ptr[nodes].long()[:, None] + torch.arange(most, device=nodes.device)
            there = place < ptr[nodes + 1].long()[:, None]
            rows += [listed[place.clamp_max(max(len(listed) - 1, 0))].long(), there]
        return rows[0], rows[1], rows[2], rows[3]


@dataclass(frozen=True, slots=True, eq=False)
class Slack:
    """How much a score may be wrong by, upwards and downwards, and a distance by."""

    above: float
    below: float
    apart: float


def at_most(score: Tensor, slack: Slack, *, unit: bool) -> Tensor:
    """The similarity that a score stands for, plus what both may be wrong by."""
    if unit:
        return score.clamp_max(1) + slack.above
    return -((score + slack.above).mul(-2).clamp_min(0).sqrt() - slack.apart).clamp_min(0)


def at_least(score: Tensor, slack: Slack, *, unit: bool) -> Tensor:
    """The same, less what both may be wrong by."""
    if unit:
        return score - slack.below
    return -((score - slack.below).mul(-2).clamp_min(0).sqrt() + slack.apart)


def pair_bounds(
    edges: PairEdges, asking: Tensor, answering: Tensor, needed: Tensor, slack: Slack, *, unit: bool
) -> tuple[Tensor, Tensor]:
    """Upper and lower bound of the mean similarity of the edges of a node with their best matches, [n] each.

    Both nodes have edges. ``needed``: an upper bound below it need not be any lower, and the lower bound need not hold.
    """
    upper, lower = torch.empty(len(asking), device=asking.device), torch.empty(len(asking), device=asking.device)
    for some in _parts(edges, asking):
        queries, asked, keys, there = edges.scores(asking[some], answering[some])
        a, b = edges.queries[queries], edges.keys[keys]  # [n, q, S], [n, k, S]
        score = a[..., :-1] @ b[..., :-1].transpose(1, 2)
        score = score + edges.query_offsets[queries][..., None] + edges.key_offsets[keys][:, None]
        score = score.masked_fill(~there[:, None], -torch.inf)  # [n, q, k]
        rest = a[..., -1:] * b[..., -1:].transpose(1, 2)
        count = asked.sum(dim=1)
        high = at_most((score + rest).amax(dim=2), slack, unit=unit)
        low = at_least((score - rest).amax(dim=2), slack, unit=unit)
        upper[some] = high.masked_fill(~asked, 0).sum(dim=1) / count
        lower[some] = low.masked_fill(~asked, 0).sum(dim=1) / count
    return upper, lower


def pair_means(edges: PairEdges, asking: Tensor, answering: Tensor, measure: Measure) -> Tensor:
    """The mean of Eq. (6) of some pairs, [n]; both nodes have edges, which are those of ``edges`` themselves."""
    means = torch.empty(len(asking), device=asking.device)
    for some in _parts(edges, asking):
        queries, asked, keys, there = edges.scores(asking[some], answering[some])
        a, b = edges.queries[queries], edges.keys[keys]
        score = measure.aligned(a[:, :, None], b[:, None])
        best = score.masked_fill(~there[:, None], -torch.inf).amax(dim=2)
        means[some] = best.masked_fill(~asked, 0).sum(dim=1) / asked.sum(dim=1)
    return means


def _parts(edges: PairEdges, asking: Tensor) -> list[slice]:
    wide = 4 * max(edges.most_queries * edges.most_keys, 1) * (1 + edges.queries.shape[1] // 8)
    step = max(1, BLOCK_BYTES // wide)
    return [slice(low, low + step) for low in range(0, len(asking), step)]
