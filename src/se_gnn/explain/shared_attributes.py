"""Which attributes make two nodes, or two edges, similar: an exact "what if" for each attribute that both have.

An attribute is taken from the nodes' own rows of X, all else stays, and the encoder is run again on what changes: the
first layer is linear, so its output moves by a column of its weights; the later layers and the residual of the nodes in
question are computed again, for all attributes at once. Shapes: S shared attributes, U nodes (2, or up to 4 for two
edges), F features, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import BoolArray, FloatArray, IntArray
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.model import TrainedModel
from se_gnn.similarity.node import aligned, all_pairs

CLOSE = 0.5  # two measured values agree if they differ by at most this many standard deviations of the feature

NOTE = (
    "Each effect is exact: the attribute is taken from both {things}, all else stays as it is, and their similarity is "
    "computed again; the effect is what is lost. Below 0: they would be more similar without it. Taken means {taken}. "
    "The effects do not add up to the similarity, because attributes act together."
)
TO_ZERO = "set to 0"
TO_MEAN = "set to its mean over all nodes"
TO_EITHER = "set to 0 where the attribute counts something (never negative, mostly 0), else to its mean over all nodes"


@dataclass(frozen=True, slots=True)
class SharedAttribute:
    """An attribute that both have, with the value of each and the similarity that is lost without it."""

    name: str
    target_value: str
    neighbor_value: str
    effect: float


@dataclass(frozen=True, slots=True)
class SharedAttributes:
    """The attributes that two nodes share, largest effect first.

    ``similarity`` is their node similarity, Eq. (2); ``num_shared`` counts all shared attributes, also those that are
    not listed; ``note`` says how exact this is.
    """

    target: int
    neighbor: int
    similarity: float
    attributes: tuple[SharedAttribute, ...]
    num_shared: int
    note: str


@dataclass(frozen=True, slots=True)
class SharedEdgeAttributes:
    """The attributes that two matched edges share, as :class:`SharedAttributes` has them of nodes.

    The value of an edge is the mean of the values of its two ends, as its representation is, Eq. (3).
    """

    edge: tuple[int, int]
    matched: tuple[int, int]
    similarity: float
    attributes: tuple[SharedAttribute, ...]
    num_shared: int
    note: str


def shared_attributes(trained: TrainedModel, target: int, neighbor: int, top: int = 10) -> SharedAttributes:
    r"""Which attributes make two nodes similar.

    The effect of attribute j is :math:`s^n(v_t, v_l) - s^n_{-j}(v_t, v_l)`, where both embeddings are computed without
    it. An attribute that counts something (a word, a category) is shared if both nodes have it; a measured one if the
    values differ by at most half a standard deviation.

    Args:
        trained: the model and its graph.
        target: id of the one node.
        neighbor: id of the other.
        top: how many attributes are listed.
    """
    for name, node in (("target", target), ("neighbor", neighbor)):
        _check_node(name, node, trained.graph)
    if target == neighbor:
        raise InputError(f"target and neighbor must be two nodes, got {target} twice")
    similarity = _similarity(trained, [target], [neighbor])
    attributes, num_shared = _compared(trained, [target], [neighbor], top)
    note = _note(trained.graph, "nodes")
    return SharedAttributes(int(target), int(neighbor), similarity, attributes, num_shared, note)


def shared_edge_attributes(
    trained: TrainedModel, edge: Sequence[int], matched: Sequence[int], top: int = 10
) -> SharedEdgeAttributes:
    """Which attributes make two matched edges similar: each is taken from all of their ends, as for nodes."""
    for name, ends in (("edge", edge), ("matched", matched)):
        if len(ends) != 2:
            raise InputError(f"{name} must name two nodes, got {len(ends)}")
        for node in ends:
            _check_node(name, node, trained.graph)
    similarity = _similarity(trained, edge, matched)
    attributes, num_shared = _compared(trained, edge, matched, top)
    ours, theirs = (int(edge[0]), int(edge[1])), (int(matched[0]), int(matched[1]))
    return SharedEdgeAttributes(ours, theirs, similarity, attributes, num_shared, _note(trained.graph, "edges"))


def has_attribute_names(graph: AttributedGraph) -> bool:
    """Whether the attributes of a graph can be named to people."""
    return graph.feature_names is not None or getattr(graph, "columns", None) is not None


@torch.no_grad()
def _compared(
    trained: TrainedModel, ours: Sequence[int], theirs: Sequence[int], top: int
) -> tuple[tuple[SharedAttribute, ...], int]:
    if top < 0:
        raise InputError(f"top must be at least 0, got {top}")
    graph = trained.graph
    scale = _scale(graph)
    our_rows, their_rows = _rows(graph, ours), _rows(graph, theirs)  # [1 or 2, F]
    our_values, their_values = our_rows.mean(axis=0), their_rows.mean(axis=0)  # [F]
    agree = scale.agree(our_values, their_values)
    columns: Any = getattr(graph, "columns", None)
    if columns is None:
        groups = [[j] for j in np.flatnonzero(agree).tolist()]
        names = [graph.feature_names[g[0]] if graph.feature_names else f"attribute {g[0]}" for g in groups]
    else:
        held = [column for column in columns if agree[list(column.features)].any()]
        groups, names = [list(column.features) for column in held], [column.name for column in held]
    effects = _effects(trained, list(ours), list(theirs), groups, scale.without)
    found = []
    for i in np.argsort(-effects, kind="stable")[:top]:
        show = _number if columns is None else held[i].show
        values = [show(rows[:, groups[i]].mean(axis=0)) for rows in (our_rows, their_rows)]
        found.append(SharedAttribute(names[i], values[0], values[1], float(effects[i])))
    return tuple(found), len(groups)


def _effects(
    trained: TrainedModel, ours: list[int], theirs: list[int], groups: list[list[int]], without: FloatArray
) -> FloatArray:
    """Similarity that is lost when each group of features is taken from all of the nodes, [S]."""
    steps, encoder = trained.encoder_steps, trained.model.encoder
    nodes = sorted({*ours, *theirs})
    features = np.array([j for group in groups for j in group], dtype=np.int64)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    first = encoder.layers[0]
    assert isinstance(first, nn.Linear)
    weight, device = first.weight, first.weight.device
    taken = torch.from_numpy(_rows(trained.graph, nodes)[:, features] - without[features]).to(device)  # [U, f]
    moved = taken[:, :, None] * weight.T[torch.from_numpy(features).to(device)]  # [U, f, D]
    # the first row is the similarity as it is: an attribute without any effect has the effect 0
    change = torch.zeros(len(nodes), 1 + len(groups), weight.shape[0], device=device)  # [U, 1 + S, D]
    change.index_add_(1, torch.from_numpy(1 + owner).to(device), moved)
    own = encoder.later_layers(steps.first[nodes][:, None] - change)  # [U, 1 + S, D]
    lost = own - steps.own[nodes][:, None]
    heard = steps.heard[nodes][:, None] + torch.einsum("uw,wsd->usd", _between(steps.propagation, nodes), lost)
    h = encoder.residual(own, heard)
    mine, other = (h[[nodes.index(node) for node in group]].mean(dim=0) for group in (ours, theirs))
    similarity = aligned(mine, other, trained.config.similarity.measure).cpu().numpy()
    effects: FloatArray = similarity[0] - similarity[1:]
    return effects


def _between(propagation: SparseMatrix, nodes: list[int]) -> Tensor:
    """How these nodes hear one another, [U, U]."""
    ptr, columns, values = propagation.rows.crow_indices(), propagation.rows.col_indices(), propagation.values
    block = torch.zeros(len(nodes), len(nodes), device=values.device)
    for i, node in enumerate(nodes):
        low, high = int(ptr[node]), int(ptr[node + 1])
        for j, other in enumerate(nodes):
            block[i, j] = values[low:high][columns[low:high] == other].sum()
    return block


def _similarity(trained: TrainedModel, ours: Sequence[int], theirs: Sequence[int]) -> float:
    """Eq. (2), of nodes or of edges."""
    mine, other = (trained.embeddings[list(group)].mean(dim=0, keepdim=True) for group in (ours, theirs))
    return float(all_pairs(mine, other, trained.config.similarity.measure))


@dataclass(frozen=True, slots=True, eq=False)
class _Scale:
    """Of each feature: whether it counts something, how far it spreads, and its value when it is taken away, [F]."""

    counts: BoolArray
    spread: FloatArray
    without: FloatArray

    def agree(self, ours: FloatArray, theirs: FloatArray) -> BoolArray:
        close = np.abs(ours - theirs) <= CLOSE * self.spread
        agree: BoolArray = np.where(self.counts, (ours != 0) & (theirs != 0), close)
        return agree


@lru_cache(maxsize=1)
def _scale(graph: AttributedGraph) -> _Scale:
    if not isinstance(graph.features, np.ndarray):
        zeros = np.zeros(graph.num_features, np.float32)
        return _Scale(np.ones(graph.num_features, dtype=bool), zeros, zeros)
    values = graph.features
    counts = (values.min(axis=0) >= 0) & ((values == 0).mean(axis=0) >= 0.5)
    mean = values.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = values.std(axis=0, dtype=np.float64).astype(np.float32)
    return _Scale(counts, spread, np.where(counts, np.float32(0), mean))


def _rows(graph: AttributedGraph, nodes: Sequence[int] | IntArray) -> FloatArray:
    rows: Any = graph.features[list(nodes)]
    dense: FloatArray = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return dense


def _note(graph: AttributedGraph, things: str) -> str:
    counts = _scale(graph).counts
    return NOTE.format(things=things, taken=TO_ZERO if counts.all() else TO_EITHER if counts.any() else TO_MEAN)


def _number(values: FloatArray) -> str:
    return f"{float(values[0]):.4g}"


def _check_node(name: str, node: int, graph: AttributedGraph) -> None:
    if not 0 <= node < graph.num_nodes:
        raise InputError(f"{name} must be between 0 and {graph.num_nodes - 1}, got {node}")
