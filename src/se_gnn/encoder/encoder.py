"""Encoder, Eq. (1): an MLP, then what each node aggregates from its neighbors.

Shapes: N nodes, F features, D dimensions of the embedding, U nodes of a "what if", S of its variants, R nodes around
them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from se_gnn.deterministic import linear, linear_by_row
from se_gnn.encoder.inputs import Dropout, EncoderInputs, scaled_attributes
from se_gnn.encoder.pieces import PIECES, Pieces
from se_gnn.encoder.protocol import Change
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings import EncoderSettings

SPREAD = 3.0  # standard deviation of a column with a weight of 1
LEAST_VARIANCE = 1e-5  # of a column, as a share of that of the widest one

Step = Callable[[Tensor], Tensor]  # the propagation matrix times [N, D]


@dataclass(frozen=True, slots=True, eq=False)
class EncoderSteps:
    r"""On the way to H: output of the first layer, :math:`H^m`, and what is aggregated of it, [N, D] each.

    Of ``layers`` the states before the first and after each layer take the place of what is aggregated.
    """

    first: Tensor
    own: Tensor
    aggregated: Tensor
    propagation: SparseMatrix
    states: tuple[Tensor, ...] = ()


class Network(nn.Module):
    r"""Node embeddings: :math:`H^m = MLP(X)`, and an ``aggregation`` of it.

    - ``gcn``: :math:`H = \sigma(\tilde A H^m W) + H^m`, Eq. (1), one residual layer.
    - ``mean``: :math:`H = (D^{-1} A H^m) \odot w + H^m`, as in the authors' scripts.
    - ``pagerank``: :math:`H = Z_n` with :math:`Z_0 = H^m`, :math:`Z_{k+1} = (1 - a) \tilde A Z_k + a H^m`, personalized
      PageRank of n ``steps`` with ``teleport`` a (Gasteiger et al., 2019).
    - ``steps``: :math:`H = \sum_k g_k \tilde A^k H^m` with learned weights of the steps, which begin as those of
      ``pagerank`` (Chien et al., 2021): weights below 0 set a node apart from its neighbors.
    - ``layers``: the MLP without its last layer, then residual layers, one per step
      (:class:`ResidualLayers`), then the last layer of the MLP.
    - ``own``: :math:`H = H^m`.

    Where edges carry something that is part of their representation, W of :math:`(h_i + h_j) / 2 + W a_{ij}` is learned
    here as well (:meth:`edge_terms`).

    Shapes:
        - **inputs.features:** :math:`(N, F)`
        - **output:** :math:`(N, D)`
    """

    def __init__(
        self, num_features: int, settings: EncoderSettings, *, generator: torch.Generator, num_edge_features: int = 0
    ) -> None:
        super().__init__()
        self.settings = settings
        width = self.width
        self.pieces = Pieces(num_features) if settings.attribute_scaling == "pieces" else None
        read = num_features * PIECES if self.pieces is not None else num_features
        sizes = [read] + [settings.hidden_size] * (settings.num_layers - 1) + [width]
        self.layers = nn.ModuleList(
            _linear(a, b, settings.weight_init, generator) for a, b in itertools.pairwise(sizes)
        )
        self.column_weights = ColumnWeights(num_features) if settings.attribute_scaling == "weighted" else None
        self.weight: nn.Linear | None = None
        self.scale: nn.Parameter | None = None
        self.step_weights: nn.Parameter | None = None
        if settings.aggregation == "gcn":
            self.weight = _linear(width, width, settings.weight_init, generator, bias=False)
        elif settings.aggregation == "steps":
            self.step_weights = nn.Parameter(_pagerank_weights(settings.steps, settings.teleport))
        elif settings.aggregation == "mean" and settings.scale_init == "uniform":
            self.scale = nn.Parameter(0.01 + 0.99 * torch.rand(width, generator=generator))
        elif settings.aggregation == "mean":
            self.scale = nn.Parameter(torch.full((width,), 0.01))
        self.residual: ResidualLayers | None = None
        if settings.aggregation == "layers":
            self.residual = ResidualLayers(
                settings.hidden_size, settings.steps, lambda a, b: _linear(a, b, settings.weight_init, generator)
            )
        self.edge_layer: nn.Linear | None = None  # W of what edges carry
        if num_edge_features:
            self.edge_layer = _linear(num_edge_features, width, settings.weight_init, generator, bias=False)

    @property
    def width(self) -> int:
        """D."""
        return self.settings.output_size or self.settings.hidden_size

    @property
    def num_features(self) -> int:
        """F."""
        return self.dense(0).in_features // (1 if self.pieces is None else PIECES)

    def dense(self, i: int) -> nn.Linear:
        """The i-th layer of the MLP."""
        layer = self.layers[i]
        assert isinstance(layer, nn.Linear)
        return layer

    def fit(self, features: Features) -> None:
        """Fit what is not learned to the attributes of all nodes before training: pieces or scales of their columns."""
        if self.pieces is not None:
            self.pieces.fit(features)
        if self.column_weights is not None:
            self.column_weights.fit(scaled_attributes(features, self.settings.attribute_scaling))

    @property
    def first_weight(self) -> Tensor:
        """W of the first layer, with the weight of each column, [D, F]."""
        weight = self.dense(0).weight
        return weight if self.column_weights is None else weight * self.column_weights()

    def forward(self, inputs: EncoderInputs, dropout: Dropout | None = None) -> Tensor:
        """Embed every node; ``dropout`` is what a training step leaves out."""
        own = self.later_layers(self._first(inputs, dropout), dropout)
        return self._from_own(own, lambda h: inputs.propagation @ h, dropout)

    def embed(self, features: Tensor | SparseMatrix, step: Step) -> Tensor:
        """As :meth:`forward`, with any propagation of one step: one with weighted edges, say."""
        return self._from_own(self.later_layers(self.first_layer(features)), step)

    def _from_own(self, own: Tensor, step: Step, dropout: Dropout | None = None) -> Tensor:
        if self.residual is not None:
            return self.last_layer(self.residual(own, step, dropout))
        return self.finish(own, self.aggregate(own, step))

    def steps(self, inputs: EncoderInputs) -> EncoderSteps:
        """What is computed on the way to H."""
        first = self.first_layer(inputs.features)
        own = self.later_layers(first)
        if self.residual is not None:
            states = tuple(self.residual.states(own, lambda h: inputs.propagation @ h))
            return EncoderSteps(first, own, states[-1], inputs.propagation, states)
        aggregated = self.aggregate(own, lambda h: inputs.propagation @ h)
        return EncoderSteps(first, own, aggregated, inputs.propagation)

    def _first(self, inputs: EncoderInputs, dropout: Dropout | None) -> Tensor:
        """The first layer without the attributes that a step leaves out; of a column all pieces, so that it is mean."""
        if self.pieces is None:
            return self.first_layer(inputs.features if dropout is None else dropout.of_attributes(inputs).features)
        pieces = self.pieces(inputs.features)
        kept = None if dropout is None else dropout.attributes  # [N, F], or [N, 1]
        if kept is not None:
            pieces = pieces * (kept if kept.shape[1] == 1 else kept.repeat_interleave(PIECES, dim=1))
        return self._linear(pieces)

    def first_layer(self, features: Tensor | SparseMatrix) -> Tensor:
        """X W + b, of attributes or of their pieces; sparse attributes stay sparse."""
        return self._linear(features if self.pieces is None else self.pieces(features))

    def _linear(self, features: Tensor | SparseMatrix) -> Tensor:
        weight, bias = self.first_weight, self.dense(0).bias
        if isinstance(features, SparseMatrix):
            return features @ weight.T.contiguous() + bias
        return linear(features, weight, bias)

    def later_layers(self, first: Tensor, dropout: Dropout | None = None) -> Tensor:
        """H^m from the output of the first layer, node by node, [..., D].

        Where residual layers follow it is the output of the last hidden layer.
        """
        h = first
        for i in range(1, len(self.layers)):
            h = torch.relu(h)
            h = h if dropout is None else dropout.of_hidden(h, i - 1)
            if self.residual is None or i + 1 < len(self.layers):
                h = linear(h, self.dense(i).weight, self.dense(i).bias)
        return h

    def last_layer(self, h: Tensor) -> Tensor:
        """H from what the residual layers give, [..., D]."""
        return linear(h, self.dense(-1).weight, self.dense(-1).bias)

    def edge_terms(self, carried: Tensor) -> Tensor:
        """W a of some edges, [U, A] to [U, D]: what is added to the mean of their ends; 0 where nothing is learned."""
        if self.edge_layer is None:
            return carried.new_zeros(len(carried), self.width)
        return linear_by_row(carried, self.edge_layer.weight)

    def aggregate(self, own: Tensor, step: Step) -> Tensor:
        """What each node aggregates of H^m, [N, D]: linear in H^m."""
        settings = self.settings
        if settings.aggregation in ("gcn", "mean"):
            return step(own)
        if settings.aggregation == "pagerank":
            h = own
            for _ in range(settings.steps):
                h = (1 - settings.teleport) * step(h) + settings.teleport * own
            return h
        if self.step_weights is None:  # own
            return own
        h, total = own, self.step_weights[0] * own
        for k in range(1, settings.steps + 1):
            h = step(h)
            total = total + self.step_weights[k] * h
        return total

    @property
    def step_polynomial(self) -> Tensor:
        r"""The weights g of :math:`\sum_k g_k \tilde A^k H^m`, which is what :meth:`aggregate` gives, [n + 1]."""
        settings = self.settings
        if settings.aggregation in ("gcn", "mean"):
            return torch.tensor([0.0, 1.0])
        if settings.aggregation == "pagerank":
            return _pagerank_weights(settings.steps, settings.teleport)
        return torch.ones(1) if self.step_weights is None else self.step_weights.detach()

    @property
    def adds_own(self) -> bool:
        """Whether :meth:`finish` adds H^m once more."""
        return self.weight is not None or self.scale is not None

    def finish(self, own: Tensor, aggregated: Tensor) -> Tensor:
        """H from H^m and what is aggregated of it, [..., D]."""
        if self.weight is not None:
            return torch.relu(linear(aggregated, self.weight.weight)) + own
        if self.scale is not None:
            return aggregated * self.scale + own
        return aggregated

    def changed(self, steps: EncoderSteps, change: Change) -> Tensor:
        """H of the nodes of a change, in each of its variants, [U, S, D]; all else stays as it is.

        The first layer is linear (in the pieces of a column) and so is what is aggregated: only the nodes in question
        are computed again (with residual layers: those around them as well).
        """
        bias = self.dense(0).bias
        moved = _added(self._moved(change), change.variant, change.ratio.shape[1])
        unbiased = steps.first[change.nodes] - bias
        own = self.later_layers((unbiased[:, None] - moved) * change.ratio[:, :, None] + bias)
        if self.residual is not None:
            return self.last_layer(self.residual.changed(steps.states, steps.propagation, change.nodes, own))
        lost = own - steps.own[change.nodes][:, None]
        between = self._between(steps.propagation, change.nodes)
        aggregated = steps.aggregated[change.nodes][:, None] + torch.einsum("uw,wsd->usd", between, lost)
        return self.finish(own, aggregated)

    def _moved(self, change: Change) -> Tensor:
        """What each attribute that is taken was to the first layer, [U, f, D]."""
        weight = self.first_weight
        if self.pieces is None:
            return change.taken[:, :, None] * weight.T[change.features]
        weights = weight.T.reshape(-1, PIECES, len(weight))[change.features]  # [f, P, D]
        had, has = (self.pieces.of(values, change.features) for values in (change.had, change.had - change.taken))
        return torch.einsum("ufp,fpd->ufd", had - has, weights)

    def _between(self, propagation: SparseMatrix, nodes: Tensor) -> Tensor:
        """How much of H^m of each of these nodes the others aggregate, [U, U]."""
        alone = torch.zeros(propagation.rows.shape[0], len(nodes), device=nodes.device)
        alone[nodes, torch.arange(len(nodes), device=nodes.device)] = 1
        return self.aggregate(alone, lambda h: propagation @ h)[nodes]


def _added(values: Tensor, places: Tensor, count: int) -> Tensor:
    """The sums of values that have the same place, [U, f, D] to [U, count, D]."""
    if values.device.type == "cpu":
        return values.new_zeros(len(values), count, values.shape[2]).index_add_(1, places, values)
    which = torch.nn.functional.one_hot(places, count).to(values.dtype)  # there index_add_ adds in no fixed order
    return torch.einsum("ufd,fs->usd", values, which)


def _pagerank_weights(steps: int, teleport: float) -> Tensor:
    """g_k = a (1 - a)^k, the last one (1 - a)^n, [n + 1]."""
    weights = [teleport * (1 - teleport) ** k for k in range(steps)]
    return torch.tensor([*weights, (1 - teleport) ** steps])


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


class ColumnWeights(nn.Module):
    """A factor for each column of the attributes, [F]: a learned weight, which begins at 1, times a fixed scale.

    The scale gives all columns the same standard deviation. The weight decays as the first layer behind it does, so
    columns that do not help fade out.
    """

    scale: Tensor

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(num_features))
        self.register_buffer("scale", torch.ones(num_features))

    def fit(self, features: Features) -> None:
        """Find the scale of each column; that of a column that hardly varies is limited."""
        matrix: Any = features
        squares = matrix.multiply(matrix) if sp.issparse(matrix) else np.square(matrix, dtype=np.float64)
        means, squared = (np.asarray(part.mean(axis=0), np.float64).ravel() for part in (matrix, squares))
        variance = np.maximum(squared - np.square(means), 0)
        floor = LEAST_VARIANCE * variance.max() or 1.0  # 1 if no column varies
        self.scale.copy_(torch.from_numpy(SPREAD / np.sqrt(np.maximum(variance, floor))))

    def forward(self) -> Tensor:
        """The factors, [F]."""
        return self.weight * self.scale


class ResidualLayers(nn.Module):
    r"""Hidden states [N, D] to hidden states [N, D]: what a node is stands beside what its neighbors are.

    With :math:`Z = LayerNorm(H)` a layer is :math:`H \leftarrow H + \sigma(W [Z\,|\,D^{-1} A Z] + b)`. The two halves
    of W are learned apart, so that a node can be set apart from its neighbors: its class may depend on its role, not on
    theirs (GraphSAGE, https://arxiv.org/abs/1706.02216, with residual layers as in https://arxiv.org/abs/2302.11640).
    """

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
