"""Several encoders side by side. Shapes: N nodes, M members, D dimensions of each, A of the attributes themselves."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from se_gnn.deterministic import linear, one_thread
from se_gnn.encoder.encoder import EncoderSteps, Network, Step
from se_gnn.encoder.inputs import EncoderInputs
from se_gnn.encoder.protocol import Change
from se_gnn.graph.arrays import Features, Float64Array
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings import EncoderSettings
from se_gnn.settings.sections import Scaling


class Ensemble(nn.Module):
    r"""Embeddings of M encoders, each of length 1, one beside the other: :math:`H = [H_1 | ... | H_M] / \sqrt M`.

    The cosine of two nodes is then the mean of the members' cosines: one embedding, one vote, one explanation, in which
    what is an accident of one seed counts for little. If distances are compared (``unit`` is false), members keep their
    lengths, and the squared distance of two nodes is the mean of the members' squared distances.

    With an ``attribute_share`` s the attributes themselves stand beside them as one more member, not learned:
    :math:`[\sqrt{1 - s} H | \sqrt s H_X]`. The cosine is then 1 - s times that mean, and s times the cosine of the
    attributes that two nodes and their neighborhoods have: of labeled nodes that the learned members hold to be alike,
    those are nearest that have the most in common.

    Shapes:
        - **output:** :math:`(N, M D + A)`
    """

    def __init__(
        self,
        num_features: int,
        settings: EncoderSettings,
        *,
        generator: torch.Generator,
        num_edge_features: int = 0,
        unit: bool = True,
    ) -> None:
        super().__init__()
        self.unit = unit
        self.members = nn.ModuleList(
            Network(num_features, settings, generator=generator, num_edge_features=num_edge_features)
            for _ in range(settings.members)
        )
        self.attributes: Network | None = None
        self.shares = [(1 - settings.attribute_share) / settings.members] * settings.members
        if settings.attribute_share:
            own = attribute_encoder_settings(num_features, settings)
            self.attributes = Network(num_features, own, generator=generator)
            self.shares.append(settings.attribute_share)

    @property
    def encoders(self) -> list[Network]:
        """The members; the last one is that of the attributes themselves, where they have a share."""
        learned = [member for member in self.members if isinstance(member, Network)]
        return learned if self.attributes is None else [*learned, self.attributes]

    @property
    def width(self) -> int:
        """Dimensions of all members together, M D + A."""
        return sum(member.width for member in self.encoders)

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
        return self.side_by_side([member(inputs) for member in self.encoders])

    def embed(self, features: Tensor | SparseMatrix, step: Step) -> Tensor:
        """As :meth:`forward`, with any propagation of one step."""
        return self.side_by_side([member.embed(features, step) for member in self.encoders])

    def side_by_side(self, embeddings: Sequence[Tensor]) -> Tensor:
        """The embeddings of the members as one, [..., M D + A]."""
        return side_by_side(embeddings, self.shares, unit=self.unit)

    def steps(self, inputs: EncoderInputs) -> list[EncoderSteps]:
        """What each member computes on the way."""
        return [member.steps(inputs) for member in self.encoders]

    def edge_terms(self, carried: Tensor) -> Tensor:
        """W a of some edges, [U, A] to [U, M D + A]: each member's beside the others, as the nodes are."""
        members = zip(self.encoders, self.shares)
        return torch.cat([member.edge_terms(carried) * math.sqrt(share) for member, share in members], dim=-1)

    def changed(self, steps: list[EncoderSteps], change: Change) -> Tensor:
        """H of the nodes of a change, in each of its variants, [U, S, M D + A]."""
        return self.side_by_side([member.changed(own, change) for member, own in zip(self.encoders, steps)])


def side_by_side(embeddings: Sequence[Tensor], shares: Sequence[float], *, unit: bool = True) -> Tensor:
    """Embeddings one beside the other, the square of each one's length its share of the whole, [..., D of all].

    Without ``unit`` each keeps its length, multiplied by the root of its share.

    >>> side_by_side([torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 2.0]])], [0.5, 0.5]).square().round(decimals=2)
    tensor([[0.1800, 0.3200, 0.0000, 0.5000]])
    """
    scaled = [nn.functional.normalize(h, dim=-1) for h in embeddings] if unit else embeddings
    return torch.cat([h * math.sqrt(share) for h, share in zip(scaled, shares)], dim=-1)


WIDTH = 64  # directions that are kept; of fewer features all are
ITERATIONS = 8


def attribute_encoder_settings(num_features: int, settings: EncoderSettings) -> EncoderSettings:
    """One layer, the principal directions; propagated as the learned encoders begin to do it."""
    plain: dict[Scaling, Scaling] = {"pieces": "raw", "weighted": "unit"}
    return dataclasses.replace(
        settings,
        num_layers=1,
        output_size=min(num_features, WIDTH),
        aggregation="own" if settings.aggregation == "own" else "pagerank",
        attribute_scaling=plain.get(settings.attribute_scaling, settings.attribute_scaling),
        members=1,
        attribute_share=0.0,
    )


def principal_layer(features: Features) -> tuple[Tensor, Tensor]:
    r"""Weight and bias of the layer :math:`x \mapsto V (x - \mu)` of attributes X with mean :math:`\mu`.

    The rows of V are the first principal directions, by subspace iteration from a fixed start; with no more features
    than directions V is the identity. Sums run in a fixed order: the same bits on any number of threads.

    Shapes:
        - **features:** :math:`(N, F)`
        - **weight:** :math:`(D, F)`, **bias:** :math:`(D,)`
    """
    matrix: Any = features.astype(np.float64)
    mean = np.asarray(matrix.mean(axis=0)).ravel()
    num_features = matrix.shape[1]
    if num_features <= WIDTH:
        directions = np.eye(num_features)
    else:
        directions = np.random.default_rng(0).standard_normal((num_features, WIDTH))
        for _ in range(ITERATIONS):
            scores = _product(matrix, directions) - mean @ directions
            directions = _orthonormal(_product(matrix.T, scores) - np.outer(mean, scores.sum(axis=0)))
    weight = torch.from_numpy(directions.T.astype(np.float32))
    return weight, torch.from_numpy((-mean @ directions).astype(np.float32))


def _product(matrix: Any, other: Float64Array) -> Float64Array:
    if sp.issparse(matrix):
        return np.asarray(matrix @ other)  # row by row, on one thread
    return linear(torch.from_numpy(np.ascontiguousarray(matrix)), torch.from_numpy(other.T.copy())).numpy()


@one_thread()
def _orthonormal(columns: Float64Array) -> Float64Array:
    basis: Float64Array = torch.linalg.qr(torch.from_numpy(columns)).Q.numpy()
    return basis
