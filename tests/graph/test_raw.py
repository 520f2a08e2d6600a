"""Rows of a table that are kept to be shown."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.graph import Graph, RawTable
from se_gnn.graph.storage import load_graph, save_graph
from strategies import random_graph

CELLS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6))
def test_every_cell_comes_back(rows):
    raw = RawTable.from_columns({name: [row[i] for row in rows] for i, name in enumerate("abc")})
    assert [tuple(raw.row(i).values()) for i in range(len(raw))] == rows


def test_a_text_in_many_cells_is_stored_once():
    raw = RawTable.from_columns({"one": ["same"] * 1000, "other": ["same"] * 1000})
    assert len(raw.texts.text) == len("same")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": np.array([[0.5]])}, "raw codes must be int32, got float64"),
        ({"codes": np.array([[0, 0]], np.int32)}, "1 cells per node"),
        (
            {"columns": ("a", "a"), "codes": np.array([[0, 0]], np.int32)},
            "columns of raw must be unique, got 'a' twice",
        ),
    ],
)
def test_a_table_that_does_not_fit_together_is_refused(change, message):
    raw = RawTable.from_columns({"a": ["text"]})
    with pytest.raises(InputError, match=message):
        dataclasses.replace(raw, **change)


def graph_with_rows() -> Graph:
    captions = ["", *(f"Person {i}" for i in range(1, 16))]
    raw = RawTable.from_columns({"note": [f"note {i % 3}" if i else None for i in range(16)]})
    return random_graph(captions=captions, raw=raw)


def test_a_node_without_a_caption_is_shown_by_its_name():
    graph = graph_with_rows()
    assert [graph.caption(node) for node in (0, 1)] == ["0", "Person 1"]
    assert random_graph().caption(3) == "3"


def test_captions_and_rows_are_stored_with_the_graph(tmp_path):
    graph = graph_with_rows()
    save_graph(graph, tmp_path)
    loaded = load_graph(tmp_path)
    assert loaded.captions == graph.captions
    assert [loaded.raw.row(i) for i in range(16)] == [graph.raw.row(i) for i in range(16)]


def test_captions_and_rows_must_have_one_entry_per_node():
    with pytest.raises(InputError, match=r"captions must have one entry per node \(16\), got 2"):
        random_graph(captions=["a", "b"])
    with pytest.raises(InputError, match=r"raw must have one row per node \(16\), got 1"):
        random_graph(raw=RawTable.from_columns({"a": ["b"]}))
    with pytest.raises(InputError, match="captions must be texts"):
        random_graph(captions=[None] * 16)
