"""Numbers in pieces: a layer can tell below a threshold from above it, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from backends import on_every_device
from se_gnn.encoder import Dropout, EncoderInputs, Network
from se_gnn.encoder.pieces import PIECES, Pieces
from se_gnn.errors import InputError
from se_gnn.explain import shared_attributes
from se_gnn.explain.attributes import attributes_of
from se_gnn.graph import Graph
from se_gnn.model import Model
from se_gnn.model.folder import load_model, save_model
from se_gnn.settings import EncoderSettings, Settings
from se_gnn.training import fit
from strategies import changed, random_graph

IN_PIECES = EncoderSettings(hidden_size=6, output_size=4, attribute_scaling="pieces", aggregation="own")


def fitted(features: np.ndarray) -> Pieces:
    pieces = Pieces(features.shape[1])
    pieces.fit(features)
    return pieces


def dense_graph(seed: int = 3) -> Graph:
    features = np.random.default_rng(seed).normal(size=(60, 5)).astype(np.float32)
    return random_graph(
        seed, num_nodes=60, num_edges=120, isolated=(57, 58), num_labeled=20, num_classes=2, features=features
    )


SETTINGS = Settings.of(
    "best", portfolio=False, epochs=3, members=2, hidden_size=8, output_size=4, attribute_scaling="pieces"
)


@pytest.fixture(scope="module")
def trained() -> Model:
    return fit(dense_graph(), SETTINGS)


@on_every_device
def test_pieces_are_the_same_wherever_they_are_fitted(trained, device):
    other = fit(dense_graph(), SETTINGS, device=device)
    for one, same in zip(trained.encoder.network.encoders, other.encoder.network.encoders):
        if one.pieces is not None:
            torch.testing.assert_close(one.pieces.state_dict(), same.pieces.cpu().state_dict(), rtol=1e-6, atol=1e-6)


def test_pieces_add_up_to_the_number_between_the_quantiles():
    features = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    pieces = fitted(features)
    through = pieces.of(torch.from_numpy(features)) + pieces.mean
    low, high = np.quantile(features.astype(np.float64), [0.005, 0.995], axis=0)
    expected = (features.clip(low, high) - low) / (high - low) * PIECES
    np.testing.assert_allclose(through.sum(dim=2).numpy(), expected, atol=1e-4)


def test_the_mean_of_every_piece_over_the_nodes_is_0():
    features = np.random.default_rng(0).exponential(size=(300, 3)).astype(np.float32)
    np.testing.assert_allclose(fitted(features)(torch.from_numpy(features)).mean(dim=0), 0, atol=1e-6)


@pytest.mark.parametrize("rare", [1, 100])
def test_a_column_of_two_values_has_one_piece_however_rare_one_is(rare):
    column = np.zeros((400, 1), np.float32)
    column[:rare] = 3
    found = fitted(column)(torch.from_numpy(column))
    np.testing.assert_allclose((found[0] - found[-1]).numpy(), [1] + [0] * (PIECES - 1), atol=1e-6)


def test_a_column_of_one_value_says_nothing():
    column = np.full((10, 1), 7, np.float32)
    assert not fitted(column)(torch.tensor([[7.0], [100.0]])).any()


def test_sparse_attributes_have_no_pieces():
    with pytest.raises(InputError, match="pieces is for numbers in columns"):
        Pieces(2).fit(sp.csr_array(np.eye(2, dtype=np.float32)))


def test_a_column_that_is_left_out_is_its_mean():
    graph = dense_graph()
    encoder = Network(5, IN_PIECES, generator=torch.Generator().manual_seed(0))
    encoder.fit(graph.features)
    inputs = EncoderInputs.from_graph(graph, IN_PIECES)
    nothing = Dropout(torch.zeros(60, 5), ())
    layer = encoder.layers[0]
    expected = encoder.later_layers(layer.bias.expand(60, -1))
    torch.testing.assert_close(encoder(inputs, nothing), expected)
    torch.testing.assert_close(encoder(inputs, Dropout(torch.zeros(60, 1), ())), expected)


def test_a_model_with_pieces_goes_through_a_folder(trained, tmp_path):
    save_model(trained, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert torch.equal(loaded.embeddings, trained.embeddings)


def test_pieces_stay_those_of_the_graph_that_was_trained_on(trained):
    graph = trained.graph
    features = np.array(graph.features)
    features[-1] = 1000
    other = changed(graph, features=features)
    alone = np.setdiff1d(np.arange(graph.num_nodes), [*graph.edges.ends.ravel(), graph.num_nodes - 1])
    torch.testing.assert_close(trained.with_graph(other).embeddings[alone], trained.embeddings[alone])
    assert len(alone)


def test_what_an_attribute_does_is_exact_with_pieces(trained):
    graph, scored = trained.graph, trained.encoder.network
    found = shared_attributes(trained, 0, 1, top=5, taken_from="both")
    known = attributes_of(graph, trained.settings.encoder)
    rows = np.array(graph.features[[0, 1]])
    shared = {one.name: one for one in known.shared(rows[0], rows[1])}
    for one in found.attributes:
        features = np.array(graph.features)
        columns = list(shared[one.name].features)
        features[np.ix_([0, 1], columns)] = known.without[columns]
        inputs = EncoderInputs.from_graph(graph, trained.settings.encoder)
        changed = EncoderInputs(torch.from_numpy(features), inputs.propagation)
        with torch.no_grad():
            h, other = scored(inputs)[:2], scored(changed)[:2]
        lost = torch.cosine_similarity(h[0], h[1], dim=0) - torch.cosine_similarity(other[0], other[1], dim=0)
        assert one.effect == pytest.approx(float(lost), abs=1e-4)
