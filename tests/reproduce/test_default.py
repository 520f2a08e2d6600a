"""The experiment on the default preset: what is measured, and that networks beside it see the same validation nodes."""

import numpy as np
import pytest

from reproduce import default
from reproduce.job import Job, Series
from reproduce.measures import default as measures
from reproduce.methods import se_gnn_settings
from reproduce.store import Result, Store
from se_gnn.model import Prediction
from se_gnn.model.metrics import calibrate
from strategies import random_graph


def prediction(node, structure, weights):
    shape = np.array(node, dtype=np.float32)
    return Prediction(
        nodes=np.arange(len(shape)),
        probabilities=np.full((len(shape), 2), 0.5, np.float32),
        cases=np.zeros(shape.shape, np.int64),
        weights=np.array(weights, np.float32),
        overall=shape,
        node=shape,
        structure=np.array(structure, np.float32),
    )


def test_structure_share_is_weighted_by_the_votes_and_0_without_edges():
    one = prediction([[-1.0, -1.0]], [[-1.0, -np.inf]], [[0.75, 0.25]])
    assert measures.structure_share(one, 0.5) == pytest.approx(0.75 * 0.5)
    assert measures.structure_share(one, 1.0) == 0


@pytest.mark.parametrize("method", ["se-gnn", "gcn"])
def test_all_measures_are_plain_numbers(method, monkeypatch):
    graph = random_graph(seed=0)
    monkeypatch.setattr(measures, "load_dataset", lambda name, seed: graph)
    settings = {"grid": {"epochs": [2, 3]}}
    if method == "se-gnn":
        settings = se_gnn_settings("x", "authors", epochs=2, num_nearest=2)
    found = measures.measure(Job(Series(kind="default", dataset="x", method=method, settings=settings), 0), "cpu")
    assert {"accuracy", "macro_f1", "calibration_error", "train_seconds", "peak_bytes"} <= set(found)
    assert found["peak_bytes"] > 1e7
    assert ("structure_share" in found) == (method == "se-gnn")
    assert ("chosen" in found) == (method == "gcn")


def test_the_grid_is_decided_on_validation_nodes_alone(monkeypatch):
    graph = random_graph(seed=0)

    class Fitted:
        def __init__(self, answer):
            self.answer = answer

        def fit(self, graph, **how):
            return self

        def predict(self):
            guess = np.full(graph.num_nodes, -1)
            nodes = graph.validation if self.answer == "right on validation" else graph.test
            guess[nodes] = graph.labels[nodes]
            return guess

    monkeypatch.setattr(measures, "baseline", lambda method, answer: Fitted(answer))
    grid = {"grid": {"answer": ["right on test", "right on validation"]}}
    _, about = measures.best_on_validation(graph, "gcn", grid, seed=0, device="cpu")
    assert about == {"chosen": {"answer": "right on validation"}}


def test_a_searched_graph_has_the_settings_of_its_search_and_others_a_grid():
    assert "grid" not in default.on_graph("citeseer-metattack-0.25", "gcn").settings
    assert "grid" in default.on_graph("citeseer-planetoid", "gcn").settings
    assert "grid" in default.on_graph("digits", "super-gat").settings


def test_graphs_that_were_not_run_are_left_out(tmp_path):
    store = Store(tmp_path)
    assert "|" not in default.render(store, tmp_path)
    for seed in range(10):
        found = {"accuracy": 0.83, "macro_f1": 0.8, "calibration_error": 0.02, "precision_at_5": 0.82}
        found["calibration_chance"] = 0.015
        found |= {"structure_share": 0.4, "node_weight": 0.5, "train_seconds": 30.0, "peak_bytes": 1_200_000_000}
        store.put(Job(default.on_graph("cora", "se-gnn"), seed, "default"), Result(seed, found, 31, {}))
    text = default.render(store, tmp_path)
    assert "| Cora, public split | 83.0 ± 0.0 | not run yet | not run yet |" in text
    assert "| 82.0 ± 0.0 | 80.0 ± 0.0 | 2.0 ± 0.0 | 1.5 ± 0.0 | 40.0 ± 0.0 | 0.5 | 30 | 1.2 |" in text
    assert "PubMed" not in text


def test_the_calibration_error_by_chance_is_that_of_claims_which_are_exactly_right():
    generator = np.random.default_rng(0)
    claims = generator.uniform(0.5, 1, 1000)
    errors = [calibrate(np.stack([claims, 1 - claims], 1), (generator.random(1000) > claims).astype(int)).error
              for _ in range(200)]  # fmt: skip
    expected = measures.calibration_by_chance(np.stack([claims, 1 - claims], 1), np.zeros(1000, np.int64))
    assert abs(expected - np.mean(errors)) < 0.001


def test_more_labels_add_to_fewer_and_leave_validation_and_test_alone():
    from reproduce.measures.labels import with_labels

    graph = random_graph(seed=0)
    few, more = with_labels(graph, 1, seed=3), with_labels(graph, 2, seed=3)
    assert set(few.train) <= set(more.train)
    assert max(np.bincount(graph.labels[few.train])) == 1
    for one in (few, more):
        assert one.validation.tolist() == graph.validation.tolist()
        assert one.test.tolist() == graph.test.tolist()
