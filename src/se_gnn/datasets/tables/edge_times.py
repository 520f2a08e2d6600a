"""When an edge came to be, or a node, in seconds since 1970, UTC: from dates as tables write them, or Unix seconds."""

from __future__ import annotations

import numpy as np

from se_gnn.datasets.tables.read import Table
from se_gnn.datasets.tables.values import SECONDS_A_DAY, Reading, parse_column
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edge_values import NO_TIME

LATEST = 100_000_000_000  # seconds, in the year 5138: what lies beyond is counted in something smaller than seconds


def first_times(pairs: IntArray, times: IntArray, num_nodes: int) -> IntArray:
    """Time of the first dated edge of each node, [N]; `NO_TIME` where it has none.

    >>> first_times(np.array([[0, 1], [1, 2]]), np.array([7, 5]), 4)[:3].tolist()
    [7, 5, 5]
    """
    first = np.full(num_nodes, np.iinfo(np.int64).max)
    dated = times != NO_TIME
    for end in (0, 1):
        np.minimum.at(first, pairs[dated, end], times[dated])
    return np.where(first == np.iinfo(np.int64).max, NO_TIME, first)


def read_times(table: Table, name: str, reading: Reading) -> IntArray:
    """Seconds since 1970 of each row, rounded down; `NO_TIME` where there is no date."""
    parsed = parse_column(table, name, reading)
    if parsed.kind not in ("number", "date"):
        parsed = parse_column(table, name, reading, kind="date")  # says which row is no date
    assert parsed.numbers is not None
    seconds = parsed.numbers * SECONDS_A_DAY if parsed.kind == "date" else parsed.numbers
    wrong = np.flatnonzero(np.abs(seconds) > LATEST)
    if len(wrong):
        row = int(wrong[0])
        raise table.error(
            name, row, f"{seconds[row]:.0f} seconds since 1970 is after the year 5000; are these milliseconds?"
        )
    # a date is a number of days: a thousandth of a second more, so that it is not rounded down to the second before
    whole = np.floor(np.where(parsed.missing, 0, seconds) + 1e-3).astype(np.int64)
    return np.where(parsed.missing, NO_TIME, whole)
