"""The nodes that each node is most likely to be linked with next: exact, over all nodes.

Similarities of a block of nodes with all others come from one fast matrix product with a bounded rounding error. Only
pairs that may be among the best k by that bound are scored again, as `predict_proba` scores them, and these scores
decide. Shapes: N nodes, T queries, k recommendations, R rows of similarities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.deterministic import linear
from se_gnn.device import items_within, memory_budget
from se_gnn.errors import InputError
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.links.model import LinkModel
from se_gnn.links.pairs import LinkType
from se_gnn.links.scoring import Scorer, mean_of_nearest
from se_gnn.progress import tiles

NOBODY = -1
UNIT_ROUNDOFF = 2.0**-24  # of float32
BLOCK = 512  # queries at a time


@dataclass(frozen=True, slots=True, eq=False)
class Recommendations:
    """For each query the likeliest nodes, best first; ties go to the lower id.

    Shapes:
        - **queries:** :math:`(T,)`, **nodes** (-1: there are no more), **scores**, **probabilities:** :math:`(T, k)`
    """

    queries: IntArray
    nodes: IntArray
    scores: Float64Array
    probabilities: Float64Array


def recommend(
    model: LinkModel, queries: IntArray, k: int, kind: LinkType, *, max_memory: int | str | None = None
) -> Recommendations:
    """The ``k`` likeliest new links from each query; known links and the node itself are left out."""
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    scorer, settings = model.scorer(kind), model.settings
    finder = _Finder(model, scorer, memory_budget(max_memory))
    nodes = np.full((len(queries), k), NOBODY, np.int64)
    scores = np.full((len(queries), k), -np.inf)
    for part in tiles(len(queries), BLOCK, unit="node"):
        rows, candidates = finder.candidates(queries[part], k)
        pairs = np.stack([queries[part][rows], candidates], axis=1)
        exact = scorer.scores(pairs, model.sides, settings.num_nearest)
        order = np.lexsort((candidates, -exact, rows))
        rows, candidates, exact = rows[order], candidates[order], exact[order]
        first = np.searchsorted(rows, np.arange(part.stop - part.start))
        rank = np.arange(len(rows)) - first[rows]
        kept = rank < k
        nodes[part][rows[kept], rank[kept]] = candidates[kept]
        scores[part][rows[kept], rank[kept]] = exact[kept]
    probabilities = np.where(nodes >= 0, settings.probabilities(np.where(nodes >= 0, scores, 0)), 0.0)
    return Recommendations(queries, nodes, scores, probabilities)


class _Finder:
    """Finds the pairs that may be among the best, and proves that the others are not."""

    def __init__(self, model: LinkModel, scorer: Scorer, budget: int) -> None:
        self.model, self.scorer, self.budget = model, scorer, budget
        self.num_nodes = model.graph.num_nodes
        width = scorer.embeddings.shape[1]
        slack = 4 * (width + 8) * UNIT_ROUNDOFF  # of a product of two vectors of length 1, in either computation
        sides = model.sides
        self.margin = slack * 2 * float(sides.neighbor.max() + sides.direct.max())
        whole = 4 * self.num_nodes**2 <= budget
        self.all_rows = self._similar(np.arange(self.num_nodes)) if whole else None

    def candidates(self, queries: IntArray, k: int) -> tuple[IntArray, IntArray]:
        """Positions of queries, ascending, and the nodes that may be among the best ``k`` of each."""
        links = self.scorer.links
        if self.all_rows is not None:
            similar, place = self.all_rows, np.arange(self.num_nodes)
        else:
            needed = np.unique(np.concatenate([queries, *(links.ahead.of_node(q) for q in queries.tolist())]))
            similar, place = self._similar(needed), np.full(self.num_nodes, NOBODY, np.int64)
            place[needed] = np.arange(len(needed))
        rows, found = [], []
        for i, query in enumerate(queries.tolist()):
            scores = self._scores(query, similar[place[query]], similar[place[links.ahead.of_node(query)]])
            own = np.where(links.open_ends(query), scores, -np.inf)
            depth = min(k, self.num_nodes)
            least = np.partition(own, self.num_nodes - depth)[self.num_nodes - depth]
            some = np.flatnonzero((own >= least - 2 * self.margin) & (own > -np.inf))
            rows.append(np.full(len(some), i))
            found.append(some)
        return np.concatenate(rows), np.concatenate(found)

    def _scores(self, query: int, similar: FloatArray, of_neighbors: FloatArray) -> Float64Array:
        """Scores of a query with all nodes that it is not linked with, [N], up to rounding.

        ``similar`` [N] are its own similarities, ``of_neighbors`` [n, N] those of the nodes it links to.
        """
        links, sides, k = self.scorer.links, self.model.sides, self.model.settings.num_nearest
        support = of_neighbors * links.ahead.shares[links.ahead.entries(query)][:, None]
        row, rows = sides.rows(np.array(len(support))), sides.rows(links.behind.counts)
        nearest = np.partition(support, -k, axis=0)[-k:] if len(support) > k else support
        scores: Float64Array = sides.neighbor[row] * nearest.sum(axis=0) / max(1, len(nearest))
        behind = links.behind.shares * similar[links.behind.nodes]
        scores += sides.neighbor[rows] * mean_of_nearest(links.behind.ptr, behind, k)
        alike = links.types == links.types[query]
        scores += (sides.direct[row] + sides.direct[rows]) * np.where(alike, similar, 0)
        return scores

    def _similar(self, nodes: IntArray) -> FloatArray:
        """Similarity of some nodes with all, [R, N], up to rounding."""
        similarity = self.scorer.similarity
        found = np.empty((len(nodes), self.num_nodes), np.float32)
        if self.model.settings.node_weight < 1:
            step = items_within(self.budget // 4, 64 * self.num_nodes, len(nodes))
            for low in range(0, len(nodes), step):
                asked = similarity.items(nodes[low : low + step])
                found[low : low + step] = similarity.compare(asked, self.scorer.items).overall.numpy()
            return found
        points = similarity.measure.points(self.scorer.embeddings)
        for low in range(0, len(nodes), BLOCK):
            found[low : low + BLOCK] = linear(points[torch.from_numpy(nodes[low : low + BLOCK])], points).numpy()
        return found
