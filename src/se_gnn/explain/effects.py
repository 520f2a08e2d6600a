"""Attribute effects: which attributes make two nodes, or two edges, similar, by an exact "what if" for each.

An attribute is taken from the nodes' own rows of X, all else stays, and the encoder is run again on what changes: the
first layer is linear, so its output moves by a column of its weights; the later layers and the residual of the nodes in
question are computed again, for all attributes at once. An edge is (h_i + h_j) / 2 + W a_ij; a_ij stays as it is.
Shapes: S shared attributes, U nodes (2, or up to 4 for two edges), F features, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from se_gnn.encoder import Change, row_factors
from se_gnn.errors import InputError
from se_gnn.explain.attributes import Attribute, attributes_of
from se_gnn.explain.explanation import SharedAttribute, SharedAttributes
from se_gnn.graph.arrays import FloatArray, IntArray, dense
from se_gnn.model import Model
from se_gnn.similarity import measure_named

TakenFrom = Literal["one", "both"]
EdgeTerms = tuple[Tensor | None, Tensor | None]  # what two edges add to the mean of their ends, [D] each

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


def shared_attributes(
    trained: Model, target: int, neighbor: int, top: int = 10, *, taken_from: TakenFrom = "one"
) -> SharedAttributes:
    r"""Which attributes make two nodes similar.

    The effect of attribute j is :math:`s^n(v_t, v_l) - s^n_{-j}(v_t, v_l)`, where the embedding of one of the two nodes
    is computed without it; the mean of the two ways counts. An attribute that counts something (a word, a category) is
    shared if both nodes have it; a measured one if the values differ by at most half a standard deviation.

    Under ``taken_from="both"`` both embeddings are computed without it. Where ``measure`` is ``distance`` that says
    little: what is alike in both adds nothing to a distance.

    Args:
        trained: the model and its graph.
        target: id of the one node.
        neighbor: id of the other.
        top: how many attributes are listed.
        taken_from: ``one`` node at a time, or ``both`` together.
    """
    _check(trained.graph.num_nodes, target=[target], neighbor=[neighbor])
    if target == neighbor:
        raise InputError(f"target and neighbor must be two nodes, got {target} twice")
    found = _compared(trained, [target], [neighbor], top, taken_from)
    return SharedAttributes(int(target), int(neighbor), *found, _note(trained, "nodes", taken_from))


def shared_edge_attributes(
    trained: Model,
    edge: Sequence[int],
    matched: Sequence[int],
    top: int = 10,
    *,
    taken_from: TakenFrom = "one",
) -> SharedEdgeAttributes:
    """Which attributes of their ends make two matched edges similar: each is taken from both ends of an edge.

    If the model reads what edges carry, that is part of the two edges and stays as it is. Then no other edge may have
    the same two ends.
    """
    for name, ends in (("edge", edge), ("matched", matched)):
        if len(ends) != 2:
            raise InputError(f"{name} must name two nodes, got {len(ends)}")
    _check(trained.graph.num_nodes, edge=edge, matched=matched)
    terms = (_edge_term(trained, edge), _edge_term(trained, matched))
    found = _compared(trained, edge, matched, top, taken_from, terms)
    ours, theirs = (int(edge[0]), int(edge[1])), (int(matched[0]), int(matched[1]))
    return SharedEdgeAttributes(ours, theirs, *found, _note(trained, "edges", taken_from))


@torch.no_grad()
def _compared(
    trained: Model,
    ours: Sequence[int],
    theirs: Sequence[int],
    top: int,
    taken_from: TakenFrom,
    terms: EdgeTerms = (None, None),
) -> tuple[float, tuple[SharedAttribute, ...], int]:
    """The similarity of two nodes or edges, the attributes of largest effect on it, and how many are shared."""
    if top < 0:
        raise InputError(f"top must be at least 0, got {top}")
    if taken_from not in get_args(TakenFrom):
        raise InputError(f"taken_from must be one or both, got {taken_from!r}")
    known = attributes_of(trained.graph, trained.settings.encoder)
    our_values, their_values = (_rows(trained, group).mean(axis=0) for group in (ours, theirs))  # [F]
    shared = known.shared(our_values, their_values)
    groups = [one.features for one in shared]
    ways = [{*ours, *theirs}] if taken_from == "both" else [{*ours}, {*theirs}]
    each = [_effects(trained, list(ours), list(theirs), groups, known.without, way, terms) for way in ways]
    largest = _largest(shared, np.mean(each, axis=0), (our_values, their_values), top)
    return _similarity(trained, ours, theirs, terms), largest, len(shared)


def _largest(
    shared: Sequence[Attribute], effects: FloatArray, rows: Sequence[FloatArray] | FloatArray, top: int
) -> tuple[SharedAttribute, ...]:
    """The attributes of largest effect, with the values that two rows [F] have of each."""
    found = []
    for i in np.argsort(-effects, kind="stable")[:top].tolist():
        ours, theirs = (shared[i].show(row[list(shared[i].features)]) for row in rows)
        found.append(SharedAttribute(shared[i].name, ours, theirs, float(effects[i])))
    return tuple(found)


def _effects(
    trained: Model,
    ours: list[int],
    theirs: list[int],
    groups: list[tuple[int, ...]],
    without: FloatArray,
    losing: set[int],
    terms: EdgeTerms,
) -> FloatArray:
    """Similarity that is lost when each group of features is taken from the nodes that are ``losing`` it, [S]."""
    nodes = sorted({*ours, *theirs})
    change = _change(trained, nodes, groups, without, losing)
    h = trained.embedded.effects.without(trained.embedded.steps, change)
    places = ([nodes.index(node) for node in group] for group in (ours, theirs))
    mine, other = (_vector(trained, h[rows], term) for rows, term in zip(places, terms))
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


def _similarity(trained: Model, ours: Sequence[int], theirs: Sequence[int], terms: EdgeTerms) -> float:
    """Eq. (2), of nodes or of edges."""
    groups = zip((ours, theirs), terms)
    mine, other = (_vector(trained, trained.embeddings[list(group)], term)[None] for group, term in groups)
    return float(measure_named(trained.settings.similarity.measure).all_pairs(mine, other))


def _vector(trained: Model, h: Tensor, term: Tensor | None) -> Tensor:
    """A node, or an edge of two ends, Eq. (3), with what the edge adds where it carries something; [U, ..., D]."""
    if term is None:
        return h.mean(dim=0)
    return measure_named(trained.settings.similarity.measure).points(h).mean(dim=0) + term


@torch.no_grad()
def _edge_term(trained: Model, ends: Sequence[int]) -> Tensor | None:
    """W a of the edge between two nodes, [D]; None where the model reads nothing of it, or there is no such edge."""
    graph, terms = trained.graph, trained.encoder.edge_terms(trained.graph)
    if terms is None:
        return None
    ids = np.flatnonzero((graph.edges.ends == sorted(ends)).all(axis=1))
    if len(ids) > 1:
        raise InputError(
            f"the two ends must identify an edge, but {len(ids)} edges with attributes of their own join "
            f"{graph.node_names[ends[0]]!r} and {graph.node_names[ends[1]]!r}"
        )
    return terms(torch.from_numpy(ids).to(trained.encoder.device))[0] if len(ids) else None


def _rows(trained: Model, nodes: Sequence[int] | IntArray) -> FloatArray:
    """What the encoder reads of some nodes."""
    return dense(trained.embedded.read_features[list(nodes)])


def _note(trained: Model, things: str, taken_from: TakenFrom) -> str:
    counts = attributes_of(trained.graph, trained.settings.encoder).counts
    taken = TO_ZERO if counts.all() else TO_EITHER if counts.any() else TO_MEAN
    return NOTE.format(whom=WHOM[taken_from].format(things=things), lost=LOST[taken_from], taken=taken)


def _check(size: int, **given: Sequence[int]) -> None:
    for name, ids in given.items():
        for one in ids:
            if not 0 <= one < size:
                raise InputError(f"{name} must be between 0 and {size - 1}, got {one}")
