"""Explanations are true, computed again by the equations; and what is not true is found."""

import dataclasses

import numpy as np
import pytest

from reproduce import agreement, truth
from reproduce.job import Job
from reproduce.measures import agreement as agreement_measures
from reproduce.measures.agreement import mean_jaccard, vote_changes
from reproduce.measures.truth import findings_of, some_nodes
from reproduce.methods import se_gnn_settings
from reproduce.store import Result, Store
from reproduce.truth.recompute import Recomputed, local_edges
from reproduce.truth.statements import Findings, check
from reproduce.truth_page import write_truth
from se_gnn.explain import explain
from se_gnn.graph import local_graphs
from se_gnn.settings import Settings
from se_gnn.training import fit
from strategies import random_graph

MACHINE = {"cores": 2, "cpu": "a CPU", "gpu": None, "memory_gb": 0, "python": "3.12.1", "packages": {"torch": "2.7"}}
MADE = {"command": "python -m reproduce run truth", "commit": "abc123", "machine": MACHINE}
PRESETS = ("paper", "authors", "best")


def trained_with(preset, **similarity):
    given = {"num_nearest": 3, "epochs": 3, "hidden_size": 8, **similarity}
    return fit(random_graph(seed=1), Settings.of(preset, **given), seed=0)


@pytest.mark.parametrize("preset", PRESETS)
def test_no_statement_on_a_small_graph_is_false(preset):
    trained = trained_with(preset)
    found = findings_of(trained, np.arange(trained.graph.num_nodes))
    assert sum(found["statements"].values()) > 100
    assert sum(found["false_statements"].values()) == 0
    assert max(found["largest_error"].values()) < 1e-5


@pytest.mark.parametrize("directions", ["one", "both"])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_both_measures_and_directions_are_computed_again(measure, directions):
    trained = trained_with("paper", measure=measure, directions=directions, node_weight=0.3)
    found = findings_of(trained, trained.graph.test)
    assert sum(found["false_statements"].values()) == 0
    assert max(found["largest_error"].values()) < 1e-5


def test_local_graphs_of_few_edges_are_compared_as_they_were_chosen():
    trained = trained_with("authors", max_edges=3)
    found = findings_of(trained, np.arange(trained.graph.num_nodes))
    assert sum(found["false_statements"].values()) == 0
    assert max(found["largest_error"].values()) < 1e-5


def test_a_local_graph_is_that_of_the_library():
    graph = random_graph(seed=2)
    for hops in (1, 2, 3):
        theirs = local_graphs(graph, np.arange(graph.num_nodes), hops)
        for node in range(graph.num_nodes):
            assert local_edges(graph, node, hops).tolist() == theirs.row(node).tolist()


@pytest.fixture(scope="module")
def explained():
    trained = trained_with("authors")
    explanations = (explain(trained, int(node))[0] for node in range(trained.graph.num_nodes))
    wanted = next(one for one in explanations if all(n.matches is not None and len(n.matches) > 2 for n in one.votes))
    return Recomputed(trained), wanted, trained


def false_in(explained, explanation):
    findings = Findings()
    check(explanation, explained[0], findings)
    return {kind for kind, count in findings.false.items() if count}, findings.errors


def with_neighbor(explanation, **changes):
    first, *others = explanation.votes
    return dataclasses.replace(explanation, votes=(dataclasses.replace(first, **changes), *others))


def test_a_wrong_class_is_found(explained):
    other = (explained[1].predicted + 1) % len(explained[1].probabilities)
    answer = dataclasses.replace(explained[1].answer, predicted=other)
    lie = dataclasses.replace(explained[1], answer=answer)
    assert "predicted class" in false_in(explained, lie)[0]


def test_a_wrong_match_is_found(explained):
    matches = explained[1].votes[0].matches
    swapped = dataclasses.replace(matches, matched_ids=np.roll(matches.matched_ids, 1))
    if len(np.unique(matches.matched_ids)) > 1:
        lie = with_neighbor(explained[1], matches=swapped)
        assert "the match is the most similar edge there" in false_in(explained, lie)[0]


