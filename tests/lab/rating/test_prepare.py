"""The pairs: what is drawn is the same for every method, and tells nothing about it."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from hostile_model import hostile_model
from lab.rating.drawing import draw_pair, local_edges, numbered_edges
from lab.rating.nearest import SEGNNMethod
from lab.rating.plan import METHODS, RatingPlan, methods_of
from lab.rating.prepare import ModelToRate, candidates, check_can_prepare, prepare_pairs
from se_gnn.errors import InputError
from se_gnn.explain import explain

PLAN = RatingPlan(models=(("hub", "d"),), items=3)


@pytest.fixture(scope="module")
def model():
    return ModelToRate(hostile_model(), "hub", "d")


@pytest.fixture(scope="module")
def pairs(model):
    pytest.importorskip("torch_geometric", reason="needs torch-geometric: pip install 'se-gnn[lab]'")
    return list(prepare_pairs([model], PLAN, epochs=2))


def test_every_target_has_a_pair_per_method(pairs):
    assert [(one.item, one.method) for one in pairs] == [(item, m) for item in range(3) for m in range(4)]


def test_targets_are_test_nodes_with_edges_and_come_from_the_seed(model, pairs):
    graph = model.trained.graph
    allowed = {graph.caption(node) for node in candidates(model.trained).tolist()}
    assert {one.target for one in pairs} <= allowed
    only = dataclasses.replace(PLAN, methods=("se-gnn",))
    again = list(prepare_pairs([model], only))
    assert [one.target for one in again] == [one.target for one in pairs[::4]]
    assert [one.pictures for one in again] == [one.pictures for one in pairs[::4]]


def test_the_labeled_node_is_that_of_the_explanation(model, pairs):
    graph = model.trained.graph
    for one in pairs[::4]:
        explanation = explain(model.trained, graph.node_id(one.target), k=1)[0]
        assert one.neighbor == graph.caption(explanation.votes[0].node) or "\\" in one.neighbor


def test_pictures_say_nothing_of_methods_or_similarities(pairs):
    for one in pairs:
        for svg in (one.pictures.target, one.pictures.neighbor):
            assert not re.search("similarity|importance|matched|data-", svg)
            assert not any(name in svg.lower() for name in METHODS)


def test_all_methods_number_the_same_edges_of_a_target(pairs):
    for item in range(3):
        own = [one.pictures for one in pairs if one.item == item]
        # an edge's names are in its title; its number is the class of its line
        line = r"<title>([^<]*)</title><polyline[^>]*class=\"(m\d)"
        found = {tuple(sorted(re.findall(line, one.target))) for one in own}
        assert len(found) == 1
        assert found.pop()


def test_names_in_pictures_are_only_text(pairs):
    for one in pairs:
        assert not re.search(r"<script|<img|\u202e", one.pictures.target + one.pictures.neighbor)


def test_matches_are_those_of_the_explanation(model):
    node = int(candidates(model.trained)[0])
    explanation = explain(model.trained, node, k=1)[0]
    matches = explanation.votes[0].matches
    edges = numbered_edges(explanation)
    others = local_edges(explanation, model.trained.graph, explanation.votes[0].node)
    found = SEGNNMethod().matched(explanation, edges, others)
    assert found.tolist() == [int(matches.matched_ids[matches.edge_ids == edge][0]) for edge in edges]


def test_a_labeled_node_without_edges_is_drawn_alone(model):
    explanation = explain(model.trained, int(candidates(model.trained)[0]), k=1)[0]
    nothing = np.empty(0, np.int64)
    drawn = draw_pair(explanation, model.trained.graph, 59, nothing, nothing)
    assert drawn.notes[1] == "no edges"
    assert 'class="number"' not in drawn.target + drawn.neighbor


def test_more_targets_than_there_are_is_an_error_before_any_work(model):
    with pytest.raises(InputError, match="--items must be at most the 4 test nodes"):
        check_can_prepare([model], dataclasses.replace(PLAN, items=5))


def test_unknown_methods_are_named():
    with pytest.raises(InputError, match="did you mean 'gcn-k'"):
        methods_of(["gcnk"])
    with pytest.raises(InputError, match="at least one"):
        methods_of([" "])


def test_a_plan_survives_the_file():
    assert RatingPlan.from_json(PLAN.to_json()) == PLAN
