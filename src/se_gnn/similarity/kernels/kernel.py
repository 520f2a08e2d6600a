"""What every kernel offers: one contract. Shapes: T targets, L labeled nodes, Q query edges, D dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from se_gnn.similarity.kernels.mean import edge_mean
from se_gnn.similarity.kernels.one_way import OneWay
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.measure import Measure
from se_gnn.similarity.memory import items_within


class Kernel(ABC):
    """Edge matching somewhere: agrees with `reference.match_edges` in values, winners and gradients."""

    @abstractmethod
    def match(self, h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
        """Similarity and position of the best match of each query in each local graph, [Q, L]; -inf, -1 where empty.

        Distances are computed from ``origin``, [D].
        """

    @abstractmethod
    def pull_back(
        self, h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the embeddings, [N, D]: only the winning pair of each (query, local graph) receives one."""

    def means(
        self, h: Tensor, forward: OneWay, backward: OneWay | None, measure: Measure, origin: Tensor, budget: int
    ) -> tuple[Tensor, Tensor | None]:
        """P M there, [T, L], and back, [L, T], a part of M at a time so that it takes no more than ``budget`` bytes."""
        back = None if backward is None else self._in_blocks(h, backward, measure, origin, budget)
        return self._in_blocks(h, forward, measure, origin, budget), back

    def _in_blocks(self, h: Tensor, way: OneWay, measure: Measure, origin: Tensor, budget: int) -> Tensor:
        """Some local graphs at a time."""
        matching = way.matching
        step = items_within(budget, 12 * max(1, matching.num_queries), max(1, matching.num_local))
        matching.on(h.device)  # so that the blocks share it
        way.rows(h.device)
        blocks = [way.answering(low, min(low + step, matching.num_local)) for low in range(0, matching.num_local, step)]
        means = [edge_mean(self.match(h, block.matching, measure, origin)[0], block) for block in blocks]
        return torch.cat(means, dim=1) if means else h.new_zeros(len(way.ptr) - 1, 0)
