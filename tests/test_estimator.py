"""The estimator keeps scikit-learn's manners, on our graph and on a PyG `Data`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import se_gnn
from se_gnn import SEGNNClassifier, SEGNNRegressor
from se_gnn.errors import InputError
from se_gnn.estimator import NAMED
from se_gnn.explain import Explanation
from se_gnn.graph import Graph
from se_gnn.settings.sections import DEFAULTS, OWNERS
from strategies import random_graph

SMALL = {"num_nearest": 3, "epochs": 3, "settings": {"hidden_size": 6}, "device": "cpu"}
GRAPH = random_graph(1, num_nodes=20, class_names=("red", "blue"))


@pytest.fixture(scope="module")
def fitted():
    return SEGNNClassifier(**SMALL, seed=3).fit(GRAPH)


def pyg_data(graph, **changes):
    data = pytest.importorskip("torch_geometric.data").Data
    both_ways = np.concatenate([graph.edges.ends, graph.edges.ends[:, ::-1]]).T.copy()
    values = {
        "x": torch.tensor(graph.features),
        "edge_index": torch.from_numpy(both_ways),
        "y": torch.tensor(graph.labels),
    }
    for name, nodes in (("train", graph.train), ("val", graph.validation), ("test", graph.test)):
        mask = torch.zeros(graph.num_nodes, dtype=torch.bool)
        mask[torch.tensor(nodes)] = True
        values[f"{name}_mask"] = mask
    return data(**{**values, **changes})


def test_fitting_returns_the_estimator_and_learns_attributes_with_an_underscore(fitted):
    assert SEGNNClassifier(**SMALL).fit(GRAPH).fit(GRAPH).__class__ is SEGNNClassifier
    assert fitted.classes_.tolist() == ["red", "blue"]
    assert fitted.graph_ is GRAPH
    assert fitted.n_features_in_ == 5
    assert fitted.trained_.facts.seed == 3
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
    assert fitted.score() == fitted.evaluate()["test"]["accuracy"]
    assert fitted.score([0, 1, 9]) == pytest.approx(right[[0, 1, 9]].mean())
    assert fitted.score([0, 1, 9], truth[[0, 1, 9]]) == fitted.score([0, 1, 9], GRAPH.labels[[0, 1, 9]])
    assert fitted.score([0, 1], fitted.predict([0, 1])) == 1
    wrong = 1 - fitted.predict_proba([0, 1]).argmax(axis=1)
    assert fitted.score([0, 1], wrong) == 0
    half = [wrong[0], 1 - wrong[1]]
    assert fitted.score([0, 1], half, sample_weight=[1, 3]) == pytest.approx(0.75)


def test_the_score_looks_at_its_nodes_where_names_are_numbers_in_another_order():
    names = tuple(str(i) for i in np.random.default_rng(0).permutation(20))
    named = SEGNNClassifier(**SMALL, preset="authors", seed=3).fit(random_graph(1, num_nodes=20, node_names=names))
    plain = SEGNNClassifier(**SMALL, preset="authors", seed=3).fit(random_graph(1, num_nodes=20))
    np.testing.assert_array_equal(named.predict_proba(), plain.predict_proba())
    right = named.predict_proba().argmax(axis=1) == GRAPH.labels
    assert right[GRAPH.test].mean() != right[[names.index(str(i)) for i in GRAPH.test]].mean()  # else nothing is tried
    assert named.score() == plain.score() == right[GRAPH.test].mean()


def test_an_explanation_is_that_of_the_prediction(fitted):
    explanation = fitted.explain(12)
    assert isinstance(explanation, Explanation)
    np.testing.assert_array_equal(np.float32(explanation.probabilities), fitted.predict_proba([12])[0])
    assert explanation.predicted_name == fitted.predict([12])[0]
    assert fitted.explain("12").to_json() == explanation.to_json()
    assert [n.matches is not None for n in fitted.explain(12, k=1).votes] == [True, False, False]
    json.loads(explanation.to_json())


def test_the_same_seed_gives_the_same_probabilities_and_another_seed_others(fitted):
    same, other = (SEGNNClassifier(**SMALL, seed=seed).fit(GRAPH).predict_proba() for seed in (3, 4))
    np.testing.assert_array_equal(same, fitted.predict_proba())
    assert not np.array_equal(other, same)


def test_parameters_are_stored_as_given_and_survive_a_clone():
    settings = {"hidden_size": 4}
    classifier = SEGNNClassifier(preset="paper", settings=settings, seed=5, epochs=7)
    assert classifier.settings is settings
    copy = clone(classifier)
    assert copy is not classifier
    assert copy.get_params() == classifier.get_params()
    assert copy.set_params(seed=6, num_nearest=9).num_nearest == 9
    assert "paper" in repr(classifier)


def test_the_front_door_is_small_and_every_other_setting_is_reached_through_settings():
    parameters = SEGNNClassifier().get_params()
    assert len(parameters) <= 15
    named = set(NAMED)
    assert named <= parameters.keys() & OWNERS.keys()
    assert all(parameters[name] is None for name in named)
    for name in OWNERS.keys() - named:
        value = "none" if DEFAULTS[name] is None else DEFAULTS[name]
        assert name in SEGNNClassifier(settings={name: value})._asked().given


def test_parameters_and_settings_are_given_and_none_is_not():
    values = {"hops": 1, "patience": "none", "read_edges": False}
    fitted = SEGNNClassifier(preset="paper", num_nearest=3, epochs=2, settings=values, device="cpu").fit(GRAPH)
    settings = fitted.settings_
    assert (settings.vote.num_nearest, settings.similarity.hops, settings.preset) == (3, 1, "paper")
    assert settings.training.patience is None
    assert set(settings.asked.given) == {"num_nearest", "epochs", "hops", "patience", "read_edges"}
    assert settings.origin["members"] == "default"


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"hops": 1, "settings": {"hops": 2}}, "hops is given as a parameter and in settings: give it once"),
        ({"hops": 1, "settings": {"hops": 1}}, "hops is given as a parameter and in settings: give it once"),
        ({"settings": "hops=1"}, "settings must be a mapping from names to values, got 'hops=1'"),
        ({"settings": {"hidden_sise": 3}}, r"unknown setting 'hidden_sise' \(did you mean 'hidden_size'\?\)"),
        ({"settings": {"patience": None}}, "patience must have a value: leave it out, or write 'none'"),
        ({"settings": {"preset": "paper"}}, "preset is not a setting: choose it with preset=..."),
        ({"settings": {"similarity": {"hops": 1}}}, "unknown setting 'similarity'"),
        ({"preset": "paper", "balance_classes": True}, "balance_classes is not read by the paper's objective"),
    ],
)
def test_what_cannot_be_honored_is_refused(parameters, text):
    with pytest.raises(InputError, match=text):
        SEGNNClassifier(**parameters, device="cpu").fit(GRAPH)


def test_a_graph_of_ones_own_gets_no_settings_by_its_name():
    for name in ("cora", "cora-payments-2024"):
        graph = random_graph(1, num_nodes=40, num_labeled=35, name=name)
        assert SEGNNClassifier(preset="authors", epochs=1).fit(graph).settings_.vote.num_nearest == 20
    registered = random_graph(1, num_nodes=40, num_labeled=35, name="mine", dataset="cora")
    assert SEGNNClassifier(preset="authors", epochs=1).fit(registered).settings_.vote.num_nearest == 30


def test_grid_search_sets_the_settings_and_scores_on_held_out_nodes():
    graph = random_graph(1, num_nodes=40, num_labeled=20)
    classifier = SEGNNClassifier(preset="paper", epochs=1, device="cpu")
    search = GridSearchCV(classifier, {"num_nearest": [1, 3], "node_weight": [0.2, 0.9]}, cv=2)
    search.fit(graph.train, graph.labels[graph.train], graph=graph)
    assert set(search.best_params_) == {"num_nearest", "node_weight"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.graph_.train.tolist() == graph.train.tolist()


def test_a_grid_search_over_other_settings_gives_them_as_settings():
    graph = random_graph(1, num_nodes=40, num_labeled=20)
    classifier = SEGNNClassifier(preset="paper", epochs=1, num_nearest=3, device="cpu")
    grid = {"settings": [{"hidden_size": 4}, {"hidden_size": 8, "patience": "none"}]}
    search = GridSearchCV(classifier, grid, cv=2).fit(graph.train, graph.labels[graph.train], graph=graph)
    settings = search.best_estimator_.settings_
    assert settings.encoder.hidden_size == search.best_params_["settings"]["hidden_size"]
    assert settings.is_given("hidden_size")


@pytest.mark.parametrize("k", [10, 39, 40, np.int64(40)])
def test_every_k_of_a_grid_is_used_as_it_is_also_the_one_that_is_the_default(k):
    graph = random_graph(1, num_nodes=120, num_edges=200, num_labeled=50)
    one_run = {"portfolio": False, "hidden_size": 4}
    fitted = SEGNNClassifier(num_nearest=k, epochs=1, members=1, settings=one_run, device="cpu").fit(graph)
    assert fitted.settings_.vote.num_nearest == k
    assert (fitted.trained_.predict([60]).weights > 0).sum() <= k == fitted.trained_.predict([60]).weights.shape[1]


def test_labeled_nodes_given_apart_replace_those_of_the_graph():
    fitted = SEGNNClassifier(**SMALL).fit(["0", "1", "2", "3"], graph=GRAPH)
    assert fitted.graph_.train.tolist() == [0, 1, 2, 3]
    same = SEGNNClassifier(**SMALL).fit(GRAPH.train, GRAPH.labels[GRAPH.train], graph=GRAPH)
    np.testing.assert_array_equal(same.predict_proba(), SEGNNClassifier(**SMALL).fit(GRAPH).predict_proba())


def test_a_node_that_is_given_two_labels_is_an_error():
    with pytest.raises(InputError, match="y must hold one label per node, node '1' has two"):
        SEGNNClassifier(**SMALL).fit([0, 1, 1], ["red", "red", "blue"], graph=GRAPH)


def test_a_model_is_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = SEGNNClassifier.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert loaded.predict().tolist() == fitted.predict().tolist()
    assert (loaded.settings_, loaded.classes_.tolist()) == (fitted.settings_, ["red", "blue"])
    assert loaded.get_params() == fitted.get_params()
    refitted = clone(loaded).fit(GRAPH)
    np.testing.assert_array_equal(refitted.predict_proba(), fitted.predict_proba())
    with pytest.raises(InputError, match="does not exist"):
        SEGNNClassifier.load(tmp_path / "nothing")


def test_a_loaded_model_knows_what_was_given_and_what_was_decided(tmp_path):
    given = {
        "preset": "authors",
        "num_nearest": 3,
        "best_by": "loss",
        "settings": {"patience": "none", "mask_rate": 0.3},
    }
    graph = random_graph(1, num_nodes=60)
    fitted = SEGNNClassifier(**given, epochs=2, seed=4, calibration=0.3, device="cpu").fit(graph)
    fitted.save(tmp_path)
    loaded = SEGNNClassifier.load(tmp_path, device="cpu", max_memory="1GB")
    assert loaded.get_params() == {**fitted.get_params(), "max_memory": "1GB"}
    assert loaded.trained_.facts == fitted.trained_.facts
    assert loaded.settings_.origin == fitted.settings_.origin


def test_a_clone_of_a_fitted_estimator_is_not_fitted_and_fits_to_the_same_bits(fitted):
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        copy.predict()
    np.testing.assert_array_equal(copy.fit(GRAPH).predict_proba(), fitted.predict_proba())


def test_nothing_is_checked_before_fit():
    classifier = SEGNNClassifier(preset="nonsense", hops=9, device="tpu", seed=-1)
    with pytest.raises(InputError, match="preset must be one of paper, authors, best, got 'nonsense'"):
        classifier.fit(GRAPH)
    with pytest.raises(InputError, match="hops must be between 1 and 3, got 9"):
        classifier.set_params(preset="best").fit(GRAPH)
    with pytest.raises(InputError, match="seed must be a whole number from 0 to "):
        classifier.set_params(**{**SMALL, "device": "tpu", "hops": 2}).fit(GRAPH)
    with pytest.raises(InputError, match="device must be auto, cpu or cuda, got 'tpu'"):
        classifier.set_params(seed=1).fit(GRAPH)


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


@pytest.mark.parametrize("node", [0.5, 1.0, None, True, 2.5])
def test_what_is_neither_a_position_nor_a_name_is_an_error(fitted, node):
    for use in (fitted.explain, lambda node: fitted.predict(["0", node]), lambda node: fitted.score(["0", node])):
        with pytest.raises(InputError, match=r"a node must be a position \(a whole number\) or a name \(text\), got "):
            use(node)


def test_an_integer_is_a_position_where_names_are_numbers_from_one():
    names = tuple(str(i) for i in range(1, 21))  # a table whose ids are 1..n
    graph = random_graph(1, num_nodes=20, node_names=names, class_names=("red", "blue"))
    fitted = SEGNNClassifier(**SMALL, seed=3).fit(graph)
    whole = fitted.predict_proba()
    np.testing.assert_array_equal(fitted.predict_proba(graph.test), whole[graph.test])
    np.testing.assert_array_equal(fitted.predict_proba([names[i] for i in graph.test]), whole[graph.test])
    right = fitted.predict(graph.test) == np.array(["red", "blue"])[graph.labels[graph.test]]
    assert right.mean() == fitted.score() == fitted.score(graph.test)
    assert (fitted.explain(1).node, fitted.explain("1").node) == (1, 0)
    mask = np.isin(np.arange(20), graph.test)
    np.testing.assert_array_equal(fitted.predict_proba(mask), whole[graph.test])
    np.testing.assert_array_equal(fitted.predict_proba(torch.tensor(mask)), whole[graph.test])


@pytest.mark.parametrize(
    ("nodes", "y", "text"),
    [
        ([1, 2], [0], r"y must have one entry per node \(2\), got shape \(1,\)"),
        ([1, 2], 0, r"y must have one entry per node \(2\), got shape \(\)"),
        ([1, 2], [[0], [1]], r"y must have one entry per node \(2\), got shape \(2, 1\)"),
        ([1, 2], [0.0, 1.0], "y must hold class names or class indices"),
        ([1, 2], [True, False], "y must hold class names or class indices"),
        ([1, 2], ["red", "rde"], r"y holds an unknown class 'rde' \(did you mean 'red'\?\)"),
        ([1, 2], np.array(["red", 1], dtype=object), "y must hold class names alone, or class indices alone, got 1"),
        ([1, 2], ["red", ""], "y must hold class names, or class indices from 0 to 1"),
        ([], [], "score needs nodes"),
    ],
)
def test_labels_that_do_not_fit_the_nodes_cannot_be_scored_against(fitted, nodes, y, text):
    with pytest.raises(InputError, match=text):
        fitted.score(nodes, y)


def test_weights_that_do_not_fit_the_nodes_are_an_error(fitted):
    with pytest.raises(InputError, match=r"sample_weight must have one entry per node \(2\), got \(1,\)"):
        fitted.score([0, 1], sample_weight=[1])
    with pytest.raises(InputError, match=r"sample_weight must be 0 or more for every node, got -2"):
        fitted.score([0, 1], sample_weight=[1, -2])
    with pytest.raises(InputError, match=r"sample_weight must be 0 or more for every node, got nan"):
        fitted.score([0, 1], sample_weight=[1, float("nan")])


def test_a_graph_without_test_nodes_cannot_be_scored_without_nodes():
    classifier = SEGNNClassifier(**SMALL).fit(GRAPH.with_split(train=GRAPH.train))
    with pytest.raises(InputError, match="score needs nodes: give their positions or names"):
        classifier.score()
    assert 0 <= classifier.score([10, 11]) <= 1


def test_a_node_without_a_label_cannot_be_scored():
    labels = GRAPH.labels.copy()
    labels[12] = -1
    classifier = SEGNNClassifier(**SMALL).fit(random_graph(1, num_nodes=20, labels=labels, validation=None, test=None))
    with pytest.raises(InputError, match="score needs nodes with a known label; node '12' has none"):
        classifier.score([12])


# --- labels given apart


def test_y_replaces_the_labels(fitted):
    flipped = SEGNNClassifier(**SMALL, seed=3).fit(GRAPH, 1 - GRAPH.labels)
    np.testing.assert_array_equal(flipped.graph_.labels, 1 - GRAPH.labels)
    np.testing.assert_allclose(flipped.predict_proba(), fitted.predict_proba()[:, ::-1], atol=1e-5)


def test_a_labeled_node_that_y_does_not_know_does_not_vote():
    labels = GRAPH.labels.copy()
    labels[[0, 7]] = -1
    classifier = SEGNNClassifier(**SMALL).fit(GRAPH, labels)
    assert 0 not in classifier.graph_.train
    assert 7 not in np.concatenate([classifier.graph_.validation, classifier.graph_.test])
    assert not classifier.explain(0).left_out


@pytest.mark.parametrize("wrong", [-1, 2])
def test_a_class_index_that_does_not_exist_cannot_be_scored_against(fitted, wrong):
    with pytest.raises(InputError, match="y must hold class names, or class indices from 0 to 1"):
        fitted.score([0, 1], [0, wrong])


@pytest.mark.parametrize("length", [19, 21, 3])
def test_y_of_another_length_is_an_error(length):
    with pytest.raises(InputError, match="y must have one entry per node"):
        SEGNNClassifier(**SMALL).fit(GRAPH, np.arange(length) % 2)


def test_y_with_a_class_that_has_no_name_is_an_error():
    with pytest.raises(InputError, match=r"y must hold class names, or class indices from 0 to 1 .* got 2"):
        SEGNNClassifier(**SMALL).fit(GRAPH, np.arange(20) % 3)


# --- PyG


def test_a_pyg_data_trains_as_our_graph():
    plain = random_graph(1, num_nodes=20)
    ours, theirs = (SEGNNClassifier(**SMALL, seed=3).fit(g) for g in (plain, pyg_data(plain)))
    np.testing.assert_array_equal(ours.predict_proba(), theirs.predict_proba())
    np.testing.assert_array_equal(theirs.graph_.edges.ends, plain.edges.ends)
    assert theirs.graph_.merged.reciprocal == plain.num_edges
    assert theirs.score() == ours.score()
    assert theirs.explain(4).to_json() == ours.explain(4).to_json()


def test_labels_come_back_in_the_type_they_came_in(tmp_path):
    theirs = SEGNNClassifier(**SMALL, seed=3).fit(pyg_data(GRAPH))
    assert theirs.predict().dtype.kind == "i"
    assert theirs.classes_.tolist() == [0, 1]
    assert theirs.score(GRAPH.test, GRAPH.labels[GRAPH.test]) == theirs.score()
    theirs.save(tmp_path / "model")
    assert SEGNNClassifier.load(tmp_path / "model").predict().dtype.kind == "i"
    assert SEGNNClassifier(**SMALL).fit(GRAPH).predict().dtype.kind == "U"
    assert SEGNNClassifier(**SMALL).fit(GRAPH, GRAPH.labels).predict().dtype.kind == "i"
    names = np.array(["red", "blue"])[GRAPH.labels]
    assert SEGNNClassifier(**SMALL).fit(GRAPH, names).predict().dtype.kind == "U"


@pytest.mark.parametrize(("field", "part"), [("edge_weight", "weight"), ("edge_attr", "attributes")])
def test_what_edges_of_a_pyg_data_carry_is_in_the_graph(field, part):
    data = pyg_data(GRAPH)
    data[field] = torch.ones(data.edge_index.shape[1])
    graph = SEGNNClassifier(**SMALL).fit(data).graph_
    assert graph.edge_values.edge_data == (part,)
    assert graph.edges.ends.tolist() == GRAPH.edges.ends.tolist()


def test_names_of_classes_can_be_given_as_y(fitted):
    names = [["red", "blue"][label] for label in GRAPH.labels]
    named = SEGNNClassifier(**SMALL, seed=3).fit(GRAPH, names)
    np.testing.assert_array_equal(named.predict_proba(), fitted.predict_proba())
    some = [name if i else None for i, name in enumerate(names)]
    assert 0 not in SEGNNClassifier(**SMALL).fit(GRAPH, some).graph_.train


def test_a_pyg_data_without_masks_labels_every_node_with_a_label():
    data = pyg_data(GRAPH, train_mask=None, val_mask=None, test_mask=None)
    assert len(SEGNNClassifier(**SMALL).fit(data).graph_.train) == 20


@pytest.mark.parametrize("field", ["x", "edge_index", "y"])
def test_a_pyg_data_that_lacks_something_is_an_error(field):
    with pytest.raises(InputError, match=f"a PyG Data needs x, edge_index and y, this Data has no {field}"):
        SEGNNClassifier(**SMALL).fit(pyg_data(GRAPH, **{field: None}))


def test_a_pyg_data_with_several_splits_is_an_error():
    data = pyg_data(GRAPH, train_mask=torch.zeros(20, 10, dtype=torch.bool))
    with pytest.raises(InputError, match=r"train_mask must have one dimension, got shape \(20, 10\): choose one split"):
        SEGNNClassifier(**SMALL).fit(data)


def test_an_estimator_for_classes_refuses_numbers_and_the_other_way_round_before_anything_is_trained(tmp_path):
    rows = {"features": np.arange(40)[:, None], "edges": [], "train": np.arange(20), "validation": np.arange(20, 40)}
    numbers, classes = Graph.build(**rows, values=np.arange(40.0)), Graph.build(**rows, labels=np.arange(40) % 2)
    with pytest.raises(InputError, match=r"this needs classes, but .* has a number to predict"):
        SEGNNClassifier(epochs=10**9).fit(numbers)
    with pytest.raises(InputError, match=r"this needs a number to predict, but .* has 2 classes"):
        SEGNNRegressor(epochs=10**9).fit(classes)
    SEGNNRegressor(num_nearest=3, epochs=1, members=1).fit(numbers).save(tmp_path / "numbers")
    with pytest.raises(InputError, match="this needs classes"):
        SEGNNClassifier.load(tmp_path / "numbers")


def test_what_is_no_graph_is_an_error():
    with pytest.raises(InputError, match="a PyG Data needs x, edge_index and y, this ndarray has no x"):
        SEGNNClassifier(**SMALL).fit(np.ones((3, 3)))


def test_dir_shows_the_public_names_and_types_are_shipped():
    assert set(se_gnn.__all__) <= set(dir(se_gnn))
    assert (Path(se_gnn.__file__).parent / "py.typed").is_file()
