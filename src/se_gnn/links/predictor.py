"""Link prediction with the interface of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.estimator import Estimator
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.links.explain import PairExplanation, explain_pair
from se_gnn.links.model import LinkModel, fit
from se_gnn.links.negatives import hard_negatives, num_negatives, random_negatives
from se_gnn.links.pairs import Links, LinkType, as_pairs, node_types, type_named
from se_gnn.links.recommendations import NOBODY, Recommendations, recommend
from se_gnn.links.scoring import Attributes, link_metrics
from se_gnn.progress import announce_compilation
from se_gnn.tables.pyg import from_pyg


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A node that another node is likely to be linked with."""

    node: int
    name: str
    probability: float


class SEGNNLinkPredictor(Estimator):
    """Predicts links of a graph from the neighbors that both nodes have already, and explains every prediction.

    For a pair (u, v), the K neighbors of u that are most similar to v vote, the K neighbors of v that are most similar
    to u, and the similarity of u and v counts as well. A pair that is linked already is scored as if it were not. An
    integer is the position of a node, a string its name. Edge direction, weight and type count, and so do node types.

    Args:
        num_nearest: K. None: chosen on validation links.
        node_weight: lambda, the share of node similarity; the rest is structure similarity. None: chosen on validation
            links.
        seed: random seed for the validation links and all draws.
        max_memory: memory limit for :meth:`recommend`, for example ``"4GB"``; None: a quarter of the free memory.
        progress: show progress bars on stderr.

    Attributes:
        trained_: learned weights, settings and facts.
        graph_: the graph it was fitted on, whose links vote.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = np.arange(60) % 3
    >>> pairs = [(u, v) for u in range(60) for v in range(u) if group[u] == group[v] and rng.random() < 0.2]
    >>> graph = Graph.build(features=np.eye(3)[group] + rng.random((60, 3)) / 2, edges=pairs, labels=group)
    >>> predictor = SEGNNLinkPredictor().fit(graph)
    >>> same, other = predictor.predict_proba([(0, 3), (0, 1)])
    >>> bool(same > other)
    True
    """

    trained_: LinkModel

    def fit(
        self, graph: Graph | Any, y: Any = None, *, validation: Any = None, hard: Any = None, type: str | None = None
    ) -> SEGNNLinkPredictor:
        """Learn from the links of a graph.

        Args:
            graph: a graph, ours or a PyG ``Data``.
            y: not used.
            validation: pairs that are links, to choose settings by; they are hidden from the graph while it learns.
                None: 5% of the links of each type, more if there are few.
            hard: pairs that are not links, [n, M, 2], for each validation link; None: made by HeaRT's rules.
            type: type of the validation links, if the graph has several.
        """
        own = graph if isinstance(graph, Graph) else from_pyg(graph)
        with announce_compilation(shown=self.progress):
            self.trained_ = fit(
                own,
                validation=None if validation is None else as_pairs(own, validation),
                hard=None if hard is None else _as_hard(own, hard),
                kind=type,
                num_nearest=self.num_nearest,
                node_weight=self.node_weight,
                seed=self.seed,
                progress=self.progress,
            )
        return self

    def predict_proba(self, pairs: Any, *, type: str | None = None) -> Float64Array:
        """Probability that each pair is a link, [n], where links and other pairs, hard and random, are equally many."""
        ids, kind = self._asked(pairs, type)
        with self._working("scoring"):
            return self.trained_.settings.probabilities(self.trained_.scores(ids, kind))

    def recommend(self, node: int | str, k: int = 10, *, type: str | None = None) -> list[Recommendation]:
        """The ``k`` likeliest new links of a node: exact, over all nodes it may be linked with."""
        found = self.recommend_all([node], k, type=type)
        return [
            Recommendation(int(one), self.graph_.node_names[int(one)], float(probability))
            for one, probability in zip(found.nodes[0], found.probabilities[0])
            if one != NOBODY
        ]

    def recommend_all(self, nodes: Any = None, k: int = 10, *, type: str | None = None) -> Recommendations:
        """As :meth:`recommend`, for some nodes (None: all that links of the type may start from), as arrays."""
        graph = self.graph_
        types, asked = node_types(graph), self._nodes(nodes)
        own = set() if asked is None else set(types[asked].tolist())
        kind = type_named(self.trained_.types, type, lambda one: own <= {a for a, _ in one.ends})
        starts = np.isin(types, [a for a, _ in kind.ends])
        queries = np.flatnonzero(starts) if asked is None else asked
        wrong = queries[~starts[queries]]
        if len(wrong):
            raise InputError(f"links of type {kind.name!r} do not start from node {graph.node_names[wrong[0]]!r}")
        with self._working("recommending"):
            return recommend(self.trained_, queries, k, kind, max_memory=self.max_memory)

    def explain(self, source: int | str, target: int | str, *, type: str | None = None) -> PairExplanation:
        """Why the pair is likely to be linked, or not."""
        ids, kind = self._asked([(source, target)], type)
        return explain_pair(self.trained_, int(ids[0, 0]), int(ids[0, 1]), kind)

    def evaluate(
        self, links: Any, *, hard: Any = None, random: Any = None, type: str | None = None
    ) -> dict[str, float]:
        """MRR and Hits@K against hard pairs, ROC-AUC and average precision against random ones.

        Args:
            links: pairs that are links, not known to the graph.
            hard: pairs that are not links, [n, M, 2]; None: 500 for each, made by HeaRT's rules.
            random: pairs that are not links, [m, 2]; None: one is drawn for each link.
            type: type of the links, if the graph has several.
        """
        ids, kind = self._asked(links, type)
        known = Links(self.graph_, kind).without(ids)
        generator = np.random.default_rng([self.seed, 2])
        if hard is None:
            hard = hard_negatives(known, ids, num_negatives(self.graph_), Attributes.of(self.graph_).unit, generator)
        drawn = random_negatives(known, ids, generator) if random is None else as_pairs(self.graph_, random)
        tempting = _as_hard(self.graph_, hard).reshape(-1, 2)
        with self._working("scoring"):
            positive, negative, against = (self.trained_.scores(one, kind) for one in (ids, tempting, drawn))
        return link_metrics(positive, negative.reshape(len(ids), -1), against)

    @classmethod
    def load(
        cls, folder: str | Path, *, max_memory: int | str | None = None, progress: bool = False
    ) -> SEGNNLinkPredictor:
        """Read a model that :meth:`save` or `se-gnn train --task links` wrote."""
        model = LinkModel.load(folder)
        given = dict(model.facts.get("given", {}))
        found = cls(**given, seed=int(model.facts.get("seed", 0)), max_memory=max_memory, progress=progress)
        found.trained_ = model
        return found

    def _asked(self, pairs: Any, type: str | None) -> tuple[IntArray, LinkType]:
        ids = as_pairs(self.graph_, pairs)
        return ids, self.trained_.type_of(ids, type)


def _as_hard(graph: Graph, hard: Any) -> IntArray:
    array = np.asarray(hard)
    if array.ndim != 3 or array.shape[2] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"hard must be pairs of node positions for each link, shape (n, M, 2), got {array.shape}")
    if array.size and not (array.min() >= 0 and array.max() < graph.num_nodes):
        raise InputError(f"hard must hold positions from 0 to {graph.num_nodes - 1}")
    return array.astype(np.int64)
