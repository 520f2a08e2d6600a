"""An edited memory answers as a vote computed from nothing, and every edit can be taken back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.explain.pyg import SEGNNModule, dense_features, directed
from se_gnn.graph import UNKNOWN
from se_gnn.labels import Memory, audit, certify
from se_gnn.labels.edits import state_of
from se_gnn.model import Model
from se_gnn.model.folder import HISTORY, load_model, read_epochs, save_model
from se_gnn.report.page import report_html
from strategies import assert_same_graph, changed, random_graph, small_settings, untrained


@pytest.fixture
def memory(model):
    return Memory(model)


def assert_same_as_from_nothing(edited, labels, train, val, test):
    graph = changed(edited.graph, labels=labels, train=train, validation=val, test=test)
    fresh = Model(edited.encoder, graph, edited.settings).predict()
    now = edited.predict()
    for field in ("probabilities", "cases", "weights", "overall"):
        np.testing.assert_array_equal(getattr(now, field), getattr(fresh, field))


def test_edits_answer_as_a_vote_computed_from_nothing(memory):
    graph = memory.trained.graph
    memory.remove(["3", 7])
    memory.relabel({"5": "a"})
    found = memory.add({"20": "b", "45": "c"})
    labels = graph.labels.copy()
    labels[[3, 7]], labels[5], labels[20], labels[45] = UNKNOWN, 0, 1, 2
    train = np.array([*np.setdiff1d(graph.train, [3, 7]), 20, 45])
    val, test = np.setdiff1d(graph.validation, [20, 45]), np.setdiff1d(graph.test, [20, 45])
    assert_same_as_from_nothing(memory.trained, labels, train, val, test)
    assert found.edited is memory.trained
    assert len(memory) == 18


def test_a_preview_says_which_predictions_change_and_applies_nothing(memory, model):
    found = memory.remove(["0", "1", "2", "3"], dry_run=True)
    assert memory.trained is model
    assert memory.history == ()
    before, after = model.predict().classes, found.edited.predict().classes
    assert found.changed.tolist() == np.flatnonzero(before != after).tolist()
    val = model.graph.validation
    assert found.validation_before.accuracy == (before[val] == model.graph.labels[val]).mean()
    assert found.validation_after.accuracy == (after[val] == model.graph.labels[val]).mean()


def test_every_state_can_be_restored(memory):
    states = [memory.trained.graph]
    memory.remove(["3"], reason="twice in the table", by="me")
    states.append(memory.trained.graph)
    memory.add({"20": "b"})
    states.append(memory.trained.graph)
    memory.relabel({"20": "c", "5": "a"})
    states.append(memory.trained.graph)
    for number in (1, 3, 0, 2):
        memory.restore(number)
        assert_same_graph(memory.trained.graph, states[number])
    assert [entry.action for entry in memory.history] == ["remove", "add", "relabel", *["restore"] * 4]
    first = memory.history[0]
    assert (first.reason, first.by, first.number) == ("twice in the table", "me", 1)
    assert first.changes[0].was == state_of(states[0], 3)


def test_a_saved_memory_keeps_its_history_and_goes_on(memory, tmp_path):
    memory.remove(["3"], reason="why")
    save_model(memory.trained, tmp_path / "model", epochs=b'{"epoch": 1}\n')
    again = Memory(load_model(tmp_path / "model"))
    assert again.history == memory.history
    assert_same_graph(again.trained.graph, memory.trained.graph)
    again.restore(0)
    save_model(again.trained, tmp_path / "model", epochs=read_epochs(tmp_path / "model"))
    last = Memory(load_model(tmp_path / "model"))
    assert len(last.history) == 2
    assert read_epochs(tmp_path / "model") == b'{"epoch": 1}\n'
    assert 3 in last.nodes


def test_all_labeled_nodes_vote_if_fewer_are_left_than_training_chose(model, tmp_path):
    every, asked = len(model.graph.train), model.settings.asked
    others = {name: one for name, one in asked.given.items() if name != "num_nearest"}
    free = dataclasses.replace(model.settings, asked=dataclasses.replace(asked, given=others))
    settings = free.decided("validation", {"num_nearest": every})
    memory = Memory(dataclasses.replace(model, settings=settings))
    memory.remove(["3", "7"])
    save_model(memory.trained, tmp_path)
    edited = load_model(tmp_path)
    given = Model(model.encoder, edited.graph, settings.decided("validation", {"num_nearest": every - 2}))
    np.testing.assert_array_equal(edited.predict().probabilities, given.predict().probabilities)
    one, other = (explain(found, [0], attributes=True)[0] for found in (edited, given))
    assert str(one) == str(other)
    assert len(one.votes) == every - 3  # the node itself is a case, and does not vote on itself
    assert one.settings.num_nearest == edited.in_use.vote.num_nearest == every - 2
    assert f"a vote of the {every - 2} labeled nodes" in report_html(edited, [0])
    x, edges = dense_features(edited.graph), directed(edited.graph.edges.ends)
    torch.testing.assert_close(SEGNNModule(edited)(x, edges), SEGNNModule(given)(x, edges), rtol=0, atol=0)
    first, second = ([row.to_record(edited.graph) for row in audit(found, num_orders=3)] for found in (edited, given))
    assert first == second
    np.testing.assert_array_equal(certify(edited).removal.sizes, certify(given).removal.sizes)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda m: m.remove(["nobody"]), "unknown node 'nobody'"),
        (lambda m: m.remove([]), "at least one node"),
        (lambda m: m.remove(["3", 3]), "named twice"),
        (lambda m: m.remove(["40"]), "not one of the 18 labeled nodes"),
        (lambda m: m.relabel({"3": "A"}), "unknown class 'A'"),
        (lambda m: m.relabel({"3": "a"}), "labeled 'a' already"),
        (lambda m: m.add({"3": "b"}), "labeled already"),
        (lambda m: m.restore(1), "between 0 (as trained) and 0, got 1"),
        (lambda m: m.restore(0), "nothing to change"),
        (lambda m: m.remove([str(i) for i in range(0, 18, 3)]), "'a' would have none"),
        (
            lambda m: m.remove([str(i) for i in range(3, 17)]),
            "between 1 and the 4 labeled nodes, got 5",
        ),
    ],
)
def test_a_bad_edit_says_what_is_wrong_and_changes_nothing(memory, model, edit, text):
    with pytest.raises(InputError) as raised:
        edit(memory)
    assert text in str(raised.value)
    assert memory.trained is model


def test_a_history_of_another_model_is_refused(memory, tmp_path):
    memory.remove(["3"])
    other = untrained(memory.trained.graph, memory.trained.settings, seed=99)
    with pytest.raises(InputError, match="belongs to another model"):
        _ = Memory(dataclasses.replace(other, history=memory.trained.history)).history
    save_model(other, tmp_path)
    save_model(memory.trained, tmp_path / "edited")
    (tmp_path / HISTORY).write_bytes((tmp_path / "edited" / HISTORY).read_bytes())
    with pytest.raises(InputError, match="history of another model"):
        load_model(tmp_path)


def test_a_history_that_does_not_lead_to_the_labels_is_refused(memory, model):
    memory.remove(["3"])
    with pytest.raises(InputError, match="does not lead to"):
        _ = Memory(dataclasses.replace(model, history=memory.trained.history)).history


@pytest.mark.parametrize(
    "damage",
    [{"number": 2}, {"changes": [{"node": "3"}]}, {"more": 1}, {"changes": 5}, {"accuracy_after": "high"}, {"by": {}}],
)
def test_a_damaged_history_is_refused(memory, model, damage):
    memory.remove(["3"])
    (entry,) = memory.trained.history
    with pytest.raises(InputError, match=r"line 1 of memory\.jsonl is damaged"):
        _ = Memory(dataclasses.replace(memory.trained, history=({**entry, **damage},))).history


def test_a_model_on_another_graph_has_no_history(memory):
    memory.remove(["3"])
    assert memory.trained.with_graph(random_graph(5, num_classes=3, class_names=("a", "b", "c"))).history == ()


def test_edits_of_a_classifier_are_its_own(tmp_path):
    from se_gnn import SEGNNClassifier

    graph = random_graph(0, num_nodes=30, num_labeled=12)
    classifier = SEGNNClassifier(preset="paper", num_nearest=3, epochs=1, device="cpu").fit(graph)
    classifier.memory.remove([0])
    assert 0 not in classifier.graph_.train
    classifier.save(tmp_path)
    assert SEGNNClassifier.load(tmp_path, device="cpu").memory.history == classifier.memory.history


def test_what_an_audit_finds_can_be_removed_as_it_is():
    graph = random_graph(num_labeled=8)
    memory = Memory(untrained(graph, small_settings()))
    names = [graph.node_names[node] for node in graph.train[:2]]
    for nodes in (graph.train[:2], names, graph.train[:2].tolist()):
        assert [change.node for change in memory.remove(nodes, dry_run=True).changes] == names
    assert len(memory.remove(names[0], dry_run=True).changes) == 1
    with pytest.raises(InputError, match="name at least one node"):
        memory.remove(graph.train[:0])


@pytest.mark.parametrize("number", [True, "0", 0.0, -1])
def test_a_state_is_a_whole_number(number):
    with pytest.raises(InputError, match="the state to restore must be between 0"):
        Memory(untrained(random_graph(), small_settings())).restore(number)


@pytest.mark.parametrize("num_labeled", [30, 300])  # all ranks are kept of the few, K + 8 of the many
def test_an_edit_keeps_the_ranking_and_it_is_that_of_a_fresh_model(num_labeled, monkeypatch):
    graph = random_graph(3, num_nodes=400, num_edges=700, num_labeled=num_labeled, num_classes=3, isolated=(4, 30))
    model = untrained(graph, small_settings(num_nearest=5, max_edges=20), seed=1)
    model.predict()
    memory = Memory(model)
    memory.remove(graph.train[:4])
    memory.add({"350": "0", "0": "1", "399": "2"})
    memory.relabel({graph.node_names[graph.train[9]]: "2" if graph.labels[graph.train[9]] != 2 else "0"})
    edited = memory.trained
    kept = edited.ranker.kept(np.arange(graph.num_nodes))
    fresh = Model(edited.encoder, edited.graph, edited.settings)
    fresh.predict()
    expected = fresh.ranker.kept(np.arange(graph.num_nodes))
    for field in ("positions", "overall", "node", "structure"):
        assert torch.equal(getattr(kept.nearest, field), getattr(expected.nearest, field)), field
    monkeypatch.setattr(edited.similarity, "comparison", None)  # nothing is compared
    edited.predict()
