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
An undirected edge counts once. The differences from the printed numbers:

- Cora and PubMed: the paper prints the number of citations as collected; some pairs of papers cite each other, and
  some papers cite themselves. Our number of nodes of PubMed is that of the public files; the printed number has two
  digits swapped.
- Syn-Cora is drawn at random from Cora. `syn-cora` comes from our generator, `syn-cora-authors` from the authors'.
- BA-Shapes: the paper's number of edges is about twice ours; it seems to count both directions. `ba-shapes` comes from
  our generator; `ba-shapes-pgexplainer` is the graph published with PGExplainer. Degree and number of triangles serve
  as features, as in the paper.
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
