"""Explanations of a trained model. Shapes: M edges of the node, L labeled nodes, K neighbors, C classes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.explain.attributes import has_attribute_names
from se_gnn.explain.bulk import Explanations, edge_importance, edge_matches, usual_similarity
from se_gnn.explain.explanation import EdgeMatches, Explanation, Neighbor
from se_gnn.explain.shared_attributes import shared_attributes
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import TrainedModel
from se_gnn.similarity import nearest_labeled, vote, vote_weights
from se_gnn.similarity.memory import memory_budget
from se_gnn.similarity.overall import ComparisonPlan, Similarities, compare_with_matches_back
from se_gnn.similarity.structure import EdgeMatching


class Explainer:
    """Explains the predictions of one trained model; the same node always gets the same explanation."""

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained

    @torch.no_grad()
    def explain(self, node: int, k: int | None = None) -> Explanation:
        """Explain one node, labeled or not.

        Args:
            node: id of the node.
            k: how many neighbors come with their matched edges and shared attributes, nearest first; None: all K.
        """
        graph, settings = self.trained.graph, self.trained.config.similarity
        if not 0 <= node < graph.num_nodes:
            raise InputError(f"node must be between 0 and {graph.num_nodes - 1}, got {node}")
        if k is not None and k < 1:
            raise InputError(f"k must be at least 1, got {k}")
        evidence = _Evidence(self.trained, node)
        neighbors = tuple(evidence.neighbor(rank, k is None or rank < k) for rank in range(len(evidence.nearest)))
        edges = graph.edges[evidence.matching.plan.query_ids]
        return Explanation(
            node=node,
            name=graph.node_names[node],
            label=int(graph.labels[node]),
            left_out=bool((graph.train == node).any()),
            predicted=int(np.argmax(evidence.probabilities)),
            class_names=graph.class_names,
            probabilities=tuple(evidence.probabilities.tolist()),
            neighbors=neighbors,
            edges=edges,
            importance=_importance(evidence.matching, evidence.plan, evidence.nearest.cpu().numpy()[None]),
            hops=settings.hops,
            node_weight=settings.node_weight,
            temperature=settings.temperature,
            measure=settings.measure,
            directions=settings.directions,
            graph=graph,
            node_names={i: graph.node_names[i] for i in sorted(_mentioned(node, edges, neighbors))},
        )

    @torch.no_grad()
    def explain_all(self, nodes: IntArray | None = None) -> Explanations:
        """Explain some nodes, or all, in one pass: votes, matched edges and edge importance as arrays."""
        trained = self.trained
        wanted = np.arange(trained.graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        plan = trained.voter.plan(wanted)
        num_edges, num_labeled = plan.forward.matching.num_queries, len(plan.labeled)
        needed, budget = 8 * num_edges * num_labeled, memory_budget(trained.max_memory)
        if needed > budget:
            raise InputError(
                f"max_memory must hold the matches of {num_edges} edges with {num_labeled} labeled nodes, "
                f"{needed / 2**30:.1f} GB; it is {budget / 2**30:.1f} GB: explain fewer nodes at a time"
            )
        prediction, matching = trained.voter.predict_with_matches(trained.embeddings, plan)
        positions = np.searchsorted(trained.graph.train, prediction.neighbors)
        voting = np.where(np.isfinite(prediction.overall), positions, -1)  # a labeled node does not vote for itself
        importance = _importance(matching, plan, voting)
        return Explanations(
            prediction,
            plan.targets,
            matching,
            plan.forward.columns,
            voting,
            importance,
            trained.graph,
            trained.config.similarity.node_weight,
            self.explain,
        )


class _Evidence:
    """All that is known of one node: similarities with every labeled node, and the matching behind them."""

    def __init__(self, trained: TrainedModel, node: int) -> None:
        self.trained, self.node = trained, node
        self.named = has_attribute_names(trained.graph)
        h, voter, settings = trained.embeddings, trained.voter, trained.config.similarity
        self.plan: ComparisonPlan = voter.plan(np.array([node]))
        self.similarities: Similarities
        self.matching: EdgeMatching
        self.back: EdgeMatching | None
        self.similarities, self.matching, self.back = compare_with_matches_back(h, self.plan, settings)
        itself = torch.from_numpy(self.plan.labeled.nodes == node).to(h.device)
        self.overall = self.similarities.overall.masked_fill(itself, -torch.inf)  # [1, L]
        # one more than K, to know who would step in for a neighbor
        ranked = nearest_labeled(self.overall, settings.num_nearest + 1)[0]
        # with a voter that is ruled out, as the prediction does it: a shorter softmax may round another way
        self.weights, self.probabilities = self.vote(ranked[: settings.num_nearest])
        self.ranked = ranked[torch.isfinite(self.overall[0, ranked])]
        self.rows = np.arange(self.matching.plan.num_queries)
        self.usual = usual_similarity(self.matching, self.rows, self.nearest.cpu().numpy())

    @property
    def nearest(self) -> Tensor:
        """Positions of the K nearest labeled nodes, nearest first."""
        return self.ranked[: self.trained.config.similarity.num_nearest]

    def vote(self, positions: Tensor) -> tuple[FloatArray, FloatArray]:
        """Weights [K] and class probabilities [C] from the labeled nodes at ``positions``."""
        trained = self.trained
        weights = vote_weights(self.overall, positions[None], trained.config.similarity.temperature)
        labels = torch.tensor(trained.voter.labels, device=weights.device)[positions]
        probabilities = vote(weights, labels[None], trained.graph.num_classes)
        return weights[0].cpu().numpy(), probabilities[0].cpu().numpy()

    def neighbor(self, rank: int, with_matches: bool) -> Neighbor:
        """The neighbor of that rank, and what would be without it."""
        graph, settings = self.trained.graph, self.trained.config.similarity
        position = int(self.ranked[rank])
        node = int(self.plan.labeled.nodes[position])
        node_similarity = float(self.similarities.node[0, position])
        structure = float(self.similarities.structure[0, position])
        compared = np.isfinite(structure)  # else one of the two has no edges
        share = settings.node_weight if compared else 1.0
        others = torch.cat([self.ranked[:rank], self.ranked[rank + 1 :]])[: settings.num_nearest]
        without = self.vote(others)[1].tolist() if len(others) else [0.0] * graph.num_classes
        shown = with_matches and compared
        return Neighbor(
            node=node,
            name=graph.node_names[node],
            label=int(graph.labels[node]),
            label_name=graph.class_names[graph.labels[node]],
            weight=float(self.weights[rank]),
            similarity=float(self.overall[0, position]),
            node_similarity=node_similarity,
            structure_similarity=structure if compared else None,
            node_term=share * node_similarity,
            structure_term=(1 - share) * structure if compared else 0.0,
            without=tuple(without),
            matches=edge_matches(self.matching, graph.edges, self.rows, position, self.usual) if shown else None,
            matches_back=self._matches_back(position) if shown else None,
            shared_attributes=shared_attributes(self.trained, self.node, node) if with_matches and self.named else None,
        )

    def _matches_back(self, position: int) -> EdgeMatches | None:
        """Edges of the labeled node, out of those of all labeled nodes, matched in the one local graph there is."""
        if self.back is None or self.plan.backward is None:
            return None
        backward, edges = self.plan.backward, self.trained.graph.edges
        rows = backward.columns[backward.ptr[position] : backward.ptr[position + 1]]
        values = self.back.similarity[rows, 0]
        matched = self.back.plan.key_ids[self.back.winners[rows, 0]]
        well = values >= self.back.similarity[:, 0].mean()
        return EdgeMatches(edges[self.back.plan.query_ids[rows]], edges[matched], values, well)


def _importance(matching: EdgeMatching, plan: ComparisonPlan, positions: IntArray) -> FloatArray:
    importance = np.empty(len(plan.forward.columns), np.float32)
    edge_importance(matching.similarity, plan.forward.ptr, plan.forward.columns, positions, importance)
    return importance


def _mentioned(node: int, edges: IntArray, neighbors: tuple[Neighbor, ...]) -> set[int]:
    """Ids of all nodes that an explanation names."""
    mentioned = {node, *edges.ravel().tolist()}
    for neighbor in neighbors:
        mentioned.add(neighbor.node)
        for matches in (neighbor.matches, neighbor.matches_back):
            if matches is not None:
                mentioned.update(matches.edges.ravel().tolist(), matches.matched.ravel().tolist())
    return mentioned
