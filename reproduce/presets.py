"""A table of the README: test accuracy and precision@5 of the presets beside the default."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import spread, table
from reproduce.methods import preset_on
from reproduce.store import Store

TITLE = "The other presets, in the README"
ELSEWHERE = True
SHOWN = (("citeseer", "authors"), ("cora", "authors"), ("cora", "paper"), ("pubmed", "authors"))


def series() -> list[Series]:
    """Each preset on the data sets it is shown with."""
    return [preset_on(dataset, preset) for dataset, preset in SHOWN]


def render(store: Store, pictures: Path) -> str:
    """A row for each that was run with the settings of today."""
    rows = []
    for dataset, preset in SHOWN:
        results = store.of(preset_on(dataset, preset))
        if not results:
            continue
        rows.append([f"{dataset}, `{preset}`", spread(results, "accuracy"), spread(results, "precision_at_5")])
    return table(["data set, preset", "test accuracy", "precision@5"], rows)
