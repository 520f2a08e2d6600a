"""How many labels it takes: test accuracy by the number of labeled nodes per class."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import spread, table
from reproduce.methods import DATASET_NAMES, se_gnn_settings
from reproduce.store import Store

TITLE = "How many labels: accuracy by the number of labeled nodes per class"
ELSEWHERE = True  # on no page until it has been run
DATASETS = ("cora", "pubmed", "digits")
PER_CLASS = (1, 2, 5, 10, 20)


def with_labels(dataset: str, per_class: int) -> Series:
    """The default preset with that many labeled nodes per class."""
    settings = {"config": se_gnn_settings(dataset, "best"), "per_class": per_class}
    return Series(kind="labels", dataset=dataset, method="se-gnn", variant=f"{per_class}-per-class", settings=settings)


def series() -> list[Series]:
    """Every number on every graph; digits have ten labeled nodes per class, and more would be test nodes."""
    return [
        with_labels(dataset, per_class)
        for dataset in DATASETS
        for per_class in PER_CLASS
        if not (dataset == "digits" and per_class > 10)
    ]


def render(store: Store, pictures: Path) -> str:
    """A row per graph that was run."""
    shown = {one.name for one in series()}
    rows = []
    for dataset in DATASETS:
        columns = [with_labels(dataset, per_class) for per_class in PER_CLASS]
        if any(store.of(one) for one in columns):
            cells = [spread(store.of(one), "accuracy") if one.name in shown else "" for one in columns]
            rows.append([DATASET_NAMES.get(dataset, dataset.capitalize()), *cells])
    if not rows:
        return "> Not run yet: `make reproduce-labels`."
    return table(["labeled nodes per class", *map(str, PER_CLASS)], rows)
