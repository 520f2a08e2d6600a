"""Several encoders side by side, trained from different seeds. Shapes: N nodes, M members, D dimensions of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from se_gnn.config import EncoderConfig
from se_gnn.encoder.encoder import Change, Encoder, EncoderSteps, Step
from se_gnn.encoder.inputs import EncoderInputs
from se_gnn.graph.sparse import SparseMatrix


class Committee(nn.Module):
    r"""Embeddings of M encoders, each of length 1, one beside the other: :math:`H = [H_1 | ... | H_M] / \sqrt M`.

    The cosine of two nodes is then the mean of the members' cosines: one embedding, one vote, one explanation, in which
    what is an accident of one seed counts for little.

    Shapes:
        - **output:** :math:`(N, M D)`
    """

    def __init__(
        self, num_features: int, config: EncoderConfig, *, generator: torch.Generator, num_edge_features: int = 0
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(
            Encoder(num_features, config, generator=generator, num_edge_features=num_edge_features)
            for _ in range(config.members)
        )

    @property
    def encoders(self) -> list[Encoder]:
        """The members."""
        return [member for member in self.members if isinstance(member, Encoder)]

    @property
    def num_features(self) -> int:
        """F."""
        return self.encoders[0].num_features

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """Embed every node."""
        return side_by_side([member(inputs) for member in self.encoders])

    def embed(self, features: Tensor | SparseMatrix, step: Step) -> Tensor:
        """As :meth:`forward`, with any propagation of one step."""
        return side_by_side([member.embed(features, step) for member in self.encoders])

    def steps(self, inputs: EncoderInputs) -> list[EncoderSteps]:
        """What each member computes on the way."""
        return [member.steps(inputs) for member in self.encoders]

    def edge_terms(self, carried: Tensor) -> Tensor:
        """W a of some edges, [U, A] to [U, M D]: each member's beside the others, as the nodes are."""
        return torch.cat([member.edge_terms(carried) for member in self.encoders], dim=-1) / math.sqrt(
            len(self.members)
        )

    def changed(self, steps: list[EncoderSteps], change: Change) -> Tensor:
        """H of the nodes of a change, in each of its variants, [U, S, M D]."""
        return side_by_side([member.changed(own, change) for member, own in zip(self.encoders, steps)])


def side_by_side(embeddings: Sequence[Tensor]) -> Tensor:
    """Embeddings of length 1 one beside the other, their lengths so that the whole has length 1, [..., M D].

    >>> side_by_side([torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])]).square().round(decimals=2)
    tensor([[0.1800, 0.3200, 0.0000, 0.5000]])
    """
    units = [nn.functional.normalize(h, dim=-1) for h in embeddings]
    return torch.cat(units, dim=-1) / math.sqrt(len(units))