def test_a_wrong_removal_is_found(explained):
    without = explained[1].votes[0].without
    turned = tuple(1 - value for value in without)
    kinds, errors = false_in(explained, with_neighbor(explained[1], without=turned))
    assert "class without a labeled node" in kinds
    assert errors["probability without a labeled node"] > 0.1


def test_a_wrong_weight_is_found(explained):
    _, errors = false_in(explained, with_neighbor(explained[1], weight=explained[1].votes[0].weight + 0.25))
    assert errors["contributions added up, against the stated probability"] == pytest.approx(0.25, abs=1e-6)


def test_a_farther_labeled_node_in_place_of_a_near_one_is_found(explained):
    explanation = explained[1]
    farthest = next(explained[2].rank(np.array([explanation.node]))).nodes[0, -1]
    lie = with_neighbor(explanation, node=int(farthest))
    assert "the K nearest are the nearest" in false_in(explained, lie)[0]


def test_some_nodes_are_evenly_spaced_and_never_more_than_there_are():
    assert some_nodes(np.arange(100), 3).tolist() == [0, 49, 99]
    assert len(some_nodes(np.arange(5), 10)) == len(some_nodes(np.arange(5), None)) == 5


def test_jaccard_of_equal_disjoint_and_empty_sets():
    assert mean_jaccard([[{1}], [{1}], [{1}]]) == 1
    assert mean_jaccard([[{1}, set()], [{2}, set()]]) == 0.5


def test_votes_change_without_all_who_vote_and_not_by_all_of_them():
    trained = trained_with("authors", num_nearest=2)
    every = len(trained.graph.train)
    changes = vote_changes(trained, trained.graph.test, every)
    assert changes["changed_by_nearest_labeled_alone"] == 0


@pytest.mark.parametrize("name", ["authors", "gnn-explainer", "pg-explainer"])
def test_agreement_is_measured_for_every_method(name, monkeypatch):
    graph = random_graph(seed=1)
    monkeypatch.setattr(agreement_measures, "load_dataset", lambda name, seed: graph)
    series = agreement.on_graph("cora", name)
    few = {"nodes": 2, "seeds": 2, "top": 2}
    if name == "authors":
        few["config"] = se_gnn_settings("cora", "authors", num_nearest=3, epochs=2)
    else:
        few["network"] = {**series.settings["network"], "epochs": 2}
        few["explainer"] = {**series.settings["explainer"], "epochs": 2}
    series = dataclasses.replace(series, settings={**series.settings, **few})
    found = agreement_measures.measure(Job(series, 0), "cpu")
    assert 0 <= found["edges_jaccard"] <= 1
    assert {"fidelity+", "fidelity-"} <= set(found)
    assert ("labeled_nodes_jaccard" in found) == ("changed_without_nearest_labeled" in found) == (name == "authors")


def test_the_page_says_what_was_not_run_and_shows_what_was(tmp_path):
    store, page = Store(tmp_path / "results"), tmp_path / "truth.md"
    write_truth(store, page)
    assert page.read_text(encoding="utf-8").count("> Not run yet:") == 4
    found = {
        "nodes": 1000,
        "largest_error": {
            "contributions added up, against the stated probability": 2e-7,
            "node similarity, Eq. (2)": 3e-6,
        },
        "statements": {"predicted class": 1000},
        "false_statements": {"predicted class": 1},
    }
    one = next(one for one in truth.series() if one.dataset == "cora" and one.variant == "authors")
    store.put(Job(one, 0, "truth"), Result(0, found, 1, MADE))
    write_truth(store, page)
    text = page.read_text(encoding="utf-8")
    assert "| Cora, `authors` | 1,000 | 1,000 | 1 | 2e-07 | 3e-06 |" in text
    assert "| predicted class | 1,000 | 1 |" in text
    assert "> Made by `python -m reproduce run truth` on machine A, seed 0; each row of `truth.jsonl` in" in text
    assert text.endswith("- A: 2 cores of a CPU; Python 3.12.1, torch 2.7\n")


def test_evidence_is_compared_where_there_is_a_choice():
    graph = random_graph(seed=1)
    nodes = agreement_measures.with_a_choice(graph, 2)
    assert len(nodes)
    assert all(len(local_edges(graph, int(node), 2)) >= 4 for node in nodes)
