"""Contrastive losses, Eq. (12)-(13), by loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.graph import Graph
from se_gnn.training.objectives.paper import ContrastDraws, _info_nce, _other_than, contrast_loss
from strategies import continuous, measures, random_graph, seeds, small_settings, untrained


def sim(a, b, measure):
    if measure == "distance":
        return -np.linalg.norm(a - b)
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def losses(graph, given, seed=0):
    model = untrained(graph, given).encoder
    inputs, objective, generator = model.inputs(graph), model.settings.objective, np.random.default_rng(seed)
    draws = ContrastDraws.draw(inputs, graph.edges.ends, objective, "gcn", generator=generator)
    return contrast_loss(model, inputs, draws)[:2], model


@given(seed=seeds, batch=st.integers(1, 5), q=st.integers(0, 6), measure=measures, tau=st.sampled_from([0.2, 1.0]))
def test_info_nce_is_the_log_share_of_the_positive(seed, batch, q, measure, tau):
    query, positive = continuous(seed, batch, 4), continuous(seed + 1, batch, 4)
    negatives = continuous(seed + 2, batch * q, 4).reshape(batch, q, 4)
    resolved = small_settings(measure=measure, temperature=tau).resolve()
    expected = []
    for b in range(batch):
        a = query[b].double().numpy()
        good = np.exp(sim(a, positive[b].double().numpy(), measure) / tau)
        bad = sum(np.exp(sim(a, negative.double().numpy(), measure) / tau) for negative in negatives[b])
        expected.append(-np.log(good / (good + bad)))
    assert float(_info_nce(query, positive, negatives, resolved, batch)) == pytest.approx(np.mean(expected), abs=1e-5)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("views", ["both", "second"])
def test_without_noise_both_losses_follow_from_the_embeddings(measure, views):
    """Two nodes and one edge more: each node's only negative is the other, each edge's too."""
    chosen = small_settings(
        measure=measure,
        mask_rate=0.0,
        edge_noise=0.0,
        node_negatives=4,
        edge_negatives=3,
        negative_views=views,
    )
    pair = Graph.build(features=[[1.0, 0.0], [0.3, 2.0]], edges=[[0, 1]], labels=[0, 1])
    (node_loss, _), model = losses(pair, chosen)
    h = model.embed(pair).double().numpy()
    cross, itself = (np.exp(value) for value in (sim(h[0], h[1], measure), 1.0 if measure == "cosine" else 0.0))
    assert node_loss.item() == pytest.approx(-np.log(itself / (itself + 4 * cross)), abs=1e-5)

    path = Graph.build(features=[[1.0, 0.0], [0.3, 2.0], [1.0, 1.0]], edges=[[0, 1], [1, 2]], labels=[0, 1, 0])
    (_, edge_loss), model = losses(path, chosen)
    h = model.embed(path).double().numpy()
    edges = (h[:-1] + h[1:]) / 2
    cross = np.exp(sim(edges[0], edges[1], measure))
    assert edge_loss.item() == pytest.approx(-np.log(itself / (itself + 3 * cross)), abs=1e-5)


@pytest.mark.parametrize("num_nodes", [1, 2, 9])
def test_a_graph_without_edges_has_no_edge_loss(num_nodes):
    graph = Graph.build(features=np.ones((num_nodes, 2)), edges=[], labels=np.zeros(num_nodes, int))
    (node_loss, edge_loss), _ = losses(graph, small_settings())
    assert edge_loss.item() == 0
    assert torch.isfinite(node_loss)


def test_with_every_edge_replaced_there_is_no_edge_to_recognize():
    (_, edge_loss), _ = losses(random_graph(0), small_settings(edge_noise=1.0))
    assert edge_loss.item() == 0


@settings(max_examples=30)
@given(seed=seeds, views=st.sampled_from(["both", "second"]), measure=measures, noise=st.sampled_from([0.0, 0.3]))
def test_losses_and_gradients_are_finite_and_repeat_with_the_generator(seed, views, measure, noise):
    chosen = small_settings(measure=measure, negative_views=views, edge_noise=noise)
    graph = random_graph(seed % 7, isolated=(1, 8))
    (one, model), (same, _) = losses(graph, chosen, seed), losses(graph, chosen, seed)
    assert [x.item() for x in one] == [x.item() for x in same]
    (one[0] + one[1]).backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())
    assert any(parameter.grad.any() for parameter in model.parameters())


@given(seed=seeds, total=st.integers(1, 6), count=st.integers(1, 20))
def test_a_negative_is_never_the_query_itself_and_any_other_may_be(seed, total, count):
    own = np.arange(total)
    drawn = _other_than(own, total, count, np.random.default_rng(seed))
    assert drawn.shape == (total, count if total > 1 else 0)
    assert (drawn != own[:, None]).all()
    assert ((drawn >= 0) & (drawn < total)).all()
    many = _other_than(own, total, 400, np.random.default_rng(seed))
    for i in own[: total if total > 1 else 0]:
        assert set(many[i].tolist()) == set(range(total)) - {i}
