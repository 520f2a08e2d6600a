"""Predictions as files that people open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

from se_gnn.display.text import from_csv_cell
from se_gnn.results import as_file, prediction_columns
from strategies import random_graph, small_settings, untrained

NAMES = ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "-5", "plain", *(f"n{i}" for i in range(8))]


def test_no_cell_of_a_csv_file_is_a_formula_and_every_name_comes_back():
    graph = random_graph(node_names=NAMES, class_names=["=a", "b"], captions=["=caption"] * 16)
    columns = prediction_columns(graph, untrained(graph, small_settings()).predict())
    rows = list(csv.reader(io.StringIO(as_file(".csv", columns).decode(), newline="")))
    assert [from_csv_cell(row[0]) for row in rows[1:]] == NAMES
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if cell.lstrip()[:1] in tuple("=+-@") and cell and not _is_number(cell)] == []
    assert rows[7][0] == "-5"
    assert float(rows[1][3]) <= 1


def test_captions_stand_beside_the_names_in_every_format():
    graph = random_graph(captions=[f"Person {i}" for i in range(16)])
    columns = prediction_columns(graph, untrained(graph, small_settings()).predict())
    rows = list(csv.DictReader(io.StringIO(as_file(".csv", columns).decode())))
    lines = [json.loads(line) for line in as_file(".jsonl", columns).decode().splitlines()]
    table = pq.read_table(pa.BufferReader(as_file(".parquet", columns))).to_pylist()
    for found in (rows, lines, table):
        assert [(row["node"], row["caption"]) for row in found][:2] == [("0", "Person 0"), ("1", "Person 1")]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
