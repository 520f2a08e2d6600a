"""The effect of an attribute is what a run of the encoder without it says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.explain import explain, shared_attributes
from se_gnn.graph import Graph
from se_gnn.graph.columns import CategoryColumn, NumberColumn, TextColumn
from se_gnn.similarity import measure_named
from strategies import changed, models, random_graph, small_settings, untrained


def with_features(graph: Graph, features) -> Graph:
    return changed(graph, features=features)


def bag_of_words(seed: int = 0, num_nodes: int = 16, num_words: int = 12) -> sp.csr_array:
    generator = np.random.default_rng(seed)
    return sp.csr_array(
        (generator.random((num_nodes, num_words)) < 0.4) * generator.integers(1, 4, num_words), dtype="f4"
    )


def naive_effect(trained, ours, theirs, feature, value):
    """The attribute is taken from one side, then from the other; the mean counts."""
    return np.mean([naive_loss(trained, ours, theirs, feature, value, losing) for losing in (ours, theirs)])


def naive_loss(trained, ours, theirs, feature, value, losing):
    """All of the graph is encoded again, with the attribute set to ``value`` at the nodes that are ``losing`` it."""
    graph, measure = trained.graph, trained.settings.similarity.measure
    changed = np.array(graph.features.toarray() if sp.issparse(graph.features) else graph.features)
    changed[np.ix_(losing, np.atleast_1d(feature))] = value
    before, after = trained.embeddings, trained.encoder.embed(with_features(graph, changed))
    similarity = [
        measure_named(measure).aligned(h[list(ours)].mean(0), h[list(theirs)].mean(0)) for h in (before, after)
    ]
    return float(similarity[0] - similarity[1])


@settings(max_examples=30)
@given(trained=models(), data=st.data())
def test_effects_of_measured_attributes_agree_with_encoding_the_whole_graph_again(trained, data):
    nodes = st.integers(0, trained.graph.num_nodes - 1)
    target, neighbor = data.draw(st.lists(nodes, min_size=2, max_size=2, unique=True))
    found = shared_attributes(trained, target, neighbor)
    x = trained.graph.features
    close = np.abs(x[target] - x[neighbor]) <= 0.5 * x.std(axis=0)
    assert {a.name for a in found.attributes} == {f"attribute {j}" for j in np.flatnonzero(close)}
    for attribute in found.attributes:
        j = int(attribute.name.split()[1])
        expected = naive_effect(trained, [target], [neighbor], j, x[:, j].mean())
        assert attribute.effect == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    "encoder",
    [
        {"aggregation": "gcn"},
        {"aggregation": "mean"},
        {"aggregation": "own"},
        {"aggregation": "layers", "steps": 2},
        {"aggregation": "layers", "steps": 5, "hidden_size": 7, "attribute_scaling": "unit"},
        {"aggregation": "pagerank", "steps": 3, "attribute_scaling": "unit"},
        {"aggregation": "pagerank", "steps": 3, "attribute_scaling": "weighted", "members": 2},
        {"aggregation": "steps", "steps": 2, "output_size": 5, "members": 3, "attribute_scaling": "unit"},
    ],
)
@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("sparse", [True, False])
def test_words_are_shared_where_both_have_them_also_by_nodes_that_aggregate_each_other(encoder, measure, sparse):
    words = bag_of_words()
    graph = with_features(random_graph(1), words if sparse else words.toarray())
    config = small_settings(num_layers=3, **encoder, measure=measure)
    trained = untrained(graph, config)
    dense = words.toarray()
    for target, neighbor in [*graph.edges.ends[:4].tolist(), (0, 15)]:
        found = shared_attributes(trained, target, neighbor, top=100)
        both = np.flatnonzero((dense[target] != 0) & (dense[neighbor] != 0))
        if sparse:  # all features count words; a dense one may be there in more than half of the nodes
            assert {a.name for a in found.attributes} == {f"attribute {j}" for j in both}
            assert found.num_shared == len(both)
            assert "set to 0." in found.note
            assert "from one of the two nodes at a time" in found.note
        for attribute in found.attributes:
            j = int(attribute.name.split()[1])
            counted = sparse or (dense[:, j] == 0).mean() >= 0.5
            expected = naive_effect(trained, [target], [neighbor], j, 0 if counted else dense[:, j].mean())
            assert attribute.effect == pytest.approx(expected, abs=2e-5)
            assert attribute.value == f"{dense[target, j]:.4g}"
            assert attribute.other_value == f"{dense[neighbor, j]:.4g}"


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_taken_from_both_nodes_together_they_are_compared_without_it(measure):
    graph = with_features(random_graph(1), bag_of_words())
    trained = untrained(graph, small_settings(measure=measure))
    for target, neighbor in [*graph.edges.ends[:4].tolist(), (0, 15)]:
        found = shared_attributes(trained, target, neighbor, top=100, taken_from="both")
        assert "from both nodes, everything else stays" in found.note
        assert {a.name for a in found.attributes} == {
            a.name for a in shared_attributes(trained, target, neighbor, top=100).attributes
        }
        for attribute in found.attributes:
            j = int(attribute.name.split()[1])
            expected = naive_loss(trained, [target], [neighbor], j, 0, losing=[target, neighbor])
            assert attribute.effect == pytest.approx(expected, abs=2e-5)
    with pytest.raises(InputError, match="taken_from must be one or both, got 'none'"):
        shared_attributes(trained, 0, 15, taken_from="none")


def test_the_largest_effect_comes_first_and_top_limits_the_list_only():
    trained = untrained(with_features(random_graph(1), bag_of_words(3, num_words=40)), small_settings())
    everything, two = shared_attributes(trained, 3, 12, top=100), shared_attributes(trained, 3, 12, top=2)
    effects = [a.effect for a in everything.attributes]
    assert effects == sorted(effects, reverse=True)
    assert two.attributes == everything.attributes[:2]
    assert two.num_shared == everything.num_shared == len(everything.attributes) > 2


def test_the_similarity_is_the_node_similarity_of_the_explanation_to_the_bit():
    trained = untrained(random_graph(1), small_settings())
    for neighbor in explain(trained, 12)[0].votes:
        assert shared_attributes(trained, 12, neighbor.node).similarity == neighbor.node_similarity


def test_an_attribute_that_the_model_does_not_read_has_no_effect_at_all():
    trained = untrained(with_features(random_graph(1), bag_of_words(3, num_words=40)), small_settings())
    with torch.no_grad():
        trained.encoder.network.layers[0].weight[:, 4] = 0
    found = {a.name: a.effect for a in shared_attributes(trained, *both_have(trained.graph, 4), top=100).attributes}
    assert found["attribute 4"] == 0


def both_have(graph, word):
    return np.flatnonzero(graph.features[:, [word]].toarray()[:, 0])[:2].tolist()


def test_names_of_features_are_used_where_there_are_any():
    names = tuple(f"word-{j}" for j in range(12))
    graph = changed(random_graph(1), features=bag_of_words(), feature_names=names)
    found = shared_attributes(untrained(graph, small_settings()), *both_have(graph, 2), top=100)
    assert "word-2" in {a.name for a in found.attributes}


@pytest.mark.parametrize("sparse", [True, False])
def test_columns_of_a_table_are_taken_as_a_whole_and_texts_word_by_word(sparse):
    generator = np.random.default_rng(0)
    city, words = np.eye(3)[generator.integers(0, 3, 16)], generator.random((16, 2)) < 0.7
    age, missing = generator.normal(size=16), np.arange(16) % 5 == 0
    x = np.column_stack([np.where(missing, 0, age), missing, city, words]).astype(np.float32)
    columns = (
        NumberColumn(name="age", first=0, size=2, marked=True, offset=40, scale=10),
        CategoryColumn(name="city", first=2, size=3, categories=("Bern", "Oslo", "Rome"), has_other=False),
        TextColumn(name="text", first=5, size=2, vocabulary=("red", "blue"), idf=(1.0, 1.0)),
    )
    graph = changed(random_graph(1), features=sp.csr_array(x) if sparse else x, columns=columns)
    trained = untrained(graph, small_settings())
    seen = set()
    for neighbor in range(1, 16):
        found = {a.name: a for a in shared_attributes(trained, 0, neighbor).attributes}
        expected = {"age"} if missing[neighbor] else set()  # node 0 has no age
        expected |= {"city"} if (city[0] == city[neighbor]).all() else set()
        expected |= {f"text: {word}" for i, word in enumerate(("red", "blue")) if words[0, i] and words[neighbor, i]}
        assert set(found) == expected
        seen |= expected
        for name, features, without in (("city", [2, 3, 4], 0), ("age", [0, 1], [x[:, 0].mean(), 0])):
            if name in found:
                assert found[name].effect == pytest.approx(
                    naive_effect(trained, [0], [neighbor], features, without), abs=2e-5
                )
        for name in found:
            if name.startswith("text: "):
                assert found[name].value == found[name].other_value == name.removeprefix("text: ")
        if "city" in found:
            assert found["city"].value == ("Bern", "Oslo", "Rome")[city[0].argmax()]
    assert {"age", "city"} < seen
    one, other = [i for i in range(16) if not missing[i]][:2]
    close = abs(age[one] - age[other]) <= 0.5 * x[:, 0].std()
    assert ("age" in {a.name for a in shared_attributes(trained, one, other).attributes}) == close


def test_matched_edges_share_attributes_of_their_ends():
    trained = untrained(with_features(random_graph(1), bag_of_words()), small_settings())
    edges, dense = trained.graph.edges.ends, trained.graph.features.toarray()
    for edge, matched in [(edges[0], edges[5]), (edges[0], edges[1]), (edges[2], edges[2])]:
        found = shared_attributes(trained, edge, matched, top=100)
        both = (dense[edge].any(axis=0)) & (dense[matched].any(axis=0))
        assert {a.name for a in found.attributes} == {f"attribute {j}" for j in np.flatnonzero(both)}
        for attribute in found.attributes:
            j = int(attribute.name.split()[1])
            assert attribute.effect == pytest.approx(naive_effect(trained, edge, matched, j, 0), abs=2e-5)
            assert attribute.value == f"{dense[edge, j].mean():.4g}"


@pytest.mark.parametrize(
    ("target", "neighbor", "top", "text"),
    [
        (16, 0, 1, "target must be between 0 and 15, got 16"),
        (0, -1, 1, "neighbor must be between 0 and 15, got -1"),
        (3, 3, 1, "target and neighbor must be two nodes, got 3 twice"),
        (3, 4, -1, "top must be at least 0, got -1"),
    ],
)
def test_what_cannot_be_compared_is_an_error(target, neighbor, top, text):
    with pytest.raises(InputError, match=text):
        shared_attributes(untrained(random_graph(1), small_settings()), target, neighbor, top)
