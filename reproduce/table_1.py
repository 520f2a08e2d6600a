"""Table 1: statistics of the data sets."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import MISSING, NOT_APPLICABLE, table
from reproduce.methods import DATASET_NAMES
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 1: statistics of the data sets"
COLUMNS = ("nodes", "edges", "features", "classes")
IN_PRINT_AS = {"syn-cora-authors": "syn-cora", "ba-shapes-pgexplainer": "ba-shapes"}
NOTE = """\
An undirected edge counts once. Where the numbers differ from the printed ones:

- Cora and PubMed: the paper prints the number of citations as collected; some pairs of papers cite each other, and
  some papers themselves. The nodes of PubMed are as many as in the public files; the printed number has two digits in
  another order.
- Syn-Cora is drawn at random from Cora. `syn-cora` is a draw of our generator, `syn-cora-authors` of the authors'
  own.
- BA-Shapes: the paper's number of edges is about twice ours; it seems to count both directions. `ba-shapes` is a draw
  of our generator, `ba-shapes-pgexplainer` the draw published with PGExplainer. Degree and number of triangles stand
  in for features, as in the paper.
"""


def series() -> list[Series]:
    """Each data set once."""
    return [Series(kind="statistics", dataset=name, method="load", settings={}, seeded=False) for name in DATASET_NAMES]


def render(store: Store, pictures: Path) -> str:
    """Printed and counted side by side."""
    rows = []
    for one in series():
        paper = printed("table_1")[IN_PRINT_AS.get(one.dataset, one.dataset)]
        results = store.of(one)
        row = [f"{DATASET_NAMES[one.dataset]}, `{one.dataset}`"]
        for column in COLUMNS:
            row.append(f"{paper[column]:,}" if column in paper else NOT_APPLICABLE)
            row.append(f"{results[0].measures[column]:,}" if results else MISSING)
        rows.append(row)
    header = ["data set", *(f"{column}, {who}" for column in COLUMNS for who in ("paper", "ours"))]
    return f"{table(header, rows)}\n\n{NOTE}"
