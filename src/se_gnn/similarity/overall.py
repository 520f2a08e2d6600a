"""Overall similarity, Eq. (7). Shapes: T targets, L labeled nodes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.similarity.node import all_pairs
from se_gnn.similarity.structure import StructurePlan, structure_similarity


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

    targets: IntArray
    labeled: IntArray
    forward: StructurePlan
    backward: StructurePlan | None  # labeled edges matched in the targets; None: not needed
    symmetric: bool  # targets are the labeled nodes: the way back is the transpose

    @classmethod
    def build(
        cls,
        edges: IntArray,
        targets: LocalGraphs,
        labeled: LocalGraphs,
        config: SimilarityConfig,
        device: torch.device | str = "cpu",
    ) -> ComparisonPlan:
        """Plan the comparison of ``targets`` with ``labeled``; the same object for both is recognized."""
        forward = StructurePlan.build(edges, targets, labeled, device)
        symmetric = targets is labeled
        back = config.directions == "both" and not symmetric
        backward = StructurePlan.build(edges, labeled, targets, device) if back else None
        return cls(targets.nodes, labeled.nodes, forward, backward, symmetric)


def compare(h: Tensor, plan: ComparisonPlan, config: SimilarityConfig) -> Similarities:
    """Eq. (2), (6) and (7) for all pairs of a plan, with gradients to ``h``."""
    targets, labeled = (torch.tensor(nodes, device=h.device) for nodes in (plan.targets, plan.labeled))
    node = all_pairs(h[targets], h[labeled], config.measure)  # [T, L]
    structure = structure_similarity(h, plan.forward, config.measure)
    if config.directions == "both":
        if plan.symmetric:
            back = structure.T
        else:
            assert plan.backward is not None
            back = structure_similarity(h, plan.backward, config.measure).T
        structure = (structure + back) / 2
    return Similarities(node, structure, combine(node, structure, config.node_weight))


def combine(node: Tensor, structure: Tensor, node_weight: float) -> Tensor:
    """lambda s^n + (1 - lambda) s^e, Eq. (7); s^n alone where there is no structure to compare."""
    defined = torch.isfinite(structure)
    safe = structure.masked_fill(~defined, 0)
    return torch.where(defined, node_weight * node + (1 - node_weight) * safe, node)
