"""Equal means equal in the table, close means close, and everything else is not marked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from se_gnn.explain import Value
from se_gnn.explain.attributes import Mentioned, Spread, value_among
from se_gnn.explain.text import likeness, side_by_side
from se_gnn.tables import ImportSettings, read_tables


@pytest.fixture(scope="module")
def accounts():
    """Forty accounts; names and towns are nearly unique, so the encoder knows them as "(other)" at best."""
    draw = np.random.default_rng(0)
    nodes = pd.DataFrame(
        {
            "account": [f"K{i}" for i in range(40)],
            "town": [f"town {i % 20}" for i in range(40)],
            "opened": pd.date_range("2020-01-01", periods=40, freq="D"),
            "amount": np.sort(np.exp(draw.normal(4, 2, 40))).round(2),
            "state": ["ok", "fraud"] * 20,
        }
    )
    edges = pd.DataFrame({"source": [f"K{i}" for i in range(39)], "target": [f"K{i + 1}" for i in range(39)]})
    return read_tables(nodes, edges, ImportSettings(id="account", label="state", keep=["town"])).graph


def rows_of(graph, node, other):
    nodes = Mentioned(graph).nodes((), (node, other))
    return side_by_side(nodes[node], [nodes[other]]).rows


def alike(graph, node, other):
    return {row.name: row.alike[0] for row in rows_of(graph, node, other)}


def test_only_equal_values_are_equal(accounts):
    for other in range(1, 40):
        rows = rows_of(accounts, 0, other)
        assert all((row.alike[0] == "equal") == (row.value == row.others[0]) for row in rows)


def test_numbers_and_dates_are_close_only_if_hardly_any_value_lies_between(accounts):
    assert alike(accounts, 10, 11)["opened"] == alike(accounts, 10, 11)["amount"] == "close"
    assert alike(accounts, 10, 30)["opened"] == alike(accounts, 10, 30)["amount"] == ""


def test_a_gap_without_values_between_is_not_close_if_it_is_wide():
    values = Spread.of(np.array([0.0, 0.1, 0.2, 9.0, 9.1]))
    low, high, higher = (value_among(str(number), number, values) for number in (0.2, 9.0, 9.1))
    assert likeness(low, high) == ""
    assert likeness(high, higher) == "close"


@pytest.mark.parametrize("value", ["(missing)", "(other)", ""])
def test_what_is_not_known_is_like_nothing(value):
    assert likeness(Value(value), Value(value)) == ""
