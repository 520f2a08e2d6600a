"""The explanation as an object, as JSON and as a sentence."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.explain import Explainer, Explanation, schema
from se_gnn.graph import AttributedGraph
from strategies import models, random_graph, small_config, untrained


@pytest.fixture
def explanation() -> Explanation:
    return Explainer(untrained(random_graph(1), small_config())).explain(12)


def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def explain(node, graph, **similarity):
    return Explainer(untrained(graph, small_config(similarity=similarity))).explain(node)


# --- crucial subgraph


def test_the_crucial_subgraph_of_a_size_holds_the_most_important_edges(explanation):
    crucial = explanation.crucial_subgraph(size=3)
    order = sorted(range(len(explanation.edges)), key=lambda i: (-explanation.importance[i], i))
    np.testing.assert_array_equal(crucial.edges, explanation.edges[order[:3]])
    np.testing.assert_array_equal(crucial.importance, explanation.importance[order[:3]])
    np.testing.assert_array_equal(crucial.nodes, np.unique(crucial.edges))


def test_the_crucial_subgraph_above_a_threshold_holds_all_edges_at_or_above_it(explanation):
    threshold = float(np.sort(explanation.importance)[-2])
    crucial = explanation.crucial_subgraph(threshold=threshold)
    wanted = explanation.edges[explanation.importance >= threshold]
    assert sorted(map(tuple, crucial.edges.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert (np.diff(crucial.importance) <= 0).all()


def test_equally_important_edges_come_by_edge_order(explanation):
    equal = dataclasses.replace(explanation, importance=np.full(len(explanation.edges), 0.5, np.float32))
    np.testing.assert_array_equal(equal.crucial_subgraph(size=2).edges, explanation.edges[:2])


def test_a_crucial_subgraph_may_be_empty_or_whole(explanation):
    assert len(explanation.crucial_subgraph(size=0).edges) == 0
    assert len(explanation.crucial_subgraph(size=10_000).edges) == len(explanation.edges)
    assert len(explanation.crucial_subgraph(threshold=1e9).nodes) == 0


def test_edges_without_importance_are_not_crucial(explanation):
    importance = explanation.importance.copy()
    importance[0] = np.nan
    partly = dataclasses.replace(explanation, importance=importance)
    assert len(partly.crucial_subgraph(size=10_000).edges) == len(explanation.edges) - 1
    assert len(partly.crucial_subgraph(threshold=-1e9).edges) == len(explanation.edges) - 1


@pytest.mark.parametrize("given", [{}, {"threshold": 0.5, "size": 3}])
def test_a_crucial_subgraph_needs_a_threshold_or_a_size(explanation, given):
    with pytest.raises(InputError, match="crucial_subgraph needs either threshold or size, not both"):
        explanation.crucial_subgraph(**given)


def test_a_crucial_subgraph_of_negative_size_is_an_error(explanation):
    with pytest.raises(InputError, match="size must be at least 0, got -1"):
        explanation.crucial_subgraph(size=-1)


# --- JSON


@settings(max_examples=40)
@given(trained=models(), data=st.data(), k=st.none() | st.integers(1, 3))
def test_the_json_fits_its_schema_and_comes_back_the_same(trained, data, k):
    explanation = Explainer(trained).explain(data.draw(st.integers(0, trained.graph.num_nodes - 1)), k)
    read = json.loads(explanation.to_json(), parse_constant=pytest.fail)
    validator().validate(read)
    assert read == explanation.to_dict()


def test_the_json_names_format_and_version(explanation):
    assert (explanation.to_dict()["format"], explanation.to_dict()["version"]) == ("se-gnn-explanation", 1)


def test_the_schema_refuses_what_is_missing_or_unknown(explanation):
    values = explanation.to_dict()
    assert not list(validator().iter_errors(values))
    assert list(validator().iter_errors({**values, "extra": 1}))
    assert list(validator().iter_errors({key: value for key, value in values.items() if key != "neighbors"}))
    assert list(validator().iter_errors({**values, "version": 2}))


def test_the_json_knows_no_label_where_none_is_known():
    labels = np.arange(16) % 2
    labels[12] = -1
    graph = random_graph(1, labels=labels, val=None, test=None)
    assert explain(12, graph).to_dict()["label"] is None
    assert explain(11, graph).to_dict()["label"] == "1"


def test_an_edge_that_no_neighbor_can_match_has_no_importance():
    graph = random_graph(1, isolated=(0, 1, 2, 3, 4, 5))  # no labeled node has edges
    explanation = explain(12, graph)
    assert len(explanation.edges)
    assert np.isnan(explanation.importance).all()
    values = json.loads(explanation.to_json())
    assert {edge["importance"] for edge in values["edges"]} == {None}
    assert {neighbor["structure_similarity"] for neighbor in values["neighbors"]} == {None}
    validator().validate(values)


# --- sentence


def test_the_sentence_names_prediction_share_and_closest_node(explanation):
    text = explanation.sentence()
    assert text == str(explanation)
    assert text.startswith(f"Node 12 is predicted '{explanation.predicted_name}' (")
    agreeing = sum(neighbor.label == explanation.predicted for neighbor in explanation.neighbors)
    assert (f"{agreeing} of its 3 nearest" if agreeing < 3 else "All of its 3 nearest") in text
    closest = explanation.neighbors[0]
    edges = len(explanation.edges)
    assert f"The closest, {closest.name} ('{closest.label_name}'), matches " in text
    assert f"{int(closest.matches.well.sum())} of {edges} relations" in text


def test_the_sentence_of_one_neighbor_says_nearest_and_not_all_of_one():
    text = explain(12, random_graph(1), num_nearest=1).sentence()
    assert "Its nearest labeled node is '" in text
    assert "1 nearest" not in text


@settings(max_examples=40)
@given(trained=models(), data=st.data())
def test_every_sentence_reads_whole_and_mentions_the_prediction(trained, data):
    explanation = Explainer(trained).explain(data.draw(st.integers(0, trained.graph.num_nodes - 1)))
    text = explanation.sentence()
    assert f"is predicted '{explanation.predicted_name}' (" in text
    assert text.endswith(".")
    assert "nan" not in text
    assert "None" not in text
    assert "(0%)" not in text
    assert ("has no relations" in text) == (not explanation.has_structure)
    assert ("its own label was left out" in text) == explanation.left_out


def test_the_sentence_of_a_node_without_edges_says_so():
    explanation = explain(12, random_graph(1, isolated=(12,)))
    assert not explanation.has_structure
    assert explanation.to_dict()["has_structure"] is False
    assert "The node has no relations, so it was compared by its own attributes alone." in explanation.sentence()
    for neighbor in explanation.neighbors:
        assert neighbor.structure_similarity is None
        assert neighbor.similarity == neighbor.node_similarity


def test_a_closest_node_without_edges_is_said_to_be_compared_by_attributes():
    explanation = explain(12, random_graph(1, isolated=(0, 1, 2, 3, 4, 5)))
    closest = explanation.neighbors[0]
    assert f"The closest is {closest.name} ('{closest.label_name}'), compared by its own attributes alone" in (
        explanation.sentence()
    )


def test_the_sentence_of_a_labeled_node_says_that_its_own_label_was_left_out():
    explanation = explain(3, random_graph(1, class_names=("red", "blue")))
    assert explanation.left_out
    assert "The node is labeled 'blue' itself; its own label was left out." in explanation.sentence()


def test_the_sentence_names_the_neighbor_whose_absence_changes_the_class():
    # one edgeless line: 0 is asked; its nearest decides against the two behind
    graph = AttributedGraph.build(
        features=[[0.0], [0.1], [3.0], [3.1]], edges=[], labels=[0, 0, 1, 1], train=[1, 2, 3], class_names=("a", "b")
    )
    explanation = explain(0, graph, num_nearest=3, measure="distance", temperature=0.05)
    assert explanation.neighbors[0].node == 1
    assert explanation.predicted_name == "a"
    assert "Without 1 it would be predicted 'b' (100%)." in explanation.sentence()


def test_the_sentence_says_where_no_single_neighbor_decides():
    graph = AttributedGraph.build(features=[[0.0], [0.1], [0.2], [9.0]], edges=[], labels=[0, 0, 0, 1], train=[1, 2, 3])
    text = explain(0, graph, num_nearest=2, measure="distance", temperature=0.05).sentence()
    assert "No single labeled node decides it" in text


def test_a_node_whose_only_voter_goes_has_nobody_left_and_the_sentence_does_not_make_up_a_class():
    graph = AttributedGraph.build(features=[[0.0], [1.0], [2.0]], edges=[], labels=[0, 1, 0], train=[0, 1])
    explanation = explain(0, graph, num_nearest=2, measure="distance")
    assert [neighbor.node for neighbor in explanation.neighbors] == [1]
    assert explanation.neighbors[0].without == (0.0, 0.0)
    text = explanation.sentence()
    assert "(0%)" not in text
    assert "No single labeled node decides it" not in text
    assert "Without 1 no labeled node would be left to compare with." in text


@pytest.mark.parametrize(
    ("share", "text"), [(0.5, "50%"), (1.0, "100%"), (0.999, "over 99%"), (0.994, "99%"), (0.811, "81%")]
)
def test_a_share_is_whole_percent_but_never_all_where_it_is_not(explanation, share, text):
    probabilities = [1 - share] * 2
    probabilities[explanation.predicted] = share
    found = dataclasses.replace(explanation, probabilities=tuple(probabilities)).sentence()
    assert f"' ({text})." in found


# --- shared attributes


def test_shared_attributes_come_with_the_neighbors_whose_matches_come_where_attributes_have_names():
    graph = random_graph(1, feature_names=tuple("abcde"))
    explanation = Explainer(untrained(graph, small_config())).explain(12, k=2)
    assert [neighbor.shared_attributes is not None for neighbor in explanation.neighbors] == [True, True, False]
    first = explanation.neighbors[0].shared_attributes
    assert (first.target, first.neighbor) == (12, explanation.neighbors[0].node)
    values = explanation.to_dict()
    validator().validate(values)
    assert ["shared_attributes" in one for one in values["neighbors"]] == [True, True, False]
    written = values["neighbors"][0]["shared_attributes"]
    assert written["num_shared"] == first.num_shared
    assert [one["effect"] for one in written["attributes"]] == [one.effect for one in first.attributes]


def test_attributes_without_names_are_left_out(explanation):
    assert all(neighbor.shared_attributes is None for neighbor in explanation.neighbors)
    assert all("shared_attributes" not in one for one in explanation.to_dict()["neighbors"])


def test_the_representation_is_one_short_line(explanation):
    text = repr(explanation)
    assert text.startswith("Explanation('12': predicted '")
    assert f"{len(explanation.edges)} edges" in text
    assert "\n" not in text
    assert len(text) < 120
