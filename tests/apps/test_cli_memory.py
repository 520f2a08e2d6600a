"""`audit`, `certify` and `memory` say on the command line what the library says, and lose nothing."""

import csv
import json
import shlex

import pytest

from se_gnn.graph.storage import save_graph
from se_gnn.labels import Memory, audit, certify
from se_gnn.model.folder import HISTORY, load_model
from se_gnn.training import TrainingRun
from strategies import random_graph


def refused(result, text):
    assert result.exit_code == 2, result.output
    assert text in result.stderr


def test_an_audit_prints_the_suspects_and_writes_every_labeled_node(run, model, tmp_path):
    result = run("labels", "audit", model, "--out", tmp_path / "audit.csv")
    assert result.exit_code == 0, result.output
    for text in ("toy: 8 labeled nodes", "probably labeled wrong", "Most suspicious first", "Wrote 8 nodes"):
        assert text in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 120
    with (tmp_path / "audit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = list(audit(load_model(model), num_orders=5))
    assert [row["node"] for row in rows] == [row.name for row in expected]
    assert [float(row["suspicion"]) for row in rows] == [row.suspicion for row in expected]
    assert [int(row["decides"]) for row in rows] == [row.decides for row in expected]
    assert [row["findings"] for row in rows] == ["; ".join(row.findings) for row in expected]


def test_an_audit_that_trains_again_resumes_and_leaves_the_model_as_it_was(run, model, monkeypatch):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    whole = run("labels", "audit", model, "--retrain", "--quiet", "--out", model.parent / "a.csv")
    assert whole.exit_code == 0, whole.output
    step, steps = TrainingRun.step, []

    def interrupted(training):
        steps.append(training.epoch)
        if len(steps) == 5:
            raise KeyboardInterrupt
        return step(training)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "step", interrupted)
        stopped = run("labels", "audit", model, "--retrain")
    assert stopped.exit_code == 130
    assert "interrupted: the same command resumes" in stopped.stderr
    assert (model / ".audit").is_dir()
    again = run("labels", "audit", model, "--retrain", "--out", model.parent / "b.csv")
    assert again.exit_code == 0, again.output
    assert "judged by models that were trained without it" in " ".join(again.stdout.split())
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert (model.parent / "a.csv").read_bytes() == (model.parent / "b.csv").read_bytes()


def test_json_lines_hold_sets_as_lists(run, model, tmp_path):
    result = run("labels", "certify", model, "--out", tmp_path / "flips.jsonl", "--nodes", "node 9,#3")
    assert result.exit_code == 0, result.output
    assert "share of 2 predictions that survive any change of up to r labels" in result.stdout
    rows = [json.loads(line) for line in (tmp_path / "flips.jsonl").read_text().splitlines()]
    found = certify(load_model(model))
    for row, node in zip(rows, (9, 3)):
        assert row["removal_size"] == len(row["removal_nodes"]) == found.removal.sizes[node]
        names = [found.graph.node_names[i] for i in found.relabeling.nodes(node)]
        assert row["relabeling_nodes"] == names


def test_an_edit_is_previewed_applied_listed_and_taken_back(run, model, tmp_path):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    dry = run("labels", "edit", model, "relabel", "node 3=even", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "Nothing was changed" in dry.stdout
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    done = run("labels", "edit", model, "relabel", "node 3=even", "--reason", "read again", "--by", "me")
    assert done.exit_code == 0, done.output
    assert dry.stdout.split("Nothing")[0] == done.stdout.split("Wrote")[0]
    listed = run("labels", "history", model).stdout
    assert "me: relabel" in listed
    assert "reason: read again" in listed
    assert "node 3: odd, not even to even" in listed
    assert run("labels", "edit", model, "restore", "0", "--quiet").output == ""
    assert len(Memory(load_model(model)).history) == 2
    for name in ("graph.json", "model.safetensors", "settings.json"):
        assert (model / name).read_bytes() == before[name]


def test_the_edited_model_can_go_to_a_folder_of_its_own(run, model, tmp_path):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    result = run("labels", "edit", model, "remove", "node 3", "#4", "--out", tmp_path / "edited")
    assert result.exit_code == 0, result.output
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    assert len(Memory(load_model(tmp_path / "edited"))) == 6
    assert run("predict", tmp_path / "edited", "--out", tmp_path / "p.csv").exit_code == 0
    refused(run("labels", "edit", model, "remove", "node 3", "--out", tmp_path / "edited"), "exists; name a new folder")


def test_adding_moves_a_node_out_of_its_part(run, model):
    result = run("labels", "edit", model, "add", "node 9=odd, not even")
    assert result.exit_code == 0, result.output
    graph = load_model(model).graph
    assert 9 in graph.train
    assert 9 not in graph.validation


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["remove", "nobody"], "unknown node 'nobody'"),
        (["remove", "node 1", "node 3", "node 5", "node 7"], "'odd, not even' would have none"),
        (
            ["remove", *(f"node {i}" for i in range(2, 8))],
            "between 1 and the 2 labeled nodes, got 3",
        ),
        (["relabel", "node 3"], "write NODE=CLASS"),
        (["relabel", "node 3=odd"], "unknown class 'odd'"),
        (
            ["relabel", "node 3=even", "#3=odd, not even"],
            "each node can be changed only once, but 'node 3'",
        ),
        (["relabel", "=even"], "write NODE=CLASS"),
        (["restore", "4"], "between 0 (as trained) and 0"),
    ],
)
def test_a_bad_edit_is_refused_and_nothing_is_lost(run, model, arguments, text):
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    refused(run("labels", "edit", model, *arguments), text)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_the_history_of_another_model_is_refused(run, model):
    (model / HISTORY).write_text('{"number": 1}\n')
    refused(run("labels", "history", model), "history of another model")
    refused(run("labels", "audit", model), "history of another model")


def test_folders_and_files_that_do_not_fit_are_refused(run, model, tmp_path):
    refused(run("labels", "edit", tmp_path / "none", "remove", "a"), "does not exist")
    refused(run("labels", "audit", model, "--out", tmp_path / "a.txt"), "must end in .csv or .jsonl")
    (tmp_path / "a.csv").write_text("mine")
    refused(run("labels", "certify", model, "--out", tmp_path / "a.csv"), "already exists")
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_names_and_classes_may_hold_equals_signs_and_a_hint_names_a_node_that_begins_like_a_position(run, tmp_path):
    graph = random_graph(num_labeled=8, class_names=["=1", "a=1"], node_names=[f"#{15 - i}" for i in range(16)])
    save_graph(graph, tmp_path / "graph")
    quick = ("--preset", "paper", "--set", "epochs=1", "--set", "num_nearest=3")
    result = run("train", tmp_path / "graph", "--out", tmp_path / "model", *quick)
    assert result.exit_code == 0, result.output
    hint = shlex.split(result.stdout.splitlines()[-1])
    assert hint[-1].startswith("##")
    explained = run(*hint[1:], "--json")
    assert json.loads(explained.stdout)["query"]["name"] == hint[-1][1:]
    result = run("labels", "edit", tmp_path / "model", "relabel", "##15=a=1", "##14==1", "--dry-run")
    assert result.exit_code == 0, result.output
