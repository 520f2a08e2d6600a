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
from reproduce.truth.recompute import Recomputed
from reproduce.truth.statements import Findings, check
from reproduce.truth_page import write_truth
from se_gnn.explain import explain
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.settings import Settings
from se_gnn.training import fit
from strategies import random_graph, rich_graph, untrained

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


@pytest.mark.parametrize("max_edges", ["none", 4])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_local_graph_is_that_of_the_library(hops, max_edges):
    graph = rich_graph(seed=2, num_nodes=20, num_edges=40)
    theirs = local_graphs(graph, np.arange(graph.num_nodes), hops, None if max_edges == "none" else max_edges)
    model = Recomputed(untrained(graph, Settings.of("paper", num_nearest=2, hops=hops, max_edges=max_edges)))
    for node in range(graph.num_nodes):
        assert model.local_of(node).edges.tolist() == theirs.row(node).tolist()


EVERYTHING = {"match_direction": True, "match_types": "own", "match_attributes": True, "weighted_mean": True}
SIZES = {"num_nodes": 40, "num_edges": 80, "num_labeled": 14, "num_classes": 3}
PAIRS = np.random.default_rng(0).integers(0, 40, (90, 2))


def nothing_is_false(trained, nodes=None, **more):
    nodes = np.arange(trained.graph.num_nodes) if nodes is None else nodes
    found = findings_of(trained, nodes, **more)
    assert {kind: count for kind, count in found["false_statements"].items() if count} == {}
    assert max(found["largest_error"].values()) < 2e-5
    return found["statements"]


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("preset", PRESETS)
def test_no_statement_about_directed_weighted_typed_edges_with_attributes_is_false(preset, measure):
    asked = Settings.of(preset, num_nearest=5, hidden_size=8, measure=measure, **EVERYTHING)
    stated = nothing_is_false(untrained(rich_graph(3, **SIZES), asked))
    assert stated["directions seen from the center"] > 30
    assert stated["the smallest relabeling changes the class"] == 40
    assert stated["the nearest case for or against the prediction"] == 80


@pytest.mark.parametrize("given", [*EVERYTHING.items(), ("match_types", "learned")], ids=str)
def test_no_statement_is_false_if_one_thing_that_edges_carry_counts(given):
    nothing_is_false(untrained(rich_graph(3, **SIZES), Settings.of("authors", num_nearest=5, **dict([given]))))


def test_no_statement_is_false_if_part_of_the_vote_is_held_in_reserve():
    asked = Settings.of("best", num_nearest=4, hidden_size=8, reserve=0.2)
    nothing_is_false(untrained(random_graph(4, **SIZES, isolated=(3, 30)), asked))


@pytest.mark.parametrize("directions", ["one", "both"])
def test_no_statement_is_false_if_all_cases_vote(directions):
    asked = Settings.of("paper", num_nearest=14, hidden_size=8, directions=directions)
    nothing_is_false(untrained(random_graph(5, **SIZES, isolated=(3, 30)), asked))


