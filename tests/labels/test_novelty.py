import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from labels.conftest import block_graph, block_model
from se_gnn.errors import InputError
from se_gnn.graph import Classes, Graph
from se_gnn.labels import novelty as module
from se_gnn.labels import smoothing
from se_gnn.labels.novelty import left_out, novelty, similarities
from se_gnn.labels.smoothing import without_itself
from strategies import changed


@pytest.fixture(scope="module")
def kernel(graph):
    known = np.union1d(graph.train, graph.validation)
    return known, similarities(graph, known, known, smoothed=True)[0]


def test_similarities_are_cosines_of_smoothed_centered_attributes(graph):
    x = graph.features / np.linalg.norm(graph.features, axis=1, keepdims=True)
    a = np.eye(graph.num_nodes)
    a[graph.edges.ends[:, 0], graph.edges.ends[:, 1]] = a[graph.edges.ends[:, 1], graph.edges.ends[:, 0]] = 1
    step = a / np.sqrt(np.outer(a.sum(axis=1), a.sum(axis=1)))
    z = x.astype(np.float64)
    for _ in range(10):
        z = 0.9 * step @ z + 0.1 * x
    z -= z.mean(axis=0)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    rows, known = np.array([3, 17, 399]), graph.train
    np.testing.assert_allclose(similarities(graph, rows, known, smoothed=True)[0], z[rows] @ z[known].T, atol=1e-6)


def test_features_some_at_a_time_and_sparse_ones_give_the_same(graph, monkeypatch):
    nodes = np.arange(20)
    whole, _ = similarities(graph, nodes, nodes, smoothed=True)
    monkeypatch.setattr(smoothing, "COLUMNS", 2)
    np.testing.assert_allclose(similarities(graph, nodes, nodes, smoothed=True)[0], whole, atol=1e-12)
    sparse = changed(graph, features=sp.csr_array(graph.features))
    np.testing.assert_allclose(similarities(sparse, nodes, nodes, smoothed=True)[0], whole, atol=1e-6)


def test_the_answer_without_itself_is_that_of_a_regression_that_never_saw_the_node(graph, kernel):
    known, k = kernel
    targets = np.eye(3)[graph.labels[known]]
    answers = without_itself(np.linalg.inv(k + np.eye(len(known))), targets)
    for i in range(0, len(known), 7):
        rest = np.delete(np.arange(len(known)), i)
        weights = np.linalg.solve(k[np.ix_(rest, rest)] + np.eye(len(rest)), targets[rest])
        np.testing.assert_allclose(answers[i], k[i, rest] @ weights, atol=1e-9)


def test_the_rehearsal_is_that_of_regressions_without_each_class(graph, kernel):
    known, k = kernel
    labels, areas = graph.labels[known], []
    for label in range(3):
        a, b = np.flatnonzero(labels != label), np.flatnonzero(labels == label)
        inverse = np.linalg.inv(k[np.ix_(a, a)] + np.eye(len(a)))
        targets = np.eye(3)[labels[a]][:, np.arange(3) != label]
        inside = without_itself(inverse, targets).max(axis=1)
        outside = (k[np.ix_(b, a)] @ inverse @ targets).max(axis=1)
        areas.append(roc_auc_score(np.repeat([0, 1], [len(a), len(b)]), -np.concatenate([inside, outside])))
    assert left_out(k, np.linalg.inv(k + np.eye(len(known))), labels) == pytest.approx(np.mean(areas))


def strangers() -> tuple[Graph, np.ndarray]:
    """The blocks without any label of blue, and which nodes are blue."""
    graph = block_graph(noise=0.5)
    blue = graph.labels == 2
    labels = np.where(blue, -1, graph.labels)
    parts = {part: getattr(graph, part)[~blue[getattr(graph, part)]] for part in ("train", "validation")}
    target = Classes(labels=labels, names=("red", "green"))
    return graph.with_split(**parts).replace(target=target), blue


def test_nodes_of_an_unknown_class_are_told_from_the_rest():
    rest, blue = strangers()
    others = np.setdiff1d(np.arange(rest.num_nodes), np.concatenate([rest.train, rest.validation]))
    found = novelty(block_model(rest), others, false_alarms=0.1)
    assert roc_auc_score(blue[others], found.score) > 0.9
    assert found.abstains[blue[others]].mean() > 3 * found.abstains[~blue[others]].mean()


def test_too_few_validation_nodes_for_a_rate_of_false_alarms_are_warned_of(trained, graph):
    few = dataclasses.replace(trained, graph=graph.with_split(train=graph.train, validation=graph.validation[:5]))
    with pytest.warns(UserWarning, match="at least 19 nodes to set the threshold, there are 5"):
        assert not novelty(few, graph.test).abstains.any()


def test_the_stated_share_of_validation_nodes_is_above_the_threshold(trained, graph):
    for share in (0.1, 0.2, 0.5):
        found = novelty(trained, graph.validation, false_alarms=share)
        assert found.abstains.mean() <= share
        assert found.abstains.mean() >= share - 2 / len(graph.validation)
        assert found.judged == len(graph.validation)


def test_the_score_of_a_node_does_not_depend_on_who_else_is_asked_about(trained):
    whole, one = novelty(trained), novelty(trained, np.array([7, 3]))
    np.testing.assert_allclose(one.score, whole.score[[7, 3]], atol=1e-9)
    assert one.threshold == pytest.approx(whole.threshold)


def test_labels_of_test_nodes_change_nothing(trained, graph):
    labels = graph.labels.copy()
    labels[graph.test] = (labels[graph.test] + 1) % 3
    other = dataclasses.replace(trained, graph=changed(graph, labels=labels))
    assert np.array_equal(novelty(other).score, novelty(trained).score)


def test_without_validation_nodes_the_labeled_nodes_give_the_threshold(trained, graph):
    bare = dataclasses.replace(trained, graph=graph.with_split(train=graph.train))
    assert novelty(bare, graph.test).judged == len(graph.train)


def test_many_known_nodes_are_drawn_by_the_seed(trained, graph, monkeypatch):
    monkeypatch.setattr(module, "MOST", 25)
    one, again, other = (novelty(trained, graph.test, false_alarms=0.3, seed=seed).score for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan"), "few", True])
def test_a_rate_of_false_alarms_that_is_no_share_is_refused(trained, share):
    with pytest.raises(InputError, match="false_alarms must be a share between 0 and 1"):
        novelty(trained, false_alarms=share)
