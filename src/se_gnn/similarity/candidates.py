"""Candidates: where many nodes are labeled, edges are matched with those alone that are most similar as nodes.

Matching stays exact; only who is looked at is narrowed. Shapes: T targets, L labeled nodes, C candidates.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.similarity.kernels import numba_cpu
from se_gnn.similarity.kernels.dispatch import kernel_for
from se_gnn.similarity.kernels.pairs_cpu import pair_structure
from se_gnn.similarity.memory import items_within, memory_budget
from se_gnn.similarity.nearest import nearest_labeled
from se_gnn.similarity.node import all_pairs
from se_gnn.similarity.overall import ComparisonPlan, Similarities, combine, compare

CHUNK_BYTES = 1 << 26  # node similarities held at a time: more would only cost memory


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The labeled nodes that each target is compared with, by their positions, ascending, and how similar they are.

    Shapes:
        - **positions** and each of **similarities:** :math:`(T, C)`
    """

    positions: Tensor
    similarities: Similarities

    def spread(self, every: Similarities) -> Similarities:
        """As similarities with all labeled nodes, [T, L]: -inf overall where one is no candidate."""
        nobody = torch.full_like(every.overall, -torch.inf)
        return Similarities(
            every.node,
            every.structure.scatter(1, self.positions, self.similarities.structure),
            nobody.scatter(1, self.positions, self.similarities.overall),
        )


def compare_candidates(
    h: Tensor, plan: ComparisonPlan, config: SimilarityConfig, count: int, *, max_memory: int | str | None = None
) -> Candidates:
    """Compare each target with the ``count`` labeled nodes that are most similar as nodes; no gradients.

    Of equally similar labeled nodes the first is a candidate. Each structure similarity is exact.
    """
    h = h.detach()
    budget = memory_budget(max_memory, h.device)
    positions, node = _most_similar(h, plan, config, count, budget)
    if kernel_for(h) is numba_cpu:
        local = (plan.targets, plan.labeled)
        structure = pair_structure(h, plan.edges, *local, positions.numpy(), config.measure, config.directions)
    else:
        structure = _out_of_all(h, plan, config, positions, budget)
    return Candidates(positions, Similarities(node, structure, combine(node, structure, config.node_weight)))


def _most_similar(
    h: Tensor, plan: ComparisonPlan, config: SimilarityConfig, count: int, budget: int
) -> tuple[Tensor, Tensor]:
    """Positions of the candidates, ascending, and their node similarities, [T, C] each; some targets at a time."""
    targets, labeled = plan.nodes(h.device)
    step = items_within(min(budget, CHUNK_BYTES), 4 * len(labeled), max(1, len(targets)))
    found = []
    for some in torch.split(targets, step):
        node = all_pairs(h[some], h[labeled], config.measure)  # [some, L]
        positions = nearest_labeled(node, count).sort(dim=1).values
        found.append((positions, node.gather(1, positions)))
    positions, nodes = (torch.cat(parts) for parts in zip(*found))
    return positions, nodes


def _out_of_all(h: Tensor, plan: ComparisonPlan, config: SimilarityConfig, positions: Tensor, budget: int) -> Tensor:
    """Structure similarity with the candidates, out of that with all labeled nodes: right, not fast."""
    num_labeled = len(plan.labeled)
    step = items_within(budget // 2, 16 * max(1, len(plan.targets)), num_labeled)
    structure = torch.full(positions.shape, -torch.inf, device=h.device)
    for low in range(0, num_labeled, step):
        high = min(low + step, num_labeled)
        block = compare(h, plan.block(low, high), config, max_memory=budget).structure
        inside = (low <= positions) & (positions < high)
        structure = torch.where(inside, block.gather(1, (positions - low).clamp(0, high - low - 1)), structure)
    return structure
