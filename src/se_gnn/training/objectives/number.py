"""The loss of a vote of numbers: each labeled node is predicted from all others, by squared error.

Each step samples the nodes that it predicts. Their values are hidden from the encoder: otherwise their neighbors, which
have read them, would give them away. Values are measured in standard deviations, on a log scale if asked for. Shapes:
L labeled nodes, T validation nodes, S columns that are read from neighbors.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import rows
from se_gnn.encoder import Drawn, Dropout, EncoderInputs, Neighborhood, value_scale
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.model import SEGNN
from se_gnn.settings import NumberObjective
from se_gnn.training.objectives.loss import Loss, vote_of_others


@dataclass(frozen=True, slots=True, eq=False)
class NumberDraws(Drawn):
    """All that is random in one epoch: what is left out, which nodes are predicted, what is read without them."""

    dropout: Dropout
    predicted: Tensor  # [L]
    read: Tensor | None  # [N, S]; None: values are not read


class NumberLoss(Loss):
    """The vote of numbers is learned: each labeled node by the vote of all others."""

    names = ("loss",)

    def __init__(self, model: SEGNN, graph: Graph, seed: int, max_memory: int | str | None = None) -> None:
        super().__init__(model, graph, seed, max_memory)
        assert isinstance(self.settings.objective, NumberObjective)
        self.objective = self.settings.objective
        self.neighborhood = Neighborhood(graph, self.settings.encoder) if model.reads_target else None
        known = graph.values[graph.train]
        if self.settings.encoder.value_scale == "log" and (known <= 0).any():
            raise InputError(f"value_scale = log needs values above 0, got {known.min():g}: set it to raw")
        scaled = value_scale(graph, self.settings.encoder).encode(known)
        self.values = torch.tensor(scaled, dtype=torch.float32, device=model.device)[:, None]  # [L, 1]

    def draw(self, epoch: int) -> NumberDraws:
        """Everything random in an epoch, from the seed and the number of the epoch."""
        generator, count = np.random.default_rng([self.seed, epoch]), len(self.graph.train)
        dropout = Dropout.draw(self.inputs, self.settings.encoder, self.objective, generator=generator)
        if self.neighborhood is None:
            return NumberDraws(dropout, torch.ones(count, dtype=torch.bool), None)
        predicted = np.zeros(count, bool)
        chosen = max(1, round(self.objective.hidden_values * count))
        predicted[generator.choice(count, chosen, replace=False)] = True
        visible = np.zeros(self.graph.num_nodes, bool)
        visible[self.graph.train[~predicted]] = True
        return NumberDraws(dropout, torch.from_numpy(predicted), torch.from_numpy(self.neighborhood.values(visible)))

    def losses(self, draws: NumberDraws) -> Tensor:
        """The mean squared error of the nodes that are predicted, [1]."""
        h = self.model.network(self._inputs(draws.read), draws.dropout)
        found = vote_of_others(rows(h, self.labeled), self.values, self.settings)
        errors = (found - self.values)[:, 0].square()
        counted = draws.predicted.to(errors.dtype)
        return ((errors * counted).sum() / counted.sum())[None]

    def _inputs(self, read: Tensor | None) -> EncoderInputs:
        """What the encoder reads; its last columns, which hold known values, leave out the hidden ones."""
        features = self.inputs.features
        if read is None or not isinstance(features, Tensor):
            return self.inputs
        return dataclasses.replace(self.inputs, features=torch.cat([features[:, : -read.shape[1]], read], dim=1))
