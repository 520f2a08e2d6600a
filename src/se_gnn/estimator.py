"""SE-GNN in scikit-learn's manner."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from se_gnn.config import Config
from se_gnn.datasets.pyg import from_pyg
from se_gnn.errors import InputError
from se_gnn.explain import Explainer, Explanation
from se_gnn.graph import UNKNOWN, AttributedGraph
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.model import TrainedModel
from se_gnn.training import train


class SEGNNClassifier(ClassifierMixin, BaseEstimator):
    """Classifies the nodes of a graph by a vote of the most similar labeled nodes, and explains every prediction.

    Args:
        preset: ``best``, ``paper`` or ``authors``; its settings for ``graph.name`` where it knows them.
        settings: changes to the preset, ``section.key=value`` each.
        seed: of initialization and of every sample.
        device: ``cpu``, ``cuda`` or ``auto``.
        progress: show a progress bar.

    Attributes:
        trained_: the model, its graph and its metrics.
        classes_: names of the classes, in the order of the columns of :meth:`predict_proba`.
        graph_: the graph it was fitted on.

    >>> from se_gnn import load_dataset
    >>> graph = load_dataset("ba-shapes")
    >>> classifier = SEGNNClassifier(settings=["training.epochs=2"]).fit(graph)
    >>> classifier.predict_proba([0, 1]).shape
    (2, 4)
    """

    def __init__(
        self,
        *,
        preset: str = "best",
        settings: Sequence[str] = (),
        seed: int = 0,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        self.preset = preset
        self.settings = settings
        self.seed = seed
        self.device = device
        self.progress = progress

    def fit(self, graph: AttributedGraph | Any, y: Any = None) -> SEGNNClassifier:
        """Train on the labeled nodes of a graph, ours or a PyG ``Data``.

        ``y``, if given, replaces the labels: one class index a node, -1 where unknown.
        """
        own = _as_graph(graph)
        if y is not None:
            own = _relabeled(own, y)
        config = Config.preset(self.preset, dataset=own.name).override(self.settings)
        self.trained_: TrainedModel = train(own, config, seed=self.seed, device=self.device, progress=self.progress)
        self.graph_ = own
        self.classes_: npt.NDArray[np.str_] = np.array(own.class_names)
        self.n_features_in_ = own.num_features
        return self

    def on(self, graph: AttributedGraph) -> SEGNNClassifier:
        """The same classifier for the nodes of another graph, whose labeled nodes vote; nothing is trained.

        Its features must mean the same: a table that was imported with ``like=classifier.graph_``, say.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.trained_, other.graph_ = self.trained_.on(graph), graph
        return other

    def predict_proba(self, nodes: Any = None) -> FloatArray:
        """Class probabilities of some nodes (ids or names; None: all), one column a class."""
        check_is_fitted(self)
        return self.trained_.predict(self._nodes(nodes)).probabilities

    def predict(self, nodes: Any = None) -> npt.NDArray[np.str_]:
        """Names of the predicted classes of some nodes (ids or names; None: all)."""
        check_is_fitted(self)
        return self._classes_of(self._nodes(nodes))

    def explain(self, node: int | str, k: int | None = None) -> Explanation:
        """Explain one node, given by id or name; ``k`` neighbors come with their matched edges (None: all)."""
        check_is_fitted(self)
        return Explainer(self.trained_).explain(self.graph_.node_id(node), k)

    def score(self, nodes: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on some nodes (None: the test nodes of the graph) against their labels, or against ``y``."""
        check_is_fitted(self)
        ids = self.graph_.test if nodes is None else self._nodes(nodes)
        if ids is None or not len(ids):
            raise InputError("score needs nodes: the graph has no test nodes, give their ids or names")
        truth: npt.NDArray[Any] = np.asarray(y) if y is not None else self._known_classes(ids)
        if truth.dtype.kind in "iu":
            if ((truth < 0) | (truth >= len(self.classes_))).any():
                raise InputError(f"y must hold class names, or class indices from 0 to {len(self.classes_) - 1}")
            truth = self.classes_[truth]
        return float(np.average(self._classes_of(ids) == truth, weights=sample_weight))

    def _classes_of(self, ids: IntArray | None) -> npt.NDArray[np.str_]:
        return np.asarray(self.classes_[self.trained_.predict(ids).classes])

    def _known_classes(self, ids: IntArray) -> npt.NDArray[np.str_]:
        labels = self.graph_.labels[ids]
        if (labels == UNKNOWN).any():
            name = self.graph_.node_names[ids[labels == UNKNOWN][0]]
            raise InputError(f"score needs nodes with a known label; node {name!r} has none")
        return self.classes_[labels]

    def _nodes(self, nodes: Any) -> IntArray | None:
        if nodes is None:
            return None
        return np.array([self.graph_.node_id(_plain(node)) for node in np.asarray(nodes).ravel()], dtype=np.int64)


def _plain(node: Any) -> int | str:
    return int(node) if isinstance(node, int | np.integer) else str(node)


def _as_graph(graph: Any) -> AttributedGraph:
    return graph if isinstance(graph, AttributedGraph) else from_pyg(graph)


def _relabeled(graph: AttributedGraph, labels: Any) -> AttributedGraph:
    known = np.asarray(labels) != UNKNOWN
    if known.shape != (graph.num_nodes,):
        raise InputError(f"y must have one entry a node ({graph.num_nodes}), got shape {known.shape}")
    keep = {
        part: nodes[known[nodes]] for part, nodes in (("train", graph.train), ("val", graph.val), ("test", graph.test))
    }
    return AttributedGraph.build(
        features=graph.features, edges=graph.edges, labels=labels, class_names=graph.class_names,
        node_names=graph.node_names, name=graph.name, feature_names=graph.feature_names, columns=graph.columns,
        captions=graph.captions, raw=graph.raw,
        image_shape=graph.image_shape, motif_edges=graph.motif_edges, node_roles=graph.node_roles,
        edge_roles=graph.edge_roles, **keep,
    )  # fmt: skip
