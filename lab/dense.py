"""The GCN's propagation as a dense matrix that can be differentiated: for what attacks or learns the edges themselves.

Shapes: N nodes.
"""

from __future__ import annotations

import torch
from torch import Tensor


def dense_propagation(adjacency: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 with the row sums of A + I, [N, N]; A may hold any weights of at least 0.

    >>> dense_propagation(torch.tensor([[0.0, 3.0], [3.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.75, 0.25]]
    """
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype, device=adjacency.device)
    root = looped.sum(1).rsqrt()
    return root[:, None] * looped * root[None, :]
