"""Figure 7: the weights of the two self-supervised losses, alpha and beta, on PubMed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import MISSING, measured, paragraphs
from reproduce.methods import classify
from reproduce.paper import printed, words
from reproduce.store import Store

TITLE = "Figure 7: alpha and beta on PubMed"
MEASURES = {"accuracy": "Accuracy (%)", "precision_at_5": "Precision@5 (%)"}


def with_weights(alpha: float, beta: float) -> Series:
    """SE-GNN on PubMed with these weights; where they are the usual ones it is the series of Table 2."""
    variant = f"alpha-{alpha:g}-beta-{beta:g}"
    changed = classify("pubmed", "se-gnn", variant=variant, node_loss_weight=alpha, edge_loss_weight=beta)
    usual = classify("pubmed", "se-gnn")
    return usual if changed.settings["values"] == usual.settings["values"] else changed


def series() -> list[Series]:
    """The grid of the paper."""
    values = printed("figure_7")["values"]
    return [with_weights(alpha, beta) for alpha in values for beta in values]


def render(store: Store, pictures: Path) -> str:
    """Two maps: the mean over the seeds of each cell."""
    weights = printed("figure_7")["values"]
    results = [[store.of(with_weights(alpha, beta)) for beta in weights] for alpha in weights]
    counts = [len(cell) for row in results for cell in row]
    figure, axes = chart.panels(list(MEASURES.values()), columns=2)
    for measure, panel in zip(MEASURES, axes):
        means = [[_mean(100 * measured(cell, measure)) for cell in row] for row in results]
        chart.draw_heat(panel, weights, np.array(means), xlabel="beta (edge loss)", ylabel="alpha (node loss)")
    picture = chart.finish(figure, pictures / "figure-7.svg", alt="accuracy and precision@5 by alpha and beta")
    seeds = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    note = f"Each cell is the mean over {seeds} seeds; empty: {MISSING}." if any(counts) else ""
    return paragraphs(words("figure_7"), picture, note)


def _mean(values: chart.Values) -> float:
    return float(values.mean()) if len(values) else float("nan")
