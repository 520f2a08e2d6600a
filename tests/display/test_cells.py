"""Formulas in CSV files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display.text import MARKED, from_csv_cell, to_csv_cell


@given(st.text(st.sampled_from("'=+-@\t\r 1.e\nab"), max_size=6) | st.text(max_size=6))
def test_what_is_written_is_read_back(text):
    assert from_csv_cell(to_csv_cell(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+cmd",
        "-cmd",
        "@SUM(A1)",
        "\t=1",
        "\rx",
        " =1",
        "\n=1",
        "\v=1",
        "\u2003=1",
        "\uff1d1+1",
        "-1+cmd|' /C calc'!A0",
    ],
)
def test_a_text_that_begins_like_a_formula_is_marked_and_tables_read_it_as_it_was(text):
    pc = pytest.importorskip("pyarrow.compute")
    assert to_csv_cell(text) == "'" + text
    assert pc.replace_substring_regex([to_csv_cell(text)], MARKED, r"\1").to_pylist() == [text]


@pytest.mark.parametrize("text", ["-1", "+1.5", "-2e-05", "", "a=b", "O'Neill", "'quoted'", "ACC-1"])
def test_numbers_and_other_texts_stay(text):
    assert to_csv_cell(text) == from_csv_cell(text) == text
