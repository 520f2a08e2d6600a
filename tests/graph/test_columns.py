import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display.values import node_values, show_value
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.columns import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    TextColumn,
    check_columns,
    column_from_dict,
)
from se_gnn.graph.storage import load_graph, save_graph

BALANCE = NumberColumn(name="balance", first=0, size=2, marked=True, offset=3.0, scale=2.0, log_unit=10.0, decimals=2)
VERIFIED = BooleanColumn(name="verified", first=2, size=1, words=("no", "yes"), fill=0.75)
COUNTRY = CategoryColumn(name="country", first=3, size=3, categories=("DE", "FR"), has_other=True)
OPENED = DateColumn(name="opened", first=6, size=1, offset=19_000.0, scale=300.0)
NOTE = TextColumn(name="note", first=7, size=3, vocabulary=("late", "paid", "refund"), idf=(1.0, 1.5, 2.0))
COLUMNS = (BALANCE, VERIFIED, COUNTRY, OPENED, NOTE)


@given(st.floats(-1e5, 1e5))
def test_a_number_is_shown_with_the_decimals_of_the_table(number):
    feature = np.float32(BALANCE.encode(np.array([number]))[0])
    shown = float(show_value(BALANCE, [feature, 0]))
    assert shown == pytest.approx(number, rel=2e-5, abs=0.01)
    assert show_value(BALANCE, [feature, 1]) == "(missing)"


@pytest.mark.parametrize(
    ("column", "row", "shown"),
    [
        (BALANCE, [BALANCE.encode(np.array([312.5]))[0], 0], "312.50"),
        (BALANCE, [BALANCE.encode(np.array([123456789.0]))[0], 0], "123456789"),
        (BALANCE, [BALANCE.encode(np.array([-0.001]))[0], 0], "0.00"),
        (VERIFIED, [1], "yes"),
        (VERIFIED, [0], "no"),
        (VERIFIED, [0.75], "(missing)"),
        (VERIFIED, [0.5], "no / yes"),  # two ends of an edge, averaged
        (COUNTRY, [0, 1, 0], "FR"),
        (COUNTRY, [0, 0, 1], "(other)"),
        (COUNTRY, [0.5, 0.5, 0], "DE / FR"),
        (COUNTRY, [0, 0, 0], "(other)"),
        (OPENED, [np.float32((19_448 - 19_000) / 300)], "2023-04-01"),
        (NOTE, [0.2, 0, 0.9], "refund late"),
        (NOTE, [0, 0, 0], "(no known word)"),
    ],
)
def test_features_are_shown_as_the_table_has_them(column, row, shown):
    assert show_value(column, row) == shown


def test_times_are_shown_to_the_minute():
    column = DateColumn(name="seen", first=0, size=1, offset=19_000.0, scale=300.0, with_time=True)
    assert show_value(column, column.encode(np.array([19_448.5]))) == "2023-04-01 12:00"


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.kind)
def test_a_column_comes_back_from_json(column):
    assert column_from_dict(json.loads(json.dumps(column.to_dict()))) == column
    assert len(column.feature_names) == len(column.features)


def test_columns_must_cover_the_features():
    check_columns(COLUMNS, 10)
    with pytest.raises(InputError, match="cover the 11 features, they cover 10"):
        check_columns(COLUMNS, 11)
    with pytest.raises(InputError, match=r"column 'opened' has .* where feature 3 comes next"):
        check_columns((BALANCE, VERIFIED, OPENED), 4)
    with pytest.raises(InputError, match="has 3 features, got 2 values"):
        show_value(COUNTRY, [1, 0])
    with pytest.raises(InputError, match=r"must be one of number, .* got 'color'"):
        column_from_dict({"kind": "color"})


def test_columns_are_stored_with_the_graph_and_name_the_values_of_a_node(tmp_path):
    features = np.zeros((2, 10))
    features[1] = [BALANCE.encode(np.array([12.5]))[0], 0, 1, 1, 0, 0, 0, 0, 1, 0]
    features[0, 1] = 1
    graph = Graph.build(features=features, edges=[[0, 1]], labels=[0, 1], columns=COLUMNS)
    save_graph(graph, tmp_path)
    loaded = load_graph(tmp_path)
    assert loaded.columns == COLUMNS
    assert node_values(loaded, 1) == {
        "balance": "12.50",
        "verified": "yes",
        "country": "DE",
        "opened": "2022-01-08",
        "note": "paid",
    }
    assert node_values(loaded, 0)["balance"] == "(missing)"


def test_without_a_table_the_features_are_named():
    graph = Graph.build(
        features=[[0.5, 2.0], [1.0, 0.0]], edges=[], labels=[0, 1], feature_names=("degree", "triangles")
    )
    assert node_values(graph, 0) == {"degree": "0.5", "triangles": "2"}
