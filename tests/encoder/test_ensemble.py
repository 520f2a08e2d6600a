"""Claims about encoders side by side, and about what a training step leaves out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from se_gnn.encoder import Dropout, EncoderInputs, Ensemble, Network, principal_layer
from se_gnn.settings import EncoderSettings, VoteObjective
from strategies import random_graph

KINDS = [
    {"aggregation": "pagerank", "steps": 3, "teleport": 0.3},
    {"aggregation": "steps", "steps": 2},
    {"aggregation": "own"},
    {"aggregation": "layers", "steps": 3},
    {"aggregation": "gcn", "output_size": 6},
]


@pytest.mark.parametrize("kind", KINDS)
def test_cosine_of_a_committee_is_the_mean_of_its_members_cosines(kind):
    graph = random_graph(2)
    config = EncoderSettings(hidden_size=8, members=3, **kind)
    ensemble = Ensemble(graph.num_features, config, generator=torch.Generator().manual_seed(0))
    inputs = EncoderInputs.from_graph(graph, config)
    cosines = [torch.nn.functional.cosine_similarity(h[0], h[5], dim=0) for h in (m(inputs) for m in ensemble.encoders)]
    h = ensemble(inputs)
    assert torch.nn.functional.cosine_similarity(h[0], h[5], dim=0).item() == pytest.approx(
        torch.stack(cosines).mean().item(), abs=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_themselves_have_their_share_of_the_cosine(kind):
    graph = random_graph(2)
    config = EncoderSettings(hidden_size=8, members=2, attribute_share=0.3, **kind)
    ensemble = Ensemble(graph.num_features, config, generator=torch.Generator().manual_seed(0))
    inputs = EncoderInputs.from_graph(graph, config)
    *learned, attributes = [
        torch.nn.functional.cosine_similarity(h[0], h[5], dim=0).item() for h in (m(inputs) for m in ensemble.encoders)
    ]
    h = ensemble(inputs)
    whole = torch.nn.functional.cosine_similarity(h[0], h[5], dim=0).item()
    assert whole == pytest.approx(0.7 * np.mean(learned) + 0.3 * attributes, abs=1e-6)


@pytest.mark.parametrize("sparse", [True, False])
def test_principal_layer_is_that_of_the_singular_value_decomposition(sparse):
    generator = np.random.default_rng(0)
    scales = np.where(np.arange(90) < 64, np.linspace(9, 3, 90), 0.1)
    rows = (generator.standard_normal((300, 90)) * scales + 1).astype("f4")
    weight, bias = principal_layer(sp.csr_array(rows) if sparse else rows)
    centered = rows.astype("f8") - rows.mean(axis=0, dtype="f8")
    exact = np.linalg.svd(centered, full_matrices=False)[2][:64]
    assert np.allclose(np.linalg.svd(weight.double().numpy() @ exact.T)[1], 1, atol=1e-6)  # the same subspace
    assert np.allclose(rows @ weight.numpy().T + bias.numpy(), centered @ weight.numpy().T, atol=1e-3)


def test_all_of_few_attributes_are_kept():
    rows = np.random.default_rng(0).standard_normal((20, 5)).astype("f4")
    weight, bias = principal_layer(rows)
    assert torch.equal(weight, torch.eye(5))
    assert np.allclose(bias.numpy(), -rows.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("sparse", [True, False])
def test_principal_layer_has_the_same_bits_on_any_number_of_threads(sparse):
    rows = np.random.default_rng(0).standard_normal((500, 200)).astype("f4")
    layers = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        layers.append(principal_layer(sp.csr_array(rows) if sparse else rows))
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*layers))


def test_pagerank_is_that_of_the_closed_form():
    graph = random_graph(4)
    config = EncoderSettings(hidden_size=8, aggregation="pagerank", steps=300, teleport=0.2)
    encoder = Network(graph.num_features, config, generator=torch.Generator().manual_seed(1))
    inputs = EncoderInputs.from_graph(graph, config)
    matrix = inputs.propagation.rows.to_dense().double()
    own = encoder.later_layers(encoder.first_layer(inputs.features)).detach().double()
    exact = 0.2 * torch.linalg.solve(torch.eye(len(own), dtype=torch.float64) - 0.8 * matrix, own)
    assert torch.allclose(encoder(inputs).detach().double(), exact, atol=1e-4)


def test_learned_steps_begin_as_pagerank():
    graph = random_graph(5)
    inputs = EncoderInputs.from_graph(graph, EncoderSettings())
    made = [
        Network(
            graph.num_features,
            EncoderSettings(hidden_size=8, aggregation=kind, steps=4),
            generator=torch.Generator().manual_seed(3),
        )
        for kind in ("pagerank", "steps")
    ]
    assert torch.allclose(made[0](inputs), made[1](inputs), atol=1e-5)


@pytest.mark.parametrize("sparse", [True, False])
def test_unit_scaling_gives_every_row_length_one_and_leaves_empty_rows(sparse):
    rows = np.abs(np.random.default_rng(0).normal(size=(16, 5))).astype("f4")
    rows[3] = 0
    graph = random_graph(0, features=sp.csr_array(rows) if sparse else rows)
    features = EncoderInputs.from_graph(graph, EncoderSettings(attribute_scaling="unit")).features
    dense = features if isinstance(features, torch.Tensor) else features.rows.to_dense()
    lengths = dense.norm(dim=1)
    assert lengths[3] == 0
    assert torch.allclose(lengths[torch.arange(16) != 3], torch.ones(15), atol=1e-6)


@pytest.mark.parametrize("sparse", [True, False])
def test_dropout_keeps_the_mean_and_drops_whole_nodes(sparse):
    rows = np.ones((200, 40), "f4")
    graph = random_graph(0, num_nodes=200, features=sp.csr_array(rows) if sparse else rows)
    config = EncoderSettings(hidden_size=16)
    shares = VoteObjective(attribute_dropout=0.5, node_dropout=0.25, hidden_dropout=0.2)
    inputs = EncoderInputs.from_graph(graph, config)
    dropout = Dropout.draw(inputs, config, shares, generator=np.random.default_rng(1))
    kept = dropout.of_attributes(inputs).features
    dense = kept if isinstance(kept, torch.Tensor) else kept.rows.to_dense()
    assert dense.mean().item() == pytest.approx(1, abs=0.1)
    assert (dense.sum(dim=1) == 0).float().mean().item() == pytest.approx(0.25, abs=0.1)
    assert dropout.hidden[0].unique().tolist() == pytest.approx([0.0, 256 / 205])


def test_same_generator_leaves_out_the_same():
    graph = random_graph(0)
    config, shares = EncoderSettings(), VoteObjective(attribute_dropout=0.5, hidden_dropout=0.5)
    inputs = EncoderInputs.from_graph(graph, config)
    draws = [Dropout.draw(inputs, config, shares, generator=np.random.default_rng([4, 7])) for _ in range(2)]
    assert torch.equal(draws[0].attributes, draws[1].attributes)
    assert torch.equal(draws[0].hidden[0], draws[1].hidden[0])
