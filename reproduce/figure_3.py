"""Figure 3: precision@k of the nearest labeled nodes."""

from __future__ import annotations

from pathlib import Path

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, NAMES, NEAREST, classify, preset_on
from reproduce.paper import words
from reproduce.store import Store

TITLE = "Figure 3: precision@k of the nearest labeled nodes"
DATASETS = ("cora", "citeseer", "pubmed", "syn-cora-authors")
RANKS = range(1, 9)
NOTE = """\
A labeled node counts as correct if it has the class of the target. On Syn-Cora, it must have the role of the target:
it is the same node in another copy of the same motif. Each role has three labeled nodes, so precision@k is at most 3
/ k there."""


def series() -> list[Series]:
    """The methods that name labeled nodes, on four data sets."""
    return [one for dataset in DATASETS for one in compared(dataset).values()]


def compared(dataset: str) -> dict[str, Series]:
    """By method; the preset `best` where its settings differ from `authors`."""
    usual = {method: classify(dataset, method) for method in NEAREST}
    return usual if dataset.startswith("syn-cora") else {**usual, "se-gnn-best": preset_on(dataset, "best")}


def precision_of(dataset: str) -> tuple[str, int]:
    """What counts as right, role or class, and the k that is shown as a number."""
    return ("role_precision", 3) if dataset.startswith("syn-cora") else ("precision", 5)


def render(store: Store, pictures: Path) -> str:
    """The curves, and one k of them as a table."""
    figure, axes = chart.panels([DATASET_NAMES[name] for name in DATASETS], columns=2)
    methods = (*NEAREST, "se-gnn-best")
    header, rows = ["in percent"], {method: [NAMES[method]] for method in methods}
    for dataset, panel in zip(DATASETS, axes):
        measure, shown = precision_of(dataset)
        header.append(f"{DATASET_NAMES[dataset]}, precision@{shown}")
        results = {method: store.of(one) for method, one in compared(dataset).items()}
        lines = {method: list(100 * measured(found, measure).T) for method, found in results.items()}  # [k][seeds]
        for method in methods:
            known = method in results
            rows[method].append(spread(results[method], measure, item=shown - 1) if known else NOT_APPLICABLE)
        chart.draw_lines(panel, RANKS, lines, xlabel="k", ylabel="precision@k (%)")
    picture = chart.finish(figure, pictures / "figure-3.svg", alt="precision@k of the nearest labeled nodes")
    return paragraphs(words("figure_3"), NOTE, picture, table(header, list(rows.values())))
