"""Generated graphs in which only the direction, type, weight or an attribute of edges tells the classes apart."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from lab.datasets.edge_signal import Signal
from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Store

TITLE = "Graphs in which only what edges carry tells the classes apart"
ELSEWHERE = True  # on docs/understanding/measurements.md
NAMES = {"direction": "direction", "kind": "type", "weight": "weight", "attribute": "an attribute"}
EPOCHS = 100
ABOUT = f"""\
The table shows the test accuracy in percent of the default's first recipe with one member and {EPOCHS} epochs, mean
and standard deviation over the seeds. Each seed has its own graph: 240 accounts of two classes, 40 of them labeled,
and 120 partners. *Agree* is the share of the edges of 20 test nodes that are matched, in the nearest case, with an
edge of the same value. (For the direction, an edge at the node may match one farther out that leads the same way,
seen from the center, but from a partner to an account; such a match does not count.)"""


def series_of(signal: str, *, carried: bool) -> Series:
    """One signal, with or without what the edges carry."""
    dataset, variant = f"only-{signal}", "" if carried else "without"
    config = se_gnn_settings(dataset, "best", **ONE_RUN, epochs=EPOCHS)
    settings = {"config": config, "signal": signal, "carried": carried}
    return Series(kind="edge_signal", dataset=dataset, method="se-gnn", variant=variant, settings=settings)


def series() -> list[Series]:
    """Every signal, with and without it."""
    return [series_of(signal, carried=carried) for signal in get_args(Signal) for carried in (False, True)]


def render(store: Store, pictures: Path) -> str:
    """A row per signal that was run."""
    rows = []
    for signal, name in NAMES.items():
        without, found = (store.of(series_of(signal, carried=carried)) for carried in (False, True))
        if found:
            cells = [spread(without, "accuracy") if without else "-", spread(found, "accuracy"), spread(found, "alike")]
            rows.append([name, *cells])
    if not rows:
        return "> Not run yet: `make reproduce-edge-signal`."
    return paragraphs(ABOUT, table(["only this differs", "without it", "with it", "agree"], rows))
