"""The fast paths outside the kernels against the paper's loops: Eq. (1), (8)-(13), on every device there is."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.explain import explain
from se_gnn.model import SEGNN, Model
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.similarity import reference, top
from se_gnn.training.objectives.paper import ContrastDraws, classification_loss, contrast_loss
from strategies import continuous, graphs, measures, models, random_graph, seeds, small_settings, untrained


def moved(trained, device):
    """The same model, on a device."""
    model = SEGNN(trained.graph.num_features, trained.settings)
    model.load_state_dict(trained.encoder.state_dict())
    return Model(model.to(device).eval(), trained.graph, model.settings)


@on_every_device
@settings(max_examples=20)
@given(graph=graphs(), seed=st.integers(0, 100))
def test_embeddings_are_those_of_equation_1(graph, seed, device):
    trained = untrained(graph, small_settings(hidden_size=5, aggregation="gcn"), seed)
    encoder = trained.encoder.network
    mlp = [(layer.weight.detach(), layer.bias.detach()) for layer in encoder.layers]
    features = torch.tensor(np.asarray(graph.features, np.float32))
    expected = reference.embeddings(features, graph.edges.ends.tolist(), mlp, encoder.weight.weight.detach())
    torch.testing.assert_close(moved(trained, device).embeddings.cpu(), expected, rtol=1e-4, atol=1e-5)


@on_every_device
@settings(max_examples=40)
@given(seed=seeds, num_labeled=st.integers(1, 12), tau=st.sampled_from([0.1, 1.0]), ties=st.booleans(), data=st.data())
def test_neighbors_weights_and_votes_are_those_of_equations_8_and_9(seed, num_labeled, tau, ties, data, device):
    overall = continuous(seed, 3, num_labeled)
    overall = overall.round() if ties else overall
    labels = np.random.default_rng(seed).integers(0, 3, num_labeled)
    k = data.draw(st.integers(1, num_labeled))
    there = overall.to(device)
    near = top(there, k)
    factors = data.draw(st.sampled_from([None, (0.5, 1.0, 3.0)]))
    answers = ClassAnswers.of(labels, 3, factors).to(torch.device(device))
    weights = vote(there.gather(1, near), tau, offsets=answers.offsets(near))
    votes = tally(weights, near, answers)
    for t, row in enumerate(overall.tolist()):
        expected = reference.nearest(row, k)
        assert near[t].tolist() == expected
        counts = None if factors is None else [factors[labels[i]] for i in expected]
        shares = reference.vote_weights([row[i] for i in expected], tau, counts)
        np.testing.assert_allclose(weights[t].cpu(), shares, atol=1e-6)
        by_class = reference.class_probabilities(shares, labels[expected].tolist(), 3)
        np.testing.assert_allclose(votes[t].cpu(), by_class, atol=1e-6)


@on_every_device
@settings(max_examples=20)
@given(trained=models(max_nodes=8))
def test_edge_importance_is_that_of_equation_10(trained, device):
    trained = moved(trained, device)
    graph, measure = trained.graph, trained.settings.similarity.measure
    h, every = trained.embeddings.cpu().double(), explain(trained)
    labeled = trained.cases.items.local
    for i in range(len(every)):
        neighbors = [graph.edges.ends[labeled.row(p)].tolist() for p in every.matched.positions[i] if p >= 0]
        found = every.importance[every.local.ptr[i] : every.local.ptr[i + 1]]
        edges = graph.edges.ends[every.local.row(i)].tolist()
        expected = [reference.edge_importance(h, edge, neighbors, measure) for edge in edges]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@on_every_device
@settings(max_examples=30)
@given(seed=seeds, tau=st.sampled_from([0.5, 1.0]))
def test_the_classification_loss_is_that_of_equation_11(seed, tau, device):
    chosen = small_settings(temperature=tau, num_nearest=2, support_size=60, num_negatives=60).resolve()
    overall, classes = continuous(seed, 7, 7), torch.tensor([0, 0, 0, 1, 1, 1, 2])
    draw = torch.from_numpy(np.random.default_rng(seed).random((7, 7)))
    found = classification_loss(*(x.to(device) for x in (overall, classes, draw)), chosen.vote, chosen.objective)
    losses = []
    for t in range(6):  # the last node is alone in its class: skipped
        same = [i for i in range(7) if classes[i] == classes[t] and i != t]
        near = [same[i] for i in reference.nearest([float(overall[t, i]) for i in same], 2)]
        others = [i for i in range(7) if classes[i] != classes[t]]
        scores = ([overall[t, i] for i in some] for some in (near, others))
        losses.append(reference.classification_loss(*scores, tau))
    torch.testing.assert_close(found.cpu(), torch.stack(losses).mean(), rtol=1e-5, atol=1e-6)


@on_every_device
@settings(max_examples=20)
@given(seed=st.integers(0, 1000), measure=measures)
def test_the_contrastive_losses_are_those_of_equations_12_and_13(seed, measure, device):
    graph = random_graph(seed)
    trained = moved(untrained(graph, small_settings(measure=measure), seed), device)
    model, inputs = trained.encoder, trained.encoder.inputs(graph)
    generator = np.random.default_rng(seed)
    draws = ContrastDraws.draw(
        inputs, graph.edges.ends, trained.settings.objective, trained.settings.encoder.aggregation, generator=generator
    ).to(torch.device(device))
    with torch.no_grad():
        found = contrast_loss(model, inputs, draws)
        first = model(inputs.masked(draws.keep_first)).cpu()
        second = model(inputs.masked(draws.keep_second).with_propagation(draws.propagation)).cpu()
    both, tau = torch.cat([first, second]), trained.settings.vote.temperature
    by_node = [
        reference.contrast_loss(first[node], second[node], list(both[others]), measure, tau)
        for node, others in zip(draws.nodes.tolist(), draws.other_nodes.cpu())
    ]
    by_edge = [
        reference.contrast_loss(
            reference.edge_vector(first, edge),
            reference.edge_vector(second, edge),
            [reference.edge_vector(both, other) for other in others],
            measure,
            tau,
        )
        for edge, others in zip(draws.edges.tolist(), draws.other_edges.tolist())
    ]
    for loss, losses in zip(found, (by_node, by_edge)):
        torch.testing.assert_close(loss.cpu(), torch.stack(losses).mean(), rtol=1e-4, atol=1e-5)
