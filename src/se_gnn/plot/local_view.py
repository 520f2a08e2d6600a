"""What is shown of a local graph: its most important edges, tied to the center, and the numbers of their matches.

Shapes: P nodes shown, S edges shown, M edges of the explained node's local graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from se_gnn.explain import CRUCIAL_EDGES, CaseVote, Explanation
from se_gnn.graph.arrays import FloatArray, IntArray

MOST_EDGES = 30  # of one local graph; the others are counted

Ends = dict[int, tuple[int, int]]  # edge id -> the two nodes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LocalView:
    """The shown part of one local graph, joined to the center wherever the local graph is.

    A limit on the edges (`max_edges`) may keep an edge in a local graph but not its path to the center;
    the nodes of such edges stand on the outermost ring.
    """

    nodes: IntArray  # ids, the center first, [P]
    hops: IntArray  # from the center, hidden edges counted, [P]
    edge_ids: IntArray  # [S]
    edges: IntArray  # node ids, [S, 2]
    similarity: FloatArray  # NaN for an edge that nothing is matched with, [S]
    numbers: tuple[tuple[int, ...], ...]  # 1, 2, ...: the numbered edges of the explained node that it stands for
    hidden: int  # edges of the local graph that are not shown

    @property
    def ends(self) -> IntArray:
        """The edges as positions in ``nodes``, [S, 2]."""
        where = {int(node): i for i, node in enumerate(self.nodes)}
        return np.array([[where[int(u)], where[int(v)]] for u, v in self.edges], dtype=np.int64).reshape(-1, 2)

    @property
    def drawn(self) -> str:
        """How many of the edges are shown, in words."""
        shown = len(self.edges)
        if self.hidden:
            return f"{shown} of {shown + self.hidden:,} edges drawn"
        return "1 edge" if shown == 1 else f"{shown or 'no'} edges"


def local_views(
    explanation: Explanation, *, num_cases: int | Sequence[int], crucial_edges: int = CRUCIAL_EDGES
) -> list[LocalView]:
    """The explained node's local graph, then those of the nearest cases, or of those of some ranks."""
    target = target_view(explanation, most_edges=MOST_EDGES, crucial_edges=crucial_edges)
    cases = chosen_cases(explanation, num_cases)
    return [target, *(case_view(one, explanation, target, most_edges=MOST_EDGES) for one in cases)]


def chosen_cases(explanation: Explanation, chosen: int | Sequence[int]) -> tuple[CaseVote, ...]:
    """That many of the nearest that are explained in full, or those of some ranks (0: the nearest)."""
    if isinstance(chosen, int):
        return explanation.full[:chosen]
    return tuple(explanation.votes[rank] for rank in chosen)


def target_view(explanation: Explanation, *, most_edges: int, crucial_edges: int) -> LocalView:
    """The explained node's edges by importance, Eq. (10); those of its crucial subgraph are numbered."""
    ids = explanation.edge_ids.tolist()
    importance = dict(zip(ids, explanation.importance.tolist()))
    crucial = explanation.crucial_subgraph(size=crucial_edges).edge_ids.tolist()
    ranked = sorted(ids, key=lambda edge: -np.nan_to_num(importance[edge], nan=-np.inf))  # equals: by edge order
    numbers: dict[int, tuple[int, ...]] = {edge: (number,) for number, edge in enumerate(crucial, start=1)}
    return _view(explanation, explanation.node, ranked, importance, numbers, most_edges)


def case_view(vote: CaseVote, explanation: Explanation, target: LocalView, *, most_edges: int) -> LocalView:
    """The edges of a case: first those that numbered edges are matched with, then other matches, then the rest."""
    similarity, numbers = _matched(vote, explanation, target)
    ranked = sorted(
        [] if vote.edge_ids is None else vote.edge_ids.tolist(),
        key=lambda edge: (min(numbers.get(edge, (np.inf,))), -similarity.get(edge, -np.inf)),
    )
    return _view(explanation, vote.node, ranked, similarity, numbers, most_edges)


