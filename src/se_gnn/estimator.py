"""SE-GNN in scikit-learn's manner."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from se_gnn.device import resolve_device
from se_gnn.errors import InputError, shortened
from se_gnn.explain import Explainer, Explanation
from se_gnn.graph import UNKNOWN, EdgeValues, Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.split import Split
from se_gnn.graph.target import class_indices, integer_classes
from se_gnn.labels import Audit, Certificates, Memory, audit, certify
from se_gnn.labels.audit import ORDERS
from se_gnn.labels.extension import Extension, extend, new_nodes_from_arrays
from se_gnn.labels.novelty import FALSE_ALARMS, Novelty, novelty
from se_gnn.labels.sets import COVERAGE, CalibratedOn, PredictionSets, SetMethod, prediction_sets
from se_gnn.labels.suggest import COUNT, Suggestion, suggest
from se_gnn.model import TrainedModel
from se_gnn.model.evaluate import evaluate
from se_gnn.model.folder import load_model_on, save_model
from se_gnn.progress import announce_compilation, phase
from se_gnn.settings import Settings
from se_gnn.settings.sections import BestBy
from se_gnn.tables.pyg import from_pyg
from se_gnn.training import fit

NAMED = (
    "num_nearest",
    "node_weight",
    "hops",
    "epochs",
    "members",
    "best_by",
    "balance_classes",
)  # parameters that are settings


class SEGNNClassifier(ClassifierMixin, BaseEstimator):
    """Classifies the nodes of a graph by a vote of the most similar labeled nodes, and explains every prediction.

    An integer is the position of a node, a string its name, a boolean mask has one entry per node; this holds wherever
    nodes are asked for. Predictions come as labels were given: integers for a PyG ``Data`` or an integer ``y``, else
    names of classes.

    Args:
        preset: ``best``, ``paper`` or ``authors``: what fills in the settings that are not given.
        num_nearest: K, how many cases vote. Like the parameters below, None means that it is not given: then the
            preset, or the validation nodes, decide. A value that is given is always used as it is.
        node_weight: lambda, the share of node similarity; the rest is structure similarity.
        hops: radius of a local graph.
        epochs: the most epochs of a training run.
        members: number of models in the ensemble.
        best_by: figure on validation nodes by which the best epoch and recipe are chosen: ``accuracy``,
            ``balanced_accuracy``, ``macro_f1``, ``roc_auc``, ``average_precision`` or ``loss``.
        balance_classes: give every class the same share of the loss.
        settings: any other settings by name, such as ``{"hidden_size": 32, "patience": "none"}``; "none" stands for
            None. A grid search over them is ``{"settings": [{"hops": 1}, {"hops": 2}]}``.
        seed: random seed for initialization and every sample.
        device: ``cpu``, ``cuda`` or ``auto``: use CUDA if available.
        max_memory: memory limit for comparisons, for example ``"4GB"``; None: a quarter of the free memory.
        calibration: share of the validation nodes that training does not look at, for :meth:`predict_sets`.
        progress: print an estimate of the time, and show progress bars, on stderr.

    Attributes:
        trained_: the model, its graph and the facts of its training.
        classes_: the classes, in the order of the columns of :meth:`predict_proba`.
        graph_: the graph it was fitted on.
        settings_: all settings that were used, with the origin of each and the decisions that were made.

    >>> from se_gnn import load_dataset
    >>> graph = load_dataset("ba-shapes")
    >>> classifier = SEGNNClassifier(num_nearest=10, epochs=2).fit(graph)
    >>> classifier.predict_proba([0, 1]).shape
    (2, 4)
    """

    def __init__(
        self,
        *,
        preset: str = "best",
        num_nearest: int | None = None,
        node_weight: float | None = None,
        hops: int | None = None,
        epochs: int | None = None,
        members: int | None = None,
        best_by: BestBy | None = None,
        balance_classes: bool | None = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        device: str = "auto",
        max_memory: int | str | None = None,
        calibration: float = 0.0,
        progress: bool = False,
    ) -> None:
        self.preset = preset
        self.num_nearest = num_nearest
        self.node_weight = node_weight
        self.hops = hops
        self.epochs = epochs
        self.members = members
        self.best_by = best_by
        self.balance_classes = balance_classes
        self.settings = settings
        self.seed = seed
        self.device = device
        self.max_memory = max_memory
        self.calibration = calibration
        self.progress = progress

    def fit(self, X: Any, y: Any = None, *, graph: Graph | Any = None) -> SEGNNClassifier:
        """Train on the labeled nodes of a graph; its test nodes are not looked at.

        Args:
            X: a graph, ours or a PyG ``Data``; or, with ``graph``, the nodes that are labeled.
            y: labels to use instead of the graph's, one per node (per node of ``X``, with ``graph``): class indices,
                -1 where unknown, or names of classes, None or empty where unknown.
            graph: the graph that ``X`` are nodes of. So scikit-learn can choose settings:
                ``GridSearchCV(SEGNNClassifier(), {"num_nearest": [5, 10]}).fit(graph.train, y, graph=graph)``.
        """
        own = _as_graph(X if graph is None else graph)
        integers = not isinstance(X if graph is None else graph, Graph)
        if graph is not None:
            own = _with_labeled(own, X, y)
        elif y is not None:
            own = _relabeled(own, y)
        integers = integers if y is None else np.asarray(y).dtype.kind in "iu"
        trained = fit(
            own,
            self._asked(),
            seed=self.seed,
            device=self.device,
            progress=self.progress,
            max_memory=self.max_memory,
            calibration=self.calibration,
        )
        return self._take(trained.with_facts(integer_labels=integers))

    def _asked(self) -> Settings:
        """The preset, and what was given: parameters and ``settings``, which must not contradict each other."""
        given = {} if self.settings is None else self.settings
        if not isinstance(given, Mapping):
            raise InputError(f"settings must be a mapping from names to values, got {shortened(given)}")
        named = {name: getattr(self, name) for name in NAMED if getattr(self, name) is not None}
        for name in named.keys() & given.keys():
            raise InputError(f"{name} is given as a parameter and in settings: give it once")
        return Settings(self.preset).changed(**named, **given)

    def _take(self, trained: TrainedModel) -> SEGNNClassifier:
        self.trained_, self.settings_ = trained, trained.settings
        self.graph_ = trained.graph
        self.n_features_in_ = trained.graph.num_features
        names = trained.graph.class_names
        self.classes_: npt.NDArray[Any] = integer_classes(names) if trained.facts.integer_labels else np.array(names)
        return self

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder, as `se-gnn train` does; `se-gnn` commands and :meth:`load` read it."""
        check_is_fitted(self)
        save_model(self.trained_, folder)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str = "auto",
        max_memory: int | str | None = None,
        progress: bool = False,
    ) -> SEGNNClassifier:
        """Read a model that :meth:`save` or `se-gnn train` wrote; its parameters are those that were given then."""
        trained = load_model_on(folder, None, device=resolve_device(device), max_memory=max_memory)
        asked, facts = trained.settings.asked, trained.facts
        given = {name: "none" if one.value is None else one.value for name, one in asked.given.items()}
        named: dict[str, Any] = {name: given.pop(name) for name in NAMED if name in given}
        loaded = cls(
            preset=asked.preset,
            settings=given or None,
            seed=facts.seed,
            calibration=facts.calibration,
            device=device,
            max_memory=max_memory,
            progress=progress,
            **named,
        )
        return loaded._take(trained)

    def with_graph(self, graph: Graph) -> SEGNNClassifier:
        """The same classifier for the nodes of another graph, whose labeled nodes vote; nothing is trained.

        Its features must mean the same: a table that was imported with ``like=classifier.graph_``, say.
        """
        check_is_fitted(self)
        return copy.copy(self)._take(self.trained_.with_graph(graph))

    def predict_proba(self, nodes: Any = None) -> FloatArray:
        """Class probabilities of some nodes (None: all), one column per class."""
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("scoring", shown=self._shown):
            return self.trained_.predict(self._nodes(nodes)).probabilities

    def predict(self, nodes: Any = None) -> npt.NDArray[Any]:
        """Predicted classes of some nodes (None: all), as labels were given: names, or integers."""
        probabilities = self.predict_proba(nodes)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_sets(
        self,
        nodes: Any = None,
        *,
        coverage: float = COVERAGE,
        method: SetMethod = "aps",
        by_class: bool = False,
        calibrate_on: CalibratedOn = "calibration",
    ) -> PredictionSets:
        """Sets of classes that hold the class of a node (of some nodes; None: all) with probability ``coverage``.

        The classifier needs calibration nodes: ``SEGNNClassifier(calibration=0.3)``. ``by_class`` keeps the promise for
        each class; ``calibrate_on="validation"`` makes do without calibration nodes, approximately.
        """
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("scoring", shown=self._shown):
            return prediction_sets(
                self.trained_,
                self._nodes(nodes),
                coverage=coverage,
                method=method,
                by_class=by_class,
                calibrate_on=calibrate_on,
                seed=self.seed,
            )

    def novelty(self, nodes: Any = None, *, false_alarms: float = FALSE_ALARMS) -> Novelty:
        """How unlike everything known each node is (of some nodes; None: all), and which have no answer.

        The threshold is the one that a share of ``false_alarms`` of the validation nodes would pass.
        """
        check_is_fitted(self)
        with phase("scoring", shown=self._shown):
            return novelty(self.trained_, self._nodes(nodes), false_alarms=false_alarms, seed=self.seed)

    def extend(
        self,
        nodes: Any,
        edges: Any = None,
        *,
        names: Sequence[str] | None = None,
        edge_values: EdgeValues | None = None,
        node_types: Any = None,
        **reading: Any,
    ) -> Extension:
        """Predict nodes that arrive after training, with edges to known nodes and to each other; nothing is trained.

        The same answer as if they had been in the graph from the start. ``extension.changed`` lists the known nodes
        whose answer changes, ``classifier.with_graph(extension.graph)`` explains new and known nodes.

        Args:
            nodes: rows with the columns of the imported table (a path, a DataFrame, an Arrow table); or, for any graph,
                features [M, F].
            edges: a table of edges by name; with features, pairs of names or of positions, where new nodes come after
                the known ones. None: no edges.
            names: of nodes that are given as features.
            edge_values: what each of the edges carries, where nodes are given as features and edges as pairs.
            node_types: kind of each new node, where the graph has several kinds.
            reading: which columns are what, and how they are read: ``id``, ``source``, ``target``, ``caption``,
                ``ignore``, ``decimal``, ``missing``, ``separator``, as
                :func:`~se_gnn.datasets.tables.new_nodes.read_new_nodes` takes them.
        """
        check_is_fitted(self)
        if isinstance(nodes, np.ndarray | list | tuple) or hasattr(nodes, "tocsr") or hasattr(nodes, "numpy"):
            if reading:
                raise InputError(f"{next(iter(reading))} is for tables of new nodes, not for an array of features")
            new = new_nodes_from_arrays(
                self.graph_, nodes, edges, names, edge_values=edge_values, node_types=node_types
            )
        else:
            from se_gnn.datasets.tables.new_nodes import read_new_nodes  # needs pyarrow

            if names is not None:
                raise InputError("names are for features as an array; a table names its nodes in the column id")
            if edge_values is not None:
                raise InputError("edge_values are for edges as pairs; a table of edges has columns of its own")
            new = read_new_nodes(self.graph_, nodes, edges, **reading)
        with announce_compilation(shown=self._shown), phase("scoring", shown=self._shown):
            return extend(self.trained_, new)

    def suggest(self, count: int = COUNT, *, candidates: Any = None) -> list[Suggestion]:
        """The nodes to label next, most helpful first: uncertain, unlike what is labeled, like many others.

        ``candidates`` are the nodes to choose from; None: those in no part of the split without a known label.
        """
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("scoring", shown=self._shown):
            return suggest(self.trained_, count, candidates=self._nodes(candidates), seed=self.seed)

    def explain(self, node: int | str, k: int | None = None) -> Explanation:
        """Explain one node; ``k`` neighbors come with their matched edges (None: all)."""
        check_is_fitted(self)
        return Explainer(self.trained_).explain(self.graph_.node_id(node), k)

    def audit(self, *, num_orders: int = ORDERS) -> Audit:
        """Judge every labeled node: which labels are probably wrong, which mislead, which are never used.

        ``num_orders`` random orders give the Shapley values of the weighted vote; more of them lower their error.
        """
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("audit", shown=self._shown):
            return audit(self.trained_, num_orders=num_orders, seed=self.seed)

    def certify(self, nodes: Any = None) -> Certificates:
        """The fewest labeled nodes that change each prediction (of some nodes; None: all) if removed, or relabeled."""
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("certificates", shown=self._shown):
            return certify(self.trained_, self._nodes(nodes))

    @property
    def memory(self) -> Memory:
        """The labeled nodes, to be edited without training; every edit is in its history."""
        check_is_fitted(self)
        return Memory(self.trained_, on_edit=self._take)

    def evaluate(self) -> dict[str, Any]:
        """Accuracy, balanced accuracy, macro-F1, loss, calibration and more, on validation and test nodes."""
        check_is_fitted(self)
        with announce_compilation(shown=self._shown), phase("scoring", shown=self._shown):
            return evaluate(self.trained_)

    def score(self, nodes: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on some nodes (None: the test nodes of the graph) against their labels, or against ``y``.

        ``y`` holds one label per node: a class index or the name of a class.
        """
        check_is_fitted(self)
        ids = self.graph_.test if nodes is None else self.graph_.node_ids(nodes)
        if not len(ids):
            raise InputError("score needs nodes: give their positions or names, or a graph with test nodes")
        truth = self._known_classes(ids) if y is None else class_indices(y, self.graph_.class_names, count=len(ids))
        if (truth == UNKNOWN).any():
            raise InputError(f"y must hold class names, or class indices from 0 to {len(self.classes_) - 1}")
        if sample_weight is not None and np.shape(sample_weight) != (len(ids),):
            raise InputError(f"sample_weight must have one entry per node ({len(ids)}), got {np.shape(sample_weight)}")
        if sample_weight is not None and not (np.asarray(sample_weight) >= 0).all():
            raise InputError(f"sample_weight must be 0 or more for every node, got {np.min(sample_weight):g}")
        predicted = self.predict_proba(ids).argmax(axis=1)
        return float(accuracy_score(truth, predicted, sample_weight=sample_weight))

    @property
    def _shown(self) -> bool:
        return bool(self.progress)

    def _known_classes(self, ids: IntArray) -> IntArray:
        labels = self.graph_.labels[ids]
        if (labels == UNKNOWN).any():
            name = self.graph_.node_names[ids[labels == UNKNOWN][0]]
            raise InputError(f"score needs nodes with a known label; node {name!r} has none")
        return labels

    def _nodes(self, nodes: Any) -> IntArray | None:
        return None if nodes is None else self.graph_.node_ids(nodes)


def _as_graph(graph: Any) -> Graph:
    return graph if isinstance(graph, Graph) else from_pyg(graph)


def _relabeled(graph: Graph, y: Any) -> Graph:
    """The graph with other labels; nodes of its split that have none leave it."""
    labels = class_indices(y, graph.class_names, count=graph.num_nodes)
    kept: dict[str, Any] = {part: nodes[labels[nodes] != UNKNOWN] for part, nodes in graph.split.items()}
    return graph.replace(target=graph.target.with_labels(labels), split=Split(**kept))


def _with_labeled(graph: Graph, nodes: Any, y: Any) -> Graph:
    """The graph with ``nodes`` as its labeled ones, ``y`` their labels; the others of its split stay what they are."""
    ids = graph.node_ids(nodes)
    labels = graph.labels.copy()
    if y is not None:
        given = class_indices(y, graph.class_names, count=len(ids))
        labels[ids] = given
        torn = ids[labels[ids] != given]  # of a node that was given twice the last label is there
        if len(torn):
            raise InputError(f"y must hold one label per node, node {graph.node_names[torn[0]]!r} has two")
    train = np.unique(ids[labels[ids] != UNKNOWN])
    parts: dict[str, Any] = {part: np.setdiff1d(own, ids) for part, own in graph.split.items()}
    return graph.replace(target=graph.target.with_labels(labels), split=Split(**{**parts, "train": train}))
