"""What is compared with what, and how. Shapes: T targets, L labeled nodes, Q distinct edges of the targets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.edge_data import EdgeData
from se_gnn.similarity.kernels.in_parts import PartedWay
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.measure import Measure, measure_named


@dataclass(frozen=True, slots=True, eq=False)
class OwnVectors:
    """Edges whose vectors are not those of their ends alone: e_ij = (h_i + h_j) / 2 + W a_ij.

    Kernels make an edge of the mean of two rows; here both are the edge's own, so that any kernel serves it.

    Shapes:
        - **ids** (edges of the plan, ascending): :math:`(U,)`, **ends:** :math:`(U, 2)` node ids
    """

    ids: IntArray
    ends: IntArray
    carried: EdgeData

    def vectors(self, points: Tensor) -> Tensor:
        """The vector of each edge, [U, D], with gradients to the points of the nodes, [N, D], and to W."""
        assert self.carried.terms is not None
        ends, ids = (torch.from_numpy(array).to(points.device) for array in (self.ends, self.ids))
        return edge_vectors(points, ends) + self.carried.terms(ids)


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonPlan:
    """Targets, labeled nodes, and all settings that their similarities depend on.

    Args:
        edges: edges of the graph, [E, 2].
        targets: local graphs of the nodes that ask.
        labeled: local graphs of the labeled nodes.
        measure: sim(a, b).
        node_weight: lambda, Eq. (7).
        both: whether both directions count; else the edges of the targets alone are matched.
        same: targets and labeled nodes are the same nodes, so that the way back is the transpose.
        forward: edges of the targets matched in the labeled nodes' local graphs.
        backward: edges of the labeled nodes matched in the targets' local graphs; None: not needed.
        own: where edges have vectors of their own, which edges those of the plan are, and how they get their vectors.
    """

    edges: IntArray
    targets: LocalGraphs
    labeled: LocalGraphs
    measure: Measure
    node_weight: float
    both: bool
    same: bool
    forward: OneWay | PartedWay
    backward: OneWay | PartedWay | None
    own: OwnVectors | None = None
    _nodes: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls,
        edges: IntArray,
        targets: LocalGraphs,
        labeled: LocalGraphs,
        config: SimilaritySettings,
        carried: EdgeData | None = None,
    ) -> ComparisonPlan:
        """Plan the comparison of ``targets`` with ``labeled``; ``carried``: what edges carry besides their ends."""
        own, ends, weights = _represented(edges, carried, targets, labeled)
        return cls(
            edges=edges,
            targets=targets,
            labeled=labeled,
            measure=measure_named(config.measure),
            node_weight=config.node_weight,
            both=config.directions == "both",
            same=False,
            forward=_way(ends, targets, labeled, weights, by_nodes=own is None),
            backward=_way(ends, labeled, targets, weights, by_nodes=own is None)
            if config.directions == "both"
            else None,
            own=own,
        )

    @classmethod
    def among(
        cls,
        edges: IntArray,
        labeled: LocalGraphs,
        config: SimilaritySettings,
        carried: EdgeData | None = None,
        *,
        sample: LocalGraphs | None = None,
    ) -> ComparisonPlan:
        """Plan the comparison of the labeled nodes with each other.

        With a ``sample`` of the edges of each, the means of Eq. (6) are over the sample and each best match is over
        the whole local graph: without bias.
        """
        own, ends, weights = _represented(edges, carried, labeled)
        return cls(
            edges=edges,
            targets=labeled,
            labeled=labeled,
            measure=measure_named(config.measure),
            node_weight=config.node_weight,
            both=config.directions == "both",
            same=True,
            forward=_way(ends, labeled if sample is None else sample, labeled, weights, by_nodes=own is None),
            backward=None,
            own=own,
        )

    @property
    def num_queries(self) -> int:
        """Q, distinct edges of the targets."""
        return self.forward.num_queries

    def vectors(self, h: Tensor) -> Tensor:
        """What edges are made of: the nodes, [N, D], or the edges of the plan where they have vectors of their own."""
        return h if self.own is None else self.own.vectors(self.measure.points(h))

    def nodes(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """Ids of targets [T] and labeled nodes [L] on a device; moved there once."""
        if device not in self._nodes:
            targets, labeled = (torch.tensor(local.nodes, device=device) for local in (self.targets, self.labeled))
            self._nodes[device] = targets, labeled
        return self._nodes[device]

    def block(self, low: int, high: int) -> ComparisonPlan:
        """The same targets with the labeled nodes ``low`` to ``high`` alone."""
        if low == 0 and high == len(self.labeled):
            return self
        if self.same:
            raise ValueError("labeled nodes that are compared with each other cannot be taken in blocks: use build")
        return dataclasses.replace(
            self,
            labeled=self.labeled.select(np.arange(low, high)),
            forward=self.forward.answering(low, high),
            backward=None if self.backward is None else self.backward.asking(low, high),
        )


def _represented(
    edges: IntArray, carried: EdgeData | None, *local: LocalGraphs
) -> tuple[OwnVectors | None, IntArray, FloatArray | None]:
    """What the edges are made of: their own vectors, if they have any, rows of these or node ids [E, 2], weights."""
    if carried is None:
        return None, edges, None
    if carried.terms is None:
        return None, edges, carried.weights
    used = np.zeros(len(edges), dtype=bool)
    for graphs in local:
        used[graphs.edge_ids] = True
    ids = np.flatnonzero(used)
    place = np.zeros((len(edges), 2), np.int64)
    place[ids] = np.arange(len(ids))[:, None]
    return OwnVectors(ids, edges[ids], carried), place, carried.weights


def _way(
    ends: IntArray, asking: LocalGraphs, answering: LocalGraphs, weights: FloatArray | None, *, by_nodes: bool
) -> OneWay | PartedWay:
    """One direction; a cover is of nodes, which are not what edges with vectors of their own are made of."""
    asking, answering = (local if by_nodes else dataclasses.replace(local, cover=None) for local in (asking, answering))
    kind = OneWay if asking.parts is None else PartedWay
    return kind.build(ends, asking, answering, weights)
