"""Predictions when the evidence changes: a copy of everything changes nothing, and the stated cases are the vote."""

import dataclasses

import numpy as np
import pytest

from reproduce import faithfulness
from reproduce.job import Job
from reproduce.measures import faithfulness as measures
from reproduce.measures.faithfulness import copied, explained_again, other_cases
from reproduce.methods import se_gnn_settings
from reproduce.store import Result, Store
from se_gnn.explain import explain
from se_gnn.settings import Settings
from se_gnn.training import fit
from strategies import random_graph

FEW = {"num_nearest": 3, "epochs": 3, "hidden_size": 8}


@pytest.fixture(scope="module")
def trained():
    return fit(random_graph(seed=1), Settings.of("authors", **FEW), seed=0)


def test_a_copy_with_all_edges_is_predicted_as_its_original(trained):
    graph = trained.graph
    model, copies, origin = copied(trained, [(int(node), graph.edges.ends) for node in graph.test])
    assert origin[copies].tolist() == graph.test.tolist()
    assert model.graph.num_edges == graph.num_edges * (1 + len(graph.test))
    expected = trained.predict(graph.test)
    found = model.predict(copies)
    assert found.cases.tolist() == expected.cases.tolist()
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-6)


def test_a_copy_without_edges_is_an_isolated_node(trained):
    model, copies, _ = copied(trained, [(12, np.empty((0, 2), np.int64))])
    assert not (model.graph.edges.ends == copies[0]).any()
    assert model.graph.num_nodes == trained.graph.num_nodes + 1


def test_the_stated_cases_are_the_vote_and_alone_they_are_stated_again(trained):
    found = other_cases(trained, trained.graph.test, 3, np.random.default_rng(0))
    assert found["changed_recounted"] == found["changed_stated_alone"] == 0
    assert found["cases_stated_alone"] == 1
    assert 0 <= found["changed_random_cases"] <= 1


def test_an_explanation_of_everything_explains_itself():
    trained = fit(random_graph(seed=1), Settings.of("authors", hops=3, **FEW), seed=0)
    explanations = [one for one in explain(trained, np.arange(16), k=3) if len(one.edge_ids) == trained.graph.num_edges]
    assert explanations  # the local graph is the graph, so the copy is the whole graph again
    assert set(explained_again(trained, explanations, 52).values()) == {1.0}


def test_all_that_the_page_shows_is_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(measures, "load_dataset", lambda name, seed: random_graph(seed=1))
    series = faithfulness.on_graph("cora")
    few = {"nodes": 2, "top": 2, "draws": 2, "config": se_gnn_settings("cora", "authors", **FEW)}
    found = measures.measure(Job(dataclasses.replace(series, settings={**series.settings, **few}), 0), "cpu")
    assert {*faithfulness.CASES, *faithfulness.EDGES, *faithfulness.AGAIN} <= set(found)
    store = Store(tmp_path)
    assert "Not run yet" in faithfulness.render(store, tmp_path)
    store.put(Job(series, 0, "faithfulness"), Result(0, found, 1, {}))
    assert "| Cora | 0.0 ± 0.0 (1 seed) | 0.0 ± 0.0 (1 seed) |" in faithfulness.render(store, tmp_path)
