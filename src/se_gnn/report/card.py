"""The model card: data, settings in words, how good the model is, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import Prediction, RunFacts, TrainedModel
from se_gnn.model.evaluate import ClassFigures, by_class
from se_gnn.model.metrics import Calibration, calibrate, confusion_matrix
from se_gnn.report.measures import Scores, part_of, score
from se_gnn.report.predictions import SHOWN_PARTS
from se_gnn.settings import EncoderSettings, Resolved, VoteObjective
from se_gnn.similarity import measure_named

MOST_CONFUSED = 8


class Fact(NamedTuple):
    """One line of a list: what, the value, and what it means."""

    what: str
    value: str
    meaning: str = ""
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class PartFigures:
    """Accuracy on one part of the split; None where the part is empty."""

    name: str
    nodes: int
    right: int

    @property
    def accuracy(self) -> float | None:
        """Share of the nodes that are predicted right."""
        return self.right / self.nodes if self.nodes else None


class Confused(NamedTuple):
    """Nodes of one class that were predicted as another."""

    label: int
    predicted: int
    nodes: int
    of: int  # nodes of the class


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Card:
    """What a reader has to know of a model before its answers."""

    data: tuple[Fact, ...]
    settings: tuple[Fact, ...]
    training: tuple[Fact, ...]
    parts: tuple[PartFigures, ...]
    measured: str  # the part that the figures below are of; empty where no node has a known class
    measured_nodes: int
    classes: tuple[ClassFigures, ...]
    confusion: IntArray
    confused: tuple[Confused, ...]  # most nodes first
    scores: Scores | None
    calibration: Calibration
    rests_on: tuple[Fact, ...]


def model_card(trained: TrainedModel, prediction: Prediction) -> Card:
    """Describe a model by the predictions of all nodes of its graph.

    Classes, confusion and calibration are those of the test nodes; of the validation nodes where there are none, and of
    the labeled nodes where there are none of these either.
    """
    graph = trained.graph
    measured = next((part for part in ("test", "validation", "train") if len(getattr(graph, part))), "train")
    nodes: IntArray = getattr(graph, measured)
    truth, predicted = graph.labels[nodes], prediction.classes[nodes]
    confusion = confusion_matrix(truth, predicted, graph.num_classes)
    return Card(
        data=tuple(_data(graph)),
        settings=tuple(_settings(trained.settings, len(graph.train))),
        training=tuple(_training(trained.settings, trained.facts)),
        parts=tuple(_part(graph, prediction, part) for part in SHOWN_PARTS),
        measured=SHOWN_PARTS[measured],
        measured_nodes=len(nodes),
        classes=by_class(graph, confusion),
        confusion=confusion,
        confused=most_confused(confusion),
        scores=score(prediction.probabilities[nodes], truth),
        calibration=calibrate(prediction.probabilities[nodes], truth),
        rests_on=tuple(_rests_on(part_of(prediction, nodes), graph, trained.settings)),
    )


def most_confused(confusion: IntArray) -> tuple[Confused, ...]:
    """The classes that are most often taken for one another, from the confusion matrix [C, C]; most nodes first.

    >>> most_confused(np.array([[5, 1], [3, 4]]))[0]
    Confused(label=1, predicted=0, nodes=3, of=7)
    """
    wrong = confusion - np.diag(confusion.diagonal())
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    pairs = (divmod(int(place), len(confusion)) for place in order)
    return tuple(
        Confused(label, predicted, int(wrong[label, predicted]), int(confusion[label].sum()))
        for label, predicted in pairs
        if wrong[label, predicted]
    )


def _part(graph: Graph, prediction: Prediction, part: str) -> PartFigures:
    nodes: IntArray = getattr(graph, part)
    return PartFigures(SHOWN_PARTS[part], len(nodes), int((prediction.classes[nodes] == graph.labels[nodes]).sum()))


def _data(graph: Graph) -> list[Fact]:
    kind = "numbers, most of them 0" if not isinstance(graph.features, np.ndarray) else "numbers"
    alone = int((graph.degrees == 0).sum())
    unknown = int((graph.labels < 0).sum())
    facts = [
        Fact("nodes", f"{graph.num_nodes:,}", "what is classified"),
        Fact("edges", f"{graph.num_edges:,}", "without direction, each counted once"),
        Fact("features", f"{graph.num_features:,}", f"attributes per node: {kind}"),
        Fact("classes", f"{graph.num_classes:,}", "possible answers"),
        Fact("labeled", f"{len(graph.train):,}", "nodes that teach and vote"),
        Fact("validation", f"{len(graph.validation):,}", "nodes that chose the best epoch"),
        Fact("test", f"{len(graph.test):,}", "nodes that the training never saw the class of"),
    ]
    if len(graph.calibration):
        facts.append(Fact("calibration", f"{len(graph.calibration):,}", "nodes held out for sets with a guarantee"))
    if alone:
        facts.append(Fact("without edges", f"{alone:,}", "nodes compared by their own attributes alone"))
    if unknown:
        facts.append(Fact("class unknown", f"{unknown:,}", "nodes that no figure here counts"))
    return facts


def _settings(settings: Resolved, labeled: int) -> list[Fact]:
    s, vote = settings.similarity, settings.vote
    measure = measure_named(s.measure)
    ways = {"one": "one", "both": "both, averaged"}[s.directions]
    return [
        Fact("labeled neighbors that vote", str(vote.num_nearest), f"the nearest of {labeled:,} labeled nodes", "K"),
        Fact("weight of the node itself", f"{s.node_weight:g}", f"its local graph weighs {1 - s.node_weight:g}", "λ"),
        Fact(
            "size of a local graph",
            f"{s.hops} {'hop' if s.hops == 1 else 'hops'}",
            "the edges among all nodes this near"
            if s.max_edges is None
            else f"at most {s.max_edges} edges, among the nodes that short walks reach most often",
            "n",
        ),
        Fact("similarity of two vectors", measure.words, f"{measure.of_equals:g} is equal", "sim"),
        Fact("temperature of the vote", f"{vote.temperature:g}", "smaller: the nearest count for more", "τ"),
        Fact("directions of matching", ways, "the node's edges, or the labeled node's, too"),
    ]


def _training(settings: Resolved, run: RunFacts) -> list[Fact]:
    encoder, objective, training = settings.encoder, settings.objective, settings.training
    facts = [
        Fact("preset", settings.preset, "where the settings come from"),
        Fact("encoder", f"{encoder.num_layers} layers of {encoder.hidden_size}", f"MLP, then {_layer(encoder)}", "D"),
    ]
    if encoder.members > 1:
        facts.append(Fact("members", str(encoder.members), "encoders trained from different seeds, side by side"))
    if encoder.attribute_share:
        shown = f"{encoder.attribute_share:.0%}"
        facts.append(Fact("share of the attributes", shown, "of the similarity: attributes as they are, not learned"))
    if isinstance(objective, VoteObjective):
        facts += [
            Fact("loss", "the vote of all others", "for every labeled node; nothing is sampled"),
            Fact("consistency", f"{objective.consistency_weight:g}", "of two views of the unlabeled nodes"),
        ]
    else:
        facts += [
            Fact("weight of node contrast", f"{objective.node_loss_weight:g}", "self-supervision of nodes", "α"),
            Fact("weight of edge contrast", f"{objective.edge_loss_weight:g}", "self-supervision of edges", "β"),
            Fact("masked attributes", f"{objective.mask_rate:.0%}", "set to 0 in a view"),
        ]
    facts.append(Fact("learning rate", f"{training.learning_rate:g}", f"Adam, weight decay {training.weight_decay:g}"))
    facts += [Fact("decided", decision.what, decision.reason) for decision in settings.decisions]
    if (chosen := run.chosen_run) is not None:
        facts.append(Fact("epochs", f"{run.epochs:,}", f"the best on validation was {chosen.best_epoch}"))
        facts.append(Fact("seed", str(run.seed), "of every random number"))
    return facts


def _layer(encoder: EncoderSettings) -> str:
    """What follows the MLP, in words."""
    return {
        "gcn": "one residual GCN layer",
        "mean": "the mean of the neighbors",
        "pagerank": f"{encoder.steps} steps of personalized PageRank",
        "steps": f"{encoder.steps} propagation steps with learned weights",
        "own": "nothing: edges count in the structure alone",
    }[encoder.aggregation]


def _rests_on(prediction: Prediction, graph: Graph, settings: Resolved) -> list[Fact]:
    """How the votes on the measured nodes are spread."""
    if not len(prediction.nodes):
        return []
    weights = prediction.weights.astype(np.float64)  # [T, K], nearest first
    voted = np.unique(prediction.neighbors[weights > 0])
    half = 1 + (np.cumsum(weights, axis=1) < 0.5).sum(axis=1)
    agree = (graph.labels[prediction.neighbors] == prediction.classes[:, None]) | (weights == 0)
    compared = np.isfinite(prediction.structure)
    node = settings.similarity.node_weight * prediction.node[compared].astype(np.float64)
    structure = (1 - settings.similarity.node_weight) * prediction.structure[compared].astype(np.float64)
    facts = [
        Fact("labeled nodes that vote", f"{len(voted):,} of {len(graph.train):,}", "at least once"),
        Fact("vote of the nearest", f"{weights[:, 0].mean():.0%}", "its mean weight"),
        Fact("neighbors for half the weight", f"{np.median(half):g}", "median number"),
        Fact("unanimous votes", f"{agree.all(axis=1).mean():.0%}", "all labeled neighbors are of the predicted class"),
    ]
    if compared.any() and np.abs(node).sum() + np.abs(structure).sum() > 0:
        share = np.abs(node).sum() / (np.abs(node).sum() + np.abs(structure).sum())
        facts.append(
            Fact("node : local graph", f"{share:.0%} : {1 - share:.0%}", "size of the two terms of similarity")
        )
    if not compared.all():
        facts.append(Fact("compared by attributes alone", f"{1 - compared.mean():.1%}", "of all comparisons: no edges"))
    return facts
