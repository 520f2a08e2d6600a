"""What a trained method is asked, on a graph small enough to check by hand."""

import numpy as np
import pytest

from lab.truth import GroundTruth
from reproduce.job import Job, Series
from reproduce.measures import classify
from reproduce.measures.fitted import fit
from reproduce.methods import se_gnn_settings
from se_gnn.graph import Graph


@pytest.fixture
def graph():
    """Two paths of three nodes, labeled, and one of each to test; roles along the path."""
    ends = [(0, 1), (1, 2), (3, 4), (4, 5), (6, 7), (7, 8), (9, 10), (10, 11)]
    labels = np.repeat([0, 1, 0, 1], 3)
    return Graph.build(
        features=np.eye(2)[labels] + 0.1 * np.arange(12)[:, None] % 3,
        edges=ends,
        labels=labels,
        train=np.arange(6),
        validation=np.arange(6, 9),
        test=np.arange(9, 12),
    )


def truth_of(graph):
    edge_roles = np.tile([1, 2], 4) + 2 * np.repeat([0, 1, 0, 1], 2)
    return GroundTruth(edge_roles > 0, np.tile([1, 2, 3], 4) + 3 * graph.labels, edge_roles)


class Perfect:
    """Knows everything, and matches the first edge with the first."""

    def predict(self, nodes):
        return np.where((nodes // 3) % 2 == 1, 1, 0)

    def nearest(self, nodes, k):
        return np.stack([nodes - 6, *[np.full_like(nodes, 0)] * (k - 1)], axis=1)

    def match_edges(self, edges, others):
        return np.arange(len(edges))


def measured(monkeypatch, graph, fitted):
    monkeypatch.setattr(classify, "load_with_truth", lambda name, seed: (graph, truth_of(graph)))
    monkeypatch.setattr(classify, "fit", lambda *args, **kwargs: fitted)
    series = Series(kind="classify", dataset="toy", method="gcn-k", settings={})
    return classify.measure(Job(series, 0), "cpu")


def test_a_perfect_method_gets_full_marks(monkeypatch, graph):
    measures = measured(monkeypatch, graph, Perfect())
    assert measures["accuracy"] == measures["val_accuracy"] == 1
    assert measures["precision"][:2] == [1, 0.5]  # node 0, of the other class, comes second
    assert measures["node_accuracy"] == measures["role_precision"][0] == 1
    assert measures["edge_accuracy"] == measures["motif_edge_accuracy"] == 1


def test_a_method_without_neighbors_has_accuracy_alone(monkeypatch, graph):
    class Classifier(Perfect):
        def nearest(self, nodes, k):
            return None

    assert set(measured(monkeypatch, graph, Classifier())) == {"accuracy", "val_accuracy"}


def test_our_edges_are_matched_as_the_explanation_says(graph):
    from se_gnn.explain import explain

    settings = se_gnn_settings("toy", num_nearest=2, epochs=2)
    ours = fit(graph, "se-gnn", settings, seed=0, device="cpu")
    explanation = explain(ours.trained, 10)[0]
    nearest = explanation.votes[0]
    assert ours.nearest(np.array([10]), 1).tolist() == [[nearest.node]]
    assert nearest.matches is not None
    matched = ours.match_edges(explanation.ends(explanation.edge_ids), graph.edges.ends[nearest.edge_ids])
    assert nearest.edge_ids[matched].tolist() == nearest.matches.matched_ids.tolist()
    assert ours.predict(graph.test).tolist() == ours.trained.predict(graph.test).classes.tolist()


def test_noise_is_added_by_the_seed(monkeypatch, graph):
    monkeypatch.setattr(classify, "load_with_truth", lambda name, seed: (graph, truth_of(graph)))
    noisy = Series(kind="classify", dataset="toy", method="gcn", settings={}, noise="random-0.25")
    one, again, other = (classify.load_graph(noisy, seed)[0] for seed in (0, 0, 1))
    assert one.num_edges == 10
    assert one.edges.ends.tolist() == again.edges.ends.tolist() != other.edges.ends.tolist()
