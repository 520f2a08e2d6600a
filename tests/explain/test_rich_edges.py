"""Explanations of graphs whose edges carry something: what people read, the JSON, and that the numbers add up."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import numpy as np
import pandas as pd
import pytest
from matplotlib.legend import Legend

from lab.recomputed import largest_errors
from se_gnn.encoder import encoder_features
from se_gnn.errors import InputError
from se_gnn.explain import (
    Explanation,
    explain,
    schema,
    shared_attributes,
)
from se_gnn.explain.attributes import attributes_of, edge_info
from se_gnn.explain.text import agreeing_facts, edge_in_words
from se_gnn.graph import EdgeValues, Graph
from se_gnn.model import SEGNN, Model
from se_gnn.plot.figure import explanation_figure
from se_gnn.plot.local_view import local_views
from se_gnn.report import report_html
from se_gnn.report.node import node_part
from se_gnn.settings import Settings
from se_gnn.tables import ImportSettings, read_tables
from strategies import changed

SETTINGS = Settings.of("best", num_nearest=4, node_weight=0.5, members=2).resolve()


@pytest.fixture(scope="module")
def graph():
    """a pays b, b pays c, d refunds a, and so on; a pays b twice."""
    edges = [[0, 1], [0, 1], [1, 2], [3, 0], [4, 5], [6, 4], [7, 4], [5, 6]]
    values = EdgeValues(
        direction=np.array([1, 1, 1, 1, 1, 1, 1, 0], np.int8),
        type=np.array([0, 0, 0, 1, 0, 1, 0, 0], np.int32),
        type_names=("payment", "refund"),
        type_verbs=("pays", "refunds"),
        weight=np.array([1, 2, 1, 1, 1, 3, 1, 1], np.float32),
        attributes=np.array([[118], [50], [20], [10], [120], [11], [70], [90]], np.float32),
        attribute_names=("amount",),
    )
    features = np.random.default_rng(0).normal(size=(8, 3))
    features[2, 0] = features[0, 0]  # a and c are equally old
    return Graph.build(
        features=features,
        feature_names=["age", "balance", "visits"],
        edges=edges,
        labels=[0, 1, 0, 1, 0, -1, -1, -1],
        class_names=["honest", "fraud"],
        node_names=list("abcdefgh"),
        edge_values=values,
    )


@pytest.fixture(scope="module")
def explained(graph):
    trained = Model(SEGNN.for_graph(graph, SETTINGS), graph, SETTINGS)
    return explain(trained, graph.node_id("a"), attributes=True)[0]


def test_an_edge_is_read_with_the_verb_of_its_type_and_what_it_carries(graph):
    texts = [edge_info(graph, edge) for edge in range(graph.num_edges)]
    told = [edge_in_words(one, graph.node_names[one.start], graph.node_names[one.end]) for one in texts]
    assert told[:3] == [
        "a pays b (weight 1, amount 118)",
        "a pays b (weight 2, amount 50)",
        "d refunds a (weight 1, amount 10)",
    ]
    assert "f – g (type payment, weight 1, amount 90)" in told  # no direction


def test_what_two_edges_carry_alike_is_named(graph):
    infos = [edge_info(graph, edge) for edge in range(graph.num_edges)]
    edges = {edge_in_words(one, "x", "y"): one for one in infos}
    close = agreeing_facts(edges["x pays y (weight 1, amount 118)"], edges["x pays y (weight 1, amount 120)"])
    assert close == ("type", "weight", "amount (close, 2 apart)")
    far = agreeing_facts(edges["x pays y (weight 1, amount 118)"], edges["x refunds y (weight 3, amount 11)"])
    assert far == ()


def test_the_sentence_names_the_best_match_and_the_edges_without_a_counterpart(explained):
    assert "Best matched: " in explained.sentence()
    alone = explained.votes[0].matches
    told = "no counterpart of the same direction and type" in explained.sentence()
    assert told == bool((~alone.matched).any())


def test_every_number_follows_from_the_others(explained):
    assert max(largest_errors(explained).values()) < 1e-5


def test_the_json_holds_what_edges_carry_and_fits_its_schema(explained):
    told = json.loads(explained.to_json())
    jsonschema.validate(told, schema())
    (first, *_) = (one for one in told["edges"] if one["values"]["amount"]["text"] == "118")
    named = {one["id"]: one["name"] for one in told["nodes"]}
    ends = named[first["start"]], named[first["end"]]
    assert (*ends, first["type"], first["weight"]) == ("a", "b", "payment", 1.0)
    assert told["roles"][told["edge_ids"].index(first["id"])] == "away from the center"
    assert any(-1 in one["matches"]["matched_ids"] for one in told["votes"] if "matches" in one)
    assert Explanation.from_json(explained.to_json()) == explained


def test_the_json_of_a_plain_graph_says_nothing_of_what_edges_carry(graph):
    plain = Graph.build(
        features=graph.features, edges=graph.edges.ends, labels=graph.labels, class_names=graph.class_names
    )
    told = explain(Model(SEGNN.for_graph(plain, SETTINGS), plain, SETTINGS), 0)[0].to_dict()
    assert all(set(edge) == {"id", "start", "end"} for edge in told["edges"])
    assert not {"roles", "edge_types"} & set(told)


def test_what_a_node_reads_of_its_edges_is_among_the_shared_attributes(explained):
    names = {one.name for vote in explained.full for one in vote.attributes.attributes}
    assert names & {"payment out", "refund in", "amount, mean out", "amount, mean in"}


def test_the_effect_of_a_shared_attribute_is_that_of_a_graph_without_it(graph):
    settings = SETTINGS.changed(members=1, attribute_share=0.0, attribute_scaling="unit")
    trained = Model(SEGNN.for_graph(graph, settings), graph, settings)
    found = shared_attributes(trained, 0, 2, top=20)
    (age,) = (one for one in found.attributes if one.name == "age")
    lost = []
    for node in (0, 2):
        features = graph.features.copy()
        features[node, 0] = features[:, 0].mean()
        other = Model(trained.encoder, changed(graph, features=features), trained.settings)
        lost.append(found.similarity - shared_attributes(other, 0, 2).similarity)
    assert age.effect == pytest.approx(np.mean(lost), abs=1e-5)


def test_the_report_says_how_edges_were_compared(graph, explained):
    paper = Settings.of("paper", num_nearest=4).resolve()
    pages = [report_html(Model(SEGNN.for_graph(graph, one), graph, one), [0], k=1) for one in (SETTINGS, paper)]
    rule = "Edges match only edges of the same direction, seen from the center, and the same type; one without"
    for sentence in (
        rule,
        "The attributes of edges are compared, too.",
        "Each edge counts in proportion to its weight.",
    ):
        assert [sentence in page for page in pages] == [True, False]


def test_networkx_keeps_every_parallel_edge_with_what_it_carries(explained):
    found = explained.to_networkx()
    assert found.number_of_edges() == len(explained.edge_ids)
    texts = [about["text"] for _, _, about in found.edges(data=True)]
    assert {"a pays b (weight 1, amount 118)", "a pays b (weight 2, amount 50)"} <= set(texts)


def test_a_notebook_names_edges_with_the_verb_of_their_type(explained):
    assert "<bdi>a</bdi> pays <bdi>b</bdi> (weight" in explained._repr_html_()


def test_a_hostile_type_is_only_text_on_every_page(graph):
    hostile = "<script>alert(1)</script>"
    values = dataclasses.replace(graph.edge_values, type_names=(hostile, "refund"), type_verbs=None)
    rich = changed(graph, edge_values=values)
    trained = Model(SEGNN.for_graph(rich, SETTINGS), rich, SETTINGS)
    found = explain(trained, 0)[0]
    for page in (found._repr_html_(), report_html(trained, [0], k=2)):
        assert hostile not in page
        assert "&lt;script&gt;alert(1)" in page


def test_pictures_draw_an_arrow_per_directed_edge_and_types_in_the_legend(explained):
    figure = explanation_figure(explained, num_cases=2)
    views = local_views(explained, num_cases=2)
    arrows = figure.findobj(lambda artist: "arrow" in (artist.get_gid() or ""))
    directed = [sum(explained.edges[edge].directed for edge in view.edge_ids.tolist()) for view in views]
    assert len(arrows) == sum(directed) > 0
    texts = {text.get_text() for legend in figure.findobj(Legend) for text in legend.get_texts()}
    assert {"payment", "refund"} <= texts


def test_the_report_shows_arrows_types_and_what_is_alike(explained):
    part = node_part(explained, 2)
    assert part.types == {0: "payment", 1: "refund"}
    svg = part.pictures[0].svg
    assert svg.count('class="arrow') == sum(
        explained.edges[edge].directed for edge in part.pictures[0].view.edge_ids.tolist()
    )
    assert "pays" in svg
    assert "stroke-dasharray" in svg
    assert any(
        agreeing_facts(row.edge, match.match)
        for row in part.edges
        for match in row.matches
        if match is not None and match.match is not None
    )


def test_parallel_edges_do_not_lie_on_each_other(explained):
    part = node_part(explained, 1)
    lines = [line for line in part.pictures[0].svg.split("<polyline") if "points" in line]
    assert len({line.split("/>")[0] for line in lines}) == len(lines)


def test_what_a_node_reads_of_its_edges_is_shown_in_the_units_of_the_table():
    nodes = pd.DataFrame({"id": list("abcd"), "age": [1.0, 2.0, 3.0, 5.0], "label": ["x", "y", "x", "y"]})
    edges = pd.DataFrame(
        {
            "source": list("aab"), "target": list("bcc"), "amount": [10.5, 20.25, 90.0], "paid": [1.5, 2.5, 8.0],
            "when": ["2020-01-01", "2020-01-03", "2020-02-01"],
        }
    )  # fmt: skip
    settings = ImportSettings(id="id", label="label", edge_weight="paid")
    graph = read_tables(nodes, edges, settings).graph
    config = Settings.of("best").resolve().encoder
    known = {attribute.name: attribute for attribute in attributes_of(graph, config).all}
    rows = encoder_features(graph, config)

    def shown(name, node):
        return known[name].show(rows[graph.node_id(node)][list(known[name].features)])

    assert shown("edges", "a") == "2"
    assert shown("paid, edges", "a") == "4"  # 1.5 + 2.5, whatever the mean of all is
    assert float(shown("amount, mean", "a")) == pytest.approx(15.375, abs=0.01)
    assert shown("when, mean", "a") == "2020-01-02"
    assert [shown(name, "d") for name in ("edges", "paid, edges", "amount, mean", "when, mean")] == ["0", "0", "-", "-"]


@pytest.mark.parametrize("settings", [{"match_direction": True}, {"match_types": "own"}])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_neighbors_without_edges_say_nothing_of_the_importance_of_an_edge(graph, settings, measure):
    kept = np.array([0, 1, 2, 3, 5, 6])  # node 5 is labeled, and has no edges now
    values = graph.edge_values
    alone = Graph.build(
        features=graph.features, edges=graph.edges.ends[kept], labels=np.arange(8) % 2, train=[1, 4, 5, 6], test=[0],
        validation=[], class_names=graph.class_names, edge_values=dataclasses.replace(
            values, raw=None,
            **{name: getattr(values, name)[kept] for name in ("direction", "type", "weight", "attributes")},
        ),
    )  # fmt: skip
    config = Settings.of("paper", num_nearest=4, measure=measure, **settings).resolve()
    trained = Model(SEGNN.for_graph(alone, config).eval(), alone, config)
    explanation = explain(trained, 0)[0]
    compared = [one for one in explanation.votes if one.matches is not None]
    assert len(compared) < len(explanation.votes)
    mean = np.mean([one.matches.similarity for one in compared], axis=0)
    np.testing.assert_allclose(explanation.importance, mean, rtol=1e-5)
    for one in compared:
        assert (
            one.matches.above_average.tolist()
            == ((one.matches.similarity >= mean - 1e-7) & one.matches.matched).tolist()
        )
    np.testing.assert_array_equal(explain(trained, np.array([0])).importance, explanation.importance)
    assert largest_errors(explanation)["importance"] < 1e-5


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_edges_share_attributes_of_their_ends_beside_what_they_carry(graph, measure):
    config = Settings.of("paper", num_nearest=4, measure=measure, match_attributes=True).resolve()
    trained = Model(SEGNN.for_graph(graph, config).eval(), graph, config)
    matches = explain(trained, 5)[0].votes[-1].matches
    compared = 0
    for edge, matched, similarity in zip(matches.edge_ids, matches.matched_ids, matches.similarity):
        if 0 not in (edge, matched) and 1 not in (edge, matched):  # these two join the same nodes
            found = shared_attributes(trained, graph.edges.ends[edge], graph.edges.ends[matched])
            assert found.similarity == pytest.approx(float(similarity), abs=1e-5)
            compared += 1
    assert compared
    with pytest.raises(InputError, match="2 edges with attributes of their own join 'a' and 'b'"):
        shared_attributes(trained, graph.edges.ends[0], graph.edges.ends[4])
