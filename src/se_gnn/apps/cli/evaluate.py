"""`se-gnn evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import ModelFolder, OtherGraph, shows_progress
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import percent, table
from se_gnn.number_format import number
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.model import TrainedModel


def evaluate(
    folder: ModelFolder,
    graph: OtherGraph = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    progress: bool = False,
) -> None:
    """Measure a model on its validation and test nodes.

    Accuracy, precision@5 (how many of the 5 nearest labeled nodes have the node's own class), balanced accuracy,
    macro-F1, loss and calibration error; and for each class how many of its test nodes were found (recall) and how many
    of those predicted so are right (precision).
    """
    from se_gnn.model.folder import load_model_on

    trained, shown = load_model_on(folder, graph), shows_progress(progress)
    with announce_compilation(shown=shown), phase("scoring", shown=shown):
        figures = measure(trained)
    if as_json:
        import json

        say(json.dumps(figures, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(_show(figures))


def measure(trained: TrainedModel) -> dict[str, Any]:
    """All figures of a model as plain values; None where there are no nodes to measure on."""
    from se_gnn.model.evaluate import evaluate as figures_of

    return figures_of(trained)


def _show(figures: dict[str, Any]) -> str:
    measured = (("validation", figures["validation"]), ("test", figures["test"]))
    shares = ("accuracy", "precision_at_5", "balanced_accuracy", "macro_f1")
    parts = [[name, f"{part['nodes']:,}", *(percent(part[key]) for key in shares)] for name, part in measured]
    columns = ["", "loss", "calibration error", "ROC-AUC", "average precision"]
    keys = ("loss", "calibration_error", "roc_auc", "average_precision")
    probabilities = [[name, *(_decimal(part[key]) for key in keys)] for name, part in measured]
    two = len(figures["classes"]) == 2
    shown = len(columns) if two else 3  # the last two ask for one class of two
    numbers = ("labeled", "test", "predicted")
    classes = [
        [row["class"], *(f"{row[key]:,}" for key in numbers), *(percent(row[key]) for key in ("recall", "precision"))]
        for row in figures["classes"]
    ]
    return "\n\n".join(
        [
            f"{figures['dataset']}, preset {figures['preset']}",
            table(["", "nodes", "accuracy", "precision@5", "balanced accuracy", "macro-F1"], parts),
            table(columns[:shown], [row[:shown] for row in probabilities]),
            *_positive(figures),
            "Test nodes by class",
            table(["class", *numbers, "recall", "precision"], classes),
        ]
    )


def _positive(figures: dict[str, Any]) -> list[str]:
    """Which of two classes the last two figures are about."""
    found = [figures[part]["positive"] for part in ("test", "validation") if figures[part]["positive"] is not None]
    if not found:
        return []
    return [f"ROC-AUC and average precision are those of the rarer class, {figures['classes'][found[0]]['class']!r}."]


def _decimal(value: float | None) -> str:
    return "-" if value is None else number(value)