@pytest.mark.parametrize("preset", PRESETS)
def test_no_statement_about_several_node_types_is_false(preset):
    types = np.arange(40) % 2  # cases are papers; authors have no class
    labels = np.where(types == 0, np.arange(40) // 2 % 3, -1)
    graph = rich_graph(
        6, **SIZES, labels=labels, node_types=types, node_type_names=("paper", "author"),
        train=np.arange(0, 24, 2), validation=[24, 26, 28], test=np.arange(30, 40, 2),
    )  # fmt: skip
    stated = nothing_is_false(untrained(graph, Settings.of(preset, num_nearest=4, hidden_size=8)))
    assert stated["class and type of a node"] > 40


@pytest.mark.parametrize("rich", [False, True], ids=["plain edges", "rich edges"])
def test_no_statement_about_a_mapped_graph_is_false(rich, tmp_path):
    graph = (rich_graph if rich else random_graph)(7, **SIZES)
    trained = untrained(graph, Settings.of("best", num_nearest=5, hidden_size=8, **(EVERYTHING if rich else {})))
    save_graph(graph, tmp_path, mapped=True)
    mapped = dataclasses.replace(trained, graph=load_graph(tmp_path))
    assert not mapped.graph.fits_memory
    assert nothing_is_false(mapped, truth=trained) == nothing_is_false(mapped)


@pytest.mark.parametrize("read_values", [False, True])
def test_no_statement_about_numbers_is_false(read_values):
    generator = np.random.default_rng(8)
    graph = Graph.build(
        features=generator.normal(size=(40, 3)), edges=PAIRS, values=generator.normal(50_000, 9_000, 40),
        train=np.arange(20), validation=np.arange(20, 30), test=np.arange(30, 40),
    )  # fmt: skip
    asked = Settings.of("best", num_nearest=5, hidden_size=8, read_values=read_values)
    stated = nothing_is_false(untrained(graph, asked.resolve(graph)))
    assert stated["known numbers of the cases"] == 40


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


def test_a_relabeling_that_is_too_large_or_changes_nothing_is_found(explained):
    explanation = explained[1]
    every = tuple(one.node for one in explanation.votes)
    more = dataclasses.replace(explanation.relabeling, nodes=every)
    if len(explanation.relabeling) < len(every):
        kinds, errors = false_in(explained, dataclasses.replace(explanation, relabeling=more))
        assert "no smaller relabeling changes the class" in kinds
        assert errors["probability after the smallest relabeling"] > 0.01
    none = dataclasses.replace(explanation.relabeling, nodes=())
    kinds, _ = false_in(explained, dataclasses.replace(explanation, relabeling=none))
    assert "the smallest relabeling changes the class" in kinds


@pytest.mark.parametrize("change", [-0.05, 0.05])
def test_a_wrong_similarity_from_which_on_the_class_would_change_is_found(explained, change):
    contrast = dataclasses.replace(explained[1].contrast, needed=explained[1].contrast.needed + change)
    lie = dataclasses.replace(explained[1], contrast=contrast)
    assert "from this similarity on, that class would be predicted" in false_in(explained, lie)[0]


def test_contrasted_cases_that_are_not_the_nearest_are_found(explained):
    contrast = explained[1].contrast
    swapped = dataclasses.replace(contrast, chosen=contrast.other, other=contrast.chosen)
    lie = dataclasses.replace(explained[1], contrast=swapped)
    assert "the nearest case for or against the prediction" in false_in(explained, lie)[0]


@pytest.fixture(scope="module")
def rich():
    trained = untrained(rich_graph(3, **SIZES), Settings.of("authors", num_nearest=5, **EVERYTHING))
    ways = [(one, (one.votes[0].matches, one.votes[0].matches_back)) for one in explain(trained)]
    wanted = next(one for one, both in ways if all(way and len(set(way.matched_ids.tolist())) > 2 for way in both))
    return Recomputed(trained), wanted, trained


def test_a_wrong_role_direction_type_or_class_is_found(rich):
    explanation = rich[1]
    other = dataclasses.replace(explanation, roles=explanation.roles[::-1])
    assert "directions seen from the center" in false_in(rich, other)[0]
    for change in ({"type": "owns"}, {"weight": 9.0}, {"start": -1}, {"directed": None}):
        some = next(edge for edge in explanation.edges.values() if edge.directed)
        edges = {**explanation.edges, some.id: dataclasses.replace(some, **change)}
        lie = dataclasses.replace(explanation, edges=edges)
        assert "ends, direction, type and weight of an edge" in false_in(rich, lie)[0]
    for change in ({"label": 7}, {"case": None}):
        case = explanation.votes[0].node
        nodes = {**explanation.nodes, case: dataclasses.replace(explanation.nodes[case], **change)}
        assert "class and type of a node" in false_in(rich, dataclasses.replace(explanation, nodes=nodes))[0]


def test_a_match_with_an_edge_of_another_direction_or_type_is_found(rich):
    explanation = rich[1]
    for way in ("matches", "matches_back"):
        found = getattr(explanation.votes[0], way)
        lie = with_neighbor(explanation, **{way: dataclasses.replace(found, matched_ids=np.roll(found.matched_ids, 1))})
        assert "the match is the most similar edge there" in false_in(rich, lie)[0]


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
    assert (local_graphs(graph, nodes, 2).sizes >= 4).all()
