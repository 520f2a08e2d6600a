"""Formulas in CSV files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display import from_csv_cell, to_csv_cell


@given(st.text(st.sampled_from("'=+-@\t\r 1.e\nab"), max_size=6) | st.text(max_size=6))
def test_what_is_written_is_read_back(text):
    assert from_csv_cell(to_csv_cell(text)) == text


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\t=1", "\rx", " =1", "\n=1", "-1+cmd|' /C calc'!A0"]
)
def test_a_text_that_begins_like_a_formula_is_marked(text):
    assert to_csv_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["-1", "+1.5", "-2e-05", "", "a=b", "O'Neill", "'quoted'", "ACC-1"])
def test_numbers_and_other_texts_stay(text):
    assert to_csv_cell(text) == from_csv_cell(text) == text
