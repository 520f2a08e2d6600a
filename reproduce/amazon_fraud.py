"""Fraud among reviewers: the default beside a GCN, and beside a forest that sees the columns alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import se_gnn_settings
from reproduce.store import Store

TITLE = "Fraud among reviewers"
ELSEWHERE = True  # on docs/understanding/measurements.md
TREES = 500
EPOCHS = 100
DATASETS = {"amazon-fraud-1": "1% labeled", "amazon-fraud": "10% labeled"}
NAMES = {"se-gnn": "SE-GNN", "gcn": "GCN", "forest": "random forest on the columns"}
ABOUT = f"""\
`amazon-fraud` has 10,224 users and 25 columns; 6.8% of the users are fraud. Each seed has its own split, the same for
all methods. The table shows the ROC-AUC and the average precision of fraud in percent, mean and standard deviation
over the seeds. SE-GNN is the default with {EPOCHS} epochs; the validation users choose between its recipes by
ROC-AUC."""


def series_of(dataset: str, method: str) -> Series:
    """A method with a share of labels."""
    changes: dict[str, Any] = {"epochs": EPOCHS, "best_by": "roc_auc"}
    settings = {
        "se-gnn": {"config": se_gnn_settings(dataset, "best", **changes)},
        "gcn": {},
        "forest": {"trees": TREES},
    }[method]
    return Series(kind="amazon_fraud", dataset=dataset, method=method, settings=settings)


def series() -> list[Series]:
    """All methods, with few labels and with more."""
    return [series_of(dataset, method) for dataset in DATASETS for method in NAMES]


def render(store: Store, pictures: Path) -> str:
    """A row per share of labels and method that was run."""
    rows = []
    for dataset, share in DATASETS.items():
        for method, name in NAMES.items():
            found = store.of(series_of(dataset, method))
            if found:
                cells = [
                    spread(found, f"{part}_{what}")
                    for what in ("roc_auc", "average_precision")
                    for part in ("val", "test")
                ]
                rows.append([share, name, *cells])
    if not rows:
        return "> Not run yet: `make reproduce-amazon-fraud`."
    heads = ["ROC-AUC, validation", "test", "average precision, validation", "test"]
    return paragraphs(ABOUT, table(["", "", *heads], rows))
