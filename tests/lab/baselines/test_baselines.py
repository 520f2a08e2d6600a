"""What holds for every baseline."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from lab.baselines import BASELINES, DeepKNN, baseline
from lab.baselines.network import NetworkBaseline, dense_features, directed_edges
from se_gnn.errors import InputError
from strategies import changed

pytest.importorskip("torch_geometric.nn", exc_type=ImportError)

QUICK = {"epochs": 30, "hidden_size": 8}
NETWORKS = [name for name, kind in BASELINES.items() if issubclass(kind, NetworkBaseline)]


@pytest.mark.parametrize("name", NETWORKS)
def test_learns_two_groups(two_groups, name):
    fitted = baseline(name, **QUICK).fit(two_groups, seed=0)
    probabilities = fitted.predict_proba()
    assert probabilities.shape == (40, 2)
    assert probabilities.dtype == np.float32
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-5)
    assert (fitted.predict()[two_groups.test] == two_groups.labels[two_groups.test]).mean() > 0.85
    assert fitted.embeddings.shape[0] == 40


@pytest.mark.parametrize("name", NETWORKS)
def test_same_seed_same_bits_and_the_global_generators_stay(two_groups, name):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    runs = [baseline(name, epochs=4).fit(two_groups, seed=3).predict_proba() for _ in range(2)]
    other = baseline(name, epochs=4).fit(two_groups, seed=4).predict_proba()
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], other)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("name", NETWORKS)
def test_labels_of_test_nodes_are_not_looked_at(two_groups, name):
    swapped = two_groups.labels.copy()
    swapped[two_groups.test] = 1 - swapped[two_groups.test]
    blind = changed(two_groups, labels=swapped)
    runs = [baseline(name, epochs=4).fit(graph, seed=0).predict_proba() for graph in (two_groups, blind)]
    np.testing.assert_array_equal(*runs)


def test_the_best_epoch_by_validation_stays(two_groups):
    fitted = baseline("gcn", **QUICK).fit(two_groups, seed=1)
    best = max(record.val_accuracy for record in fitted.history_)
    predicted = fitted.predict()[two_groups.validation]
    assert (predicted == two_groups.labels[two_groups.validation]).mean() == pytest.approx(best)


def test_patience_stops_and_without_validation_nodes_the_last_epoch_stays(two_groups):
    fitted = baseline("gcn", epochs=200, patience=3).fit(two_groups, seed=0)
    best = max(
        range(len(fitted.history_)), key=lambda e: (fitted.history_[e].val_accuracy, -fitted.history_[e].val_loss)
    )
    assert len(fitted.history_) == best + 4 < 200
    blind = two_groups.with_split(train=two_groups.train, test=two_groups.test)
    fitted = baseline("gcn", epochs=7, patience=3).fit(blind, seed=0)
    assert len(fitted.history_) == 7
    assert np.isnan(fitted.history_[-1].val_accuracy)


def test_head_decides_what_the_embeddings_are(two_groups):
    plain = baseline("gcn", epochs=2).fit(two_groups, seed=0)
    headed = baseline("gcn", epochs=2, head="linear", hidden_size=5).fit(two_groups, seed=0)
    scores = torch.from_numpy(plain.embeddings).softmax(dim=1).numpy()
    np.testing.assert_allclose(scores, plain.predict_proba(), rtol=1e-5)
    assert headed.embeddings.shape == (40, 5)


def test_gin_is_pygs_layer(two_groups):
    """The linear layer before the sum is the same as the MLP of PyG's own layer after it."""
    from torch_geometric.nn import GINConv

    network = baseline("gin", num_layers=1).fit(two_groups, seed=0).network_
    layer = network.layers[0]
    bias, _, second = layer.conv.nn
    first = torch.nn.Linear(6, 16)
    theirs = GINConv(torch.nn.Sequential(first, torch.nn.ReLU(), second), train_eps=True)
    with torch.no_grad():
        first.weight.copy_(layer.first.weight)
        first.bias.copy_(bias.bias)
        theirs.eps.copy_(layer.conv.eps)
        x, edge_index = dense_features(two_groups, "raw"), directed_edges(two_groups)
        torch.testing.assert_close(layer(x, edge_index), theirs(x, edge_index))


def test_graph_sage_is_pygs_layer(two_groups):
    """A linear layer before the mean of the neighbors is the same as one after it."""
    from torch_geometric.nn import SAGEConv

    layer = baseline("graph-sage", num_layers=1).fit(two_groups, seed=0).network_.layers[0]
    theirs = SAGEConv(6, 2)
    with torch.no_grad():
        theirs.lin_r.weight.copy_(layer.own.weight)
        theirs.lin_l.bias.copy_(layer.own.bias)
        theirs.lin_l.weight.copy_(layer.neighbors.weight)
        x, edge_index = dense_features(two_groups, "raw"), directed_edges(two_groups)
        torch.testing.assert_close(layer(x, edge_index), theirs(x, edge_index))


def test_super_gat_adds_its_edge_prediction_loss(two_groups):
    weights = (0.0, 4.0)
    runs = [baseline("super-gat", epochs=1, attention_loss_weight=w).fit(two_groups, seed=0) for w in weights]
    without, with_task = (run.history_[0].loss for run in runs)
    assert with_task > without + 1


def test_row_normalized_features_add_up_to_one(two_groups):
    np.testing.assert_allclose(dense_features(two_groups, "normalized").sum(dim=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(dense_features(two_groups, "raw"), two_groups.features)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("supergat", {}, "unknown baseline 'supergat' (did you mean 'super-gat'?); known: gcn, gin"),
        ("gcn", {"hiden_size": 3}, "unknown setting of gcn, 'hiden_size' (did you mean 'hidden_size'?)"),
        ("gcn", {"dropout": 1.5}, "dropout must be between 0 and 1, got 1.5"),
        ("gin", {"propagation": "max"}, "propagation must be one of sum, normalized, got 'max'"),
        ("super-gat", {"heads": 0}, "heads must be at least 1, got 0"),
        ("gcn-k", {"num_nearest": 0}, "num_nearest must be at least 1, got 0"),
    ],
)
def test_a_wrong_name_or_setting_is_refused(name, settings, message):
    with pytest.raises(InputError) as error:
        baseline(name, **settings)
    assert message in str(error.value)


def test_nothing_is_said_before_fit_and_nothing_learned_from_one_class(two_groups):
    with pytest.raises(InputError, match="GCN is not fitted"):
        baseline("gcn").predict()
    with pytest.raises(InputError, match="at least two classes"):
        baseline("gcn").fit(two_groups.with_split(train=[0, 1]), seed=0)


def test_the_extra_is_named_where_pyg_is_missing(two_groups, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(InputError, match=r"pip install 'se-gnn\[lab\]'"):
        baseline("gcn").fit(two_groups, seed=0)
    assert issubclass(BASELINES["mlp-k"], DeepKNN)
    baseline("mlp-k", epochs=1).fit(two_groups, seed=0)  # needs no message passing
