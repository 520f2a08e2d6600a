"""Candidates by node similarity: who is compared edge by edge, and that nothing else changes."""

from __future__ import annotations

import dataclasses

import jsonschema
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.apps.cli.evaluate import candidate_sentence, measure
from se_gnn.config import Config, SimilarityConfig
from se_gnn.errors import InputError
from se_gnn.explain import Explainer
from se_gnn.explain.serialize import schema
from se_gnn.similarity import compare
from se_gnn.similarity.node import all_pairs
from se_gnn.training import train
from strategies import measures, random_graph, seeds, small_config, untrained

FIELDS = ("probabilities", "neighbors", "weights", "overall", "node", "structure")


def model(candidates, *, directions="both", measure="distance", seed=4):
    graph = random_graph(seed, num_nodes=60, num_edges=130, num_labeled=24, isolated=(3, 40))
    similarity = {"num_nearest": 4, "directions": directions, "measure": measure, "candidates": candidates}
    return untrained(graph, small_config(similarity=similarity))


def most_similar(few, count):
    """Candidates of all nodes, most similar first, of equals the first, by sorting; and all node similarities."""
    h = few.embeddings.detach()
    node = all_pairs(h, h[torch.tensor(few.graph.train)], few.config.similarity.measure)
    return [sorted(range(len(row)), key=lambda i: (-float(row[i]), i))[:count] for row in node], node


@given(seed=seeds, measure=measures, count=st.integers(5, 20), ties=st.booleans())
def test_candidates_are_the_most_similar_nodes_and_of_equals_the_first(seed, measure, count, ties):
    few = model(count, measure=measure, seed=seed)
    if ties:
        few = untrained(dataclasses.replace(few.graph, features=few.graph.features.round()), few.config)
    found = few.voter.candidates(few.embeddings, few.voter.plan(np.arange(60)))
    expected, node = most_similar(few, count)
    assert found.positions.tolist() == [sorted(row) for row in expected]
    torch.testing.assert_close(found.similarities.node, node.gather(1, found.positions), rtol=0, atol=0)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("directions", ["one", "both"])
@pytest.mark.parametrize("candidates", [24, 100])
def test_all_labeled_nodes_as_candidates_change_no_bit(candidates, directions, measure):
    few, exact = (model(c, directions=directions, measure=measure) for c in (candidates, None))
    found, expected = few.predict(), exact.predict()
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert few.candidate_recall() == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("directions", ["one", "both"])
def test_every_similarity_of_a_candidate_is_that_of_the_exact_search(directions, measure, dtype):
    """In float64 there is no kernel for pairs: candidates are taken out of all."""
    few = model(8, directions=directions, measure=measure)
    h, plan = few.embeddings.detach().to(dtype), few.voter.plan(np.arange(60))
    found, exact = few.voter.candidates(h, plan), compare(h, plan, few.config.similarity)
    for name in ("node", "structure", "overall"):
        expected = getattr(exact, name).gather(1, found.positions)
        torch.testing.assert_close(getattr(found.similarities, name), expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("directions", ["one", "both"])
def test_neighbors_are_the_nearest_of_the_candidates(directions):
    few, exact = model(8, directions=directions), model(None, directions=directions)
    ranking = untrained(exact.graph, exact.config.updated({"similarity": {"num_nearest": 24}})).predict().neighbors
    found = few.predict()
    for t, chosen in enumerate(most_similar(few, 8)[0]):
        allowed = set(few.graph.train[chosen]) - {t}
        assert found.neighbors[t].tolist() == [n for n in ranking[t] if n in allowed][:4]
    assert (found.neighbors != exact.predict().neighbors).any()  # so few candidates miss some


def test_a_smaller_memory_changes_no_bit():
    few, small = model(8), dataclasses.replace(model(8), max_memory="1M")
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(small.predict(), name), getattr(few.predict(), name))


def test_explanations_rest_on_the_same_neighbors_as_the_prediction():
    few = model(6)
    prediction, explainer = few.predict(), Explainer(few)
    bulk = explainer.explain_all()
    for node in (0, 30, 59):
        explanation = explainer.explain(node)
        assert [n.node for n in explanation.neighbors] == prediction.neighbors[node].tolist()
        assert [n.weight for n in explanation.neighbors] == prediction.weights[node].tolist()
        assert [n.similarity for n in explanation.neighbors] == prediction.overall[node].tolist()
        by_class = np.zeros(few.graph.num_classes)
        for neighbor in explanation.neighbors:
            by_class[neighbor.label] += neighbor.weight
        np.testing.assert_allclose(by_class, prediction.probabilities[node], atol=1e-6)
        assert explanation.candidates == explanation.to_dict()["settings"]["candidates"] == 6
        assert "chosen among the 6 labeled nodes most similar to it" in explanation.sentence()
        jsonschema.validate(explanation.to_dict(), schema())
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(bulk.prediction, name), getattr(prediction, name))


def test_an_exact_explanation_names_no_candidates():
    for exact in (model(None), model(24)):
        explanation = Explainer(exact).explain(0)
        assert explanation.candidates is None
        assert "chosen among" not in explanation.sentence()


def test_recall_is_the_share_of_the_exact_neighbors_that_are_found():
    few, exact = model(6), model(None)
    found, expected = few.predict().neighbors, exact.predict().neighbors
    by_hand = np.mean([len(set(a) & set(b)) / 4 for a, b in zip(found, expected)])
    assert few.candidate_recall(sample=60) == pytest.approx(by_hand)
    assert 0 < by_hand < 1
    assert few.candidate_recall(sample=9, seed=1) == few.candidate_recall(sample=9, seed=1)
    assert exact.candidate_recall() == 1


@pytest.mark.parametrize("candidates", [0, 5, -1])
def test_no_more_candidates_than_neighbors_is_an_error(candidates):
    with pytest.raises(InputError, match="candidates must be none or more than num_nearest = 5"):
        SimilarityConfig(num_nearest=5, candidates=candidates)


def test_candidates_are_read_from_settings():
    assert Config().override(["similarity.candidates=50"]).similarity.candidates == 50
    assert Config().override(["similarity.candidates=none"]).similarity.candidates is None


def test_evaluate_and_training_report_the_recall_of_the_candidates():
    few = model(6)
    figures = measure(few)
    assert figures["candidates"] == {"number": 6, "labeled": 24, "recall": few.candidate_recall()}
    assert (
        "approximate: edges were matched with the 6 of 24 labeled nodes most similar to each node"
        in candidate_sentence(figures["candidates"])
    )
    assert measure(model(None))["candidates"] is None
    trained = train(few.graph, few.config.updated({"training": {"epochs": 1}}))
    assert trained.metrics["candidates"] == 6
    assert trained.metrics["candidate_recall"] == trained.candidate_recall()
