"""Table 2: accuracy on the citation graphs."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import percent, spread, table
from reproduce.methods import CLASSIFIERS, DATASET_NAMES, NAMES, classify
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 2: accuracy on the citation graphs, in percent"
DATASETS = ("cora", "citeseer", "pubmed")


def series() -> list[Series]:
    """Every classifier on every citation graph."""
    return [classify(dataset, method) for dataset in DATASETS for method in CLASSIFIERS]


def render(store: Store, pictures: Path) -> str:
    """A row for each method."""
    rows = []
    for method in CLASSIFIERS:
        row = [NAMES[method]]
        for dataset in DATASETS:
            row.append(percent(*printed("table_2")[dataset][method]))
            row.append(spread(store.of(classify(dataset, method)), "accuracy"))
        rows.append(row)
    return table(["", *(f"{DATASET_NAMES[name]}, {who}" for name in DATASETS for who in ("paper", "ours"))], rows)
