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
from se_gnn.explain import CRUCIAL_EDGES, Explanation, explain, schema
from strategies import models, random_graph, small_settings, untrained


@pytest.fixture
def explanation() -> Explanation:
    return explain(untrained(random_graph(1), small_settings()), 12)[0]


def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def explained(node, graph, **similarity):
    return explain(untrained(graph, small_settings(**similarity)), node)[0]


# --- crucial subgraph


def test_the_crucial_subgraph_of_a_size_holds_the_most_important_edges(explanation):
    crucial = explanation.crucial_subgraph(size=3)
    order = sorted(range(len(explanation.edge_ids)), key=lambda i: (-explanation.importance[i], i))
    np.testing.assert_array_equal(crucial.edge_ids, explanation.edge_ids[order[:3]])
    np.testing.assert_array_equal(crucial.edges, explanation.ends(explanation.edge_ids[order[:3]]))
    np.testing.assert_array_equal(crucial.importance, explanation.importance[order[:3]])
    np.testing.assert_array_equal(crucial.nodes, np.unique(crucial.edges))


def test_the_crucial_subgraph_above_a_threshold_holds_all_edges_at_or_above_it(explanation):
    threshold = float(np.sort(explanation.importance)[-2])
    crucial = explanation.crucial_subgraph(threshold=threshold)
    wanted = explanation.ends(explanation.edge_ids[explanation.importance >= threshold])
    assert sorted(map(tuple, crucial.edges.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert (np.diff(crucial.importance) <= 0).all()


def test_equally_important_edges_come_by_edge_order(explanation):
    equal = dataclasses.replace(explanation, importance=np.full(len(explanation.edge_ids), 0.5, np.float32))
    np.testing.assert_array_equal(equal.crucial_subgraph(size=2).edge_ids, explanation.edge_ids[:2])


def test_a_crucial_subgraph_may_be_empty_or_whole(explanation):
    assert len(explanation.crucial_subgraph(size=0).edges) == 0
    assert len(explanation.crucial_subgraph(size=10_000).edges) == len(explanation.edge_ids)
    assert len(explanation.crucial_subgraph(threshold=1e9).nodes) == 0


def test_edges_without_importance_are_not_crucial(explanation):
    importance = explanation.importance.copy()
    importance[0] = np.nan
    partly = dataclasses.replace(explanation, importance=importance)
    assert len(partly.crucial_subgraph(size=10_000).edges) == len(explanation.edge_ids) - 1
    assert len(partly.crucial_subgraph(threshold=-1e9).edges) == len(explanation.edge_ids) - 1


def test_a_crucial_subgraph_has_five_edges_unless_a_threshold_or_a_size_is_given(explanation):
    five = explanation.crucial_subgraph(size=CRUCIAL_EDGES)
    np.testing.assert_array_equal(explanation.crucial_subgraph().edge_ids, five.edge_ids)
    assert len(five.edge_ids) == CRUCIAL_EDGES == 5
    with pytest.raises(InputError, match="crucial_subgraph takes threshold or size, not both"):
        explanation.crucial_subgraph(threshold=0.5, size=3)


def test_a_crucial_subgraph_of_negative_size_is_an_error(explanation):
    with pytest.raises(InputError, match="size must be at least 0, got -1"):
        explanation.crucial_subgraph(size=-1)


# --- JSON


@settings(max_examples=40)
@given(trained=models(), data=st.data(), k=st.none() | st.integers(1, 3))
def test_the_json_fits_its_schema_and_comes_back_the_same(trained, data, k):
    explanation = explain(trained, data.draw(st.integers(0, trained.graph.num_nodes - 1)), k=k)[0]
    read = json.loads(explanation.to_json(), parse_constant=pytest.fail)
    validator().validate(read)
    assert read == explanation.to_dict()
    assert Explanation.from_json(explanation.to_json()) == explanation


def test_the_json_names_format_and_version(explanation):
    assert (explanation.to_dict()["format"], explanation.to_dict()["version"]) == ("se-gnn-explanation", 3)


def test_the_schema_refuses_what_is_missing_or_unknown(explanation):
    values = explanation.to_dict()
    assert not list(validator().iter_errors(values))
    assert list(validator().iter_errors({**values, "extra": 1}))
    assert list(validator().iter_errors({key: value for key, value in values.items() if key != "votes"}))
    assert list(validator().iter_errors({**values, "version": 2}))


def test_the_json_knows_no_label_where_none_is_known():
    labels = np.arange(16) % 2
    labels[12] = -1
    graph = random_graph(1, labels=labels, validation=None, test=None)
    assert explained(12, graph).label == -1
    assert "label" not in explained(12, graph).to_dict()["query"]
    assert explained(11, graph).to_dict()["query"]["label"] == 1


def test_an_edge_that_no_neighbor_can_match_has_no_importance():
    graph = random_graph(1, isolated=(0, 1, 2, 3, 4, 5))  # no labeled node has edges
    explanation = explained(12, graph)
    assert len(explanation.edge_ids)
    assert np.isnan(explanation.importance).all()
    values = json.loads(explanation.to_json())
    assert set(values["importance"]) == {None}
    assert {vote["structure_similarity"] for vote in values["votes"]} == {None}
    validator().validate(values)


# --- shared attributes


def test_shared_attributes_come_with_the_neighbors_whose_matches_come_where_attributes_have_names():
    graph = random_graph(1, feature_names=tuple("abcde"))
    explanation = explain(untrained(graph, small_settings()), 12, k=2, attributes=True)[0]
    assert [neighbor.attributes is not None for neighbor in explanation.votes] == [True, True, False]
    first = explanation.votes[0].attributes
    assert (first.node, first.other) == (12, explanation.votes[0].node)
    values = explanation.to_dict()
    validator().validate(values)
    assert ["attributes" in one for one in values["votes"]] == [True, True, False]
    written = values["votes"][0]["attributes"]
    assert written["num_shared"] == first.num_shared
    assert [one["effect"] for one in written["attributes"]] == [one.effect for one in first.attributes]


def test_attributes_without_names_are_left_out(explanation):
    assert all(neighbor.attributes is None for neighbor in explanation.votes)
    assert all("attributes" not in one for one in explanation.to_dict()["votes"])


def test_the_representation_is_one_short_line(explanation):
    text = repr(explanation)
    assert text.startswith("Explanation('12': predicted '")
    assert f"{len(explanation.edge_ids)} edges" in text
    assert "\n" not in text
    assert len(text) < 120
