"""Figure 3: precision@k of the nearest labeled nodes."""

from __future__ import annotations

from pathlib import Path

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import measured, spread, table
from reproduce.methods import DATASET_NAMES, NAMES, NEAREST, classify
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Figure 3: precision@k of the nearest labeled nodes"
DATASETS = ("cora", "citeseer", "pubmed", "syn-cora-authors")
RANKS = range(1, 9)
NOTE = """\
A labeled node counts as right where it has the class of the target; on Syn-Cora where it has the role of the target: it
is the same node in another copy of the same motif."""


def series() -> list[Series]:
    """The methods that name labeled nodes, on four data sets."""
    return [classify(dataset, method) for dataset in DATASETS for method in NEAREST]


def measure_of(dataset: str) -> str:
    """What counts as right: the role where there is one, else the class."""
    return "role_precision" if dataset.startswith("syn-cora") else "precision"


def render(store: Store, pictures: Path) -> str:
    """The curves, and precision@5 as a table."""
    figure, axes = chart.panels([DATASET_NAMES[name] for name in DATASETS], columns=2)
    rows = {method: [NAMES[method]] for method in NEAREST}
    for dataset, panel in zip(DATASETS, axes):
        lines = {}
        for method in NEAREST:
            results = store.of(classify(dataset, method))
            values = 100 * measured(results, measure_of(dataset))  # [seeds, k]
            lines[method] = list(values.T)
            rows[method].append(spread(results, measure_of(dataset), item=4))
        chart.draw_lines(panel, list(RANKS), lines, xlabel="k", ylabel="precision@k (%)")
    chart.finish(figure, pictures / "figure-3.svg")
    header = ["precision@5, in percent", *(DATASET_NAMES[name] for name in DATASETS)]
    paper = printed("figure_3")
    return "\n\n".join(
        [
            f"The paper says: {paper['text']} It does not print {paper['not_printed']}.",
            NOTE,
            "![precision@k](results/figure-3.svg)",
            table(header, list(rows.values())),
        ]
    )
