"""Predictions: the vote of Eq. (8)-(9) on whole graphs, and their symmetries."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import match_edges
from se_gnn.errors import InputError
from se_gnn.graph import Graph, local_graphs
from se_gnn.model import SEGNN, Model
from se_gnn.similarity import comparison, similarity
from strategies import models, random_graph, small_settings, untrained, way_of


def moved(graph, new_id):
    """The same graph with node i renamed to new_id[i]."""
    old_id = np.argsort(new_id)
    return Graph.build(
        features=graph.features[old_id], edges=new_id[graph.edges.ends], labels=graph.labels[old_id],
        train=new_id[graph.train], class_names=graph.class_names,
    )  # fmt: skip


@settings(max_examples=50)
@given(trained=models())
def test_probabilities_are_the_weights_of_the_neighbors_by_class_and_add_up_to_one(trained):
    prediction = trained.predict()
    labels = trained.graph.labels[prediction.cases]
    for c in range(trained.graph.num_classes):
        contributed = np.where(labels == c, prediction.weights.astype(np.float64), 0).sum(axis=1)
        np.testing.assert_allclose(prediction.probabilities[:, c], contributed, atol=1e-6)
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1, atol=1e-6)


@settings(max_examples=50)
@given(trained=models())
def test_neighbors_are_labeled_others_most_similar_first(trained):
    prediction, graph = trained.predict(), trained.graph
    assert np.isin(prediction.cases, graph.train).all()
    assert (np.diff(prediction.overall, axis=1) <= 0).all()
    for node, neighbors, weights in zip(prediction.nodes, prediction.cases, prediction.weights):
        assert len(set(neighbors)) == len(neighbors)
        assert (weights[neighbors == node] == 0).all()  # a labeled node does not vote for itself


@settings(max_examples=50)
@given(trained=models(), data=st.data())
def test_permuting_the_nodes_permutes_the_prediction(trained, data):
    graph = trained.graph
    new_id = np.array(data.draw(st.permutations(range(graph.num_nodes))), dtype=np.int64)
    before = trained.predict()
    after = Model(trained.encoder, moved(graph, new_id), trained.settings).predict(new_id)
    np.testing.assert_allclose(after.probabilities, before.probabilities, atol=1e-5)
    for t in range(graph.num_nodes):
        voters = dict(zip(new_id[before.cases[t]], before.weights[t]))
        assert dict(zip(after.cases[t], after.weights[t])) == pytest.approx(voters, abs=1e-5)


@settings(max_examples=50)
@given(trained=models(), data=st.data())
def test_the_order_and_direction_of_the_edges_given_do_not_change_a_bit(trained, data):
    graph = trained.graph
    order = np.array(data.draw(st.permutations(range(graph.num_edges))), dtype=np.int64)
    turned = np.array(
        data.draw(st.lists(st.booleans(), min_size=graph.num_edges, max_size=graph.num_edges)), dtype=bool
    )
    edges = np.where(turned[:, None], graph.edges.ends[:, ::-1], graph.edges.ends)[order].reshape(-1, 2)
    before, after = trained.predict(), Model(trained.encoder, graph.with_edges(edges), trained.settings).predict()
    np.testing.assert_array_equal(before.probabilities, after.probabilities)
    np.testing.assert_array_equal(before.cases, after.cases)


@settings(max_examples=50)
@given(trained=models(), data=st.data())
def test_permuting_the_nodes_permutes_the_matched_edges(trained, data):
    graph, hops = trained.graph, trained.settings.similarity.hops
    new_id = np.array(data.draw(st.permutations(range(graph.num_nodes))), dtype=np.int64)
    other = moved(graph, new_id)

    def matches(graph, h, nodes):
        """(edge, position of the labeled node) to (matched edge, similarity)."""
        way = way_of(graph, np.arange(graph.num_edges), local_graphs(graph, nodes, hops))
        best, winners = match_edges(h, way, "cosine")
        return {
            (tuple(graph.edges.ends[q]), t): (tuple(graph.edges.ends[way.keys.ids[winners[q, t]]]), float(best[q, t]))
            for q in range(len(way.queries))
            for t in range(way.keys.num_local)
            if winners[q, t] >= 0
        }

    h = trained.embeddings
    before = matches(graph, h, graph.train)
    after = matches(other, h[torch.from_numpy(np.argsort(new_id))], new_id[graph.train])
    assert len(before) == len(after)
    for (edge, t), (matched, value) in before.items():
        there, again = after[tuple(sorted(new_id[list(edge)])), t]
        assert there == tuple(sorted(new_id[list(matched)]))
        assert again == pytest.approx(value, abs=1e-6)


@settings(max_examples=50)
@given(trained=models(), data=st.data())
def test_a_node_is_predicted_alike_alone_and_among_others_to_the_bit(trained, data):
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    alone, together = trained.predict(np.array([node])), trained.predict()
    for name in ("probabilities", "cases", "weights", "overall", "node", "structure"):
        np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[node])


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_neither_memory_nor_threads_change_a_bit_of_a_prediction(measure, monkeypatch):
    graph = random_graph(4, num_nodes=60, num_edges=150, num_labeled=12, isolated=(3, 40))
    config = small_settings(measure=measure, directions="both", num_nearest=9)
    expected = untrained(graph, config).predict()
    before = numba.get_num_threads()
    try:
        for budget in (64, 1 << 13):  # a labeled node at a time, some at a time
            for module in (comparison, similarity):
                monkeypatch.setattr(module, "memory_budget", lambda *_, budget=budget: budget)
            for threads in range(1, min(2, numba.config.NUMBA_NUM_THREADS) + 1):
                numba.set_num_threads(threads)
                found = untrained(graph, config).predict()
                for name in ("probabilities", "cases", "weights", "overall", "node", "structure"):
                    np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    finally:
        numba.set_num_threads(before)


@settings(max_examples=50)
@given(trained=models(), labeled_at_a_time=st.integers(1, 4))
def test_labeled_nodes_in_blocks_predict_the_same_bits_ties_included(trained, labeled_at_a_time):
    tied = Graph.build(  # nodes that nothing tells apart
        features=np.ones((trained.graph.num_nodes, 4)), edges=[], labels=trained.graph.labels, train=trained.graph.train
    )
    for graph in (trained.graph, tied):
        expected = Model(trained.encoder, graph, trained.settings).predict()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(similarity, "items_within", lambda *_: labeled_at_a_time)
            found = Model(trained.encoder, graph, trained.settings).predict()
        for name in ("probabilities", "cases", "weights", "overall", "node", "structure"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_a_node_without_edges_is_predicted_by_node_similarity_alone():
    graph = random_graph(1, isolated=(2, 10))
    prediction = untrained(graph, small_settings(num_nearest=6)).predict()
    assert np.isneginf(prediction.structure[10]).all()
    np.testing.assert_array_equal(prediction.overall[10], prediction.node[10])
    of_isolated = prediction.cases[12] == 2
    assert of_isolated.sum() == 1
    assert np.isneginf(prediction.structure[12][of_isolated]).all()
    assert np.isfinite(prediction.structure[12][~of_isolated]).all()


def test_a_labeled_node_is_predicted_by_the_others():
    graph = random_graph(1)
    config = small_settings(num_nearest=6)  # all labeled nodes: five can vote
    prediction = untrained(graph, config).predict(graph.train)
    np.testing.assert_array_equal(prediction.cases[:, -1], graph.train)
    assert (prediction.weights[:, -1] == 0).all()
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1, atol=1e-6)
    without_first = untrained(graph.with_split(train=graph.train[1:]), small_settings(num_nearest=5))
    np.testing.assert_allclose(without_first.predict([0]).probabilities[0], prediction.probabilities[0], atol=1e-6)


def test_sparse_features_predict_as_dense_ones():
    graph = random_graph(2)
    sparse = random_graph(2, features=sp.csr_array(graph.features))
    found, expected = (untrained(g, small_settings()).predict() for g in (sparse, graph))
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


def test_no_nodes_give_an_empty_prediction():
    prediction = untrained(random_graph(0), small_settings()).predict(np.empty(0, np.int64))
    assert prediction.probabilities.shape == (0, 2)
    assert prediction.cases.shape == (0, 3)


def test_more_nearest_than_labeled_nodes_is_an_error():
    with pytest.raises(InputError, match="num_nearest must be between 1 and the 6 labeled nodes, got 7"):
        untrained(random_graph(0), small_settings(num_nearest=7)).predict()


def test_a_graph_with_other_features_is_an_error():
    model = SEGNN(4, small_settings().resolve())
    with pytest.raises(InputError, match="the model reads 4 features per node, graph has 5"):
        model.embed(random_graph(0))


def test_the_same_generator_seed_gives_the_same_parameters():
    one, same, other = (
        SEGNN(5, small_settings().resolve(), generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2)
    )
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, same.state_dict()[name])
    assert any(not torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())
