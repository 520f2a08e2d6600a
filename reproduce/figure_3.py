"""Figure 3: precision@k of the nearest labeled nodes."""

from __future__ import annotations

from pathlib import Path

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, NAMES, NEAREST, classify
from reproduce.paper import words
from reproduce.store import Store

TITLE = "Figure 3: precision@k of the nearest labeled nodes"
DATASETS = ("cora", "citeseer", "pubmed", "syn-cora-authors")
RANKS = range(1, 9)
NOTE = """\
A labeled node counts as right where it has the class of the target; on Syn-Cora where it has the role of the target:
it is the same node in another copy of the same motif. Of each role there are three labeled nodes, so precision@k is
at most 3 / k there."""


def series() -> list[Series]:
    """The methods that name labeled nodes, on four data sets."""
    return [classify(dataset, method) for dataset in DATASETS for method in NEAREST]


def precision_of(dataset: str) -> tuple[str, int]:
    """What counts as right, role or class, and the k that is shown as a number."""
    return ("role_precision", 3) if dataset.startswith("syn-cora") else ("precision", 5)


def render(store: Store, pictures: Path) -> str:
    """The curves, and one k of them as a table."""
    figure, axes = chart.panels([DATASET_NAMES[name] for name in DATASETS], columns=2)
    header, rows = ["in percent"], {method: [NAMES[method]] for method in NEAREST}
    for dataset, panel in zip(DATASETS, axes):
        measure, shown = precision_of(dataset)
        header.append(f"{DATASET_NAMES[dataset]}, precision@{shown}")
        lines = {}
        for method in NEAREST:
            results = store.of(classify(dataset, method))
            lines[method] = list(100 * measured(results, measure).T)  # [k][seeds]
            rows[method].append(spread(results, measure, item=shown - 1))
        chart.draw_lines(panel, RANKS, lines, xlabel="k", ylabel="precision@k (%)")
    picture = chart.finish(figure, pictures / "figure-3.svg", alt="precision@k of the nearest labeled nodes")
    return paragraphs(words("figure_3"), NOTE, picture, table(header, list(rows.values())))
