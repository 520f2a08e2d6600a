"""The experiment on wrong labels: what is flipped, who is asked, and what may be removed."""

import json

import numpy as np
import pytest

from reproduce import audit
from reproduce.job import Job, Series
from reproduce.measures import audit as measures
from reproduce.methods import se_gnn_settings
from reproduce.store import Result, Store
from strategies import random_graph

GCN = {"epochs": 2}


@pytest.fixture
def graph():
    return random_graph(0, num_nodes=90, num_edges=200, num_labeled=30, num_classes=3)


@pytest.mark.parametrize("kind", ["uniform", "confused"])
def test_the_asked_share_of_known_labels_is_flipped_and_test_labels_stay(graph, kind):
    noisy = measures.flipped(graph, kind, 0.2, GCN, generator=np.random.default_rng(0))
    for part in ("train", "validation"):
        nodes = getattr(graph, part)
        assert (noisy.labels[nodes] != graph.labels[nodes]).mean() == pytest.approx(0.2)
    assert (noisy.labels[graph.test] == graph.labels[graph.test]).all()


def test_confused_labels_all_go_to_one_class(graph):
    noisy = measures.flipped(graph, "confused", 0.5, GCN, generator=np.random.default_rng(0))
    for label in range(3):
        changed = (graph.labels == label) & (noisy.labels != label)
        assert len(np.unique(noisy.labels[changed])) == 1


def test_every_class_keeps_two_labeled_nodes_and_k_are_left(graph):
    removed = measures.removable(graph, graph.train, 8)
    assert len(graph.train) - len(removed) == 8
    few = np.array([node for node in graph.train if graph.labels[node] == 1])
    assert len(measures.removable(graph, few, 5)) == len(few) - 2


@pytest.mark.parametrize("rate", ["0.1", "0.2"])
def test_all_measures_are_plain_shares(graph, rate, monkeypatch):
    pytest.importorskip("cleanlab", reason="needs cleanlab: pip install 'se-gnn[test]'")
    monkeypatch.setattr(measures, "load_dataset", lambda name, seed: graph)
    series = Series(
        kind="audit",
        dataset="x",
        method="se-gnn",
        noise=f"uniform-{rate}",
        settings={"se-gnn": se_gnn_settings("x", "paper", epochs=1, num_nearest=3), "gcn": GCN},
    )
    found = measures.measure(Job(series, 0), "cpu")
    assert all(0 <= value <= 1 for value in found.values())
    assert ("accuracy_audit_trained" in found) == (rate == "0.2")
    json.dumps(found)


def test_the_page_has_a_row_for_each_case_that_was_run(tmp_path):
    store = Store(tmp_path)
    assert "Not run yet" in audit.render(store, tmp_path)
    found = {"auroc": 0.95, "auroc_cleanlab": 0.9, "auroc_cleanlab_in_sample": 0.8, "accuracy_before": 0.7}
    made = {"command": "c", "commit": "x", "machine": {}, "device": "cpu", "date": "d"}
    store.put(Job(audit.with_noise("cora", "uniform-0.2"), 0, "audit"), Result(0, found, 1.0, made))
    page = audit.render(store, tmp_path)
    assert "| Cora, 20% uniform | 95.0 ± 0.0 (1 seed) | 90.0 ± 0.0 (1 seed) | 80.0 ± 0.0 (1 seed) | +5.0 |" in page
    assert "Citeseer" not in page
