"""The counts in docs/reference/datasets.md are those of the graphs, and its snippet runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.datasets import INFOS, load_dataset
from se_gnn.datasets import dataset_infos
from se_gnn.graph.target import Numbers

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "datasets.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| \[`([\w.-]+)`\]\(#[\w-]+\)[^|]*" + r"\| ([\d,]+) " * 3 + r"\| ([\d,]+|number) \| ([\d,]+) / ([\d,]+) / ",
    PAGE,
    re.M,
)


def test_every_data_set_is_on_the_page():
    assert len(ROWS) == 30
    assert [info.name for info in (*dataset_infos(), *INFOS) if info.name not in PAGE] == []


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_counts_of_the_page_are_those_of_the_graph(row, data_dir):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    graph = load_dataset(row[0], data_dir=data_dir)
    found = (
        graph.num_nodes,
        graph.num_edges,
        graph.num_features,
        "number" if isinstance(graph.target, Numbers) else graph.num_classes,
        len(graph.train),
        len(graph.validation),
    )
    assert found == tuple(cell if cell == "number" else int(cell.replace(",", "")) for cell in row[1:])


def test_the_snippet_of_the_page_runs(data_dir, monkeypatch):
    pytest.importorskip("torch_geometric.io", exc_type=ImportError)
    monkeypatch.setenv("SE_GNN_DATA", str(data_dir))
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    names = {}
    exec(compile(snippet, "docs/reference/datasets.md", "exec"), names)
    assert names["truth"].node_roles.max() > 0
