"""Numbers of US counties by cases, beside published networks and a gradient-boosted forest on the same columns."""

from __future__ import annotations

from pathlib import Path

from lab.datasets.counties import TARGETS
from reproduce.job import Series
from reproduce.markdown import MISSING, measured, paragraphs, table
from reproduce.store import Store

TITLE = "Numbers of US counties, by cases"
ELSEWHERE = True  # on docs/understanding/measurements.md
CALIBRATION = 0.5  # share of the validation counties that calibrates intervals
GRID = {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [8, 16, 31], "max_iter": [100, 200, 400]}
PUBLISHED = {
    "GNN (published)": (0.73, 0.68, 0.56, 0.51),
    "label propagation (published)": (0.53, 0.35, 0.70, 0.59),
    "C-GNN (published)": (0.79, 0.71, 0.78, 0.69),
}  # "Residual Correlation in Graph Neural Network Regression", 2012
NAMES = {"forest": "gradient-boosted forest", "se-gnn": "cases"}
ABOUT = """\
R2 on the test counties: mean and standard deviation over the seeds (ten, unless noted), each with its own split. 60% of
the counties vote, 20% validate and 20% test. Half of the validation counties choose the epoch, the recipe and the vote
(for the forest: its size); the other half calibrates intervals. The forest reads the same columns: the county's own,
the means of its neighbors', and the known values of its neighbors."""
LATER = """\
The same models on 2016, without training again. Columns are encoded as those of 2012, and the known values of 2016
vote. The forest predicts in standard deviations, and uses the mean and the deviation of the values known in 2016."""
INTERVALS = """\
90% intervals on the test counties of 2012, in the unit of the column: how many hold the true number, and how wide they
are on average. Intervals of cases are wider where the voting cases disagree; those of the forest all have one width."""


def series_of(target: str, method: str) -> Series:
    """A method on a column."""
    settings = {"calibration": CALIBRATION}
    settings |= {"grid": GRID} if method == "forest" else {"config": {"preset": "best", "given": {}}}
    return Series(kind="counties", dataset=f"counties-{target.replace('_', '-')}", method=method, settings=settings)


def series() -> list[Series]:
    """Both methods on all columns."""
    return [series_of(target, method) for target in TARGETS for method in NAMES]


def render(store: Store, pictures: Path) -> str:
    """R2 of both years, then intervals."""
    if not any(store.of(one) for one in series()):
        return "> Not run yet: `make reproduce-counties`."
    header = ["", *(target.replace("_", " ") for target in TARGETS)]
    published = [[name, *(f"{value:.2f}" for value in values)] for name, values in PUBLISHED.items()]
    rows = {
        when: [[NAMES[method], *_cells(store, method, f"{when}r2", 3)] for method in NAMES] for when in ("", "later_")
    }
    widths = [
        [f"{name}, {words}", *_cells(store, method, measure, digits)]
        for method, name in NAMES.items()
        for words, measure, digits in (("coverage", "interval_coverage", 3), ("width", "interval_width", None))
    ]
    return paragraphs(
        ABOUT, table(header, [*published, *rows[""]]), LATER, table(header, rows["later_"]), INTERVALS,
        table(header, widths),
    )  # fmt: skip


def _cells(store: Store, method: str, measure: str, digits: int | None) -> list[str]:
    return [_cell(store, target, method, measure, digits) for target in TARGETS]


def _cell(store: Store, target: str, method: str, measure: str, digits: int | None) -> str:
    """Mean and standard deviation; three digits that count, unless told otherwise."""
    values = measured(store.of(series_of(target, method)), measure)
    if not len(values):
        return MISSING
    if digits is None:
        return f"{values.mean():,.0f}" if values.mean() >= 1000 else f"{values.mean():.3g}"
    seeds = "" if len(values) == 10 else f" ({len(values)} seeds)"
    return f"{values.mean():.{digits}f} ± {values.std():.{digits}f}{seeds}"
