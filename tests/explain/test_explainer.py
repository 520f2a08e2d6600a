"""An explanation is the computation itself: it says what the prediction says, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.graph import Graph, local_graphs
from se_gnn.model import Model
from strategies import models, random_graph, small_settings, untrained

few = settings(max_examples=50)


def any_node(data, trained):
    return data.draw(st.integers(0, trained.graph.num_nodes - 1), label="node")


def edge_similarities(trained):
    """sim of every two edges of the graph, in float64, [E, E]."""
    h = trained.embeddings.double().numpy()
    edges = h[trained.graph.edges.ends].mean(axis=1)
    if trained.settings.similarity.measure == "distance":
        return -np.linalg.norm(edges[:, None] - edges[None], axis=-1)
    unit = edges / np.linalg.norm(edges, axis=1, keepdims=True)
    return unit @ unit.T


@few
@given(trained=models(), data=st.data())
def test_one_explanation_and_the_prediction_of_all_nodes_agree_to_the_bit(trained, data):
    node = any_node(data, trained)
    explanation, prediction = explain(trained, node)[0], trained.predict()
    voting = prediction.weights[node] > 0
    assert [n.node for n in explanation.votes] == prediction.cases[node][: len(explanation.votes)].tolist()
    assert len(explanation.votes) >= voting.sum()
    for rank, neighbor in enumerate(explanation.votes):
        assert neighbor.weight == prediction.weights[node, rank]
        assert neighbor.similarity == prediction.overall[node, rank]
        assert neighbor.node_similarity == prediction.node[node, rank]
        if neighbor.structure_similarity is None:
            assert np.isneginf(prediction.structure[node, rank])
        else:
            assert neighbor.structure_similarity == prediction.structure[node, rank]
    np.testing.assert_array_equal(np.float32(explanation.probabilities), prediction.probabilities[node])
    assert explanation.predicted == prediction.classes[node]


@pytest.mark.parametrize("num_labeled", [4, 8, 9, 16, 17])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_labeled_node_with_all_others_voting_agrees_with_the_prediction_to_the_bit(num_labeled, measure):
    graph = random_graph(3, num_nodes=24, num_edges=50, num_labeled=num_labeled)
    trained = untrained(graph, small_settings(num_nearest=num_labeled, measure=measure))
    prediction = trained.predict()
    for node in range(graph.num_nodes):
        explanation = explain(trained, node)[0]
        assert len(explanation.votes) == num_labeled - (node < num_labeled)
        assert explanation.left_out == (node < num_labeled)
        assert node not in [neighbor.node for neighbor in explanation.votes]
        np.testing.assert_array_equal(np.float32(explanation.probabilities), prediction.probabilities[node])
        weights = [neighbor.weight for neighbor in explanation.votes]
        np.testing.assert_array_equal(np.float32(weights), prediction.weights[node][: len(weights)])


@few
@given(trained=models(), data=st.data())
def test_weights_by_class_add_up_to_the_probabilities(trained, data):
    explanation = explain(trained, any_node(data, trained))[0]
    for c, probability in enumerate(explanation.probabilities):
        shares = [neighbor.weight for neighbor in explanation.votes if neighbor.label == c]
        assert sum(shares) == pytest.approx(probability, abs=1e-6)
    assert sum(explanation.probabilities) == pytest.approx(1, abs=1e-6)


@few
@given(trained=models(), data=st.data())
def test_the_two_terms_add_up_to_the_similarity(trained, data):
    for neighbor in explain(trained, any_node(data, trained))[0].votes:
        assert neighbor.node_term + neighbor.structure_term == pytest.approx(neighbor.similarity, abs=1e-6)
        if neighbor.structure_similarity is None:
            assert neighbor.node_term == neighbor.node_similarity
            assert neighbor.structure_term == 0


@few
@given(trained=models(), data=st.data())
def test_the_same_node_gets_the_same_explanation(trained, data):
    node = any_node(data, trained)
    first = explain(trained, node)[0].to_json()
    assert explain(trained, node)[0].to_json() == first
    fresh = Model(trained.encoder, trained.graph, trained.settings)
    assert explain(fresh, node)[0].to_json() == first


@few
@given(trained=models(min_nodes=5), data=st.data())
def test_without_says_what_the_prediction_becomes_when_a_neighbor_is_not_labeled(trained, data):
    node = any_node(data, trained)
    graph, config = trained.graph, trained.settings
    for neighbor in explain(trained, node)[0].votes:
        rest = graph.train[graph.train != neighbor.node]
        if len(rest) - (node in rest) == 0:
            assert sum(neighbor.without) == 0  # nobody left to vote
            continue
        k = min(config.vote.num_nearest, len(rest))
        settings = config.changed(num_nearest=k)
        expected = Model(trained.encoder, graph.with_split(train=rest), settings).predict([node])
        np.testing.assert_allclose(neighbor.without, expected.probabilities[0], atol=1e-6)


@few
@given(trained=models(min_nodes=5), data=st.data())
def test_a_labeled_node_that_is_no_neighbor_changes_nothing(trained, data):
    node = any_node(data, trained)
    graph = trained.graph
    explanation = explain(trained, node)[0]
    neighbors = {neighbor.node for neighbor in explanation.votes}
    for other in set(graph.train.tolist()) - neighbors - {node}:
        without = graph.with_split(train=graph.train[graph.train != other])
        found = Model(trained.encoder, without, trained.settings).predict([node])
        np.testing.assert_array_equal(found.probabilities[0], np.float32(explanation.probabilities))


@few
@given(trained=models(), data=st.data())
def test_matches_are_the_best_edges_and_their_mean_is_the_structure_similarity(trained, data):
    node = any_node(data, trained)
    graph, hops = trained.graph, trained.settings.similarity.hops
    local = local_graphs(graph, np.arange(graph.num_nodes), hops)
    exact = edge_similarities(trained)
    both = trained.settings.similarity.directions == "both"
    for neighbor in explain(trained, node)[0].votes:
        if neighbor.structure_similarity is None:
            assert neighbor.matches is None
            assert neighbor.matches_back is None
            continue
        assert (neighbor.matches_back is not None) == both
        means = []
        sides = [(neighbor.matches, node, neighbor.node), (neighbor.matches_back, neighbor.node, node)]
        for matches, mine, other in sides[: 1 + both]:
            assert matches.edge_ids.tolist() == local.row(mine).tolist()
            for edge, matched, value in zip(matches.edge_ids, matches.matched_ids, matches.similarity):
                assert matched in local.row(other)
                assert exact[edge, matched] == pytest.approx(exact[edge, local.row(other)].max(), abs=1e-5)
                assert value == pytest.approx(exact[edge, matched], abs=1e-5)
            means.append(float(np.mean(matches.similarity.astype(np.float64))))
        assert np.mean(means) == pytest.approx(neighbor.structure_similarity, abs=1e-5)


@few
@given(trained=models(), data=st.data())
def test_the_importance_of_an_edge_is_its_mean_similarity_with_its_matches(trained, data):
    node = any_node(data, trained)
    graph = trained.graph
    local = local_graphs(graph, np.arange(graph.num_nodes), trained.settings.similarity.hops)
    exact = edge_similarities(trained)
    explanation = explain(trained, node)[0]
    np.testing.assert_array_equal(explanation.edge_ids, local.row(node))
    np.testing.assert_array_equal(explanation.ends(explanation.edge_ids), graph.edges.ends[local.row(node)])
    for neighbor in explanation.votes:
        np.testing.assert_array_equal(neighbor.edge_ids, local.row(neighbor.node))
    expected = []
    for edge in local.row(node):
        rows = [local.row(neighbor.node) for neighbor in explanation.votes]
        best = [exact[edge, row].max() for row in rows if len(row)]
        expected.append(np.mean(best) if best else np.nan)
    np.testing.assert_allclose(explanation.importance, expected, rtol=1e-4, atol=1e-5)


def test_an_edge_is_matched_well_where_the_nearest_labeled_nodes_match_it_worse_on_average():
    graph = random_graph(1, isolated=(2,))
    trained = untrained(graph, small_settings())
    node = 12
    local = local_graphs(graph, np.arange(graph.num_nodes), 2)
    exact = edge_similarities(trained)
    matched = [neighbor for neighbor in explain(trained, node)[0].votes if neighbor.matches is not None]
    with_edges = [neighbor.node for neighbor in matched]  # the voters; one without edges has no matches
    assert len(with_edges) > 1
    for neighbor in matched:
        for edge, well, value in zip(local.row(node), neighbor.matches.above_average, neighbor.matches.similarity):
            average = np.mean([exact[edge, local.row(one)].max() for one in with_edges])
            if abs(average - value) > 1e-5:
                assert well == (value >= average)


def test_k_limits_the_neighbors_that_come_with_matches_and_nothing_else():
    trained = untrained(random_graph(1), small_settings(num_nearest=4, directions="both"))
    whole, short = explain(trained, 12)[0], explain(trained, 12, k=2)[0]
    assert [neighbor.matches is not None for neighbor in short.votes] == [True, True, False, False]
    assert [neighbor.matches_back is not None for neighbor in short.votes] == [True, True, False, False]
    assert short.probabilities == whole.probabilities
    assert [neighbor.without for neighbor in short.votes] == [neighbor.without for neighbor in whole.votes]
    np.testing.assert_array_equal(short.importance, whole.importance)
    assert short.sentence() == whole.sentence()


@pytest.mark.parametrize(
    ("node", "k", "text"),
    [
        (16, None, "unknown node 16: positions go from 0 to 15"),
        (-1, None, "unknown node -1: positions go from 0 to 15"),
        (0, 0, "k must be a whole number, at least 1, got 0"),
        (0, 1.5, "k must be a whole number, at least 1, got 1.5"),
        (0, True, "k must be a whole number, at least 1, got True"),
    ],
)
def test_a_node_or_k_that_does_not_exist_is_an_error(node, k, text):
    trained = untrained(random_graph(1), small_settings())
    with pytest.raises(InputError, match=text):
        explain(trained, node, k=k)[0]


def test_removing_a_labeled_node_lets_the_next_one_step_in():
    # similarities fall with the distance on a line; no edges, so nodes alone are compared
    graph = Graph.build(
        features=[[0.0], [1.0], [2.0], [3.0], [4.0]], edges=[], labels=[0, 0, 0, 1, 1], train=[1, 2, 3, 4]
    )
    trained = untrained(graph, small_settings(num_nearest=2, measure="distance"))
    overall = trained.similarity.compare(trained.similarity.items(np.array([0])), trained.cases.items).overall[0]
    order = np.argsort(-overall.numpy(), kind="stable")
    explanation = explain(trained, 0)[0]
    assert [neighbor.node for neighbor in explanation.votes] == graph.train[order[:2]].tolist()
    for rank, neighbor in enumerate(explanation.votes):
        left = [order[1 - rank], order[2]]
        shares = np.exp(overall.numpy()[left].astype(np.float64))
        expected = np.zeros(2)
        np.add.at(expected, graph.labels[graph.train[left]], shares / shares.sum())
        np.testing.assert_allclose(neighbor.without, expected, atol=1e-6)


def test_all_edges_that_are_mentioned_have_the_names_of_their_ends():
    names = tuple(f"paper {i}" for i in range(16))
    trained = untrained(random_graph(1, node_names=names), small_settings(directions="both"))
    explanation = explain(trained, 12)[0]
    assert explanation.name == "paper 12"
    values = explanation.to_dict()
    mentioned = set(values["edge_ids"])
    for vote in values["votes"]:
        mentioned |= {*vote["edge_ids"], *vote.get("matches", {}).get("matched_ids", [])}
        mentioned |= set(vote.get("matches_back", {}).get("edge_ids", []))
    assert {edge["id"] for edge in values["edges"]} == mentioned
    named = {node["id"]: node["name"] for node in values["nodes"]}
    for edge in values["edges"]:
        ends = trained.graph.edges.ends[edge["id"]]
        assert [named[edge["start"]], named[edge["end"]]] == [names[node] for node in ends]


@few
@given(trained=models())
def test_all_explanations_in_one_pass_say_what_each_one_says(trained):
    every = explain(trained)
    assert len(every) == trained.graph.num_nodes
    prediction = trained.predict()
    for name in ("probabilities", "cases", "weights", "overall", "node", "structure"):
        np.testing.assert_array_equal(getattr(every.prediction, name), getattr(prediction, name))
    for i in range(len(every)):
        one = explain(trained, i)[0]
        np.testing.assert_array_equal(every.local.row(i), one.edge_ids)
        np.testing.assert_array_equal(every.importance[every.local.ptr[i] : every.local.ptr[i + 1]], one.importance)
        for rank, neighbor in enumerate(one.votes):
            found = every.matches(i, rank)
            if neighbor.matches is None:
                assert not len(found)
                continue
            for name in ("edge_ids", "matched_ids", "similarity", "above_average"):
                np.testing.assert_array_equal(getattr(found, name), getattr(neighbor.matches, name))


def test_all_explanations_can_be_walked_through():
    trained = untrained(random_graph(1), small_settings())
    some = explain(trained, [12, 3])
    assert [explanation.node for explanation in some] == [12, 3]
    assert some[1].to_json() == explain(trained, 3)[0].to_json()
