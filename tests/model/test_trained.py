"""A trained model on another graph."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn import SEGNNClassifier
from se_gnn.errors import InputError
from se_gnn.graph.columns import NumberColumn
from strategies import changed, random_graph, small_settings, untrained


def test_a_model_on_its_own_graph_says_the_same():
    graph = random_graph()
    trained = untrained(graph, small_settings())
    np.testing.assert_array_equal(trained.with_graph(graph).predict().probabilities, trained.predict().probabilities)


def test_the_labeled_nodes_of_the_other_graph_vote():
    trained = untrained(random_graph(), small_settings())
    other = random_graph(1, num_nodes=20, num_labeled=4, name="later")
    prediction = trained.with_graph(other).predict()
    assert prediction.nodes.tolist() == list(range(20))
    assert set(prediction.cases.ravel().tolist()) <= {0, 1, 2, 3}


def test_features_and_classes_must_mean_the_same():
    graph = random_graph()
    trained = untrained(graph, small_settings())
    with pytest.raises(InputError, match="other num_features than the graph that the model was trained on: 3, not 5"):
        trained.with_graph(random_graph(num_features=3))
    with pytest.raises(InputError, match="other class_names"):
        trained.with_graph(random_graph(class_names=["a", "b"]))
    with pytest.raises(InputError, match="has no labeled node, two are needed"):
        trained.with_graph(graph.with_split(train=[]))
    with pytest.raises(InputError, match="has one labeled node, two are needed"):  # who would vote on it?
        trained.with_graph(graph.with_split(train=[0]))
    columns = tuple(NumberColumn(name=f"c{i}", first=i, size=1, offset=0.0, scale=1.0) for i in range(5))
    with pytest.raises(InputError, match=r"another encoding of them, .* --like"):
        trained.with_graph(changed(graph, columns=columns))


def test_a_classifier_goes_to_another_graph_and_stays_itself():
    graph = random_graph()
    classifier = SEGNNClassifier(epochs=1, num_nearest=3, settings={"hidden_size": 4}).fit(graph)
    before = classifier.predict_proba()
    later = classifier.with_graph(random_graph(1, num_nodes=20, num_labeled=4))
    assert later.predict_proba().shape == (20, 2)
    assert later.explain(19).name == "19"
    np.testing.assert_array_equal(classifier.predict_proba(), before)


def test_features_in_another_order_are_refused():
    names = [f"f{i}" for i in range(5)]
    trained = untrained(random_graph(feature_names=names), small_settings())
    trained.with_graph(random_graph(feature_names=names))
    with pytest.raises(InputError, match=r"its features in another order .* feature 0 is 'f1', not 'f0'"):
        trained.with_graph(random_graph(feature_names=["f1", "f0", "f2", "f3", "f4"]))
    with pytest.raises(InputError, match="its features with other names"):
        trained.with_graph(random_graph(feature_names=["f1", "x", "f2", "f3", "f4"]))
