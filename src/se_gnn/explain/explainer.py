"""Explanations of a trained model. Shapes: M edges of the node, L labeled nodes, K neighbors, C classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.errors import InputError, shortened
from se_gnn.explain.attributes import has_attribute_names
from se_gnn.explain.bulk import Explanations, edge_matches, usual_similarity
from se_gnn.explain.evidence import EdgeMatches, Neighbor
from se_gnn.explain.explanation import Explanation
from se_gnn.explain.shared_attributes import shared_attributes
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction, TrainedModel
from se_gnn.ranking import Cases, Ranking, WhatIf, without_each
from se_gnn.settings import Resolved
from se_gnn.similarity import EdgeMatching, Items, Matches, Similarities, Similarity
from se_gnn.similarity.memory import memory_budget


class Explainer:
    """Explains the predictions of one trained model; the same node always gets the same explanation."""

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained
        trained.embeddings  # noqa: B018 - of a mapped graph: refused

    def explain(self, node: int, k: int | None = None, *, what_if: WhatIf | None = None) -> Explanation:
        """Explain one node, labeled or not.

        Args:
            node: id of the node.
            k: how many neighbors come with their matched edges and shared attributes, nearest first; None: all K.
            what_if: other settings of the vote; None: those of the model.
        """
        return self.compare(node).explain(k, what_if=what_if)

    @torch.no_grad()
    def compare(self, node: int) -> Comparison:
        """Compare one node with all labeled nodes: the part of an explanation that takes time."""
        graph = self.trained.graph
        if not 0 <= node < graph.num_nodes:
            raise InputError(f"node must be between 0 and {graph.num_nodes - 1}, got {node}")
        similarity, cases = self.trained.similarity, self.trained.cases
        query = similarity.items(np.array([node]))
        found = similarity.compare_with_matches(query, cases.items, keep_back=True)
        return Comparison(self.trained, node, query, cases, *found)

    @torch.no_grad()
    def explain_all(self, nodes: IntArray | None = None) -> Explanations:
        """Explain some nodes, or all, in one pass: votes, matched edges and edge importance as arrays."""
        trained = self.trained
        wanted = np.arange(trained.graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        queries, count = trained.similarity.items(wanted), trained.settings.vote.num_nearest
        needed = Similarity.match_bytes(queries, trained.cases.items, count)
        budget = memory_budget(trained.max_memory)
        if needed > budget:
            raise InputError(
                f"max_memory must hold the matched edges of {len(queries)} nodes, {needed / 2**30:.1f} GB; it is "
                f"{budget / 2**30:.1f} GB: explain fewer nodes at a time"
            )
        ranking, matches = trained.ranker.rank_with_matches(queries)
        return Explanations(
            Prediction.of([ranking]),
            queries.local,
            matches,
            matches.importance(),
            trained.graph,
            trained.settings.similarity.node_weight,
            self.explain,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A node compared with every labeled node: what its explanation is under any settings of the vote."""

    trained: TrainedModel
    node: int
    query: Items  # the node
    cases: Cases
    similarities: Similarities  # [1, L]
    matching: EdgeMatching
    back: EdgeMatching | None

    @property
    def num_bytes(self) -> int:
        """Memory of the matches, nearly all of what it holds."""
        return sum(
            one.similarity.nbytes + one.matched_ids.nbytes for one in (self.matching, self.back) if one is not None
        )

    @torch.no_grad()
    def explain(self, k: int | None = None, *, what_if: WhatIf | None = None) -> Explanation:
        """The explanation; the arguments are those of :meth:`Explainer.explain`."""
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise InputError(f"k must be a whole number, at least 1, got {shortened(k)}")
        asked = what_if or WhatIf()
        ranking = asked.rank(self.similarities, self.query, self.cases, self.trained.settings).cpu()
        evidence = _Evidence(self, ranking, asked.settings(self.trained.settings, self.cases.nodes))
        full = len(evidence.nearest) if k is None else k
        without = without_each(ranking)[0, : len(evidence.nearest)].tolist()
        return Explanation(
            node=self.node,
            left_out=bool(np.isin(self.node, self.cases.nodes)),
            predicted=int(ranking.predicted[0]),
            probabilities=tuple(ranking.probabilities[0].tolist()),
            neighbors=tuple(evidence.neighbor(rank, tuple(one), rank < full) for rank, one in enumerate(without)),
            edge_ids=self.query.local.row(0).astype(np.int64),
            importance=Matches.of_table(self.matching, evidence.nearest[None]).importance(),
            ranking=ranking,
            settings=evidence.settings,
            trained=self.trained,
        )


class _Evidence:
    """All that is known of one node under some settings of the vote."""

    def __init__(self, comparison: Comparison, ranking: Ranking, settings: Resolved) -> None:
        self.trained, self.node, self.cases = comparison.trained, comparison.node, comparison.cases
        self.matching, self.back, self.ranking, self.settings = comparison.matching, comparison.back, ranking, settings
        self.named = has_attribute_names(self.trained.graph)
        positions = ranking.positions[0, : ranking.num_nearest]
        self.nearest: IntArray = positions[ranking.voting[0, : ranking.num_nearest]].numpy()  # those that vote
        self.rows = self.matching.rows(0)
        self.usual = usual_similarity(self.matching.similarity[np.ix_(self.rows, self.nearest)])

    def neighbor(self, rank: int, without: tuple[float, ...], explained: bool) -> Neighbor:
        """The neighbor of that rank; with matches and shared attributes if it is ``explained`` in full."""
        graph, ranking, position = self.trained.graph, self.ranking, int(self.nearest[rank])
        node = int(self.cases.nodes[position])
        found = ranking.nearest
        node_similarity, structure = float(found.node[0, rank]), float(found.structure[0, rank])
        compared = np.isfinite(structure)  # else one of the two has no edges
        share = self.settings.similarity.node_weight if compared else 1.0
        matched = explained and compared
        return Neighbor(
            node=node,
            name=graph.node_names[node],
            label=int(graph.labels[node]),
            label_name=graph.class_names[graph.labels[node]],
            weight=float(ranking.weights[0, rank]),
            similarity=float(ranking.overall[0, rank]),
            node_similarity=node_similarity,
            structure_similarity=structure if compared else None,
            node_term=share * node_similarity,
            structure_term=(1 - share) * structure if compared else 0.0,
            without=without,
            edge_ids=self.cases.items.local.row(position).astype(np.int64),
            explained=explained,
            matches=edge_matches(self.matching, self.rows, position, self.usual) if matched else None,
            matches_back=self._matches_back(position) if matched else None,
            shared_attributes=shared_attributes(self.trained, self.node, node) if explained and self.named else None,
        )

    def _matches_back(self, position: int) -> EdgeMatches | None:
        """Edges of the labeled node, out of those of all labeled nodes, matched in the one local graph there is."""
        if self.back is None:
            return None
        return edge_matches(self.back, self.back.rows(position), 0, self.back.similarity[:, 0].mean())
