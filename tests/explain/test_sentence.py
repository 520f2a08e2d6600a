"""The sentences of an explanation: whole, true, and with names apart."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.explain import Explanation, explain
from se_gnn.graph import Graph
from strategies import hub_graph, models, random_graph, small_settings, untrained


@pytest.fixture
def explanation() -> Explanation:
    return explain(untrained(random_graph(1), small_settings()), 12)[0]


def explained(node, graph, **similarity):
    return explain(untrained(graph, small_settings(**similarity)), node)[0]


def test_the_sentence_is_the_prediction_the_vote_the_closest_and_what_would_change_it(explanation):
    closest = explanation.votes[0]
    probabilities, without = [0.19, 0.19], [0.36, 0.36]
    probabilities[explanation.predicted], without[1 - explanation.predicted] = 0.81, 0.64
    well = np.arange(len(closest.matches)) < 9
    edited = dataclasses.replace(
        explanation,
        answer=dataclasses.replace(explanation.answer, probabilities=tuple(probabilities)),
        votes=(
            dataclasses.replace(
                closest,
                label=explanation.predicted,
                weight=0.5,
                without=tuple(without),
                matches=dataclasses.replace(closest.matches, above_average=well),
            ),
            *(dataclasses.replace(one, label=explanation.predicted, weight=0.31) for one in explanation.votes[1:2]),
            dataclasses.replace(explanation.votes[2], label=1 - explanation.predicted, weight=0.19),
        ),
    )
    text = edited.sentence().split("; so would removing")[0].removesuffix(".")
    classes = [f"'{name}'" for name in explanation.class_names]
    name = explanation.caption(closest.node)
    predicted, other = classes[explanation.predicted], classes[1 - explanation.predicted]
    assert text == (
        f"Node 12 is predicted {predicted} (81%): 2 of the 3 most similar cases have that class, and they hold 81% of "
        f"the vote. The most similar case is {name}; 9 of the {len(well)} edges of the local graph have a good "
        f"match there. Removing {name} would change the prediction to {other} (64%)"
    )


def test_no_case_is_said_to_hold_what_is_in_reserve(explanation):
    probabilities = [0.3, 0.3]
    probabilities[explanation.predicted] = 0.7
    edited = dataclasses.replace(
        explanation,
        answer=dataclasses.replace(explanation.answer, probabilities=tuple(probabilities)),
        votes=(
            *(dataclasses.replace(one, label=explanation.predicted, weight=0.3) for one in explanation.votes[:2]),
            dataclasses.replace(explanation.votes[2], label=1 - explanation.predicted, weight=0.2),
        ),
        reserve=0.2,
    )
    assert "(70%): 2 of the 3 most similar cases have that class, and they hold 60% of the vote." in edited.sentence()


def test_a_closest_node_of_another_class_is_said_to_have_it(explanation):
    closest = dataclasses.replace(explanation.votes[0], label=1 - explanation.predicted)
    edited = dataclasses.replace(explanation, votes=(closest, *explanation.votes[1:]))
    other = explanation.class_names[1 - explanation.predicted]
    assert (
        f"The most similar case is {explanation.caption(closest.node)}, which has class '{other}';" in edited.sentence()
    )


def test_the_sentence_of_one_neighbor_says_nearest_and_not_all_of_one():
    text = explained(12, random_graph(1), num_nearest=1).sentence()
    assert "): the most similar case has that class." in text
    assert "1 most similar" not in text


@settings(max_examples=40)
@given(trained=models(), data=st.data())
def test_every_sentence_reads_whole_and_mentions_the_prediction(trained, data):
    explanation = explain(trained, data.draw(st.integers(0, trained.graph.num_nodes - 1)))[0]
    text = explanation.sentence()
    assert text == str(explanation)
    assert f"is predicted '{explanation.predicted_name}' (" in text
    assert text.endswith(".")
    assert not {"nan", "None", "(0%)", "relation"} & set(text.replace("'", " ").split())
    assert ("has no edges, so it was" in text) == (not explanation.has_structure)
    assert ("its own label was left out" in text) == explanation.left_out


def test_the_sentence_of_a_node_without_edges_says_so():
    explanation = explained(12, random_graph(1, isolated=(12,)))
    assert not explanation.has_structure
    assert explanation.to_dict()["edge_ids"] == []
    assert "The node has no edges, so it was compared by its own attributes alone." in explanation.sentence()
    for neighbor in explanation.votes:
        assert neighbor.structure_similarity is None
        assert neighbor.similarity == neighbor.node_similarity


def test_a_closest_node_without_edges_is_said_to_be_compared_by_attributes():
    explanation = explained(12, random_graph(1, isolated=(0, 1, 2, 3, 4, 5)))
    assert "; it has no edges, so the two were compared by their own attributes alone." in explanation.sentence()


def test_the_sentence_of_a_labeled_node_says_that_its_own_label_was_left_out():
    explanation = explained(3, random_graph(1, class_names=("red", "blue")))
    assert explanation.left_out
    assert "The node is labeled 'blue' itself; its own label was left out." in explanation.sentence()


def test_the_sentence_names_the_neighbor_whose_removal_changes_the_class():
    # one edgeless line: 0 is asked; its nearest decides against the two behind
    graph = Graph.build(
        features=[[0.0], [0.1], [3.0], [3.1]], edges=[], labels=[0, 0, 1, 1], train=[1, 2, 3], class_names=("a", "b")
    )
    explanation = explained(0, graph, num_nearest=3, measure="distance", temperature=0.05)
    assert explanation.votes[0].node == 1
    assert explanation.predicted_name == "a"
    assert explanation.sentence().endswith("Removing 1 would change the prediction to 'b' (100%).")


def test_the_sentence_says_how_many_removals_it_takes_where_no_single_one_suffices():
    graph = Graph.build(features=[[0.0], [0.1], [0.2], [9.0]], edges=[], labels=[0, 0, 0, 1], train=[1, 2, 3])
    explanation = explained(0, graph, num_nearest=2, measure="distance", temperature=0.05)
    assert len(explanation.removal) == 2
    assert explanation.sentence().endswith("No single case decides this: at least 2 would have to be removed.")


def test_the_sentence_says_where_nobody_of_another_class_can_vote():
    graph = Graph.build(
        features=[[0.0], [1.0], [2.0], [3.0]], edges=[], labels=[1, 0, 0, -1], train=[0, 1, 2], class_names=("a", "b")
    )
    explanation = explained(0, graph, num_nearest=2, measure="distance")
    assert explanation.removal is None
    assert "No removal would change the prediction" in explanation.sentence()


def test_a_node_whose_only_voter_goes_has_nobody_left_and_the_sentence_does_not_make_up_a_class():
    graph = Graph.build(features=[[0.0], [1.0], [2.0]], edges=[], labels=[0, 1, 0], train=[0, 1])
    explanation = explained(0, graph, num_nearest=2, measure="distance")
    assert [neighbor.node for neighbor in explanation.votes] == [1]
    assert explanation.votes[0].without == (0.0, 0.0)
    text = explanation.sentence()
    assert "(0%)" not in text
    assert "Without 1, no case would be left to compare with." in text


@pytest.mark.parametrize(
    ("share", "text"), [(0.5, "50%"), (1.0, "100%"), (0.999, "over 99%"), (0.994, "99%"), (0.811, "81%")]
)
def test_a_share_is_whole_percent_but_never_all_where_it_is_not(explanation, share, text):
    probabilities = [1 - share] * 2
    probabilities[explanation.predicted] = share
    found = dataclasses.replace(
        explanation, answer=dataclasses.replace(explanation.answer, probabilities=tuple(probabilities))
    ).sentence()
    assert f"' ({text}):" in found


@pytest.mark.parametrize("node", [0, 1, 4, 45, 58])
def test_the_words_are_the_sentence_and_names_are_apart(node):
    graph = hub_graph(("<b>", "line\nbreak", "⟦n1⟧", "'"), class_names=("it's", '"two"', "third"))
    explanation = explained(node, graph)
    words = explanation.words()
    assert "".join(word.text for word in words) == explanation.sentence()
    named = [word for word in words if word.kind == "node"]
    assert named[0].id == node
    assert all(word.text == graph.node_names[word.id] for word in named)
    assert all(word.text == graph.class_names[word.id] for word in words if word.kind == "class")
    assert all(one.kind != "text" or other.kind != "text" for one, other in itertools.pairwise(words))


def test_the_votes_say_how_often_cases_count():
    trained = untrained(random_graph(1), small_settings(class_factors=[0.5, 2]))
    shown = explain(trained, 12)[0].to_text()
    assert "A case counts by its class: 1 2 times, 0 0.5 times." in " ".join(shown.split())
