"""What is compared with what, and how. Shapes: T targets, L labeled nodes, Q distinct edges of the targets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.measure import Measure, measure_named


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
    """

    edges: IntArray
    targets: LocalGraphs
    labeled: LocalGraphs
    measure: Measure
    node_weight: float
    both: bool
    same: bool
    forward: OneWay
    backward: OneWay | None
    _nodes: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls, edges: IntArray, targets: LocalGraphs, labeled: LocalGraphs, config: SimilarityConfig
    ) -> ComparisonPlan:
        """Plan the comparison of ``targets`` with ``labeled``."""
        return cls(
            edges=edges,
            targets=targets,
            labeled=labeled,
            measure=measure_named(config.measure),
            node_weight=config.node_weight,
            both=config.directions == "both",
            same=False,
            forward=OneWay.build(edges, targets, labeled),
            backward=OneWay.build(edges, labeled, targets) if config.directions == "both" else None,
        )

    @classmethod
    def among(
        cls, edges: IntArray, labeled: LocalGraphs, config: SimilarityConfig, *, sample: LocalGraphs | None = None
    ) -> ComparisonPlan:
        """Plan the comparison of the labeled nodes with each other.

        With a ``sample`` of the edges of each, the means of Eq. (6) are over the sample and each best match is over
        the whole local graph: without bias.
        """
        return cls(
            edges=edges,
            targets=labeled,
            labeled=labeled,
            measure=measure_named(config.measure),
            node_weight=config.node_weight,
            both=config.directions == "both",
            same=True,
            forward=OneWay.build(edges, labeled if sample is None else sample, labeled),
            backward=None,
        )

    @property
    def num_queries(self) -> int:
        """Q, distinct edges of the targets."""
        return self.forward.matching.num_queries

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
