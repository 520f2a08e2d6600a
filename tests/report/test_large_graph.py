"""A report on a large graph is about some of its nodes, and compares no others."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from labels.conftest import block_graph, block_model
from se_gnn.graph import UNKNOWN
from se_gnn.graph.spread import listed_nodes
from se_gnn.labels import audit
from se_gnn.labels.novelty import novelty
from se_gnn.report import report_html
from se_gnn.report.predictions import prediction_table
from se_gnn.similarity import Similarity

NODES = 400


@pytest.fixture(scope="module")
def graph():
    return block_graph(NODES)


@pytest.fixture(autouse=True)
def large(monkeypatch):
    monkeypatch.setattr("se_gnn.graph.spread.MOST_ROWS", NODES - 1)
    monkeypatch.setattr("se_gnn.graph.spread.FEWEST_ROWS", 80)
    monkeypatch.setattr("se_gnn.graph.spread.MOST_PAIRS", 1)


def columns_of(page):
    return json.loads(re.search(r'id="predictions-data">(.*?)</script>', page, flags=re.S).group(1))


def test_it_is_about_nodes_of_every_part_evenly_spread(graph):
    nodes = listed_nodes(graph)
    assert nodes.tolist() == sorted(set(nodes.tolist()))
    for part in ("train", "validation", "test", "calibration"):
        assert len(np.intersect1d(nodes, getattr(graph, part))) >= 20
    assert np.diff(nodes).max() < 40


def test_its_rows_are_the_predictions_of_the_whole_graph(graph):
    page, whole = report_html(block_model(graph), k=1), block_model(graph).predict()
    found, nodes = columns_of(page), listed_nodes(graph)
    assert found["id"][: len(nodes)] == nodes.tolist()
    answers = np.where(novelty(block_model(graph)).abstains, UNKNOWN, whole.classes)
    assert found["predicted"] == answers[nodes].tolist()
    assert [found["id"][place] for place in found["closest"]] == whole.cases[nodes, 0].tolist()
    assert found["name"] == [graph.node_names[node] for node in found["id"]]
    assert found["label"] == graph.labels[found["id"]].tolist()
    for place in found["explained"]:
        assert f'id="node-{found["id"][place]}"' in page


def test_it_says_so(graph):
    page = report_html(block_model(graph), k=1)
    listed = len(listed_nodes(graph))
    assert f"The graph has 400 nodes. This page is about {listed} of them" in page
    assert "All predictions" not in page
    assert f"The share of {listed} predictions" in page


def test_nodes_that_are_asked_for_are_among_them(graph):
    others = np.setdiff1d(np.arange(NODES), listed_nodes(graph))[:3].tolist()
    page = report_html(block_model(graph), others, k=1)
    found = columns_of(page)
    assert [found["id"][place] for place in found["explained"]] == others
    assert [f'id="node-{node}"' in page for node in others] == [True] * 3


def test_no_other_node_is_compared_and_none_twice(graph, monkeypatch):
    compared = []
    nearest = Similarity.nearest

    def counted(self, queries, *more):
        compared.extend(queries.nodes.tolist())
        return nearest(self, queries, *more)

    monkeypatch.setattr(Similarity, "nearest", counted)
    report_html(block_model(graph), k=1)
    parts = [graph.train, graph.validation, graph.calibration]
    assert sorted(compared) == np.unique(np.concatenate([listed_nodes(graph), *parts])).tolist()


def test_its_audit_counts_these_nodes_and_judges_by_all_validation_nodes(graph):
    nodes = listed_nodes(graph)
    some, every = audit(block_model(graph), nodes, num_orders=2), audit(block_model(graph), num_orders=2)
    assert some.effects.accuracy.tolist() == every.effects.accuracy.tolist()
    assert some.suspicion.score.tolist() == every.suspicion.score.tolist()
    judged = np.union1d(nodes, graph.validation)
    assert some.effects.used.sum() == 5 * len(judged)
    assert every.effects.used.sum() == 5 * NODES


def test_too_many_labeled_nodes_are_not_audited_for_a_page(graph, monkeypatch):
    monkeypatch.setattr("se_gnn.report.page.MOST_COMPARED", 10)
    page = report_html(block_model(graph), k=1)
    assert 'id="audit"' not in page
    assert "too many labeled nodes to look for wrong labels here" in page


def test_the_closest_case_has_a_name_even_if_it_has_no_row(graph):
    trained, nodes = block_model(graph), np.setdiff1d(np.arange(NODES), graph.train)[:50]
    table = prediction_table(trained.predict(nodes), graph, explained=nodes[:1])
    assert len(table.columns["predicted"]) == 50
    assert table.nodes[table.columns["closest"]].tolist() == trained.predict(nodes).cases[:, 0].tolist()
    assert max(table.first) < 50


def test_its_rows_are_found_and_lead_to_explained_nodes(graph, open_page):
    node = int(np.setdiff1d(np.arange(NODES), listed_nodes(graph))[0])
    page = open_page(report_html(block_model(graph), [node], k=1))
    listed = len(listed_nodes(graph)) + 1
    assert page.locator(".shown").text_content() == f"1–25 of {listed} nodes"
    page.locator('[data-field="search"]').fill(graph.node_names[node])
    assert page.locator(f'.predictions tbody a[href="#node-{node}"]').count() >= 1
