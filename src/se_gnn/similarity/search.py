"""The K nearest among many labeled nodes, exactly, without comparing all. Shapes: T targets, L labeled nodes, K nearest.

Bounds (:mod:`se_gnn.similarity.short`, `kernels/bounds_cpu.py`) prove of most labeled nodes that they are not among the
K nearest; the rest are compared as always (`kernels/pairs_cpu.py`). So the K nearest, their order and every bit of their
similarities are those of a comparison with all labeled nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.fixed_order import rows
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.bounds_cpu import BoundedSide, Bounds
from se_gnn.similarity.kernels.numba_cpu import Matcher, Vectors, edge_squares
from se_gnn.similarity.kernels.pairs_cpu import pair_means
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.overall import combine
from se_gnn.similarity.plan import ComparisonPlan
from se_gnn.similarity.short import Directions, rounding


BLOCK = 1 << 25  # products of nodes held at a time


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Some labeled nodes of each target, by position, with their similarities: [T, m], or in CSR rows."""

    positions: Tensor
    overall: Tensor
    node: Tensor
    structure: Tensor  # -inf where one of the two nodes has no edges


class Search:
    """Finds the K nearest labeled nodes of the targets of a plan."""

    def __init__(self, h: Tensor, plan: ComparisonPlan, num_nearest: int) -> None:
        self.h, self.plan = h.detach(), plan
        self.vectors = Vectors.of(self.h, plan.measure)
        self.forward = Matcher(self.vectors, plan.forward.matching)
        self.backward = None if plan.backward is None else Matcher(self.vectors, plan.backward.matching)
        way, matching = plan.forward, plan.forward.matching
        targets, labeled = (self._points(local.nodes) for local in (plan.targets, plan.labeled))
        self.points = targets, labeled
        directions = Directions.of(labeled, unit=plan.measure.unit)
        self.bounds = Bounds(
            targets=self._side(directions, targets, plan.targets, matching.query_ends, way.ptr, way.columns),
            labeled=self._side(
                directions, labeled, plan.labeled, matching.key_node_ends, matching.ptr, matching.members
            ),
            num_nearest=num_nearest,
            node_weight=plan.node_weight,
            unit=plan.measure.unit,
            both=plan.both,
            rounding=rounding(h.shape[1]),
        )

    def _points(self, nodes: IntArray) -> FloatArray:
        """Vectors of nodes whose products node similarity is bounded by, [T, D]."""
        return self.plan.measure.points(torch.from_numpy(self.vectors.moved[nodes])).numpy()

    def _side(
        self,
        directions: Directions,
        points: FloatArray,
        local: LocalGraphs,
        ends: IntArray,
        ptr: IntArray,
        members: Int32Array,
    ) -> BoundedSide:
        """Nodes and edges made short, with how much rounding may add for each node.

        ``noise``: squared distances are wrong by a share of the squared lengths of the ends of edges. ``far``: edges far
        from 0 are rounded before their difference is taken. Where lengths do not count, neither is needed.
        """
        moved, h = self.vectors.moved, self.vectors.h
        noise = far = np.zeros(len(ends), np.float32)
        if not directions.unit:
            _, noise = edge_squares(moved, ends)
            far = np.sqrt(np.einsum("nd,nd->n", h, h))[ends].max(axis=1, initial=0)
        return BoundedSide(
            ids=local.nodes,
            node_squares=np.einsum("nd,nd->n", points, points),
            edges=directions.edges(moved, ends),
            ptr=ptr,
            members=members,
            noise=_largest(ptr, members, noise),
            far=_largest(ptr, members, far),
        )

    def nearest(self) -> Compared:
        """The K nearest of every target, nearest first, [T, K]."""
        num_targets, num_labeled = len(self.plan.targets), len(self.plan.labeled)
        step = max(1, BLOCK // num_labeled)
        blocks = [self._nearest(low, min(low + step, num_targets)) for low in range(0, num_targets, step)]
        return Compared(*(torch.cat([getattr(block, name) for block in blocks]) for name in Compared.__slots__))

    def _nearest(self, low: int, high: int) -> Compared:
        """The same of the targets ``low`` to ``high``."""
        products = self.points[0][low:high] @ self.points[1].T  # [T, L], but for rounding
        looked = self.bounds.likely(low, products)
        near = looked.near.astype(np.int64)
        first = self.compared(low, np.arange(len(near) + 1) * near.shape[1], near.reshape(-1))
        likely = Compared(*(getattr(first, name).view(near.shape) for name in Compared.__slots__))
        least = likely.overall.topk(self.bounds.num_nearest, dim=1).values[:, -1]  # K are at least so similar
        ptr, positions, _ = self.bounds.others(low, products, least.contiguous().numpy(), looked)
        return _joined(likely, ptr, self.compared(low, ptr, positions), self.bounds.num_nearest)

    def compared(self, low: int, ptr: IntArray, positions: IntArray) -> Compared:
        """Each target from ``low`` on compared with the labeled nodes at ``positions[ptr[t]:ptr[t + 1]]``."""
        plan, high = self.plan, low + len(ptr) - 1
        owners = np.repeat(np.arange(low, high), np.diff(ptr))
        structure = torch.from_numpy(pair_means(self.forward, plan.forward, low, ptr, positions))
        if plan.backward is not None and self.backward is not None:
            order = np.lexsort((owners, positions))
            back_ptr = np.concatenate([[0], np.cumsum(np.bincount(positions, minlength=len(plan.labeled)))])
            back = np.empty(len(positions), np.float32)
            back[order] = pair_means(self.backward, plan.backward, 0, back_ptr, owners[order])
            structure = (structure + torch.from_numpy(back)) / 2
        defined = (plan.targets.sizes[owners] > 0) & (plan.labeled.sizes[positions] > 0)
        structure = structure.masked_fill(torch.from_numpy(~defined), -torch.inf)
        targets, labeled = plan.nodes(self.h.device)
        node = plan.measure.listed_pairs(rows(self.h, targets[low:high]), rows(self.h, labeled), ptr, positions)
        return Compared(torch.from_numpy(positions), combine(node, structure, plan.node_weight), node, structure)


def _joined(likely: Compared, ptr: IntArray, others: Compared, count: int) -> Compared:
    """The ``count`` nearest of both, nearest first; of equals the first position comes first."""
    num_targets, sizes = len(ptr) - 1, np.diff(ptr)
    owners = torch.from_numpy(np.repeat(np.arange(num_targets), sizes))
    places = torch.from_numpy(np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes))
    table = {}
    for name in Compared.__slots__:
        one, more = getattr(likely, name), getattr(others, name)
        padded = torch.full((num_targets, int(sizes.max(initial=0))), 0, dtype=one.dtype)
        padded = padded.fill_(-torch.inf) if name == "overall" else padded
        padded[owners, places] = more
        table[name] = torch.cat([one, padded], dim=1)
    order = torch.sort(table["positions"], dim=1, stable=True).indices
    overall = table["overall"].gather(1, order)
    best = order.gather(1, nearest_labeled(overall, count))
    return Compared(**{name: values.gather(1, best) for name, values in table.items()})


def _largest(ptr: IntArray, members: Int32Array, values: FloatArray) -> FloatArray:
    """The largest value among the members of each row; 0 where there is none."""
    largest = np.zeros(len(ptr) - 1, np.float32)
    filled = np.flatnonzero(np.diff(ptr))
    if len(filled):
        largest[filled] = np.maximum.reduceat(values[members], ptr[filled])
    return largest
