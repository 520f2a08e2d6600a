"""Edge matching in plain PyTorch, on any device: agrees with `reference.match_edges`, blocked by queries."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.similarity.edge import edge_vectors
from se_gnn.similarity.kernels.kernel import Kernel
from se_gnn.similarity.kernels.plan import MatchPlan
from se_gnn.similarity.measure import Measure

BLOCK_BYTES = 1 << 28  # size of a block of similarities


class TorchKernel(Kernel):
    """Edge matching by PyTorch's own operations."""

    def match(self, h: Tensor, plan: MatchPlan, measure: Measure, origin: Tensor) -> tuple[Tensor, Tensor]:
        """As `reference.match_edges`; distances are differences, and need no origin."""
        index = plan.on(h.device)
        queries, keys = edge_vectors(h, index.query_ends), edge_vectors(h, index.key_node_ends)
        members = index.members.long()
        best = torch.full((plan.num_queries, plan.num_local), -torch.inf, dtype=h.dtype, device=h.device)
        winners = torch.full((plan.num_queries, plan.num_local), -1, dtype=torch.int32, device=h.device)
        step = max(1, BLOCK_BYTES // (4 * max(1, len(keys))))
        for low in range(0, plan.num_queries, step):
            scores = measure.all_pairs(queries[low : low + step], keys)  # [B, K]
            for t in np.flatnonzero(np.diff(plan.ptr)):
                row = members[plan.ptr[t] : plan.ptr[t + 1]]
                inside = scores[:, row]
                top = inside.amax(dim=1)
                first = (inside == top[:, None]).to(torch.uint8).argmax(dim=1)  # lowest id among equals
                best[low : low + step, t] = top
                winners[low : low + step, t] = row[first].to(torch.int32)
        return best, winners

    def pull_back(
        self, h: Tensor, plan: MatchPlan, measure: Measure, best: Tensor, winners: Tensor, grad: Tensor
    ) -> Tensor:
        """Gradient to the embeddings, [N, D], by scoring the winning pairs again, a block of queries at a time."""
        leaf = h.detach().requires_grad_()
        index = plan.on(h.device)
        total = torch.zeros_like(h)
        step = max(1, BLOCK_BYTES // (16 * max(1, plan.num_local) * h.shape[1]))
        for low in range(0, plan.num_queries, step):
            wanted = (winners[low : low + step] >= 0) & (grad[low : low + step] != 0)
            rows, columns = torch.nonzero(wanted, as_tuple=True)
            if not len(rows):
                continue
            with torch.enable_grad():
                a = edge_vectors(leaf, index.query_ends[low + rows])
                b = edge_vectors(leaf, index.key_node_ends[winners[low + rows, columns].long()])
                (part,) = torch.autograd.grad(measure.aligned(a, b), leaf, grad[low + rows, columns])
            total += part
        return total
