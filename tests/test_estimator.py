"""The estimator keeps scikit-learn's manners, on our graph and on a PyG `Data`."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from se_gnn import SEGNNClassifier
from se_gnn.errors import InputError
from se_gnn.explain import Explanation
from strategies import random_graph

SMALL = (
    "encoder.hidden_size=6", "similarity.num_nearest=3", "training.epochs=3", "contrast.node_batch=8",
    "contrast.edge_batch=8", "contrast.node_negatives=5", "contrast.edge_negatives=5",
)  # fmt: skip
GRAPH = random_graph(1, num_nodes=20, class_names=("red", "blue"))


@pytest.fixture(scope="module")
def fitted():
    return SEGNNClassifier(settings=SMALL, seed=3).fit(GRAPH)


def pyg_data(graph, **changes):
    data = pytest.importorskip("torch_geometric.data").Data
    both_ways = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.copy()
    values = {
        "x": torch.tensor(graph.features),
        "edge_index": torch.from_numpy(both_ways),
        "y": torch.tensor(graph.labels),
    }
    for part in ("train", "val", "test"):
        mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
        mask[torch.tensor(getattr(graph, part))] = True
        values[f"{part}_mask"] = mask
    return data(**{**values, **changes})


def test_fitting_returns_the_estimator_and_learns_attributes_with_an_underscore(fitted):
    assert SEGNNClassifier(settings=SMALL).fit(GRAPH).fit(GRAPH).__class__ is SEGNNClassifier
    assert fitted.classes_.tolist() == ["red", "blue"]
    assert fitted.graph_ is GRAPH
    assert fitted.n_features_in_ == 5
    assert fitted.trained_.metrics["seed"] == 3
    assert is_classifier(fitted)


def test_probabilities_are_those_of_the_model_and_classes_the_most_likely(fitted):
    probabilities = fitted.predict_proba()
    np.testing.assert_array_equal(probabilities, fitted.trained_.predict().probabilities)
    assert probabilities.shape == (20, 2)
    assert fitted.predict().tolist() == [["red", "blue"][c] for c in probabilities.argmax(axis=1)]


@pytest.mark.parametrize("nodes", [[7, 2], np.array([7, 2]), ["7", "2"], (7, "2"), torch.tensor([7, 2])])
def test_nodes_go_by_id_or_name(fitted, nodes):
    np.testing.assert_array_equal(fitted.predict_proba(nodes), fitted.predict_proba()[[7, 2]])


def test_the_score_is_the_accuracy_on_the_test_nodes_or_on_those_given(fitted):
    truth = np.array(["red", "blue"])[GRAPH.labels]
    right = fitted.predict() == truth
    assert fitted.score() == pytest.approx(right[GRAPH.test].mean())
    assert fitted.score() == pytest.approx(fitted.trained_.metrics["test_accuracy"])
    assert fitted.score([0, 1, 9]) == pytest.approx(right[[0, 1, 9]].mean())
    assert fitted.score([0, 1, 9], truth[[0, 1, 9]]) == fitted.score([0, 1, 9], GRAPH.labels[[0, 1, 9]])
    assert fitted.score([0, 1], fitted.predict([0, 1])) == 1
    wrong = 1 - fitted.predict_proba([0, 1]).argmax(axis=1)
    assert fitted.score([0, 1], wrong) == 0
    half = [wrong[0], 1 - wrong[1]]
    assert fitted.score([0, 1], half, sample_weight=[1, 3]) == pytest.approx(0.75)


def test_the_score_looks_at_its_nodes_where_names_are_numbers_in_another_order():
    names = tuple(str(i) for i in np.random.default_rng(0).permutation(20))
    named = SEGNNClassifier(settings=SMALL, seed=3).fit(random_graph(1, num_nodes=20, node_names=names))
    plain = SEGNNClassifier(settings=SMALL, seed=3).fit(random_graph(1, num_nodes=20))
    np.testing.assert_array_equal(named.predict_proba(), plain.predict_proba())
    right = named.predict_proba().argmax(axis=1) == GRAPH.labels
    assert right[GRAPH.test].mean() != right[[names.index(str(i)) for i in GRAPH.test]].mean()  # else nothing is tried
    assert named.score() == plain.score() == named.trained_.metrics["test_accuracy"]


def test_an_explanation_is_that_of_the_prediction(fitted):
    explanation = fitted.explain(12)
    assert isinstance(explanation, Explanation)
    np.testing.assert_array_equal(np.float32(explanation.probabilities), fitted.predict_proba([12])[0])
    assert explanation.predicted_name == fitted.predict([12])[0]
    assert fitted.explain("12").to_json() == explanation.to_json()
    assert [n.matches is not None for n in fitted.explain(12, k=1).neighbors] == [True, False, False]
    json.loads(explanation.to_json())


def test_the_same_seed_gives_the_same_probabilities_and_another_seed_others(fitted):
    same, other = (SEGNNClassifier(settings=SMALL, seed=seed).fit(GRAPH).predict_proba() for seed in (3, 4))
    np.testing.assert_array_equal(same, fitted.predict_proba())
    assert not np.array_equal(other, same)


def test_parameters_are_stored_as_given_and_survive_a_clone():
    settings = list(SMALL)
    classifier = SEGNNClassifier(preset="paper", settings=settings, seed=5)
    assert classifier.settings is settings
    copy = clone(classifier)
    assert copy is not classifier
    assert copy.get_params() == classifier.get_params()
    assert set(copy.get_params()) >= {"preset", "settings", "seed", "device", "progress"}
    assert copy.set_params(seed=6).seed == 6
    assert "paper" in repr(classifier)


def test_a_clone_of_a_fitted_estimator_is_not_fitted_and_fits_to_the_same_bits(fitted):
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict()
    np.testing.assert_array_equal(copy.fit(GRAPH).predict_proba(), fitted.predict_proba())


def test_nothing_is_checked_before_fit():
    classifier = SEGNNClassifier(preset="nonsense", settings=["similarity.hops=9"], device="tpu")
    with pytest.raises(InputError, match="preset must be one of paper, authors, best, got 'nonsense'"):
        classifier.fit(GRAPH)
    with pytest.raises(InputError, match="hops must be between 1 and 3, got 9"):
        classifier.set_params(preset="best").fit(GRAPH)
    with pytest.raises(InputError, match="device must be auto, cpu or cuda, got 'tpu'"):
        classifier.set_params(settings=SMALL).fit(GRAPH)


@pytest.mark.parametrize(
    "use", [lambda c: c.predict(), lambda c: c.predict_proba([0]), lambda c: c.score(), lambda c: c.explain(0)]
)
def test_an_estimator_that_is_not_fitted_says_so(use):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        use(SEGNNClassifier())


@pytest.mark.parametrize("node", [99, "nobody", -1])
def test_an_unknown_node_is_an_error(fitted, node):
    for use in (fitted.explain, lambda node: fitted.predict([node]), lambda node: fitted.score([node])):
        with pytest.raises(InputError, match=f"unknown node {node!r}"):
            use(node)


def test_a_graph_without_test_nodes_cannot_be_scored_without_nodes():
    classifier = SEGNNClassifier(settings=SMALL).fit(GRAPH.with_split(train=GRAPH.train))
    with pytest.raises(InputError, match="score needs nodes: the graph has no test nodes"):
        classifier.score()
    assert 0 <= classifier.score([10, 11]) <= 1


def test_a_node_without_a_label_cannot_be_scored():
    labels = GRAPH.labels.copy()
    labels[12] = -1
    classifier = SEGNNClassifier(settings=SMALL).fit(random_graph(1, num_nodes=20, labels=labels, val=None, test=None))
    with pytest.raises(InputError, match="score needs nodes with a known label; node '12' has none"):
        classifier.score([12])


# --- labels given apart


def test_y_replaces_the_labels(fitted):
    flipped = SEGNNClassifier(settings=SMALL, seed=3).fit(GRAPH, 1 - GRAPH.labels)
    np.testing.assert_array_equal(flipped.graph_.labels, 1 - GRAPH.labels)
    np.testing.assert_allclose(flipped.predict_proba(), fitted.predict_proba()[:, ::-1], atol=1e-5)


def test_a_labeled_node_that_y_does_not_know_does_not_vote():
    labels = GRAPH.labels.copy()
    labels[[0, 7]] = -1
    classifier = SEGNNClassifier(settings=SMALL).fit(GRAPH, labels)
    assert 0 not in classifier.graph_.train
    assert 7 not in np.concatenate([classifier.graph_.val, classifier.graph_.test])
    assert not classifier.explain(0).left_out


@pytest.mark.parametrize("wrong", [-1, 2])
def test_a_class_index_that_does_not_exist_cannot_be_scored_against(fitted, wrong):
    with pytest.raises(InputError, match="y must hold class names, or class indices from 0 to 1"):
        fitted.score([0, 1], [0, wrong])


@pytest.mark.parametrize("length", [19, 21, 3])
def test_y_of_another_length_is_an_error(length):
    with pytest.raises(InputError, match="one entry a node"):
        SEGNNClassifier(settings=SMALL).fit(GRAPH, np.arange(length) % 2)


def test_y_with_a_class_that_has_no_name_is_an_error():
    with pytest.raises(InputError, match=r"labels must be -1 .* or a class below 2, got 2"):
        SEGNNClassifier(settings=SMALL).fit(GRAPH, np.arange(20) % 3)


# --- PyG


def test_a_pyg_data_trains_as_our_graph():
    plain = random_graph(1, num_nodes=20)
    ours, theirs = (SEGNNClassifier(settings=SMALL, seed=3).fit(g) for g in (plain, pyg_data(plain)))
    np.testing.assert_array_equal(ours.predict_proba(), theirs.predict_proba())
    np.testing.assert_array_equal(theirs.graph_.edges, plain.edges)
    assert theirs.graph_.merged.reciprocal == plain.num_edges
    assert theirs.score() == ours.score()
    assert theirs.explain(4).to_json() == ours.explain(4).to_json()


def test_a_pyg_data_without_masks_labels_every_node_with_a_label():
    data = pyg_data(GRAPH, train_mask=None, val_mask=None, test_mask=None)
    assert len(SEGNNClassifier(settings=SMALL).fit(data).graph_.train) == 20


@pytest.mark.parametrize("field", ["x", "edge_index", "y"])
def test_a_pyg_data_that_lacks_something_is_an_error(field):
    with pytest.raises(InputError, match=f"a PyG Data needs x, edge_index and y, this Data has no {field}"):
        SEGNNClassifier(settings=SMALL).fit(pyg_data(GRAPH, **{field: None}))


def test_a_pyg_data_with_several_splits_is_an_error():
    data = pyg_data(GRAPH, train_mask=torch.zeros(20, 10, dtype=torch.bool))
    with pytest.raises(InputError, match=r"train_mask must have one dimension, got shape \(20, 10\): choose one split"):
        SEGNNClassifier(settings=SMALL).fit(data)


def test_what_is_no_graph_is_an_error():
    with pytest.raises(InputError, match="a PyG Data needs x, edge_index and y, this ndarray has no x"):
        SEGNNClassifier(settings=SMALL).fit(np.ones((3, 3)))
