"""Overall similarity, Eq. (7). Shapes: T targets, L labeled nodes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.fixed_order import rows
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.kernels.numba_cpu import NodeProducts
from se_gnn.similarity.node import all_pairs
from se_gnn.similarity.structure import (
    EdgeMatching,
    StructurePlan,
    both_products,
    structure_similarity,
    structure_with_matches,
)


@dataclass(frozen=True, slots=True, eq=False)
class Similarities:
    """Node, structure and overall similarity of targets and labeled nodes, each [T, L].

    Structure is -inf where one of the two nodes has no edges; such a pair is compared by node similarity alone.
    """

    node: Tensor
    structure: Tensor
    overall: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonPlan:
    """What is compared: targets with labeled nodes, and back where both directions count."""

    edges: IntArray
    targets: LocalGraphs
    labeled: LocalGraphs
    forward: StructurePlan
    backward: StructurePlan | None  # labeled edges matched in the targets; None: not needed
    _nodes: dict[torch.device, tuple[Tensor, Tensor]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def build(
        cls, edges: IntArray, targets: LocalGraphs, labeled: LocalGraphs, config: SimilarityConfig
    ) -> ComparisonPlan:
        """Plan the comparison of ``targets`` with ``labeled``; the same object for both is recognized."""
        forward = StructurePlan.build(edges, targets, labeled)
        back = config.directions == "both" and targets is not labeled
        return cls(edges, targets, labeled, forward, StructurePlan.build(edges, labeled, targets) if back else None)

    @property
    def symmetric(self) -> bool:
        """Targets are the labeled nodes: the way back is the transpose."""
        return self.targets is self.labeled

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
        labeled = self.labeled.select(np.arange(low, high))
        backward = StructurePlan.build(self.edges, labeled, self.targets) if self.backward is not None else None
        return ComparisonPlan(self.edges, self.targets, labeled, self.forward.block(low, high), backward)


def compare(
    h: Tensor, plan: ComparisonPlan, config: SimilarityConfig, *, max_memory: int | str | None = None
) -> Similarities:
    """Eq. (2), (6) and (7) for all pairs of a plan, with gradients to ``h``."""
    there, back = None, None
    if plan.backward is not None and not (h.requires_grad and torch.is_grad_enabled()):
        there, back = both_products(h, plan.forward, plan.backward, config.measure)
    forward = structure_similarity(h, plan.forward, config.measure, max_memory=max_memory, products=there)
    return _combined(h, plan, forward, _way_back(h, plan, forward, config, max_memory, back), config)


def compare_with_matches(
    h: Tensor, plan: ComparisonPlan, config: SimilarityConfig, *, max_memory: int | str | None = None
) -> tuple[Similarities, EdgeMatching]:
    """As :func:`compare`, with the best matches of the targets' edges kept; no gradients."""
    h = h.detach()
    forward, matching = structure_with_matches(h, plan.forward, config.measure)
    return _combined(h, plan, forward, _way_back(h, plan, forward, config, max_memory), config), matching


def compare_with_matches_back(
    h: Tensor, plan: ComparisonPlan, config: SimilarityConfig
) -> tuple[Similarities, EdgeMatching, EdgeMatching | None]:
    """As :func:`compare_with_matches`, with those of the labeled nodes' edges as well, if both directions count."""
    h = h.detach()
    forward, matching = structure_with_matches(h, plan.forward, config.measure)
    if plan.backward is None:
        return _combined(h, plan, forward, _way_back(h, plan, forward, config, None), config), matching, None
    back, matching_back = structure_with_matches(h, plan.backward, config.measure)
    return _combined(h, plan, forward, back.T, config), matching, matching_back


def _way_back(
    h: Tensor,
    plan: ComparisonPlan,
    forward: Tensor,
    config: SimilarityConfig,
    max_memory: int | str | None,
    products: NodeProducts | None = None,
) -> Tensor | None:
    """Structure similarity of the labeled nodes with the targets, as [T, L]; None where one direction counts."""
    if config.directions == "one":
        return None
    if plan.symmetric:
        return forward.T
    assert plan.backward is not None
    return structure_similarity(h, plan.backward, config.measure, max_memory=max_memory, products=products).T


def _combined(
    h: Tensor, plan: ComparisonPlan, forward: Tensor, back: Tensor | None, config: SimilarityConfig
) -> Similarities:
    targets, labeled = plan.nodes(h.device)
    node = all_pairs(rows(h, targets), rows(h, labeled), config.measure)  # [T, L]
    structure = forward if back is None else (forward + back) / 2
    return Similarities(node, structure, combine(node, structure, config.node_weight))


def combine(node: Tensor, structure: Tensor, node_weight: float) -> Tensor:
    """Weigh node against structure: lambda s^n + (1 - lambda) s^e, Eq. (7); s^n alone where there is no structure."""
    defined = torch.isfinite(structure)
    safe = structure.masked_fill(~defined, 0)
    return torch.where(defined, node_weight * node + (1 - node_weight) * safe, node)
