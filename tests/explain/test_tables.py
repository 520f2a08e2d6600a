"""Explanations as NetworkX graphs, pandas tables and JSON lines."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings

from se_gnn.errors import InputError
from se_gnn.explain import explain, schema
from se_gnn.model import Model
from strategies import models, random_graph, small_settings, untrained


@pytest.fixture
def trained() -> Model:
    return untrained(random_graph(1, isolated=(2,)), small_settings())


def test_the_networkx_graph_has_the_local_graph_and_the_neighbors(trained):
    explanation = explain(trained, 12)[0]
    graph = explanation.to_networkx()
    assert graph.graph["predicted"] == explanation.predicted_name
    assert graph.nodes[12] == {
        "name": "12", "caption": "12", "label": "0", "role": "target", "weight": 0.0,
    }  # fmt: skip
    for neighbor in explanation.votes:
        assert graph.nodes[neighbor.node]["role"] == "case"
        assert graph.nodes[neighbor.node]["weight"] == neighbor.weight
    assert {tuple(sorted(edge)) for edge in graph.edges} == set(
        map(tuple, explanation.ends(explanation.edge_ids).tolist())
    )
    for edge, value in zip(explanation.edge_ids.tolist(), explanation.importance):
        assert graph.edges[tuple(trained.graph.edges.ends[edge].tolist())] == {
            "id": edge,
            "importance": value,
        }


def test_the_table_of_matched_edges_has_the_matches_by_edge_ids(trained):
    explanation = explain(trained, 12)[0]
    table = explanation.matches_to_pandas()
    for rank, neighbor in enumerate(explanation.votes, start=1):
        rows = table[table["rank"] == rank]
        if neighbor.matches is None:
            assert rows.empty
            continue
        assert rows["edge"].tolist() == neighbor.matches.edge_ids.tolist()
        assert rows["matched"].tolist() == neighbor.matches.matched_ids.tolist()
        assert rows["above_average"].tolist() == neighbor.matches.above_average.tolist()
    assert set(table["edge"]) == set(explanation.edge_ids.tolist())


def test_a_node_without_edges_is_a_networkx_graph_without_edges(trained):
    graph = explain(trained, 2)[0].to_networkx()
    assert graph.number_of_edges() == 0
    assert len(graph) == 1 + 3


@settings(max_examples=20)
@given(trained=models())
def test_the_table_of_all_nodes_is_the_tables_of_each(trained):
    import pandas

    every = explain(trained).to_pandas()
    single = pandas.concat([explain(trained, i)[0].to_pandas() for i in range(trained.graph.num_nodes)])
    assert list(every.columns) == list(single.columns)
    single = single.reset_index(drop=True)
    for column in ("node", "rank", "case", "label"):
        assert every[column].tolist() == single[column].tolist()
    for column in every.columns[4:]:
        np.testing.assert_allclose(every[column].to_numpy(), single[column].to_numpy(), rtol=1e-6, atol=1e-7)


def test_json_lines_hold_an_explanation_a_line(trained, tmp_path):
    every = explain(trained, np.array([3, 2]))
    every.write_json_lines(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [explain(trained, node)[0].to_dict() for node in (3, 2)]
    for line in lines:
        jsonschema.validate(json.loads(line), schema())
    with pytest.raises(InputError, match="exists already"):
        every.write_json_lines(tmp_path / "all.jsonl")
    every.write_json_lines(tmp_path / "all.jsonl", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["all.jsonl"]


def test_an_interrupted_file_of_json_lines_leaves_nothing_behind(trained, tmp_path, monkeypatch):
    every = explain(trained)

    def interrupt(self, node, k=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(every), "__getitem__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        every.write_json_lines(tmp_path / "all.jsonl")
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_not_unicode_survives_json_lines(tmp_path):
    names = ("\ud800", *(str(i) for i in range(1, 16)))
    trained = untrained(random_graph(1, node_names=names), small_settings())
    explain(trained, np.array([0])).write_json_lines(tmp_path / "one.jsonl")
    assert json.loads((tmp_path / "one.jsonl").read_text(encoding="utf-8"))["query"]["name"] == "\ud800"
