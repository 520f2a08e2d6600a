"""Table 1: sizes as in the files, and where they differ from the print."""

import pytest

from reproduce.job import Job
from reproduce.measures.statistics import measure
from reproduce.paper import printed
from reproduce.store import Result, Store
from reproduce.table_1 import COLUMNS, render, series


def sizes(dataset):
    one = next(one for one in series() if one.dataset == dataset)
    return measure(Job(one, 0), "cpu")


@pytest.mark.parametrize(
    ("dataset", "differs"),
    [("cora", {"edges"}), ("citeseer", set()), ("pubmed", {"nodes", "edges"}), ("ba-shapes-pgexplainer", {"edges"})],
)
def test_sizes_are_the_printed_ones_but_for_what_the_note_explains(dataset, differs, data_dir, monkeypatch):
    monkeypatch.setenv("SE_GNN_DATA", str(data_dir))
    paper, ours = printed("table_1")[dataset.removesuffix("-pgexplainer")], sizes(dataset)
    assert {column for column in COLUMNS if column in paper and paper[column] != ours[column]} == differs


def test_render_shows_print_and_count_side_by_side(tmp_path):
    store = Store(tmp_path)
    one = next(one for one in series() if one.dataset == "cora")
    counted = {"nodes": 2708, "edges": 5278, "features": 1433, "classes": 7}
    store.put(Job(one, 0), Result(0, counted, 0.1, {}))
    text = render(store, tmp_path)
    assert "| Cora, `cora` | 2,708 | 2,708 | 5,429 | 5,278 | 1,433 | 1,433 | 7 | 7 |" in text
    assert "| PubMed, `pubmed` | 19,171 | not run yet |" in text
