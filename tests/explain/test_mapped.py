"""A graph that does not fit in memory is explained like one that does: local graphs are small."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.explain import Explanation, explain
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.model import Model
from strategies import random_graph, small_settings, untrained


@pytest.fixture
def both(tmp_path) -> tuple[Model, Model]:
    """The same model with its graph in memory, and mapped from files."""
    graph = random_graph(1, num_nodes=40, num_edges=90, num_labeled=14, isolated=(30,), feature_names=tuple("abcde"))
    trained = untrained(graph, small_settings(max_edges=16))
    save_graph(graph, tmp_path / "graph", mapped=True)
    mapped = load_graph(tmp_path / "graph")
    assert not mapped.fits_memory
    return trained, Model(trained.encoder, mapped, trained.settings)


def test_an_explanation_of_a_mapped_graph_is_that_of_the_graph_in_memory(both):
    for one, other in zip(*(explain(model, [0, 20, 30]) for model in both)):
        assert [vote.node for vote in one.votes] == [vote.node for vote in other.votes]
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        np.testing.assert_allclose(one.importance, other.importance, atol=1e-5)
        assert one.removal == other.removal or one.removal.nodes == other.removal.nodes
        assert one.sentence() == other.sentence()
        assert Explanation.from_json(other.to_json()) == other


def test_attribute_effects_are_left_out_where_the_embeddings_are_not_in_memory(both):
    assert explain(both[1], 20, attributes=True)[0].votes[0].attributes is None
    assert explain(both[0], 20, attributes=True)[0].votes[0].attributes is not None