def plain_view(
    explanation: Explanation,
    center: int,
    edge_ids: IntArray,
    numbers: Mapping[int, tuple[int, ...]],
    *,
    most_edges: int,
) -> LocalView:
    """A local graph without similarities, whatever a method says of it: numbered edges first, then by distance."""
    ranked = by_distance(explanation, center, edge_ids)
    ranked.sort(key=lambda edge: min(numbers.get(edge, (np.inf,))))
    return _view(explanation, center, ranked, {}, dict(numbers), most_edges)


def by_distance(explanation: Explanation, center: int, edge_ids: IntArray) -> list[int]:
    """The edges of a local graph, those nearest to the center first; of equally near ones the lower id."""
    ends: Ends = {edge: explanation.edges[edge].ends for edge in edge_ids.tolist()}
    toward = _edges_toward(center, ends)
    away = {node: len(path) for node, path in toward.items()}
    return sorted(ends, key=lambda edge: (sum(away.get(end, len(ends)) for end in ends[edge]), edge))


def _matched(
    vote: CaseVote, explanation: Explanation, target: LocalView
) -> tuple[dict[int, float], dict[int, tuple[int, ...]]]:
    """Of each matched edge of a case: its best similarity, and the numbers that meet on it.

    An edge that ends at the node in question is no evidence about it, and has no number.
    """
    similarity: dict[int, float] = {}
    numbers: dict[int, tuple[int, ...]] = {}
    own_numbers = dict(zip(target.edge_ids.tolist(), target.numbers))
    for one in explanation.matched_edges(vote):
        if one.match is None:
            continue
        matched = one.match.id
        similarity[matched] = max(one.similarity, similarity.get(matched, -np.inf))
        if not one.own:
            numbers[matched] = tuple(sorted({*numbers.get(matched, ()), *own_numbers.get(one.edge.id, ())}))
    return similarity, {edge: found for edge, found in numbers.items() if found}


def _view(
    explanation: Explanation,
    center: int,
    ranked: list[int],
    similarity: dict[int, float],
    numbers: dict[int, tuple[int, ...]],
    most: int,
) -> LocalView:
    """The first of the ranked edges, each with a shortest path to the center, ``most`` edges in all."""
    ends: Ends = {edge: explanation.edges[edge].ends for edge in ranked}
    toward = _edges_toward(center, ends)
    shown: dict[int, None] = {}
    for edge in ranked:
        path = min((toward[end] for end in ends[edge] if end in toward), key=len, default=[])
        new = [one for one in dict.fromkeys([edge, *path]) if one not in shown]
        if len(shown) + len(new) > most:
            break
        shown.update(dict.fromkeys(new))
    outermost = max(explanation.settings.hops, *map(len, toward.values()))
    nodes = list(dict.fromkeys([center, *(node for edge in shown for node in ends[edge])]))
    return LocalView(
        nodes=np.array(nodes, dtype=np.int64),
        hops=np.array([len(toward[node]) if node in toward else outermost for node in nodes], dtype=np.int64),
        edge_ids=np.array(list(shown), dtype=np.int64),
        edges=np.array([ends[edge] for edge in shown], dtype=np.int64).reshape(-1, 2),
        similarity=np.array([similarity.get(edge, np.nan) for edge in shown], dtype=np.float32),
        numbers=tuple(numbers.get(edge, ()) for edge in shown),
        hidden=len(ranked) - len(shown),
    )


def _edges_toward(center: int, ends: Ends) -> dict[int, list[int]]:
    """Of each node, the center first, a shortest path to the center; at equal length the better ranked edge wins."""
    beside: dict[int, list[tuple[int, int]]] = {}
    for edge, (u, v) in ends.items():
        beside.setdefault(u, []).append((v, edge))
        beside.setdefault(v, []).append((u, edge))
    paths: dict[int, list[int]] = {center: []}
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
