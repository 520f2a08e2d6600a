"""The encoder, Eq. (1), against dense NumPy, loops and PyG's own normalization."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.encoder import EncoderInputs, Network, propagation
from se_gnn.encoder.encoder import SPREAD
from se_gnn.errors import InputError
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.model.folder import load_model, save_model
from se_gnn.settings import EncoderSettings, Settings
from se_gnn.training import fit
from strategies import continuous, graphs, random_graph, seeds

aggregations = st.sampled_from(["gcn", "mean"])


def encoder(graph, seed=0, **settings):
    made = Network(
        graph.num_features, EncoderSettings(hidden_size=6, **settings), generator=torch.Generator().manual_seed(seed)
    )
    with torch.no_grad():
        for layer in made.layers:  # biases that are not zero, so that one left out is seen
            layer.bias.copy_(torch.linspace(-1, 1, len(layer.bias)))
    return made


def adjacency(graph):
    dense = np.zeros((graph.num_nodes, graph.num_nodes))
    for u, v in graph.edges.ends:
        dense[u, v] = dense[v, u] = 1
    return dense


def mlp(made, graph):
    """H^m by NumPy."""
    h = np.asarray(graph.features, dtype=np.float64)
    for i, layer in enumerate(made.layers):
        weight, bias = (tensor.detach().double().numpy() for tensor in (layer.weight, layer.bias))
        h = (np.maximum(h, 0) if i else h) @ weight.T + bias
    return h


def dense_of(matrix):
    return matrix.rows.to_dense().numpy()


@settings(max_examples=30)
@given(graph=graphs(), num_layers=st.integers(1, 3))
def test_the_gcn_encoder_is_the_dense_formula(graph, num_layers):
    made = encoder(graph, num_layers=num_layers)
    loops = adjacency(graph) + np.eye(graph.num_nodes)
    root = np.diag(loops.sum(axis=1) ** -0.5)
    hidden = mlp(made, graph)
    expected = np.maximum(root @ loops @ root @ hidden @ made.weight.weight.detach().double().numpy().T, 0) + hidden
    found = made(EncoderInputs.from_graph(graph, EncoderSettings())).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=30)
@given(graph=graphs(), scale_init=st.sampled_from(["small", "uniform"]))
def test_the_mean_encoder_adds_the_scaled_mean_of_the_neighbors(graph, scale_init):
    made = encoder(graph, aggregation="mean", scale_init=scale_init)
    hidden, scale = mlp(made, graph), made.scale.detach().double().numpy()
    found = made(EncoderInputs.from_graph(graph, EncoderSettings(aggregation="mean"))).detach()
    for node in range(graph.num_nodes):
        neighbors = np.flatnonzero(adjacency(graph)[node])
        heard = hidden[neighbors].mean(axis=0) if len(neighbors) else np.zeros(6)
        np.testing.assert_allclose(found[node], heard * scale + hidden[node], rtol=1e-4, atol=1e-5)


def test_propagation_is_the_normalization_of_pyg():
    gcn_norm = pytest.importorskip("torch_geometric.nn.conv.gcn_conv").gcn_norm
    graph = random_graph(3, isolated=(0, 7))
    both_ways = np.concatenate([graph.edges.ends, graph.edges.ends[:, ::-1]]).T.copy()
    index, values = gcn_norm(torch.from_numpy(both_ways), num_nodes=graph.num_nodes)
    expected = torch.zeros(graph.num_nodes, graph.num_nodes)
    expected[index[1], index[0]] = values
    found = dense_of(propagation(graph.edges.ends, graph.num_nodes, "gcn"))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@given(graph=graphs(), aggregation=aggregations)
def test_a_node_without_neighbors_hears_itself_or_nothing(graph, aggregation):
    found = dense_of(propagation(graph.edges.ends, graph.num_nodes, aggregation))
    for node in np.flatnonzero(graph.degrees == 0):
        expected = np.zeros(graph.num_nodes)
        expected[node] = 1 if aggregation == "gcn" else 0
        np.testing.assert_array_equal(found[node], expected)


@settings(max_examples=30)
@given(graph=graphs(), aggregation=aggregations, seed=seeds)
def test_sparse_features_are_encoded_as_dense_ones_with_the_same_gradients(graph, aggregation, seed):
    generator = np.random.default_rng(seed)
    values = np.where(generator.random(graph.features.shape) < 0.5, graph.features, 0).astype(np.float32)
    results = []
    for features in (values, sp.csr_array(values)):
        made = encoder(graph, aggregation=aggregation)
        kept = torch.tensor(values) if isinstance(features, np.ndarray) else SparseMatrix.from_scipy(features)
        inputs = EncoderInputs(kept, propagation(graph.edges.ends, graph.num_nodes, aggregation))
        h = made(inputs)
        (h * continuous(seed, *h.shape)).sum().backward()
        results.append((h.detach(), *(parameter.grad for parameter in made.parameters())))
    for dense, sparse in zip(*results):
        torch.testing.assert_close(sparse, dense, rtol=1e-4, atol=1e-5)


@given(seed=seeds, rows=st.integers(1, 6), columns=st.integers(1, 6), size=st.integers(1, 4))
def test_a_sparse_product_and_its_gradient_are_the_dense_ones(seed, rows, columns, size):
    generator = np.random.default_rng(seed)
    dense = np.where(generator.random((rows, columns)) < 0.4, generator.normal(size=(rows, columns)), 0)
    matrix, plain = SparseMatrix.from_scipy(sp.csr_array(dense)), torch.from_numpy(dense.astype(np.float32))
    weights = continuous(seed, rows, size)
    for product in (matrix, matrix.with_values(matrix.values * 2)):
        x, y = (continuous(seed + 1, columns, size).requires_grad_() for _ in range(2))
        found, expected = product @ x, plain @ y
        (found * weights).sum().backward()
        (expected * weights).sum().backward()
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(x.grad, y.grad)
        plain = plain * 2


@pytest.mark.parametrize("sparse", [False, True])
def test_masking_drops_nothing_at_rate_0_all_at_rate_1_and_a_share_between(sparse):
    values = np.abs(np.random.default_rng(0).normal(size=(50, 40))) + 1
    graph = random_graph(0, num_nodes=50, features=sp.csr_array(values) if sparse else values)
    inputs = EncoderInputs.from_graph(graph, EncoderSettings())

    def kept(rate):
        masked = inputs.masked(inputs.draw_mask(rate, generator=np.random.default_rng(1))).features
        return dense_of(masked) if sparse else masked.numpy()

    np.testing.assert_array_equal(kept(0.0), values.astype(np.float32))
    assert not kept(1.0).any()
    some = kept(0.3)
    dropped = some == 0
    assert 0.25 < dropped.mean() < 0.35
    np.testing.assert_array_equal(some[~dropped], values.astype(np.float32)[~dropped])


@pytest.mark.parametrize("sparse", [False, True])
def test_masking_leaves_the_original_and_agrees_with_its_transpose(sparse):
    values = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    graph = random_graph(0, features=sp.csr_array(values) if sparse else values)
    inputs = EncoderInputs.from_graph(graph, EncoderSettings())
    masked = inputs.masked(inputs.draw_mask(0.5, generator=np.random.default_rng(1)))
    original = inputs.features
    np.testing.assert_array_equal(dense_of(original) if sparse else original, values)
    if sparse:
        np.testing.assert_array_equal(masked.features.transposed.to_dense().T, dense_of(masked.features))


def test_xavier_weights_are_within_their_bound_and_biases_zero():
    made = Network(30, EncoderSettings(hidden_size=10), generator=torch.Generator().manual_seed(0))
    for layer in (*made.layers, made.weight):
        inputs, outputs = layer.in_features, layer.out_features
        bound = (6 / (inputs + outputs)) ** 0.5
        assert bound * 0.8 < layer.weight.abs().max() <= bound
        assert layer.bias is None or not layer.bias.any()


def test_fan_in_weights_and_biases_are_within_one_over_its_root():
    made = Network(
        30, EncoderSettings(hidden_size=10, weight_init="fan_in", aggregation="mean"),
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    for layer in made.layers:
        bound = layer.in_features**-0.5
        for parameter in (layer.weight, layer.bias):
            assert bound * 0.5 < parameter.abs().max() <= bound
    torch.testing.assert_close(made.scale.detach(), torch.full((10,), 0.01))


def test_initialization_does_not_depend_on_global_randomness():
    def made():
        return encoder(random_graph(0), aggregation="mean", scale_init="uniform", weight_init="fan_in")

    torch.manual_seed(1)
    one = made()
    torch.manual_seed(2)
    other = made()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])
    assert one.scale.min() >= 0.01
    assert one.scale.max() < 1


@pytest.mark.parametrize("aggregation", ["gcn", "mean", "pagerank", "steps", "own"])
def test_what_is_aggregated_is_a_polynomial_of_the_propagation(aggregation):
    graph = random_graph(3)
    made = encoder(graph, aggregation=aggregation, steps=3)
    if made.step_weights is not None:
        with torch.no_grad():
            made.step_weights.copy_(torch.tensor([0.5, -1.0, 0.25, 2.0]))
    matrix = propagation(graph.edges.ends, graph.num_nodes, aggregation)
    own = torch.randn(graph.num_nodes, 6, generator=torch.Generator().manual_seed(0))
    power, expected = own, torch.zeros_like(own)
    for weight in made.step_polynomial:
        expected = expected + weight * power
        power = matrix @ power
    assert torch.allclose(made.aggregate(own, lambda h: matrix @ h), expected, atol=1e-5)
    own_matters = not torch.equal(made.finish(own, expected), made.finish(own + 1, expected))
    assert made.adds_own == own_matters


@pytest.mark.parametrize("num_layers", [2, 3])
def test_residual_layers_are_the_dense_formula(num_layers):
    graph = random_graph(3)
    made = encoder(graph, aggregation="layers", steps=3, num_layers=num_layers)
    h = mlp_without_last(made, graph)
    degrees = adjacency(graph).sum(axis=1, keepdims=True)
    mean = torch.from_numpy(adjacency(graph) / np.maximum(degrees, 1)).double()
    residual = made.residual.double()
    for norm, weight in zip(residual.norms, residual.weights):
        z = norm(h)
        h = h + torch.relu(torch.cat([z, mean @ z], dim=1) @ weight.weight.T + weight.bias)
    last = made.layers[-1].double()
    expected = residual.last(h) @ last.weight.T + last.bias
    found = encoder(graph, aggregation="layers", steps=3, num_layers=num_layers)(
        EncoderInputs.from_graph(graph, EncoderSettings(aggregation="layers"))
    )
    assert torch.allclose(found.double(), expected, atol=1e-5)


def mlp_without_last(made, graph):
    h = torch.from_numpy(np.asarray(graph.features, np.float64))
    for layer in made.layers[:-1]:
        h = torch.relu(h @ layer.weight.double().T + layer.bias.double())
    return h


def test_residual_layers_need_hidden_units():
    with pytest.raises(InputError, match="num_layers must be at least 2 if aggregation is layers"):
        EncoderSettings(aggregation="layers", num_layers=1)


@pytest.mark.parametrize("sparse", [True, False])
def test_columns_of_a_weighted_encoder_begin_with_the_same_spread(sparse):
    features = sp.random_array((50, 7), density=0.4, random_state=np.random.default_rng(0), dtype=np.float32).tocsr()
    graph = random_graph(1, num_nodes=50, features=features if sparse else features.toarray())
    made = encoder(graph, attribute_scaling="weighted")
    made.fit(graph.features)
    unit = features.toarray() / np.maximum(np.linalg.norm(features.toarray(), axis=1, keepdims=True), 1e-9)
    spread = (unit * made.column_weights().detach().numpy()).std(axis=0)
    np.testing.assert_allclose(spread, SPREAD, rtol=1e-4)
    expected = (unit / unit.std(axis=0) * SPREAD) @ made.dense(0).weight.detach().numpy().T + np.linspace(-1, 1, 6)
    inputs = EncoderInputs.from_graph(graph, made.settings)
    np.testing.assert_allclose(made.first_layer(inputs.features).detach(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [0, 1])
def test_a_column_that_does_not_vary_has_a_finite_weight(value):
    features = np.full((30, 2), value, np.float32)
    made = encoder(random_graph(1, num_nodes=30, features=features), attribute_scaling="weighted")
    made.fit(features)
    assert made.column_weights().isfinite().all()


def test_the_weight_of_a_column_is_learned_and_saved(tmp_path):
    graph = random_graph(3, num_nodes=60, num_labeled=30, isolated=())
    trained = fit(graph, Settings.of("best", portfolio=False, members=1, epochs=3, attribute_scaling="weighted"))
    weights = [part.column_weights for part in trained.encoder.network.encoders]
    assert (weights[0].weight != 1).any()
    assert weights[1:] in ([], [None])  # the attributes themselves have none
    save_model(trained, tmp_path / "model")
    assert torch.equal(load_model(tmp_path / "model").embeddings, trained.embeddings)
