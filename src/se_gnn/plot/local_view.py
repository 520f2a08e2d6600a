"""What is shown of a local graph: its most important edges, tied to the center, and the numbers of their matches.

Shapes: P nodes shown, S edges shown, M edges of the explained node's local graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from se_gnn.explain import EdgeMatches, Explanation, Neighbor
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.graph.attributed import FloatArray, IntArray

Edge = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LocalView:
    """The shown part of one local graph; every node of it can be reached from the center.

    Shapes:
        - **nodes:** :math:`(P,)` ids, the center first; **hops:** :math:`(P,)` from the center, hidden edges counted
        - **edges:** :math:`(S, 2)` ids
        - **similarity:** :math:`(S,)`, NaN for an edge that nothing is matched with; **numbers:** one tuple an edge
    """

    nodes: IntArray
    hops: IntArray
    edges: IntArray
    similarity: FloatArray
    numbers: tuple[tuple[int, ...], ...]  # 1, 2, ...: the numbered edges of the explained node that it stands for
    hidden: int  # edges of the local graph that are not shown

    @property
    def ends(self) -> IntArray:
        """The edges as positions in ``nodes``, [S, 2]."""
        where = {int(node): i for i, node in enumerate(self.nodes)}
        return np.array([[where[int(u)], where[int(v)]] for u, v in self.edges], dtype=np.int64).reshape(-1, 2)


def target_view(explanation: Explanation, *, most_edges: int, numbered: int) -> LocalView:
    """The explained node's edges by importance, Eq. (10); the first ``numbered`` are its crucial subgraph."""
    edges = _pairs(explanation.edges)
    importance = dict(zip(edges, explanation.importance.tolist()))
    crucial = _pairs(explanation.crucial_subgraph(size=numbered).edges)
    by_importance = sorted(edges, key=lambda edge: -np.nan_to_num(importance[edge], nan=-np.inf))  # equals: edge order
    toward = _edges_toward(explanation.node, by_importance)
    shown = _tied(by_importance, toward, most_edges)
    numbers: dict[Edge, tuple[int, ...]] = {edge: (number,) for number, edge in enumerate(crucial, start=1)}
    return _view(toward, shown, importance, numbers, hidden=len(edges) - len(shown))


def neighbor_view(
    neighbor: Neighbor, explanation: Explanation, graph: AttributedGraph, target: LocalView, *, most_edges: int
) -> LocalView:
    """A neighbor's edges: first those that numbered edges are matched with, then other matches, then the rest."""
    rows = local_graphs(graph, np.array([neighbor.node]), explanation.hops).row(0)
    edges = _pairs(graph.edges[rows])
    similarity, numbers = _matched(neighbor.matches, target)
    by_match = sorted(edges, key=lambda edge: (min(numbers.get(edge, (np.inf,))), -similarity.get(edge, -np.inf)))
    toward = _edges_toward(neighbor.node, by_match)
    shown = _tied(by_match, toward, most_edges)
    return _view(toward, shown, similarity, numbers, hidden=len(edges) - len(shown))


def _matched(matches: EdgeMatches | None, target: LocalView) -> tuple[dict[Edge, float], dict[Edge, tuple[int, ...]]]:
    """Of each matched edge of a neighbor: its best similarity, and the numbers that meet on it."""
    similarity: dict[Edge, float] = {}
    numbers: dict[Edge, tuple[int, ...]] = {}
    if matches is None:
        return similarity, numbers
    own_numbers = dict(zip(_pairs(target.edges), target.numbers))
    for edge, matched, value in zip(_pairs(matches.edges), _pairs(matches.matched), matches.similarity.tolist()):
        similarity[matched] = max(value, similarity.get(matched, -np.inf))
        numbers[matched] = tuple(sorted({*numbers.get(matched, ()), *own_numbers.get(edge, ())}))
    return similarity, {edge: found for edge, found in numbers.items() if found}


def _tied(ranked: list[Edge], toward: dict[int, list[Edge]], most: int) -> list[Edge]:
    """The first of the ranked edges, each with a shortest path to the center, ``most`` edges in all."""
    shown: dict[Edge, None] = {}
    for edge in ranked:
        path = min((toward[end] for end in edge), key=len)
        new = [one for one in dict.fromkeys([edge, *path]) if one not in shown]
        if len(shown) + len(new) > most:
            break
        shown.update(dict.fromkeys(new))
    return list(shown)


def _edges_toward(center: int, edges: list[Edge]) -> dict[int, list[Edge]]:
    """Of each node, the center first, a shortest path to the center; at equal length the better ranked edge wins."""
    beside: dict[int, list[tuple[int, Edge]]] = {}
    for u, v in edges:
        beside.setdefault(u, []).append((v, (u, v)))
        beside.setdefault(v, []).append((u, (u, v)))
    paths: dict[int, list[Edge]] = {center: []}
    frontier = [center]
    while frontier:
        reached = []
        for node in frontier:
            for other, edge in beside.get(node, []):
                if other not in paths:
                    paths[other] = [edge, *paths[node]]
                    reached.append(other)
        frontier = reached
    return paths


def _view(
    toward: dict[int, list[Edge]],
    edges: list[Edge],
    similarity: dict[Edge, float],
    numbers: dict[Edge, tuple[int, ...]],
    *,
    hidden: int,
) -> LocalView:
    center = next(iter(toward))
    nodes = list(dict.fromkeys([center, *(node for edge in edges for node in edge)]))
    return LocalView(
        nodes=np.array(nodes, dtype=np.int64),
        hops=np.array([len(toward[node]) for node in nodes], dtype=np.int64),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        similarity=np.array([similarity.get(edge, np.nan) for edge in edges], dtype=np.float32),
        numbers=tuple(numbers.get(edge, ()) for edge in edges),
        hidden=hidden,
    )


def _pairs(edges: Iterable[IntArray]) -> list[Edge]:
    return [(int(u), int(v)) for u, v in edges]
