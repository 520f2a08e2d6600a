"""`python -m lab attack`: what it writes, what it refuses, and how it goes on."""

from __future__ import annotations

import json

import numpy as np
import pytest

from se_gnn.graph.storage import is_graph_file, load_graph, save_graph


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def refused(result, text):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr


def pairs(graph):
    return {tuple(edge) for edge in graph.edges.ends.tolist()}


def test_random_noise_adds_edges_and_leaves_the_rest_alone(run, toy, out):
    result = run("attack", toy, "--method", "random", "--rate", "0.25", "--out", out)
    assert result.exit_code == 0, result.output
    before, after = load_graph(toy), load_graph(out)
    assert pairs(before) < pairs(after)
    assert len(after.edges) == 50
    assert "toy: 10 edges added, 0 edges taken out of 40; 50 edges now" in result.stdout
    assert "edges within a class  100% before," in result.stdout
    np.testing.assert_array_equal(before.features, after.features)
    assert (after.name, after.node_names, after.train.tolist()) == ("toy", before.node_names, before.train.tolist())
    assert all(is_graph_file(path.name) for path in out.iterdir())


@pytest.mark.parametrize("method", ["metattack", "metattack-approximate"])
def test_the_flips_of_an_attack_are_written_down_and_made(run, toy, out, method):
    result = run("attack", toy, "--method", method, "--rate", "0.1", "--out", out, "--device", "cpu", "--seed", "2")
    assert result.exit_code == 0, result.output
    assert "4/4" in result.stderr  # the progress bar
    about = json.loads((out / "attack.json").read_text())
    assert (about["method"], about["seed"], about["graph"]) == ("metattack", 2, "toy")
    assert about["settings"]["approximate"] == (method == "metattack-approximate")
    assert pairs(load_graph(toy)) ^ pairs(load_graph(out)) == set(map(tuple, about["flips"]))
    assert len(about["flips"]) == 4


def test_quiet_prints_nothing_and_the_result_is_a_graph_to_train_on(run, toy, out):
    result = run("attack", toy, "--rate", "0.05", "--out", out, "--quiet", "--device", "cpu")
    assert (result.exit_code, result.output) == (0, "")
    load_graph(out).check_trainable()


def test_an_interrupted_attack_goes_on_with_resume(run, toy, out, tmp_path, monkeypatch):
    from lab.attack.metattack import _Attack

    command = ("attack", toy, "--rate", "0.2", "--device", "cpu", "--out")
    assert run(*command, tmp_path / "whole").exit_code == 0
    choose = _Attack.choose

    def interrupted(self, flips):
        if len(flips) == 3:
            raise KeyboardInterrupt
        return choose(self, flips)

    with monkeypatch.context() as patch:
        patch.setattr(_Attack, "choose", interrupted)
        stopped = run(*command, out)
    assert stopped.exit_code == 130
    assert "To resume from its last flip, run the same command with --resume" in stopped.stderr
    refused(run(*command, out), "holds an unfinished attack; --resume continues it, --overwrite starts again")
    assert run(*command, out, "--resume").exit_code == 0
    for name in ("attack.json", "graph.json"):  # which has the digests of the arrays
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


class TestRefused:
    def test_existing_graph_without_overwrite(self, run, toy, out):
        command = ("attack", toy, "--method", "random", "--out", out)
        assert run(*command, "--seed", "1").exit_code == 0
        before = load_graph(out)
        refused(run(*command), "already holds a graph; --overwrite replaces it")
        refused(run(*command, "--resume"), "holds a finished graph: there is nothing to resume")
        assert run(*command, "--overwrite", "--seed", "2").exit_code == 0
        assert pairs(load_graph(out)) != pairs(before)

    def test_folder_with_other_files(self, run, toy, tmp_path):
        (tmp_path / "thesis.tex").write_text("years of work")
        refused(run("attack", toy, "--out", tmp_path, "--overwrite"), "holds other files (thesis.tex)")
        assert (tmp_path / "thesis.tex").read_text() == "years of work"

    def test_the_graph_itself(self, run, toy, tmp_path):
        save_graph(load_graph(toy), tmp_path / "mine")
        refused(run("attack", tmp_path / "mine", "--out", tmp_path / "mine", "--overwrite"), "is the graph to change")
        load_graph(tmp_path / "mine")

    def test_out_that_is_a_file(self, run, toy, tmp_path):
        (tmp_path / "file").write_text("")
        refused(run("attack", toy, "--out", tmp_path / "file"), "is a file; name a folder")

    def test_more_noise_than_room_leaves_the_old_graph(self, run, toy, out):
        command = ("attack", toy, "--method", "random", "--out", out, "--overwrite")
        assert run(*command).exit_code == 0
        refused(run(*command, "--rate", "100"), "rate 100 would add 4000 edges, but only 236 pairs")
        load_graph(out)

    def test_settings_of_another_method(self, run, toy, out):
        refused(run("attack", toy, "--method", "random", "--keep-degrees", "--out", out), "belong to metattack")
        refused(run("attack", toy, "--overwrite", "--resume", "--out", out), "give only one of them")
        refused(run("attack", "coar", "--out", out), "unknown data set 'coar' (did you mean 'cora'?)")
        assert not out.exists()

    def test_graph_without_labeled_nodes(self, run, toy, out, tmp_path):
        save_graph(load_graph(toy).with_split(train=[]), tmp_path / "graph")
        refused(run("attack", tmp_path / "graph", "--out", out), "toy has no labeled node")
        assert not out.exists()
