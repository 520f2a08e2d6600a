"""Eq. (1)-(13) as the paper writes them: loops over plain tensors, slow, differentiable, and the truth.

Every fast path is tested against these. Shapes: N nodes, E edges, F features, D dimensions, K neighbors, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from se_gnn.settings.sections import MeasureName
from se_gnn.similarity.items import Way

Edge = Sequence[int]  # its two ends
Layer = tuple[Tensor, Tensor]  # weight [out, in] and bias [out]


def embeddings(features: Tensor, edges: Sequence[Edge], mlp: Sequence[Layer], weight: Tensor) -> Tensor:
    """H^m = MLP(X), H = sigma(A~ H^m W) + H^m, Eq. (1), [N, D]; A~ has self-loops and is normalized by degrees."""
    own = []  # H^m
    for x in features:
        hidden = x
        for i, (matrix, bias) in enumerate(mlp):
            hidden = matrix @ (torch.relu(hidden) if i else hidden) + bias
        own.append(hidden)
    neighbors: list[list[int]] = [[node] for node in range(len(own))]
    for i, j in edges:
        neighbors[i].append(j)
        neighbors[j].append(i)
    rows = []
    for node, around in enumerate(neighbors):
        propagated = torch.zeros_like(own[node])
        for other in around:
            propagated = propagated + own[other] / math.sqrt(len(around) * len(neighbors[other]))
        rows.append(torch.relu(weight @ propagated) + own[node])
    return torch.stack(rows)


def similarity(a: Tensor, b: Tensor, measure: MeasureName) -> Tensor:
    """sim(a, b) of two vectors, Eq. (2): their cosine, or -||a - b||; a cosine with a zero vector is 0."""
    return _SIMILARITY[measure](a, b)


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    if not a.any() or not b.any():
        return (a * b).sum()
    return (a * b).sum() / (a.square().sum().sqrt() * b.square().sum().sqrt())


def _minus_distance(a: Tensor, b: Tensor) -> Tensor:
    distance: Tensor = torch.linalg.vector_norm(a - b)  # its slope at 0 is 0
    return -distance


_SIMILARITY: dict[MeasureName, Callable[[Tensor, Tensor], Tensor]] = {"cosine": _cosine, "distance": _minus_distance}


def edge_vector(h: Tensor, edge: Edge) -> Tensor:
    """e_ij = f_e(h_i, h_j), the average of both, Eq. (3), [D]."""
    i, j = edge
    return (h[i] + h[j]) / 2


def best_match(h: Tensor, edge: Edge, others: Sequence[Edge], measure: MeasureName) -> int:
    """Which of ``others`` is the most similar to an edge, Eq. (4); ties go to the first."""
    h = h.detach()  # which one wins has no slope
    scores = [float(similarity(edge_vector(h, edge), edge_vector(h, other), measure)) for other in others]
    return scores.index(max(scores))


def matched_edges(h: Tensor, own: Sequence[Edge], others: Sequence[Edge], measure: MeasureName) -> list[int]:
    """The best match of each of a node's own edges, Eq. (5)."""
    return [best_match(h, edge, others, measure) for edge in own]


def structure_similarity(
    h: Tensor, own: Sequence[Edge], others: Sequence[Edge], measure: MeasureName, *, both: bool = False
) -> Tensor:
    """Mean similarity of a node's own edges with their best matches, Eq. (6); -inf where one of the two has no edge.

    Where ``both`` directions count (the authors' scripts), the mean of one way and the other.
    """
    if not own or not others:
        return torch.tensor(-torch.inf, dtype=h.dtype)
    total = torch.zeros((), dtype=h.dtype)
    for edge, match in zip(own, matched_edges(h, own, others, measure)):
        total = total + similarity(edge_vector(h, edge), edge_vector(h, others[match]), measure)
    there = total / len(own)
    return (there + structure_similarity(h, others, own, measure)) / 2 if both else there


class RichEdge(NamedTuple):
    """An edge of a local graph with its data."""

    ends: Edge
    part: int = 0  # by its role seen from the center and its type: it matches only edges of the same part
    weight: float = 1.0  # how much it counts in the mean
    term: Tensor | float = 0.0  # W a, added to the mean of its ends' points, [D]


def edge_role(center: int, edge: Edge, direction: int, edges: Sequence[Edge]) -> int:
    """0: no direction; 1: it leads to an end with fewer hops to the center; 2: with more; 3: both have as many."""
    if direction == 0:
        return 0
    hops, reached = {center: 0}, [center]
    for node in reached:
        for u, v in edges:
            for here, there in ((u, v), (v, u)):
                if here == node and there not in hops:
                    hops[there] = hops[node] + 1
                    reached.append(there)
    start, end = edge if direction > 0 else (edge[1], edge[0])
    return 1 if hops[end] < hops[start] else 2 if hops[end] > hops[start] else 3


def rich_edge_vector(points: Tensor, edge: RichEdge) -> Tensor:
    """e_ij = (h_i + h_j) / 2 + W a_ij, [D]."""
    return edge_vector(points, edge.ends) + edge.term


