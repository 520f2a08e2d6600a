"""Several encoders side by side. Shapes: N nodes, M members, D dimensions of each, A of the attributes themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from se_gnn.encoder.attributes import attribute_encoder_settings
from se_gnn.encoder.encoder import Change, Encoder, EncoderSteps, Step
from se_gnn.encoder.inputs import EncoderInputs
from se_gnn.graph.arrays import Features
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings import EncoderSettings


class Ensemble(nn.Module):
    r"""Embeddings of M encoders, each of length 1, one beside the other: :math:`H = [H_1 | ... | H_M] / \sqrt M`.

    The cosine of two nodes is then the mean of the members' cosines: one embedding, one vote, one explanation, in which
    what is an accident of one seed counts for little.

    With an ``attribute_share`` s the attributes themselves stand beside them as one more member, not learned:
    :math:`[\sqrt{1 - s} H | \sqrt s H_X]`. The cosine is then 1 - s times that mean, and s times the cosine of the
    attributes that two nodes and their neighborhoods have: of labeled nodes that the learned members hold to be alike,
    those are nearest that have the most in common.

    Shapes:
        - **output:** :math:`(N, M D + A)`
    """

    def __init__(
        self, num_features: int, settings: EncoderSettings, *, generator: torch.Generator, num_edge_features: int = 0
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(
            Encoder(num_features, settings, generator=generator, num_edge_features=num_edge_features)
            for _ in range(settings.members)
        )
        self.attributes: Encoder | None = None
        self.shares = [(1 - settings.attribute_share) / settings.members] * settings.members
        if settings.attribute_share:
            own = attribute_encoder_settings(num_features, settings)
            self.attributes = Encoder(num_features, own, generator=generator)
            self.shares.append(settings.attribute_share)

    @property
    def encoders(self) -> list[Encoder]:
        """The members; the last one is that of the attributes themselves, where they have a share."""
        learned = [member for member in self.members if isinstance(member, Encoder)]
        return learned if self.attributes is None else [*learned, self.attributes]

    @property
    def num_features(self) -> int:
        """F."""
        return self.encoders[0].num_features

    def fit(self, features: Features) -> None:
        """Fit what is not learned of every member to the attributes of all nodes."""
        for member in self.encoders:
            member.fit(features)

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """Embed every node."""
        return side_by_side([member(inputs) for member in self.encoders], self.shares)

    def embed(self, features: Tensor | SparseMatrix, step: Step) -> Tensor:
        """As :meth:`forward`, with any propagation of one step."""
        return side_by_side([member.embed(features, step) for member in self.encoders], self.shares)

    def steps(self, inputs: EncoderInputs) -> list[EncoderSteps]:
        """What each member computes on the way."""
        return [member.steps(inputs) for member in self.encoders]

    def edge_terms(self, carried: Tensor) -> Tensor:
        """W a of some edges, [U, A] to [U, M D + A]: each member's beside the others, as the nodes are."""
        members = zip(self.encoders, self.shares)
        return torch.cat([member.edge_terms(carried) * math.sqrt(share) for member, share in members], dim=-1)

    def changed(self, steps: list[EncoderSteps], change: Change) -> Tensor:
        """H of the nodes of a change, in each of its variants, [U, S, M D + A]."""
        return side_by_side([member.changed(own, change) for member, own in zip(self.encoders, steps)], self.shares)


def side_by_side(embeddings: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """Embeddings one beside the other, the square of each one's length its share of the whole, [..., D of all].

    >>> side_by_side([torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])], [0.5, 0.5]).square().round(decimals=2)
    tensor([[0.1800, 0.3200, 0.0000, 0.5000]])
    """
    return torch.cat(
        [nn.functional.normalize(h, dim=-1) * math.sqrt(share) for h, share in zip(embeddings, shares)], dim=-1
    )
