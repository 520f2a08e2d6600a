"""Table 3: ratings by people. No job makes them: `python -m lab rate` asks people, `... ratings` shows the answers."""

from __future__ import annotations

import csv
from pathlib import Path

from lab.rating.store import Rating
from lab.rating.summary import MethodRow, summarize
from reproduce.job import Series
from reproduce.markdown import paragraphs, table
from reproduce.methods import DATASET_NAMES, NAMES, NEAREST
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 3: mean ratings by people"
FILE = "table-3.csv"  # beside the results: every answer, as `python -m lab ratings --out` writes them
EMPTY = "no ratings yet"
NOTE = f"""\
The numbers are the share of pairs that raters call similar; a pair is a target and the labeled node that a method
finds nearest. The paper asked 30 people to rate at least 15 pairs each. It says that 0 means similar and 1 does not,
but reads high ratings as good, so 1 must mean similar. Our column is filled by people as well. [Rating
explanations](lab.md#ratings-by-people) describes how to ask them:

    python -m lab rate cora citeseer pubmed --out ratings.sqlite              # model folders; raters open the page
    python -m lab ratings ratings.sqlite --out reproduce/results/{FILE}   # when they are done
    python -m reproduce render                                         # fills the column, with 95% intervals"""


def series() -> list[Series]:
    """Nothing that a machine could run."""
    return []


def render(store: Store, pictures: Path) -> str:
    """The printed ratings, and ours where there are any."""
    ours = {(row.model, row.method): row for row in _ours(store.folder / FILE)}
    rows = [
        [DATASET_NAMES[dataset], NAMES[method], f"{value:.3f}", _cell(ours.get((dataset, method)))]
        for dataset, values in printed("table_3").items()
        for method, value in ((method, values[method]) for method in NEAREST)
    ]
    return paragraphs(table(["data set", "method", "paper", "ours"], rows), NOTE)


def _ours(path: Path) -> tuple[MethodRow, ...]:
    if not path.exists():
        return ()
    with path.open(newline="", encoding="utf-8") as file:
        ratings = [Rating(**{**row, "pair": int(row["pair"])}) for row in csv.DictReader(file)]
    return summarize(ratings, models=list(printed("table_3")), methods=NEAREST).methods


def _cell(row: MethodRow | None) -> str:
    if row is None or row.share is None or row.interval is None:
        return EMPTY
    low, high = row.interval
    return f"{row.share:.3f} ({low:.3f} to {high:.3f}; {row.ratings} ratings)"
