"""Overall similarity, Eq. (7). Shapes: T targets, L labeled nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from se_gnn.deterministic import rows
from se_gnn.similarity.kernels import EdgeMatching, structure_similarity, structure_with_matches
from se_gnn.similarity.memory import items_within, memory_budget
from se_gnn.similarity.plan import ComparisonPlan


@dataclass(frozen=True, eq=False)
class Similarities:
    """Node, structure and overall similarity of targets and labeled nodes, each [T, L].

    Structure is -inf where one of the two nodes has no edges; such a pair is compared by node similarity alone.
    """

    node: Tensor  # s^n, Eq. (2)
    structure: Tensor  # s^e, Eq. (6)
    node_weight: float  # lambda

    @cached_property
    def overall(self) -> Tensor:
        """s, Eq. (7)."""
        return combine(self.node, self.structure, self.node_weight)

    def weighted(self, node_weight: float) -> Similarities:
        """The same with another lambda: nothing is compared again."""
        return replace(self, node_weight=node_weight)


def compare(
    h: Tensor,
    plan: ComparisonPlan,
    *,
    max_memory: int | str | None = None,
    edge_weights: Tensor | None = None,
    origin: Tensor | None = None,
) -> Similarities:
    """Eq. (2)-(7) for all pairs of a plan, with gradients to ``h``.

    Args:
        h: node embeddings, [N, D].
        plan: what is compared, by which measure, in which directions, with which lambda.
        max_memory: what it may take at a time, such as ``"4GB"``; None: a quarter of what is free.
        edge_weights: how much each edge of the graph counts in the mean of Eq. (6), [E], with gradients; None: alike.
        origin: the point that distances are computed from, [D]; None: that of ``h``, which then holds all nodes.
    """
    structure = structure_similarity(h, plan, max_memory=max_memory, edge_weights=edge_weights, origin=origin)
    return Similarities(_node_similarity(h, plan), structure, plan.node_weight)


def compare_in_blocks(
    h: Tensor, plan: ComparisonPlan, *, max_memory: int | str | None = None, origin: Tensor | None = None
) -> Iterator[tuple[Tensor, Similarities]]:
    """As :func:`compare`, some labeled nodes at a time where all do not fit the memory: positions and similarities."""
    num_labeled, budget = len(plan.labeled), memory_budget(max_memory, h.device)
    step = items_within(budget // 2, 16 * max(1, len(plan.targets)), num_labeled)
    for low in range(0, num_labeled, step):
        high = min(low + step, num_labeled)
        some = compare(h, plan.block(low, high), max_memory=budget, origin=origin)
        yield torch.arange(low, high, device=h.device), some


def compare_with_matches(
    h: Tensor, plan: ComparisonPlan, *, max_memory: int | str | None = None, keep_back: bool = False
) -> tuple[Similarities, EdgeMatching, EdgeMatching | None]:
    """As :func:`compare`, with the best matches of the targets' edges kept; no gradients.

    With ``keep_back`` those of the labeled nodes' edges as well, where both directions count.
    """
    structure, there, back = structure_with_matches(h, plan, max_memory=max_memory, keep_back=keep_back)
    return Similarities(_node_similarity(h.detach(), plan), structure, plan.node_weight), there, back


def combine(node: Tensor, structure: Tensor, node_weight: float) -> Tensor:
    """Weigh node against structure: lambda s^n + (1 - lambda) s^e, Eq. (7); s^n alone where there is no structure."""
    defined = torch.isfinite(structure)
    safe = structure.masked_fill(~defined, 0)
    return torch.where(defined, node_weight * node + (1 - node_weight) * safe, node)


def _node_similarity(h: Tensor, plan: ComparisonPlan) -> Tensor:
    targets, labeled = plan.nodes(h.device)
    return plan.measure.all_pairs(rows(h, targets), rows(h, labeled))  # [T, L]
