"""Baselines with the settings of the authors' scripts in place of those that validation nodes chose."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from lab.baselines import baseline
from reproduce.job import Series
from reproduce.markdown import paragraphs, table
from reproduce.methods import classify
from reproduce.store import Store
from reproduce.table_2 import DATASETS, beside_the_print

TITLE = "Baselines with the settings of the authors' scripts, accuracy in percent"
ABOUT = """\
In Table 2, the settings of each baseline were chosen on validation nodes. The authors' scripts instead use raw
attributes, 16 hidden units, no dropout of attributes and, for their GIN, the weights of a GCN layer. With these fixed
settings, the same code gives:"""
_NETWORK: dict[str, Any] = {"features": "raw", "hidden_size": 16, "input_dropout": 0.0, "dropout": 0.5}
_NEAREST: dict[str, Any] = {**_NETWORK, "dropout": 0.15, "num_nearest": 40}
SETTINGS: dict[str, dict[str, Any]] = {
    "gcn": _NETWORK,
    "gin": {**_NETWORK, "propagation": "normalized"},
    "mlp-k": {**_NEAREST, "dropout": 0.5},
    "gcn-k": _NEAREST,
    "gin-k": {**_NEAREST, "propagation": "normalized"},
}


def as_published(dataset: str, method: str) -> Series:
    """A baseline with those settings, the same on every data set."""
    settings = dataclasses.asdict(baseline(method, **SETTINGS[method]).settings)
    return dataclasses.replace(classify(dataset, method, variant="authors-settings"), settings=settings)


def series() -> list[Series]:
    """Every baseline that the scripts have, on every citation graph."""
    return [as_published(dataset, method) for dataset in DATASETS for method in SETTINGS]


def render(store: Store, pictures: Path) -> str:
    """A row for each method: printed, with these settings, and as in Table 2."""
    return paragraphs(
        ABOUT, table(*beside_the_print(store, SETTINGS, {"these settings": as_published, "Table 2": classify}))
    )
