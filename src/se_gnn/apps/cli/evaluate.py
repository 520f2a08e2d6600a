"""`se-gnn evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import ModelFolder, OtherGraph
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import percent, table
from se_gnn.figures import known

if TYPE_CHECKING:
    from se_gnn.graph import AttributedGraph
    from se_gnn.graph.attributed import IntArray
    from se_gnn.model import Prediction, TrainedModel


def evaluate(
    folder: ModelFolder,
    graph: OtherGraph = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure a model on its validation and test nodes.

    Accuracy, precision@5 (how many of the 5 nearest labeled nodes have the node's own class), and for each class how
    many of its test nodes were found (recall) and how many of those predicted so are right (precision).
    """
    from se_gnn.model.folder import load_model_on

    figures = measure(load_model_on(folder, graph))
    if as_json:
        import json

        say(json.dumps(figures, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(_show(figures))


def measure(trained: TrainedModel) -> dict[str, Any]:
    """All figures of a model as plain values; None where there are no nodes to measure on."""
    graph = trained.graph
    val, test = trained.predict(graph.val), trained.predict(graph.test)
    return {
        "dataset": graph.name,
        "preset": trained.config.preset_name,
        "validation": _figures(val, graph.labels),
        "test": _figures(test, graph.labels),
        "classes": _by_class(test, graph),
    }


def _figures(prediction: Prediction, labels: IntArray) -> dict[str, Any]:
    return {
        "nodes": len(prediction.nodes),
        "accuracy": known(prediction.accuracy(labels)),
        "precision_at_5": known(prediction.precision_at(5, labels)),
        "loss": known(prediction.loss(labels)),
    }


def _by_class(prediction: Prediction, graph: AttributedGraph) -> list[dict[str, Any]]:
    from se_gnn.model.by_class import by_class, confusion_matrix

    confusion = confusion_matrix(graph.labels[prediction.nodes], prediction.classes, graph.num_classes)
    return [
        {
            "class": graph.class_names[one.label],
            "labeled": one.labeled,
            "test": one.nodes,
            "predicted": one.predicted,
            "recall": one.recall,
            "precision": one.precision,
        }
        for one in by_class(graph, confusion)
    ]


def _show(figures: dict[str, Any]) -> str:
    parts = [
        [name, f"{part['nodes']:,}", percent(part["accuracy"]), percent(part["precision_at_5"])]
        for name, part in (("validation", figures["validation"]), ("test", figures["test"]))
    ]
    numbers, shares = ("labeled", "test", "predicted"), ("recall", "precision")
    classes = [
        [row["class"], *(f"{row[key]:,}" for key in numbers), *(percent(row[key]) for key in shares)]
        for row in figures["classes"]
    ]
    return "\n\n".join(
        [
            f"{figures['dataset']}, preset {figures['preset']}",
            table(["", "nodes", "accuracy", "precision@5"], parts),
            "Test nodes by class",
            table(["class", *numbers, *shares], classes),
        ]
    )
