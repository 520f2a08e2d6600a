"""Answers computed again from embeddings and edges, in plain NumPy and float64: no kernel, no blocks, no search.

Shapes: T queries, L cases, D dimensions, K cases that vote, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from se_gnn.graph import local_graphs
from se_gnn.model import Model
from se_gnn.similarity.reference import edge_role


@dataclass(frozen=True, eq=False)
class Recomputed:
    """The vote on every node of a graph in memory; ``removed`` cases do not vote."""

    model: Model
    removed: tuple[int, ...] = ()

    @cached_property
    def cases(self) -> np.ndarray:
        """Labeled nodes, ascending."""
        return np.sort(self.model.graph.train)

    @cached_property
    def overall(self) -> np.ndarray:
        """Eq. (2)-(7), [N, L]; -inf for a node and itself."""
        model, settings = self.model, self.model.settings.similarity
        assert settings.measure == "cosine"
        assert model.encoder.edge_terms(model.graph) is None
        with torch.no_grad():
            h = model.encoder.embed(model.graph).cpu().numpy().astype(np.float64)
        unit = _unit(h)
        node = unit @ unit[self.cases].T
        edges = [self._edges(i, h) for i in range(len(h))]
        found = node.copy()
        for i, own in enumerate(edges):
            for j, case in enumerate(self.cases):
                ways = [(own, edges[case])] + ([(edges[case], own)] if settings.directions == "both" else [])
                if all(len(one[0]) and len(two[0]) for one, two in ways):
                    structure = np.mean([_structure(*way) for way in ways])
                    found[i, j] = settings.node_weight * node[i, j] + (1 - settings.node_weight) * structure
        found[self.cases, np.arange(len(self.cases))] = -np.inf
        return found

    def _edges(self, node: int, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unit vectors, parts and weights of the edges of a local graph."""
        graph, settings = self.model.graph, self.model.settings.similarity
        ids = local_graphs(graph, np.array([node]), settings.hops, settings.max_edges).row(0).astype(int)
        ends, values = graph.edges.ends, graph.edge_values
        parts, weights = np.zeros(len(ids), int), np.ones(len(ids))
        for place, edge in enumerate(ids):
            if settings.match_direction and values is not None and values.direction is not None:
                parts[place] = edge_role(node, ends[edge].tolist(), int(values.direction[edge]), ends.tolist())
            if settings.match_types == "own" and values is not None and values.type is not None:
                parts[place] += 10 * int(values.type[edge])
            if settings.weighted_mean and values is not None and values.weight is not None:
                weights[place] = values.weight[edge]
        return _unit(h[ends[ids]].mean(axis=1)), parts, weights

    def without(self, *cases: int) -> Recomputed:
        """The same without some cases."""
        other = replace(self, removed=cases)
        other.__dict__["overall"] = self.overall
        return other

    def votes(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the K nearest cases and their weights, Eq. (8)."""
        vote = self.model.settings.vote
        overall = np.where(np.isin(self.cases, self.removed), -np.inf, self.overall[node])
        order = np.argsort(-overall, kind="stable")[: vote.num_nearest]
        order = order[np.isfinite(overall[order])]
        weights = np.exp((overall[order] - overall[order].max()) / vote.temperature)
        return order, (1 - vote.reserve) * weights / weights.sum()

    def probabilities(self, nodes: np.ndarray | None = None) -> np.ndarray:
        """Eq. (9), [T, C]."""
        graph, reserve = self.model.graph, self.model.settings.vote.reserve
        labels = graph.labels[self.cases]
        wanted = np.arange(graph.num_nodes) if nodes is None else np.asarray(nodes)
        found = np.full((len(wanted), graph.num_classes), reserve / graph.num_classes)
        for row, node in zip(found, wanted.tolist()):
            for position, weight in zip(*self.votes(node)):
                row[labels[position]] += weight
        return found

    def classes(self, nodes: np.ndarray) -> np.ndarray:
        """The most probable class of each node, [T]."""
        return self.probabilities(nodes).argmax(axis=1)

    def values(self, nodes: np.ndarray) -> np.ndarray:
        """The number of each node, [T]."""
        known = self.model.graph.values[self.cases]
        return np.array([known[order] @ weights for order, weights in map(self.votes, nodes.tolist())])


def _unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _structure(own: tuple[np.ndarray, ...], others: tuple[np.ndarray, ...]) -> float:
    """Mean over the own edges of the best match in their part, -1 where there is none, Eq. (6)."""
    (vectors, parts, weights), (there, other_parts, _) = own, others
    products = np.where(parts[:, None] == other_parts, vectors @ there.T, -1.0)
    return float(np.average(products.max(axis=1), weights=weights))
