"""Estimators with the interface of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from se_gnn.device import resolve_device
from se_gnn.errors import InputError, shortened
from se_gnn.explain import Explanation, Explanations, explain
from se_gnn.graph import UNKNOWN, EdgeValues, Graph, Numbers
from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.graph.split import Split
from se_gnn.graph.target import class_indices, integer_classes
from se_gnn.labels import Audit, Certificates, Memory, audit, certify
from se_gnn.labels.audit import ORDERS
from se_gnn.labels.extension import Extension, extend, new_nodes_from_arrays
from se_gnn.labels.novelty import FALSE_ALARMS, Novelty, novelty
from se_gnn.labels.retrained import retrained_numbers, retrained_votes
from se_gnn.labels.sets import CalibratedOn, PredictionSets, SetMethod, prediction_sets
from se_gnn.labels.suggest import Suggestion, suggest
from se_gnn.labels.values import ValueAudit, audit_values
from se_gnn.model import Model
from se_gnn.model.metrics import evaluate
from se_gnn.model.numbers import (
    COVERAGE,
    CalibrateOn,
    Intervals,
    NumberPrediction,
    predict_numbers,
    prediction_intervals,
)
from se_gnn.progress import announce_compilation, phase
from se_gnn.settings import Resolved, Settings
from se_gnn.settings.presets import NOT_TRAINED
from se_gnn.settings.sections import BestBy
from se_gnn.tables.pyg import from_pyg
from se_gnn.training import fit

# parameters that are settings
NAMED = ("num_nearest", "node_weight", "hops", "epochs", "members", "best_by", "balance_classes")


class Fitted:
    """Common to everything that was fitted to a graph."""

    trained_: Any
    progress: bool = False

    @property
    def graph_(self) -> Graph:
        """The graph whose nodes are predicted."""
        self._check_fitted()
        graph: Graph = self.trained_.graph
        return graph

    def save(self, folder: str | Path) -> None:
        """Write it into a folder, as `se-gnn train` does; `se-gnn` commands and :meth:`load` read it."""
        self._check_fitted()
        self.trained_.save(folder)

    def _check_fitted(self) -> None:
        if "trained_" not in vars(self):
            check_is_fitted(self)  # which raises scikit-learn's error

    @contextmanager
    def _working(self, what: str) -> Iterator[None]:
        """Work on what was fitted, with progress bars if they were asked for."""
        self._check_fitted()
        shown = bool(self.progress)
        with announce_compilation(shown=shown), phase(what, shown=shown):
            yield

    def _nodes(self, nodes: Any) -> IntArray | None:
        return None if nodes is None else self.graph_.node_ids(nodes)


class Voting(Fitted):
    """Questions to a vote of cases, whatever it predicts and whoever trained the encoder."""

    trained_: Model
    seed: int

    def explain(self, node: int | str, k: int | None = None) -> Explanation:
        """Explain one node; ``k`` cases come with their matched edges (None: all)."""
        wanted = self.graph_.node_id(node)  # first: it refuses what is not fitted
        return explain(self.trained_, wanted, k=k, attributes=True)[0]

    def explain_all(self, nodes: Any = None, k: int | None = None) -> Explanations:
        """Explain some nodes (None: all), in one pass."""
        with self._working("explaining"):
            return explain(self.trained_, self._nodes(nodes), k=k)

    def novelty(self, nodes: Any = None, *, false_alarms: float = FALSE_ALARMS) -> Novelty:
        """Novelty score of some nodes (None: all), and for which of them the model abstains.

        A share of ``false_alarms`` of the validation nodes has a score above the threshold.
        """
        with self._working("scoring"):
            return novelty(self.trained_, self._nodes(nodes), false_alarms=false_alarms, seed=self.seed)


class ClassVoting(Voting):
    """Questions to cases that vote for classes."""

    def predict_proba(self, nodes: Any = None) -> FloatArray:
        """Class probabilities of some nodes (None: all), one column per class."""
        with self._working("scoring"):
            return self.trained_.predict(self._nodes(nodes)).probabilities

    def predict_sets(
        self,
        nodes: Any = None,
        *,
        coverage: float = COVERAGE,
        method: SetMethod = "aps",
        by_class: bool = False,
        calibrate_on: CalibratedOn = "calibration",
    ) -> PredictionSets:
        """Sets of classes that contain the class of each node (None: all nodes) with probability ``coverage``.

        The guarantee needs calibration nodes: ``SEGNNClassifier(calibration=0.3)``. ``by_class`` keeps the promise for
        each class; ``calibrate_on="validation"`` needs no calibration nodes, and coverage is approximate.
        """
        with self._working("scoring"):
            return prediction_sets(
                self.trained_,
                self._nodes(nodes),
                coverage=coverage,
                method=method,
                by_class=by_class,
                calibrate_on=calibrate_on,
                seed=self.seed,
            )

    def audit(self, *, num_orders: int = ORDERS, retrain: bool = False) -> Audit:
        """Judge every labeled node: which labels are probably wrong, which mislead, which are never used.

        ``num_orders`` random orders give the Shapley values of the weighted vote; more of them lower their error.
        ``retrain`` judges each label by a model that was trained without it: this trains up to five times.
        """
        with self._working("audit"):
            votes = retrained_votes(self.trained_, seed=self.seed, progress=self.progress) if retrain else None
            return audit(self.trained_, num_orders=num_orders, seed=self.seed, retrained=votes)

    def certify(self, nodes: Any = None) -> Certificates:
        """The fewest labeled nodes whose removal, or relabeling, changes each prediction (None: of all nodes)."""
        with self._working("certificates"):
            return certify(self.trained_, self._nodes(nodes))


@dataclass(kw_only=True, eq=False, repr=False)  # for the constructor alone: it stores every parameter as it is given
class Estimator(Fitted, BaseEstimator):
    """The parameters that all estimators have in common."""

    num_nearest: int | None = None
    node_weight: float | None = None
    seed: int = 0
    max_memory: int | str | None = None
    progress: bool = False


@dataclass(kw_only=True, eq=False, repr=False)
class NodeEstimator(Voting, Estimator):
    """Common to the estimators that are trained on the labeled nodes of a graph."""

    preset: str = "best"
    hops: int | None = None
    epochs: int | None = None
    members: int | None = None
    settings: Mapping[str, Any] | None = None
    device: str = "auto"
    calibration: float = 0.0

    @property
    def settings_(self) -> Resolved:
        """All settings that were used, with the origin of each and the decisions that were made."""
        self._check_fitted()
        return self.trained_.settings

    @property
    def n_features_in_(self) -> int:
        """Features of each node of the graph it was fitted on."""
        return self.graph_.num_features

    def _take(self, trained: Model) -> Self:
        """Make a model this estimator's own."""
        self.trained_ = trained
        return self

    def _train(self, graph: Graph) -> Model:
        return fit(
            graph,
            self._asked(),
            seed=self.seed,
            device=self.device,
            progress=self.progress,
            max_memory=self.max_memory,
            calibration=self.calibration,
        )

    def _asked(self) -> Settings:
        """The preset, and what was given: parameters and ``settings``, which must not contradict each other."""
        given = {} if self.settings is None else self.settings
        if not isinstance(given, Mapping):
            raise InputError(f"settings must be a mapping from names to values, got {shortened(given)}")
        named = {name: value for name, value in self.get_params().items() if name in NAMED and value is not None}
        for name in named.keys() & given.keys():
            raise InputError(f"{name} is given as a parameter and in settings: give it once")
        return Settings(self.preset).changed(**named, **given)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str = "auto",
        max_memory: int | str | None = None,
        progress: bool = False,
    ) -> Self:
        """Read a model that :meth:`save` or `se-gnn train` wrote; its parameters are those that were given then."""
        trained = Model.load(folder, device=resolve_device(device), max_memory=max_memory)
        if trained.settings.preset in NOT_TRAINED:
            raise InputError(f"{folder} explains a model that was trained elsewhere: use CaseExplainer.load")
        asked, facts = trained.settings.asked, trained.facts
        given = {name: "none" if one.value is None else one.value for name, one in asked.given.items()}
        named: dict[str, Any] = {name: given.pop(name) for name in cls._get_param_names() if name in given}
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

    def with_graph(self, graph: Graph) -> Self:
        """The same estimator for the nodes of another graph, whose labeled nodes vote; nothing is trained.

        Its features must mean the same: a table that was imported with ``like=estimator.graph_``, say.
        """
        self._check_fitted()
        return copy.copy(self)._take(self.trained_.with_graph(graph))

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
        whose answer changes, ``estimator.with_graph(extension.graph)`` explains new and known nodes.

        Args:
            nodes: rows with the columns of the imported table (a path, a DataFrame, an Arrow table); or, for any graph,
                features [M, F].
            edges: a table of edges by name; with features, pairs of names or of positions, where new nodes come after
                the known ones. None: no edges.
            names: the names of nodes that are given as features.
            edge_values: the data of each edge, if nodes are given as features and edges as pairs.
            node_types: type of each new node, if the graph has several.
            reading: which columns are what, and how they are read: ``id``, ``source``, ``target``, ``caption``,
                ``ignore``, ``decimal``, ``missing``, ``separator``, as
                :func:`~se_gnn.tables.read_new_nodes` takes them.
        """
        self._check_fitted()
        if isinstance(nodes, np.ndarray | list | tuple) or hasattr(nodes, "tocsr") or hasattr(nodes, "numpy"):
            if reading:
                raise InputError(f"{next(iter(reading))} is for tables of new nodes, not for an array of features")
            new = new_nodes_from_arrays(
                self.graph_, nodes, edges, names, edge_values=edge_values, node_types=node_types
            )
        else:
            from se_gnn.tables import read_new_nodes  # needs pyarrow

            if names is not None:
                raise InputError("names are for features as an array; a table names its nodes in the column id")
            if edge_values is not None:
                raise InputError("edge_values are for edges as pairs; a table of edges has columns of its own")
            if node_types is not None:
                raise InputError("node_types are for features as an array; of tables give one per type, by its name")
            new = read_new_nodes(self.graph_, nodes, edges, **reading)
        with self._working("scoring"):
            return extend(self.trained_, new)

    def suggest(self, count: int | None = None, *, candidates: Any = None) -> list[Suggestion]:
        """The nodes to label next, most helpful first: uncertain, unlike what is labeled, like many others.

        ``count`` is how many; None: 20, or all that are left. ``candidates`` are the nodes to choose from; None: nodes
        without a known label that are not in the split.
        """
        with self._working("scoring"):
            return suggest(self.trained_, count, candidates=self._nodes(candidates), seed=self.seed)

    def evaluate(self) -> dict[str, Any]:
        """Figures on validation and test nodes.

        Of classes: accuracy, balanced accuracy, macro-F1, loss, calibration and more. Of numbers: R2, mean absolute
        error, root mean squared error, and how many 90% intervals hold the number.
        """
        with self._working("scoring"):
            return evaluate(self.trained_)

    def _scored(self, nodes: Any, y: Any, sample_weight: Any) -> tuple[IntArray, Any]:
        """The nodes that `score` is asked about, and what is known of them."""
        ids = self.graph_.test if nodes is None else self.graph_.node_ids(nodes)
        if not len(ids):
            raise InputError("score needs nodes: give their positions or names, or a graph with test nodes")
        if sample_weight is not None and np.shape(sample_weight) != (len(ids),):
            raise InputError(f"sample_weight must have one entry per node ({len(ids)}), got {np.shape(sample_weight)}")
        if sample_weight is not None and not (np.asarray(sample_weight) >= 0).all():
            raise InputError(f"sample_weight must be 0 or more for every node, got {np.min(sample_weight):g}")
        unknown = ids[~self.graph_.target.known[ids]] if y is None else ids[:0]
        if len(unknown):
            name, what = self.graph_.node_names[unknown[0]], "value" if self.graph_.predicts_numbers else "label"
            raise InputError(f"score needs nodes with a known {what}; node {name!r} has none")
        return ids, self.graph_.target.array[ids] if y is None else _given(self.graph_, y, len(ids))


@dataclass(kw_only=True, eq=False, repr=False)
class SEGNNClassifier(ClassifierMixin, ClassVoting, NodeEstimator):
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

    best_by: BestBy | None = None
    balance_classes: bool | None = None

    def fit(self, X: Any, y: Any = None, *, graph: Graph | Any = None) -> SEGNNClassifier:
        """Train on the labeled nodes of a graph; its test nodes are not used.

        Args:
            X: a graph, ours or a PyG ``Data``; or, with ``graph``, the nodes that are labeled.
            y: labels to use instead of the graph's, one per node (per node of ``X``, with ``graph``): class indices,
                -1 where unknown, or names of classes, None or empty where unknown.
            graph: the graph that ``X`` are nodes of, so that scikit-learn can choose settings:
                ``GridSearchCV(SEGNNClassifier(), {"num_nearest": [5, 10]}).fit(graph.train, y, graph=graph)``.
        """
        given = X if graph is None else graph
        own = given if isinstance(given, Graph) else from_pyg(given)
        _ = own.classes  # refused if a number is predicted
        integers = not isinstance(given, Graph) if y is None else np.asarray(y).dtype.kind in "iu"
        asked = _with_known(own, None if graph is None else X, y)
        return self._take(self._train(asked).with_facts(integer_labels=integers))

    def _take(self, trained: Model) -> Self:
        _ = trained.graph.classes  # refused if it predicts numbers
        return super()._take(trained)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, in the order of the columns of :meth:`predict_proba`."""
        names = self.graph_.class_names
        return integer_classes(names) if self.trained_.facts.integer_labels else np.array(names)

    def predict(self, nodes: Any = None) -> npt.NDArray[Any]:
        """Predicted classes of some nodes (None: all), as labels were given: names, or integers."""
        probabilities = self.predict_proba(nodes)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    @property
    def memory(self) -> Memory:
        """The labeled nodes, to be edited without training; every edit is in its history."""
        self._check_fitted()
        return Memory(self.trained_, on_edit=self._take)

    def score(self, nodes: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on some nodes (None: the test nodes of the graph) against their labels, or against ``y``.

        ``y`` holds one label per node: a class index or the name of a class.
        """
        ids, truth = self._scored(nodes, y, sample_weight)
        if (truth == UNKNOWN).any():
            raise InputError(f"y must hold class names, or class indices from 0 to {len(self.classes_) - 1}")
        predicted = self.predict_proba(ids).argmax(axis=1)
        return float(accuracy_score(truth, predicted, sample_weight=sample_weight))


class SEGNNRegressor(RegressorMixin, NodeEstimator):
    """Predicts a number of each node of a graph by a vote of the most similar cases, and explains every prediction.

    A prediction is the sum of weight times known value of the nearest cases, in the unit of the column. The known
    values of graph neighbors are read, too: when a labeled node is predicted, its own value is hidden from everything
    that is compared. Nodes are named as for :class:`SEGNNClassifier`.

    The parameters are those of :class:`SEGNNClassifier`, without ``best_by`` and ``balance_classes``. The preset is
    always ``best``, ``settings`` may be ``{"read_values": False, "value_scale": "log"}``, for example, and
    ``calibration`` is the share of the validation nodes that is kept for :meth:`predict_intervals`.

    Attributes:
        trained_: the model, its graph and the facts of its training.
        graph_: the graph it was fitted on.
        settings_: all settings that were used, with the origin of each and the decisions that were made.

    >>> graph = Graph.build(features=[[x] for x in range(40)], edges=[], values=[2.0 * x for x in range(40)])
    >>> regressor = SEGNNRegressor(num_nearest=3, epochs=2, members=1).fit(graph)
    >>> regressor.predict([0, 39]).shape
    (2,)
    """

    def fit(self, X: Graph, y: Any = None, *, graph: Graph | None = None) -> Self:
        """Train on the labeled nodes of a graph; its test nodes are not used.

        Args:
            X: a graph with values; or, with ``graph``, the nodes that are labeled.
            y: values to use instead of the graph's, one per node (per node of ``X``, with ``graph``); NaN: unknown.
            graph: the graph that ``X`` are nodes of, so that scikit-learn can choose settings, as for
                :class:`SEGNNClassifier`.
        """
        own = X if graph is None else graph
        if not isinstance(own, Graph):
            raise InputError("fit needs a Graph: Graph.build(..., values=...) makes one")
        _ = own.numbers  # refused if classes are predicted
        return self._take(self._train(_with_known(own, None if graph is None else X, y)))

    def _take(self, trained: Model) -> Self:
        _ = trained.graph.numbers  # refused if it predicts classes
        return super()._take(trained)

    def predict(self, nodes: Any = None) -> Float64Array:
        """Predicted numbers of some nodes (None: all), in the unit of the column."""
        return self.predict_votes(nodes).values

    def predict_votes(self, nodes: Any = None) -> NumberPrediction:
        """Predicted numbers of some nodes (None: all), with the cases that vote, their weights and contributions."""
        with self._working("scoring"):
            return predict_numbers(self.trained_, self._nodes(nodes))

    def predict_intervals(
        self, nodes: Any = None, *, coverage: float = COVERAGE, calibrate_on: CalibrateOn = "auto"
    ) -> Intervals:
        """Intervals that contain the number of each node (None: all nodes) with probability ``coverage``.

        The guarantee needs calibration nodes: ``SEGNNRegressor(calibration=0.5)``. Without them validation nodes take
        their place, and coverage holds approximately.
        """
        with self._working("scoring"):
            return prediction_intervals(self.trained_, self._nodes(nodes), coverage=coverage, calibrate_on=calibrate_on)

    def audit(self, *, retrain: bool = False) -> ValueAudit:
        """Judge the value of every labeled node: which are surprising, and which mislead the validation nodes.

        ``retrain`` judges each value by a model that was trained without it: this trains up to five times.
        """
        with self._working("audit"):
            numbers = retrained_numbers(self.trained_, seed=self.seed, progress=self.progress) if retrain else None
            return audit_values(self.trained_, seed=self.seed, retrained=numbers)

    def score(self, nodes: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """R2 on some nodes (None: the test nodes of the graph) against their values, or against ``y``."""
        ids, truth = self._scored(nodes, y, sample_weight)
        if np.isnan(truth).any():
            raise InputError(f"score needs a known value for each of the {len(ids)} nodes")
        return float(r2_score(truth, self.predict(ids), sample_weight=sample_weight))


def _given(graph: Graph, y: Any, count: int) -> Any:
    """Classes or numbers as users give them, one for each of ``count`` nodes."""
    if not graph.predicts_numbers:
        return class_indices(y, graph.class_names, count=count)
    values = Numbers.build(y).values
    if len(values) != count:
        raise InputError(f"y must have one value per node ({count:,}), got {len(values):,}")
    return values


def _with_known(graph: Graph, nodes: Any, y: Any) -> Graph:
    """The graph with other labels or values, one for each of some nodes (None: of all).

    If nodes are named, these are the labeled ones; the others of its split stay what they are. A node of which nothing
    is known leaves the split.
    """
    if nodes is None and y is None:
        return graph
    ids = np.arange(graph.num_nodes) if nodes is None else graph.node_ids(nodes)
    known: Any = graph.target.array.copy()
    if y is not None:
        given = _given(graph, y, len(ids))
        known[ids] = given
        torn = ids[(known[ids] != given) & ~np.isnan(given)]  # of a node that was given twice the last one is there
        if len(torn):
            raise InputError(f"y must hold one label per node, node {graph.node_names[torn[0]]!r} has two")
    target = graph.target.with_array(known)
    parts: dict[str, Any] = dict(graph.split.items())
    if nodes is None:
        parts = {part: own[target.known[own]] for part, own in parts.items()}
    else:
        parts = {part: np.setdiff1d(own, ids) for part, own in parts.items()}
        parts["train"] = np.unique(ids[target.known[ids]])
    return graph.replace(target=target, split=Split(**parts))
