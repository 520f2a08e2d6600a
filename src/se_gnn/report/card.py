"""The model card: data, settings in words, how good the model is, and what it rests on. Shapes: T nodes, C classes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.labels.sets import PredictionSets, prediction_sets
from se_gnn.model import Model, Prediction, RunFacts
from se_gnn.model.metrics import by_class, calibrate, classification_metrics, evaluate_nodes
from se_gnn.model.numbers import NumberPrediction
from se_gnn.number_format import decimal, percent, tenths
from se_gnn.report.predictions import SHOWN_PARTS, predicted_of
from se_gnn.settings import AgreementObjective, EncoderSettings, NumberObjective, Resolved, VoteObjective
from se_gnn.similarity import measure_named

MOST_CONFUSED = 8


class Fact(NamedTuple):
    """One line of a list: what, the value, and what it means."""

    what: str
    value: str
    meaning: str = ""
    symbol: str = ""


class Confused(NamedTuple):
    """Nodes of one class that were predicted as another."""

    label: int
    predicted: int
    nodes: int
    of: int  # nodes of the class


def card_values(trained: Model, prediction: Prediction | NumberPrediction) -> dict[str, Any]:
    """What a reader has to know of a model before its answers, for the template `model.html`.

    Figures are those of the test nodes; of the validation nodes where there are none, and of the labeled nodes where
    there are none of these either.
    """
    graph = trained.graph
    measured = next((part for part in ("test", "validation", "train") if len(getattr(graph, part))), "train")
    nodes = predicted_of(getattr(graph, measured), prediction)
    card: dict[str, Any] = {
        "data": _data(graph),
        "settings": _settings(trained.settings, len(graph.train)),
        "training": _training(trained.settings, trained.facts),
        "rests_on": _rests_on(prediction, nodes, graph, trained.settings),
        "measured": SHOWN_PARTS[measured],
        "measured_nodes": len(nodes),
    }
    if isinstance(prediction, Prediction):
        shares, truth = prediction.of_nodes(nodes).probabilities, graph.labels[nodes]
        figures, calibration = classification_metrics(shares, truth), calibrate(shares, truth)
        confusion = np.array(figures["confusion"])
        card["tiles"] = [*_accuracies(graph, prediction), *_class_tiles(figures, f"{SHOWN_PARTS[measured]} nodes")]
        card["classes"] = {
            "figures": by_class(graph, confusion),
            "confusion": confusion,
            "confused": most_confused(confusion),
            "calibration": calibration,
            "positive": figures["positive"],  # of two classes the rarer one, which is to be found
            "sets": set_table(trained, prediction.nodes),
        }
    else:
        parts = {part: predicted_of(getattr(graph, part), prediction) for part in ("validation", "test")}
        card["tiles"] = [tile for part, some in parts.items() for tile in _number_tiles(trained, part, some)]
        if len(nodes):
            values = prediction.of_nodes(nodes).values
            card["scatter"] = {"known": graph.values[nodes].tolist(), "predicted": values.tolist()}
    return {"card": {"classes": None, "scatter": None, **card}}


def _accuracies(graph: Graph, prediction: Prediction) -> list[Fact]:
    tiles = []
    for part, name in SHOWN_PARTS.items():
        nodes = predicted_of(getattr(graph, part), prediction)
        right = int((prediction.of_nodes(nodes).classes == graph.labels[nodes]).sum())
        share = tenths(right / len(nodes)) if len(nodes) else "none"
        counts = f"{right:,} right, n = {len(nodes):,}" if len(nodes) else f"the split has no {name} nodes"
        others = "; each predicted from the others" if part == "train" and len(nodes) else ""
        tiles.append(Fact(f"accuracy, {name} nodes", share, counts + others))
    return tiles


def _class_tiles(figures: dict[str, Any], measured: str) -> list[Fact]:
    if not figures["nodes"]:
        return []
    tiles = [Fact("macro-F1", tenths(figures["macro_f1"]), f"{measured}; every class counts the same")]
    if figures["roc_auc"] is not None:
        tiles.append(Fact("ROC-AUC", tenths(figures["roc_auc"]), f"{measured}; 50% is chance"))
        tiles.append(Fact("average precision", tenths(figures["average_precision"]), measured))
    tiles.append(Fact("log loss", decimal(figures["loss"]), f"{measured}; 0 is best"))
    tiles.append(Fact("calibration error", tenths(figures["calibration_error"]), f"{measured}; 0% is best"))
    return tiles


def _number_tiles(trained: Model, part: str, nodes: IntArray) -> list[Fact]:
    graph = trained.graph
    if not len(nodes):
        return [Fact(f"R2, {part} nodes", "none", f"the split has no {part} nodes")]
    figures, text = evaluate_nodes(trained, nodes), graph.numbers.text
    r2 = "–" if figures["r2"] is None else f"{figures['r2']:.3f}"
    tiles = [
        Fact(f"R2, {part} nodes", r2, f"n = {len(nodes):,}; 1 is best, 0 is the mean of all"),
        Fact(f"mean absolute error, {part}", text(figures["mae"]), f"root mean squared: {text(figures['rmse'])}"),
    ]
    if figures["interval_coverage"] is not None:
        wide = "unlimited" if figures["interval_width"] is None else text(figures["interval_width"])
        tiles.append(
            Fact(f"in their 90% interval, {part}", tenths(figures["interval_coverage"]), f"mean width: {wide}")
        )
    return tiles


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


def _data(graph: Graph) -> list[Fact]:
    kind = "numbers, most of them 0" if graph.nodes.features.sparse else "numbers"
    alone = int((graph.degrees == 0).sum())
    known, word = graph.target.known, "number" if graph.predicts_numbers else "class"
    facts = [
        Fact("nodes", f"{graph.num_nodes:,}", "what is predicted"),
        Fact("edges", f"{graph.num_edges:,}", "without direction, each counted once"),
        Fact("features", f"{graph.num_features:,}", f"attributes per node: {kind}"),
        Fact("number", graph.numbers.name, graph.numbers.unit)
        if graph.predicts_numbers
        else Fact("classes", f"{graph.num_classes:,}", "possible answers"),
        Fact("labeled", f"{len(graph.train):,}", "nodes used for training, which vote"),
        Fact("validation", f"{len(graph.validation):,}", "nodes that chose the best epoch"),
        Fact("test", f"{len(graph.test):,}", f"nodes whose {word} the training never saw"),
    ]
    if len(graph.calibration):
        purpose = "intervals" if graph.predicts_numbers else "prediction sets"
        facts.append(Fact("calibration", f"{len(graph.calibration):,}", f"nodes held out to calibrate {purpose}"))
    if alone:
        facts.append(Fact("without edges", f"{alone:,}", "nodes compared by their own attributes alone"))
    if not known.all():
        facts.append(Fact(f"{word} unknown", f"{int((~known).sum()):,}", "nodes that are not part of any figure here"))
    return facts


def _settings(settings: Resolved, labeled: int) -> list[Fact]:
    s, vote = settings.similarity, settings.vote
    measure = measure_named(s.measure)
    ways = {"one": "one", "both": "both, averaged"}[s.directions]
    return [
        Fact("cases that vote", str(vote.num_nearest), f"the nearest of {labeled:,} labeled nodes", "K"),
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
    if isinstance(objective, AgreementObjective):
        shown, power = f"{objective.probability_share:.0%}", f"raised to the power {objective.sharpness:g}"
        return [
            Fact("explained model", "trained elsewhere", "its embeddings and class probabilities were read once"),
            Fact("share of the probabilities", shown, f"of the similarity; {power}"),
            *(Fact("decided", decision.what, decision.reason) for decision in settings.decisions),
        ]
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
            Fact("loss", "the vote of all others", "for every labeled node (a sample of 2,048 where there are more)"),
            Fact("consistency", f"{objective.consistency_weight:g}", "of two views of the unlabeled nodes"),
        ]
    elif isinstance(objective, NumberObjective):
        facts.append(Fact("loss", "the vote of all others", "for every labeled node, by squared error"))
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
        facts.append(Fact("seed", str(run.seed), "for all random numbers"))
    return facts


def _layer(encoder: EncoderSettings) -> str:
    """What follows the MLP, in words."""
    return {
        "gcn": "one residual GCN layer",
        "mean": "the mean of the neighbors",
        "pagerank": f"{encoder.steps} steps of personalized PageRank",
        "steps": f"{encoder.steps} propagation steps with learned weights",
        "layers": f"{encoder.steps} layers that read the mean of the neighbors",
        "own": "nothing: edges count in the structure alone",
    }[encoder.aggregation]


def _rests_on(
    prediction: Prediction | NumberPrediction, nodes: IntArray, graph: Graph, settings: Resolved
) -> list[Fact]:
    """How the votes on the measured nodes are spread."""
    if not len(nodes):
        return []
    found = prediction.of_nodes(nodes)
    weights, cases = found.weights.astype(np.float64), found.cases  # [T, K], nearest first
    half = 1 + (np.cumsum(weights, axis=1) < 0.5).sum(axis=1)
    facts = [
        Fact("cases that vote", f"{len(np.unique(cases[weights > 0])):,} of {len(graph.train):,}", "at least once"),
        Fact("vote of the nearest", percent(weights[:, 0].mean()), "its mean weight"),
        Fact("cases for half the weight", f"{np.median(half):g}", "median number"),
    ]
    if not isinstance(found, Prediction):
        spread = graph.numbers.text(float(np.median(found.spread)))
        return [*facts, Fact("spread of the voting values", spread, "median of their weighted standard deviation")]
    agree = (graph.labels[cases] == found.classes[:, None]) | (weights == 0)
    facts.append(Fact("unanimous votes", percent(agree.all(axis=1).mean()), "all cases are of the predicted class"))
    compared = np.isfinite(found.structure)
    node = settings.similarity.node_weight * found.node[compared].astype(np.float64)
    structure = (1 - settings.similarity.node_weight) * found.structure[compared].astype(np.float64)
    if np.abs(node).sum() + np.abs(structure).sum() > 0:
        share = np.abs(node).sum() / (np.abs(node).sum() + np.abs(structure).sum())
        meaning = "size of the two terms of similarity"
        facts.append(Fact("node : local graph", f"{percent(share)} : {percent(1 - share)}", meaning))
    if not compared.all():
        facts.append(Fact("compared by attributes alone", tenths(1 - compared.mean()), "of all comparisons: no edges"))
    return facts


COVERAGES = (0.8, 0.9, 0.95)


def set_table(trained: Model, nodes: IntArray) -> list[PredictionSets]:
    """Sets of the test nodes among ``nodes`` by APS; none without any, or with too few calibration nodes."""
    graph = trained.graph
    test = graph.test[np.isin(graph.test, nodes)]
    needed = {coverage: math.ceil(coverage / (1 - coverage) - 1e-9) for coverage in COVERAGES}
    usable = [one for one, least in needed.items() if len(graph.calibration) >= least and len(test)]
    return [prediction_sets(trained, test, coverage=one, seed=trained.facts.seed) for one in usable]
