"""A training for a terminal: what was understood before it begins, and what was decided and reached after it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from se_gnn.display.terminal import count, paragraph, percent
from se_gnn.graph import Graph
from se_gnn.model import Model
from se_gnn.settings import Resolved
from se_gnn.settings.presets import PRESETS
from se_gnn.training.trainer import is_split

UNEVEN = 0.1  # accuracy that far above the mean recall of the classes hides that some are seldom found


def plan_text(graph: Graph, settings: Resolved, seed: int, device: str, ranks: int) -> str:
    """What was understood, before the work begins."""
    storage = "dense" if not hasattr(graph.features, "indptr") else "sparse"
    isolated = int((graph.degrees == 0).sum())
    similarity, held = settings.similarity, "intervals" if graph.predicts_numbers else "prediction sets"
    lines = [
        f"{graph.name}: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}, "
        f"{graph.num_features:,} {storage} features, "
        + (f"number {graph.numbers.name}" if graph.predicts_numbers else count(graph.num_classes, "class", "classes")),
        _line(
            "split",
            f"{len(graph.train):,} labeled, {len(graph.validation):,} validation, {len(graph.test):,} test nodes",
        ),
    ]
    if len(graph.calibration):
        lines.append(_line("held out", f"{count(len(graph.calibration), 'node')} for {held}"))
    if graph.merged.given > graph.num_edges:
        lines.append(_line("merged", str(graph.merged)))
    if isolated:
        lines.append(_line("isolated", f"{count(isolated, 'node')} without edges, compared by attributes only"))
    if ranks > 1:
        lines.append(_line("processes", f"{ranks}, {divided(settings)}"))
    lines.append(_line("preset", _taken(settings, graph)))
    if settings.selection.portfolio:
        chosen = "chosen on the validation nodes; the reasons follow"
        if not len(graph.validation):
            chosen = "those of the first recipe, because there are no validation nodes to choose on"
    else:
        chosen = (
            f"{settings.vote.num_nearest} nearest of {len(graph.train):,} labeled nodes, {similarity.measure} "
            f"similarity, lambda {similarity.node_weight:g}, {count(similarity.hops, 'hop')}, up to "
            f"{count(settings.training.epochs, 'epoch')}"
        )
    return "\n".join([*lines, _line("settings", chosen), f"  run       seed {seed}, on {device}", ""])


def divided(settings: Resolved) -> str:
    """How several processes share the work."""
    if settings.selection.portfolio or settings.encoder.members > 1:
        return "each trains whole runs"
    if is_split(settings):
        return "which train one run together"
    return "but only one of them trains: a single run with objective = vote is not split"


def _taken(settings: Resolved, graph: Graph) -> str:
    """Which preset fills in the settings, whether it has its own for this data set, and how many were given."""
    own = PRESETS[settings.preset].dataset_with_settings(graph.dataset)
    given = f", changed: {', '.join(sorted(settings.asked.given))}" if settings.asked.given else ""
    return f"{settings.preset}, " + (f"with its settings for {own}" if own else "the same for every graph") + given


def _line(label: str, text: str) -> str:
    return paragraph(text, indent=12, label=f"  {label}")


def results_text(trained: Model, out: Path) -> str:
    """What was decided during the training, and its results."""
    facts, best, most = trained.facts, trained.facts.chosen_run, trained.settings.training.epochs
    assert best is not None
    test, validation = facts.test or {}, facts.validation or {}
    stopped = f" of {most:,}: stopped early," if best.stopped_early else ","
    runs = f" in {len(facts.runs)} runs" if len(facts.runs) > 1 else f"{stopped} the best was epoch {best.best_epoch}"
    decided = [_line("decided", str(decision)) for decision in trained.settings.decisions]
    if trained.graph.predicts_numbers:
        error = "-" if test["mae"] is None else trained.graph.numbers.text(test["mae"])
        figures = [
            f"test R2              {_digits(test['r2'])}",
            f"validation R2        {_digits(validation['r2'])}",
            f"mean absolute error  {error} on test nodes",
        ]
    else:
        figures = [
            f"test accuracy        {percent(test['accuracy'])}",
            f"validation accuracy  {percent(validation['accuracy'])}",
            f"precision@5          {percent(test['precision_at_5'])}",
        ]
    figures.append(f"epochs               {facts.epochs}{runs}; {facts.seconds_per_epoch:.2g} s each")
    warning = [] if trained.graph.predicts_numbers else ["", uneven_classes(test, out)]
    return "\n".join([*decided, *([""] if decided else []), *figures, *warning]).rstrip()


def _digits(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:.3f}"


def uneven_classes(test: Mapping[str, Any], out: Path) -> str:
    """A warning that accuracy is misleading if some classes of the test nodes are seldom found; else nothing."""
    accuracy, balanced = test["accuracy"], test["balanced_accuracy"]
    if accuracy is None or accuracy - balanced < UNEVEN:
        return ""
    return paragraph(
        f"Accuracy is misleading here: the mean recall of the classes is only {percent(balanced)}. "
        f"`{shlex.join(['se-gnn', 'evaluate', str(out)])}` shows each class. Rank nodes by the probability of a rare "
        "class, or let fewer nodes of the common classes vote (se-gnn import --set max_train=N)."
    )
