"""Encoder, Eq. (1): an MLP, then one residual layer that aggregates the neighbors.

Shapes: N nodes, F features, D hidden.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from se_gnn.config import EncoderConfig
from se_gnn.encoder.inputs import EncoderInputs
from se_gnn.fixed_order import linear
from se_gnn.graph.sparse import SparseMatrix


@dataclass(frozen=True, slots=True, eq=False)
class EncoderSteps:
    r"""On the way to H: output of the first layer, :math:`H^m`, and :math:`\tilde A H^m`, [N, D] each."""

    first: Tensor
    own: Tensor
    heard: Tensor
    propagation: SparseMatrix


class Encoder(nn.Module):
    r"""Node embeddings :math:`H^m = MLP(X)`, :math:`H = \sigma(\tilde A H^m W) + H^m`, Eq. (1).

    With ``aggregation="mean"`` the residual is the neighbor mean times a learned vector,
    :math:`H = (D^{-1} A H^m) \odot w + H^m`, as in the authors' scripts.

    Shapes:
        - **inputs.features:** :math:`(N, F)`
        - **output:** :math:`(N, D)`
    """

    def __init__(self, num_features: int, config: EncoderConfig, *, generator: torch.Generator) -> None:
        super().__init__()
        width = config.hidden_size
        sizes = [num_features] + [width] * config.num_layers
        self.layers = nn.ModuleList(_linear(a, b, config.weight_init, generator) for a, b in itertools.pairwise(sizes))
        self.weight: nn.Linear | None = None
        self.scale: nn.Parameter | None = None
        if config.aggregation == "gcn":
            self.weight = _linear(width, width, config.weight_init, generator, bias=False)
        elif config.scale_init == "uniform":
            self.scale = nn.Parameter(0.01 + 0.99 * torch.rand(width, generator=generator))
        else:
            self.scale = nn.Parameter(torch.full((width,), 0.01))

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """Embed every node."""
        steps = self.steps(inputs)
        return self.residual(steps.own, steps.heard)

    def steps(self, inputs: EncoderInputs) -> EncoderSteps:
        """What is computed on the way to H."""
        first = self.first_layer(inputs.features)
        own = self.later_layers(first)
        return EncoderSteps(first, own, inputs.propagation @ own, inputs.propagation)

    def first_layer(self, features: Tensor | SparseMatrix) -> Tensor:
        """X W + b; sparse attributes stay sparse."""
        layer = self.layers[0]
        assert isinstance(layer, nn.Linear)
        if isinstance(features, SparseMatrix):
            return features @ layer.weight.T.contiguous() + layer.bias
        return linear(features, layer.weight, layer.bias)

    def later_layers(self, first: Tensor) -> Tensor:
        """H^m from the output of the first layer, node by node, [..., D]."""
        h = first
        for layer in self.layers[1:]:
            assert isinstance(layer, nn.Linear)
            h = linear(torch.relu(h), layer.weight, layer.bias)
        return h

    def residual(self, h: Tensor, heard: Tensor) -> Tensor:
        """H from H^m and what each node aggregates of it, [..., D]."""
        if self.weight is not None:
            return torch.relu(linear(heard, self.weight.weight)) + h
        assert self.scale is not None
        return heard * self.scale + h


def _linear(
    inputs: int, outputs: int, init: Literal["xavier", "fan_in"], generator: torch.Generator, *, bias: bool = True
) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=bias)
    if init == "xavier":
        nn.init.xavier_uniform_(layer.weight, generator=generator)
        if bias:
            nn.init.zeros_(layer.bias)
    else:
        bound = 1 / math.sqrt(inputs)
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer
