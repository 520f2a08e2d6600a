"""Every number of an explanation follows from the others, with every preset and any settings."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.recomputed import largest_errors
from se_gnn.explain import explain
from se_gnn.settings import Settings
from se_gnn.settings.presets import PRESETS
from strategies import models, random_graph, small_settings, untrained


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_number_is_right_to_a_millionth_with_every_preset(preset, measure):
    asked = Settings.of(preset, hidden_size=8, num_nearest=5, measure=measure)
    graph = random_graph(2, num_nodes=40, num_edges=90, num_labeled=18, num_classes=3, isolated=(3, 30))
    trained = untrained(graph, asked)
    for node in range(graph.num_nodes):
        errors = largest_errors(explain(trained, node)[0])
        assert max(errors.values()) <= 1e-6, (node, errors)


@settings(max_examples=60)
@given(trained=models(), data=st.data(), k=st.none() | st.integers(1, 3))
def test_every_number_is_right_with_any_settings(trained, data, k):
    explanation = explain(trained, data.draw(st.integers(0, trained.graph.num_nodes - 1)), k=k)[0]
    errors = largest_errors(explanation)
    # similarities may be large where embeddings are: what follows from them is as exact as float32
    scale = max(1.0, *(abs(one.similarity) for one in explanation.votes)) / trained.settings.vote.temperature
    assert max(errors.values()) <= 2e-6 * scale, errors


@pytest.fixture
def explanation():
    trained = untrained(random_graph(1), small_settings(directions="both", node_weight=0.3))
    return explain(trained, 12)[0]


def with_neighbor(explanation, **changes):
    first, *others = explanation.votes
    return dataclasses.replace(explanation, votes=(dataclasses.replace(first, **changes), *others))


def with_answer(explanation, **changes):
    return dataclasses.replace(explanation, answer=dataclasses.replace(explanation.answer, **changes))


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("terms", lambda e: with_neighbor(e, node_term=e.votes[0].node_term + 0.1)),
        ("structure", lambda e: with_neighbor(e, structure_similarity=e.votes[0].structure_similarity + 0.1)),
        ("structure", lambda e: with_neighbor(e, matches_back=None)),
        ("weights", lambda e: with_neighbor(e, weight=e.votes[0].weight + 0.1)),
        ("probabilities", lambda e: with_answer(e, probabilities=tuple(p + 0.1 for p in e.probabilities))),
        ("importance", lambda e: dataclasses.replace(e, importance=e.importance + np.float32(0.1))),
        ("without", lambda e: with_neighbor(e, without=tuple(p + 0.1 for p in e.votes[0].without))),
        ("statements", lambda e: with_answer(e, predicted=1 - e.predicted)),
        ("statements", lambda e: dataclasses.replace(e, votes=e.votes[::-1])),
    ],
)
def test_a_wrong_number_is_found(explanation, claim, change):
    assert largest_errors(explanation)[claim] <= 1e-6
    assert largest_errors(change(explanation))[claim] >= 0.09


def test_a_false_removal_is_found(explanation):
    removal = explanation.removal
    assert removal is not None
    twisted = dataclasses.replace(explanation, removal=dataclasses.replace(removal, nodes=removal.nodes[:-1]))
    assert largest_errors(twisted)["statements"] == math.inf
