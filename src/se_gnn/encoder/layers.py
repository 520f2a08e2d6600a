r"""Residual layers: what a node is stands beside what its neighbors are, layer after layer.

With :math:`Z = LayerNorm(H)` a layer is :math:`H \leftarrow H + \sigma(W [Z\,|\,D^{-1} A Z] + b)`. The two halves of W
are learned apart, so that a node can be set apart from its neighbors: its class may depend on its role, not on theirs
(GraphSAGE, https://arxiv.org/abs/1706.02216, with residual layers as in https://arxiv.org/abs/2302.11640).
Shapes: N nodes, D hidden dimensions, U nodes of a "what if", S of its variants, R nodes of a region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from se_gnn.deterministic import linear
from se_gnn.encoder.dropout import Dropout
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.sparse import SparseMatrix


class ResidualLayers(nn.Module):
    """Hidden states [N, D] to hidden states [N, D], and what one layer makes of some nodes."""

    def __init__(self, width: int, count: int, make: Callable[[int, int], nn.Linear]) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(count))
        self.weights = nn.ModuleList(make(2 * width, width) for _ in range(count))
        self.last = nn.LayerNorm(width)

    def __len__(self) -> int:
        return len(self.weights)

    def forward(self, h: Tensor, step: Callable[[Tensor], Tensor], dropout: Dropout | None = None) -> Tensor:
        """All layers, and the last normalization; ``step`` is the mean over the neighbors."""
        *_, state = self.states(h, step, dropout)
        return self.normalized(state, len(self))

    def states(self, h: Tensor, step: Callable[[Tensor], Tensor], dropout: Dropout | None = None) -> Iterator[Tensor]:
        """The state before the first layer and after each of them, [N, D]."""
        yield h
        for i in range(len(self)):
            z = self.normalized(h, i)
            h = self.layer(h, z, step(z), i, dropout)
            yield h

    def normalized(self, h: Tensor, i: int) -> Tensor:
        """What the i-th layer reads of a state, [..., D]; after all layers, what comes out."""
        norm = self.norms[i] if i < len(self) else self.last
        normalized: Tensor = norm(h)
        return normalized

    def layer(self, h: Tensor, z: Tensor, around: Tensor, i: int, dropout: Dropout | None = None) -> Tensor:
        """The i-th layer of some nodes, from their states, these normalized, and the means around them, [..., D]."""
        weight = self.weights[i]
        assert isinstance(weight, nn.Linear)
        added = torch.relu(linear(torch.cat([z, around], dim=-1), weight.weight, weight.bias))
        return h + (added if dropout is None else dropout.of_hidden(added, i - len(self)))  # the last ones

    def changed(self, states: tuple[Tensor, ...], propagation: SparseMatrix, nodes: Tensor, own: Tensor) -> Tensor:
        """What comes out at some nodes if their first states are ``own``, [U, S, D]; all else stays as it is.

        A change travels one edge per layer. What comes back to the nodes therefore stays within half as many edges as
        there are layers: only these nodes are computed again.
        """
        chosen, device = nodes.cpu().numpy(), own.device
        rows, region = _rows_around(propagation, chosen, len(self) // 2)
        inside = rows[:, region]
        place = torch.from_numpy(np.searchsorted(region, chosen)).to(device)
        h = states[0][torch.from_numpy(region).to(device)][:, None].repeat(1, own.shape[1], 1)  # [R, S, D]
        h[place] = own
        for i in range(len(self)):
            before, z = self.normalized(states[i], i).cpu().numpy(), self.normalized(h, i)
            moved = inside @ (z.cpu().numpy() - before[region][:, None]).reshape(len(region), -1)  # [R, S D]
            around = (rows @ before)[:, None] + moved.reshape(z.shape)
            h = self.layer(h, z, torch.from_numpy(around).to(device), i)
        return self.normalized(h[place], len(self))


def _rows_around(propagation: SparseMatrix, nodes: IntArray, hops: int) -> tuple[sp.csr_array, IntArray]:
    """The rows of the propagation of all nodes within some hops of others, [R, N], and which these are, ascending."""
    parts = (propagation.rows.values(), propagation.rows.col_indices(), propagation.rows.crow_indices())
    matrix = sp.csr_array(tuple(part.cpu().numpy() for part in parts), shape=tuple(propagation.rows.shape))
    region = np.unique(nodes)
    for _ in range(hops):
        region = np.union1d(region, matrix[region].indices)
    return matrix[region], region
