"""What-ifs are exact: they are what a fresh prediction says when those nodes are not labeled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.model import SEGNN, Model
from se_gnn.ranking import WhatIf
from se_gnn.settings import Settings
from se_gnn.settings.presets import PRESETS
from strategies import hub_graph, models, random_graph, small_settings, untrained


def predicted_without(trained, node, removed):
    """A fresh prediction of a model whose graph has fewer labeled nodes; None where nobody could vote."""
    graph, own = trained.graph, trained.settings
    rest = np.setdiff1d(graph.train, removed)
    if not len(np.setdiff1d(rest, [node])):
        return None
    settings = own.changed(num_nearest=min(own.vote.num_nearest, len(rest)))
    return Model(trained.encoder, graph.with_split(train=rest), settings).predict([node]).probabilities[0]


def assert_stated_removals_are_true(trained, node):
    explanation = explain(trained, node)[0]
    for neighbor in explanation.votes:
        fresh = predicted_without(trained, node, [neighbor.node])
        np.testing.assert_allclose(neighbor.without, 0 if fresh is None else fresh, atol=1e-6)
        if fresh is not None:
            assert (neighbor in explanation.deciding) == (fresh.argmax() != explanation.predicted)
    removal = explanation.removal
    if removal is not None:
        fresh = predicted_without(trained, node, removal.nodes)
        np.testing.assert_allclose(removal.probabilities, fresh, atol=1e-6)
        assert removal.predicted == fresh.argmax() != explanation.predicted
        fewer = predicted_without(trained, node, removal.nodes[:-1])
        assert fewer.argmax() == explanation.predicted
        assert (len(removal) == 1) == bool(explanation.deciding)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("preset", PRESETS)
def test_stated_removals_are_those_of_a_fresh_prediction_with_every_preset(preset, measure):
    asked = Settings.of(preset, hidden_size=8, num_nearest=4, temperature=0.3, measure=measure)
    for seed in range(3):
        graph = random_graph(seed, num_nodes=30, num_edges=60, num_labeled=14, num_classes=3, isolated=(3, 20))
        trained = untrained(graph, asked, seed)
        for node in range(graph.num_nodes):
            assert_stated_removals_are_true(trained, node)


@settings(max_examples=50)
@given(trained=models(min_nodes=4), data=st.data())
def test_stated_removals_are_those_of_a_fresh_prediction_with_any_settings(trained, data):
    assert_stated_removals_are_true(trained, data.draw(st.integers(0, trained.graph.num_nodes - 1)))


@settings(max_examples=50)
@given(trained=models(), data=st.data())
def test_the_votes_are_the_first_ranks_and_there_are_enough_to_recount_a_removal(trained, data):
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    explanation = explain(trained, node)[0]
    ranks, k = explanation.ranks, trained.settings.vote.num_nearest
    able = np.setdiff1d(trained.graph.train, [node])
    removed = 0 if explanation.removal is None else len(explanation.removal)
    assert len(ranks.nodes) >= min(k + removed, len(able))
    assert set(ranks.nodes) <= set(able)
    assert (ranks.similarity[1:] <= ranks.similarity[:-1]).all()
    assert [one.node for one in explanation.votes] == ranks.nodes[:k].tolist()
    np.testing.assert_array_equal(ranks.labels, trained.graph.labels[ranks.nodes])


@given(models(), st.data())
def test_what_if_is_the_explanation_of_a_model_with_these_settings(trained, data):
    """Nothing is compared again, and yet it is what a model with another K and another lambda says."""
    count = len(trained.graph.train)
    k, weight = data.draw(st.integers(1, count)), data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    changed = trained.settings.changed(num_nearest=k, node_weight=weight)
    other = SEGNN(trained.graph.num_features, changed)
    other.load_state_dict(trained.encoder.state_dict())
    expected = explain(Model(other.eval(), trained.graph, other.settings), node)[0]
    found = explain(trained, node, what_if=WhatIf(num_nearest=k, node_weight=weight))[0]
    assert found.to_dict() == expected.to_dict()


@given(models(min_nodes=5), st.data())
def test_what_if_without_some_labeled_nodes_is_the_vote_of_the_others(trained, data):
    train = trained.graph.train.tolist()
    node = data.draw(st.integers(0, trained.graph.num_nodes - 1))
    others = [one for one in train if one != node]
    removed = data.draw(st.lists(st.sampled_from(others), unique=True, max_size=len(others) - 1))
    before = explain(trained, node).ranking
    ranks = np.flatnonzero(np.isin(before.nodes[0], removed))
    found = explain(trained, node, what_if=WhatIf(without=tuple(removed)))[0]
    assert found.probabilities == tuple(before.without(ranks).probabilities[0].tolist())
    assert found.probabilities == pytest.approx(predicted_without(trained, node, removed).tolist(), abs=1e-6)
    assert not {one.node for one in found.votes} & set(removed)


def test_what_if_refuses_what_cannot_be():
    trained = untrained(hub_graph(()), small_settings())
    with pytest.raises(InputError, match="num_nearest must be between 1 and the 30 labeled nodes, got 31"):
        explain(trained, 0, what_if=WhatIf(num_nearest=31))[0]
    with pytest.raises(InputError, match="without must name labeled nodes, got node 45"):
        explain(trained, 0, what_if=WhatIf(without=(45,)))[0]
    with pytest.raises(InputError, match="leave at least one labeled node"):
        explain(trained, 0, what_if=WhatIf(without=tuple(trained.graph.train)))[0]
    with pytest.raises(InputError, match="node_weight must be between 0 and 1"):
        explain(trained, 0, what_if=WhatIf(node_weight=1.5))[0]
