"""Explanations of a trained model. Shapes: M edges of the node, L labeled nodes, K neighbors, C classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Measure
from se_gnn.errors import InputError
from se_gnn.explain.explanation import EdgeMatches, Explanation, Neighbor
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import TrainedModel
from se_gnn.similarity import compare, match_edges, nearest_labeled, vote, vote_weights
from se_gnn.similarity.overall import ComparisonPlan, Similarities
from se_gnn.similarity.structure import StructurePlan


class Explainer:
    """Explains the predictions of one trained model; the same node always gets the same explanation."""

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained

    @torch.no_grad()
    def explain(self, node: int, k: int | None = None) -> Explanation:
        """Explain one node, labeled or not.

        Args:
            node: id of the node.
            k: how many neighbors come with their matched edges, nearest first; None: all K.
        """
        graph, settings = self.trained.graph, self.trained.config.similarity
        if not 0 <= node < graph.num_nodes:
            raise InputError(f"node must be between 0 and {graph.num_nodes - 1}, got {node}")
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        h, voter = self.trained.embeddings, self.trained.voter
        plan = voter.plan(np.array([node]))
        similarities = compare(h, plan, settings)
        overall = similarities.overall.masked_fill(torch.from_numpy(plan.labeled == node).to(h.device), -torch.inf)
        # one more than K, to know who would step in for a neighbor
        ranked = nearest_labeled(overall, settings.num_nearest + 1)[0]
        ranked = ranked[torch.isfinite(overall[0, ranked])]
        nearest = ranked[: settings.num_nearest]
        weights, probabilities = self._vote(overall, nearest)
        forward = _best_matches(h, plan.forward, settings.measure)
        back = _best_matches(h, plan.backward, settings.measure) if plan.backward is not None else None
        neighbors = tuple(
            self._neighbor(plan, similarities, overall, ranked, rank, float(weights[rank]), forward, back, shown)
            for rank, shown in enumerate((k is None or i < k) for i in range(len(nearest)))
        )
        edges = graph.edges[plan.forward.matching.query_ids]
        mentioned = {node, *edges.ravel().tolist()}
        for neighbor in neighbors:
            mentioned.add(neighbor.node)
            for matches in (neighbor.matches, neighbor.matches_back):
                if matches is not None:
                    mentioned.update(matches.edges.ravel().tolist(), matches.matched.ravel().tolist())
        return Explanation(
            node=node,
            name=graph.node_names[node],
            label=int(graph.labels[node]),
            left_out=bool((plan.labeled == node).any()),
            predicted=int(np.argmax(probabilities)),
            class_names=graph.class_names,
            probabilities=tuple(probabilities.tolist()),
            neighbors=neighbors,
            edges=edges,
            importance=_importance(forward.similarity[:, nearest.cpu().numpy()]),
            hops=settings.hops,
            node_weight=settings.node_weight,
            temperature=settings.temperature,
            measure=settings.measure,
            directions=settings.directions,
            node_names={i: graph.node_names[i] for i in sorted(mentioned)},
        )

    def _vote(self, overall: Tensor, nearest: Tensor) -> tuple[FloatArray, FloatArray]:
        """Weights [K] and class probabilities [C] of one target, from the labeled nodes at ``nearest``."""
        voter, temperature = self.trained.voter, self.trained.config.similarity.temperature
        weights = vote_weights(overall, nearest[None], temperature)
        probabilities = vote(weights, voter.labels[nearest][None], self.trained.graph.num_classes)
        return weights[0].cpu().numpy(), probabilities[0].cpu().numpy()

    def _neighbor(
        self,
        plan: ComparisonPlan,
        similarities: Similarities,
        overall: Tensor,
        ranked: Tensor,
        rank: int,
        weight: float,
        forward: _BestMatches,
        back: _BestMatches | None,
        with_matches: bool,
    ) -> Neighbor:
        graph, settings = self.trained.graph, self.trained.config.similarity
        position = int(ranked[rank])
        node = int(plan.labeled[position])
        node_similarity = float(similarities.node[0, position])
        structure = float(similarities.structure[0, position])
        compared = np.isfinite(structure)  # else one of the two has no edges
        share = settings.node_weight if compared else 1.0
        others = torch.cat([ranked[:rank], ranked[rank + 1 :]])[: settings.num_nearest]
        without = self._vote(overall, others)[1].tolist() if len(others) else [0.0] * graph.num_classes
        matches = matches_back = None
        if with_matches and compared:
            matches = forward.to(position, graph.edges)
            if back is not None:  # its own edges alone, out of those of all labeled nodes
                matches_back = back.of_rows(self._rows_of(plan, position), graph.edges)
        return Neighbor(
            node=node,
            name=graph.node_names[node],
            label=int(graph.labels[node]),
            label_name=graph.class_names[graph.labels[node]],
            weight=weight,
            similarity=float(overall[0, position]),
            node_similarity=node_similarity,
            structure_similarity=structure if compared else None,
            node_term=share * node_similarity,
            structure_term=(1 - share) * structure if compared else 0.0,
            without=tuple(without),
            matches=matches,
            matches_back=matches_back,
        )

    @staticmethod
    def _rows_of(plan: ComparisonPlan, position: int) -> IntArray:
        assert plan.backward is not None
        return plan.backward.columns[plan.backward.ptr[position] : plan.backward.ptr[position + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class _BestMatches:
    """Result of edge matching with the edges by id: similarity [Q, L], matched edge ids [Q, L], query ids [Q]."""

    queries: IntArray
    similarity: FloatArray
    matched: IntArray

    def to(self, position: int, edges: IntArray) -> EdgeMatches:
        """All queries and their match in the local graph at ``position``."""
        values = self.similarity[:, position]
        known = np.isfinite(self.similarity)
        average = np.where(known, self.similarity, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return EdgeMatches(edges[self.queries], edges[self.matched[:, position]], values, values >= average)

    def of_rows(self, rows: IntArray, edges: IntArray) -> EdgeMatches:
        """Some queries and their match in the only local graph there is."""
        values = self.similarity[rows, 0]
        every = self.similarity[:, 0]
        return EdgeMatches(edges[self.queries[rows]], edges[self.matched[rows, 0]], values, values >= every.mean())


def _best_matches(h: Tensor, plan: StructurePlan, measure: Measure) -> _BestMatches:
    best, winners = match_edges(h, plan.matching, measure)
    positions = winners.cpu().numpy()
    matched = np.where(positions >= 0, plan.matching.key_ids[positions] if len(plan.matching.key_ids) else -1, -1)
    return _BestMatches(plan.matching.query_ids, best.cpu().numpy(), matched)


def _importance(similarity: FloatArray) -> FloatArray:
    """Mean similarity of each edge with its matches in the neighbors that have edges, Eq. (10): [M, K] to [M]."""
    known = np.isfinite(similarity)
    count = known.sum(axis=1)
    total = np.where(known, similarity, 0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)
