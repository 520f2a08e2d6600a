"""Attribute effects: which attributes make two nodes, or two edges, similar, by an exact "what if" for each.

An attribute is taken from the nodes' own rows of X, all else stays, and the encoder is run again on what changes: the
first layer is linear, so its output moves by a column of its weights; the later layers and the residual of the nodes in
question are computed again, for all attributes at once. An edge is (h_i + h_j) / 2 + W a_ij; a_ij stays as it is.
Shapes: S shared attributes, U nodes (2, or up to 4 for two edges), F features, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from se_gnn.encoder import Change, row_factors
from se_gnn.errors import InputError
from se_gnn.explain.attributes import attributes_of
from se_gnn.explain.explanation import SharedAttribute, SharedAttributes
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray, dense
from se_gnn.model import Model
from se_gnn.similarity import measure_named

TakenFrom = Literal["one", "both"]
Thing = tuple[tuple[int, ...], Tensor | None]  # a node, or the ends of an edge and what it adds to their mean, [D]

NOTE = (
    "Each effect is exact: the attribute is removed from {whom}, everything else stays as it is, and their similarity "
    "is computed again; the effect is {lost}. If it is negative, they would be more similar without the attribute. "
    "Removed means {taken}. "
    "The effects do not add up to the similarity, because attributes act together."
)
WHOM = {"one": "one of the two {things} at a time", "both": "both {things}"}
LOST = {"one": "the similarity that is lost, averaged over the two", "both": "the similarity that is lost"}
TO_ZERO = "set to 0"
TO_MEAN = "set to its mean over all nodes"
TO_EITHER = (
    "set to 0 if the attribute counts something (never negative, mostly 0), otherwise to its mean over all nodes"
)


@torch.no_grad()
def shared_attributes(
    trained: Model,
    target: int | Sequence[int] | IntArray,
    neighbor: int | Sequence[int] | IntArray,
    top: int = 10,
    *,
    taken_from: TakenFrom = "one",
) -> SharedAttributes:
    r"""Which attributes make two nodes similar, or two edges.

    The effect of attribute j is :math:`s^n(v_t, v_l) - s^n_{-j}(v_t, v_l)`, where the embedding of one of the two nodes
    is computed without it; the mean of the two ways counts. An attribute that counts something (a word, a category) is
    shared if both nodes have it; a measured one if the values differ by at most half a standard deviation.

    Under ``taken_from="both"`` both embeddings are computed without it. Where ``measure`` is ``distance`` that says
    little: what is alike in both adds nothing to a distance.

    The value of an edge is the mean of the values of its ends, as its representation is, Eq. (3), and an attribute is
    taken from both ends. If the model reads what edges carry, that stays as it is; then no other edge may have the same
    two ends.

    Args:
        trained: the model and its graph.
        target: id of the one node, or of the two ends of an edge.
        neighbor: id of the other, or of the ends of an edge.
        top: how many attributes are listed.
        taken_from: ``one`` node at a time, or ``both`` together.
    """
    things = _thing(trained, "target", target), _thing(trained, "neighbor", neighbor)
    (ours, _), (theirs, _) = things
    nodes = len(ours) == len(theirs) == 1
    if nodes and ours == theirs:
        raise InputError(f"target and neighbor must be two nodes, got {target} twice")
    if top < 0:
        raise InputError(f"top must be at least 0, got {top}")
    if taken_from not in get_args(TakenFrom):
        raise InputError(f"taken_from must be one or both, got {taken_from!r}")
    known = attributes_of(trained.graph, trained.settings.encoder)
    rows = [_rows(trained, ends).mean(axis=0) for ends in (ours, theirs)]  # [F] each
    shared = known.shared(*rows)
    ways = [{*ours, *theirs}] if taken_from == "both" else [{*ours}, {*theirs}]
    groups = [one.features for one in shared]
    effects = np.mean([_effects(trained, things, groups, known.without, way) for way in ways], axis=0)
    found = []
    for i in np.argsort(-effects, kind="stable")[:top].tolist():
        value, other_value = (shared[i].show(row[list(shared[i].features)]) for row in rows)
        found.append(SharedAttribute(shared[i].name, value, other_value, float(effects[i])))
    mine, other = (_vector(trained, trained.embeddings[list(ends)], term)[None] for ends, term in things)
    similarity = float(measure_named(trained.settings.similarity.measure).all_pairs(mine, other))
    note = _note(known.counts, "nodes" if nodes else "edges", taken_from)
    node, beside = (ours[0], theirs[0]) if nodes else (ours, theirs)
    return SharedAttributes(node, beside, similarity, tuple(found), len(shared), note)


def _effects(
    trained: Model,
    things: tuple[Thing, Thing],
    groups: list[tuple[int, ...]],
    without: FloatArray,
    losing: set[int],
) -> FloatArray:
    """Similarity that is lost when each group of features is taken from the nodes that are ``losing`` it, [S]."""
    nodes = sorted({node for ends, _ in things for node in ends})
    change = _change(trained, nodes, groups, without, losing)
    h = trained.embedded.effects.without(trained.embedded.steps, change)
    mine, other = (_vector(trained, h[[nodes.index(node) for node in ends]], term) for ends, term in things)
    similarity = measure_named(trained.settings.similarity.measure).aligned(mine, other).cpu().numpy()
    effects: FloatArray = similarity[0] - similarity[1:]
    return effects


def _change(
    trained: Model, nodes: list[int], groups: list[tuple[int, ...]], without: FloatArray, losing: set[int]
) -> Change:
    """Each group of features taken from some nodes; the first variant takes nothing, so that no effect is 0 exactly."""
    device, scaling = trained.encoder.device, trained.settings.encoder.attribute_scaling
    features = np.array([j for group in groups for j in group], dtype=np.int64)
    variant = 1 + np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    rows = _rows(trained, nodes)  # [U, F]
    had = rows[:, features]  # [U, f]
    taken = (had - without[features]) * np.array([[node in losing] for node in nodes])  # [U, f]
    ratio = np.ones((len(nodes), 1 + len(groups)), np.float32)
    factors = row_factors(rows, scaling)
    if factors is not None:  # a row without an attribute is scaled by its new length
        for i, group in enumerate(groups):
            less = rows.copy()
            less[:, list(group)] -= taken[:, variant == 1 + i]
            ratio[:, 1 + i] = np.asarray(row_factors(less, scaling)) / factors
        had, taken = had * factors[:, None], taken * factors[:, None]
    arrays = (np.array(nodes), features, had.astype(np.float32), taken.astype(np.float32), variant, ratio)
    return Change(*(torch.from_numpy(array).to(device) for array in arrays))


def _vector(trained: Model, h: Tensor, term: Tensor | None) -> Tensor:
    """A node, or an edge of two ends, Eq. (3), with what the edge adds where it carries something; [U, ..., D]."""
    if term is None:
        return h.mean(dim=0)
    return measure_named(trained.settings.similarity.measure).points(h).mean(dim=0) + term


def _thing(trained: Model, name: str, given: int | Sequence[int] | IntArray) -> Thing:
    """A node; or the ends of an edge and W a, if the model reads something of it and there is such an edge."""
    graph, ends = trained.graph, tuple(np.atleast_1d(given).tolist())
    for one in ends:
        if not 0 <= one < graph.num_nodes:
            raise InputError(f"{name} must be between 0 and {graph.num_nodes - 1}, got {one}")
    if len(ends) not in (1, 2):
        raise InputError(f"{name} must be a node or the two ends of an edge, got {len(ends)} nodes")
    terms = None if len(ends) == 1 else trained.encoder.edge_terms(graph)
    if terms is None:
        return ends, None
    ids = np.flatnonzero((graph.edges.ends == sorted(ends)).all(axis=1))
    if len(ids) > 1:
        raise InputError(
            f"the two ends must identify an edge, but {len(ids)} edges with attributes of their own join "
            f"{graph.node_names[ends[0]]!r} and {graph.node_names[ends[1]]!r}"
        )
    return ends, terms(torch.from_numpy(ids).to(trained.encoder.device))[0] if len(ids) else None


def _rows(trained: Model, nodes: Sequence[int]) -> FloatArray:
    """What the encoder reads of some nodes."""
    return dense(trained.embedded.read_features[list(nodes)])


def _note(counts: BoolArray, things: str, taken_from: TakenFrom) -> str:
    taken = TO_ZERO if counts.all() else TO_EITHER if counts.any() else TO_MEAN
    return NOTE.format(whom=WHOM[taken_from].format(things=things), lost=LOST[taken_from], taken=taken)