def rich_match(points: Tensor, edge: RichEdge, others: Sequence[RichEdge], measure: MeasureName) -> tuple[Tensor, int]:
    """Similarity of an edge with the best edge of its part, and which one that is.

    Where there is none, the similarity with its own opposite, and -1.
    """
    own = rich_edge_vector(points, edge)
    found = [
        (similarity(own, rich_edge_vector(points, other), measure), i)
        for i, other in enumerate(others)
        if other.part == edge.part
    ]
    if not found:
        return similarity(own, -own, measure), -1
    return max(found, key=lambda one: (float(one[0].detach()), -one[1]))


def rich_structure_similarity(
    points: Tensor, own: Sequence[RichEdge], others: Sequence[RichEdge], measure: MeasureName, *, both: bool = False
) -> Tensor:
    """As :func:`structure_similarity`, of edges with data: the weighted mean over the best of each part.

    ``points`` are what the measure compares, [N, D]: h itself, or h of length 1 where lengths do not count and edges
    have terms.
    """
    if not own or not others:
        return torch.tensor(-torch.inf, dtype=points.dtype)
    total = torch.zeros((), dtype=points.dtype)
    for edge in own:
        total = total + edge.weight * rich_match(points, edge, others, measure)[0]
    there = total / sum(edge.weight for edge in own)
    return (there + rich_structure_similarity(points, others, own, measure)) / 2 if both else there


def overall_similarity(node: Tensor, structure: Tensor, node_weight: float) -> Tensor:
    """Node against structure: lambda s^n + (1 - lambda) s^e, Eq. (7); s^n alone where there is no structure."""
    if torch.isneginf(structure):
        return node
    return node_weight * node + (1 - node_weight) * structure


def nearest(overall: Sequence[float], count: int) -> list[int]:
    """The K most similar labeled nodes, most similar first; ties go to the first."""
    return sorted(range(len(overall)), key=lambda i: (-overall[i], i))[:count]


def vote_weights(overall: Sequence[float], temperature: float, factors: Sequence[float] | None = None) -> list[float]:
    """a_ti of the K nearest, a softmax of their similarities, Eq. (8); each counts as often as its factor says."""
    counts = [1.0] * len(overall) if factors is None else factors
    exponentials = [n * math.exp((s - max(overall)) / temperature) for s, n in zip(overall, counts)]
    return [one / sum(exponentials) for one in exponentials]


def class_probabilities(weights: Sequence[float], labels: Sequence[int], num_classes: int) -> list[float]:
    """The labels of the K nearest, one-hot, weighted and added up, Eq. (9), [C]."""
    votes = [0.0] * num_classes
    for weight, label in zip(weights, labels, strict=True):
        votes[label] += weight
    return votes


def edge_importance(h: Tensor, edge: Edge, neighbors: Sequence[Sequence[Edge]], measure: MeasureName) -> float:
    """Mean similarity of an edge with its best matches in the local graphs of the K nearest, Eq. (10).

    Neighbors without edges are left out; NaN where none has any.
    """
    found = [
        float(similarity(edge_vector(h, edge), edge_vector(h, others[best_match(h, edge, others, measure)]), measure))
        for others in neighbors
        if others
    ]
    return sum(found) / len(found) if found else math.nan


def classification_loss(positives: Sequence[Tensor], negatives: Sequence[Tensor], temperature: float) -> Tensor:
    """-log of the share of the same-class references among all references of a node, Eq. (11)."""
    above = torch.stack([torch.exp(s / temperature) for s in positives]).sum()
    below = torch.stack([torch.exp(s / temperature) for s in [*positives, *negatives]]).sum()
    return -torch.log(above / below)


def contrast_loss(
    query: Tensor, positive: Tensor, negatives: Sequence[Tensor], measure: MeasureName, temperature: float
) -> Tensor:
    """-log of the share of the positive among positive and negatives: of a node, Eq. (12), or an edge, Eq. (13)."""
    good = torch.exp(similarity(query, positive, measure) / temperature)
    bad = [torch.exp(similarity(query, negative, measure) / temperature) for negative in negatives]
    return -torch.log(good / torch.stack([good, *bad]).sum())


def match_edges(h: Tensor, way: Way, measure: MeasureName) -> tuple[Tensor, Tensor]:
    """Best match of each query edge in each local graph, Eq. (3)-(5), as backends are asked for it.

    Returns the similarity of the best match and its position among the keys, both [Q, L]; where a local graph has no
    edge, -inf and -1. Of equally similar edges the one with the lowest id wins.
    """
    ends, num_local = way.keys.ends.tolist(), way.keys.num_local
    best = torch.full((len(way.queries), num_local), -torch.inf, dtype=h.dtype)
    winners = torch.full((len(way.queries), num_local), -1, dtype=torch.int32)
    rows = []
    for q, query in enumerate(way.queries.ends.tolist()):
        row = best[q]
        for t in range(num_local):
            members = way.keys.columns[way.keys.ptr[t] : way.keys.ptr[t + 1]].tolist()
            if members:
                first = members[best_match(h, query, [ends[m] for m in members], measure)]
                winners[q, t] = first
                value = similarity(edge_vector(h, query), edge_vector(h, ends[first]), measure)
                row = torch.where(torch.arange(num_local) == t, value, row)
        rows.append(row)
    return (torch.stack(rows) if rows else best), winners
