import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch

from se_gnn import training
from se_gnn.graph.storage import is_graph_file, load_graph, save_graph
from se_gnn.model.folder import load_model
from se_gnn.training.terminal import uneven_classes
from strategies import changed

QUICK = ("--set", "epochs=2", "--set", "hidden_size=4", "--set", "num_nearest=3")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def no_training(monkeypatch):
    """Fails the test if work starts although something is wrong."""
    monkeypatch.setattr(training, "fit", lambda *_, **__: pytest.fail("training has started"))


def refused(result, text):
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr


def test_training_says_what_it_understood_and_how_well_it_did(run, toy, out):
    result = run("train", toy, "--out", out, "--device", "cpu", *QUICK)
    assert result.exit_code == 0, result.output
    assert "toy: 24 nodes, 40 edges, 3 dense features, 2 classes" in result.stdout
    assert "8 labeled, 4 validation, 12 test nodes" in result.stdout
    assert "43 edges given, 40 kept: 1 reciprocal and 1 duplicate edges" in result.stdout
    assert "1 node without edges" in result.stdout
    assert "test accuracy" in result.stdout
    assert "preset    best, the same for every graph" in result.stdout
    first, *phases = result.stderr.splitlines()  # no terminal: no bars, but a line for a phase that takes long
    assert first.split()[0] == "estimate"
    assert all(line.endswith(" ...") for line in phases)
    assert max(len(line) for line in result.stdout.splitlines() if str(out) not in line) <= 80


def test_a_model_folder_holds_all_that_is_promised_and_no_checkpoint(run, toy, out):
    assert run("train", toy, "--out", out, "--seed", "3", "--preset", "paper", *QUICK).exit_code == 0
    names = "facts.json manifest.json metrics.jsonl model.safetensors settings.json"
    assert sorted(path.name for path in out.iterdir() if not is_graph_file(path.name)) == names.split()
    facts, settings = (json.loads((out / name).read_text()) for name in ("facts.json", "settings.json"))
    assert (facts["seed"], facts["runs"][0]["epochs"], settings["preset"]) == (3, 2, "paper")
    assert facts["test"]["accuracy"] is not None
    assert facts["validation"]["accuracy"] is not None
    assert settings["given"]["epochs"] == {"value": 2, "source": "command line"}
    assert settings["origin"]["measure"] == "preset"
    assert len((out / "metrics.jsonl").read_text().splitlines()) == 2
    assert load_model(out).settings.encoder.hidden_size == 4


def test_quiet_prints_nothing(run, toy, out):
    result = run("train", toy, "--out", out, "--quiet", *QUICK)
    assert (result.exit_code, result.output) == (0, "")


def test_an_embedded_data_set_trains_by_its_name(tmp_path):
    command = "-m se_gnn train BA_Shapes --out model --device cpu --set epochs=1 --set hidden_size=4"
    done = subprocess.run(
        [sys.executable, *command.split()], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "ba-shapes: 700 nodes, 2,105 edges" in done.stdout
    assert "Traceback" not in done.stderr
    assert load_model(tmp_path / "model").graph.name == "ba-shapes"


def test_a_config_file_goes_over_the_preset_and_single_settings_over_both(run, toy, out, tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('preset = "paper"\nepochs = 1\nnum_nearest = 5\ntemperature = 2.0\n')
    result = run("train", toy, "--out", out, "--config", file, "--set", "num_nearest=2", "--quiet")
    assert result.exit_code == 0, result.output
    settings = load_model(out).settings
    assert (settings.training.epochs, settings.vote.num_nearest, settings.vote.temperature) == (1, 2, 2.0)
    assert (settings.preset, settings.similarity.directions) == ("paper", "one")
    assert {name: one.source for name, one in settings.asked.given.items()} == {
        "epochs": "toml", "num_nearest": "command line", "temperature": "toml",
    }  # fmt: skip


@pytest.mark.usefixtures("no_training")
class TestRefusedBeforeWorkStarts:
    def test_unknown_data_set(self, run, out):
        refused(run("train", "coar", "--out", out), "unknown data set 'coar' (did you mean 'cora'?); known: digits")

    def test_folder_without_a_graph(self, run, out, tmp_path):
        refused(run("train", tmp_path, "--out", out), "is a folder without a stored graph")

    @pytest.mark.parametrize(
        ("setting", "text"),
        [
            ("num_nearest=9", "num_nearest must be between 1 and the 8 labeled nodes, got 9"),
            ("num_nearest=0", "num_nearest must be at least 1, got 0"),
            ("temperature=0", "temperature must be a finite number above 0, got 0.0"),
            ("temperature=-1", "temperature must be a finite number above 0, got -1.0"),
            ("node_weight=1.5", "node_weight must be between 0 and 1, got 1.5"),
            ("node_weight=-0.1", "node_weight must be between 0 and 1, got -0.1"),
            ("num_nearst=3", "unknown setting 'num_nearst' (did you mean 'num_nearest'?)"),
            ("similarity.num_nearest=3", "unknown setting 'similarity.num_nearest' (did you mean 'num_nearest'?)"),
            ("node_batch=3", "node_batch is not read by the vote's objective (preset 'best'): leave it out"),
            ("read_edges=true", "read_edges = True would have no effect: the edges of toy have no data"),
            ("num_nearest", "a setting must look like num_nearest=20, got 'num_nearest'"),
        ],
    )
    def test_bad_setting(self, run, toy, out, setting, text):
        refused(run("train", toy, "--out", out, "--set", setting), text)
        assert not out.exists()

    def test_bad_config_file(self, run, toy, out, tmp_path):
        file = tmp_path / "settings.toml"
        refused(run("train", toy, "--out", out, "--config", file), "settings.toml does not exist")
        file.write_text("lambda = 0.5\n")
        refused(run("train", toy, "--out", out, "--config", file), "unknown setting 'lambda'")
        file.write_text("[similarity]\nhops = 1\n")
        refused(run("train", toy, "--out", out, "--config", file), "write settings at the top level, as hops = 1")
        file.write_text("preset = 'authors'\n")
        told = "--preset paper contradicts"
        refused(run("train", toy, "--out", out, "--preset", "paper", "--config", file), told)
        file.write_text("[similarity\n")
        refused(run("train", toy, "--out", out, "--config", file), "is not valid TOML")

    def test_cuda_that_is_absent(self, run, toy, out, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        refused(
            run("train", toy, "--out", out, "--device", "cuda"), "PyTorch sees no CUDA device here; use cpu or auto"
        )

    def test_unknown_device_and_preset(self, run, toy, out):
        for option in (["--device", "tpu"], ["--preset", "worst"], ["--seed", "-1"]):
            result = run("train", toy, "--out", out, *option)
            assert result.exit_code == 2
            assert f"Invalid value for '{option[0]}'" in result.stderr

    def test_graph_without_labeled_nodes(self, run, toy, out, tmp_path):
        save_graph(load_graph(toy).with_split(train=[]), tmp_path / "graph")
        refused(run("train", tmp_path / "graph", "--out", out), "toy has no labeled node")

    def test_graph_with_one_class(self, run, toy, out, tmp_path):
        save_graph(load_graph(toy).with_split(train=np.arange(0, 8, 2)), tmp_path / "graph")
        refused(run("train", tmp_path / "graph", "--out", out), "labeled nodes must come from at least two classes")

    def test_existing_model(self, run, toy, model):
        refused(run("train", toy, "--out", model), "already holds a model; --overwrite replaces it")
        load_model(model)

    def test_resume_of_a_finished_model(self, run, toy, model):
        refused(run("train", toy, "--out", model, "--resume"), "holds a finished model: there is nothing to resume")

    @pytest.mark.parametrize("option", [[], ["--overwrite"], ["--resume"]])
    def test_folder_with_other_files(self, run, toy, tmp_path, option):
        (tmp_path / "thesis.tex").write_text("years of work")
        (tmp_path / "config.json").write_text("{}")
        result = run("train", toy, "--out", tmp_path, *option)
        refused(result, "exists and holds other files (config.json, thesis.tex); name another folder")
        assert (tmp_path / "thesis.tex").read_text() == "years of work"

    def test_folder_with_a_stored_graph(self, run, toy):
        refused(run("train", toy, "--out", toy, "--overwrite"), "exists and holds other files (graph.")
        load_graph(toy)

    def test_unfinished_training(self, run, toy, out):
        (out / ".training").mkdir(parents=True)
        (out / ".training" / "metrics.jsonl").write_text("{}\n")
        refused(run("train", toy, "--out", out), "holds an unfinished training; --resume continues it")

    def test_overwrite_and_resume_together(self, run, toy, out):
        refused(run("train", toy, "--out", out, "--overwrite", "--resume"), "give only one of them")

    def test_out_that_is_a_file_or_below_one(self, run, toy, tmp_path, monkeypatch):
        (tmp_path / "file").write_text("")
        refused(run("train", toy, "--out", tmp_path / "file"), "is a file; name a folder")
        monkeypatch.chdir(tmp_path)  # a long path would be shortened in the message
        refused(run("train", toy, "--out", "file/out", *QUICK), "out: Not a directory")

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
    def test_full_or_read_only_folder(self, run, toy, out, monkeypatch, code):
        def fail(_):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", fail)
        refused(run("train", toy, "--out", out, *QUICK), f"cannot write to {out}: {os.strerror(code)}")


def test_a_disk_that_fills_up_during_training_is_a_clear_error(run, toy, out, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(training, "fit", full)
    refused(run("train", toy, "--out", out, *QUICK), f"cannot write to {out}: No space left on device")


def test_overwrite_replaces_the_model_and_leaves_other_files_alone(run, toy, model):
    (model / "notes.txt").write_text("mine")
    before = (model / "model.safetensors").read_bytes()
    assert run("train", toy, "--out", model, "--overwrite", "--seed", "5", *QUICK).exit_code == 0
    assert (model / "model.safetensors").read_bytes() != before
    assert load_model(model).facts.seed == 5
    assert (model / "notes.txt").read_text() == "mine"


def test_a_damaged_model_can_be_overwritten(run, toy, model):
    (model / "model.safetensors").write_bytes(b"")
    assert run("train", toy, "--out", model, "--overwrite", *QUICK).exit_code == 0
    load_model(model)


def test_a_model_folder_is_a_graph_to_train_on(run, model, out):
    assert run("train", model, "--out", out, *QUICK).exit_code == 0
    assert load_model(out).graph.name == "toy"


def test_an_interrupt_says_how_to_go_on_and_exits_with_130(run, toy, out, monkeypatch):
    def interrupted(*_, folder, **__):
        (folder / "checkpoint.safetensors").write_bytes(b"")
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "fit", interrupted)
    result = run("train", toy, "--out", out, *QUICK)
    assert result.exit_code == 130
    assert "To resume from the last checkpoint, run the same command with --resume." in result.stderr
    assert "Traceback" not in result.output


def test_training_that_was_stopped_resumes_to_the_same_bits(run, toy, out, tmp_path, monkeypatch):
    from se_gnn.training import trainer

    settings = ("--device", "cpu", "--quiet", *QUICK[2:], "--set", "epochs=4")
    assert run("train", toy, "--out", tmp_path / "whole", *settings).exit_code == 0

    real = trainer.TrainingRun.step

    def stop_after_two(self):
        if self.epoch == 2:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(trainer.TrainingRun, "step", stop_after_two)
    assert run("train", toy, "--out", out, *settings).exit_code == 130
    assert any((out / ".training").rglob("checkpoint.safetensors"))
    refused(run("train", toy, "--out", out, "--resume", *settings, "--seed", "1"), "checkpoint")  # not the same run
    monkeypatch.setattr(trainer.TrainingRun, "step", real)
    assert run("train", toy, "--out", out, "--resume", *settings).exit_code == 0
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert not (out / ".training").exists()
    assert len((out / "metrics.jsonl").read_text().splitlines()) == load_model(out).facts.epochs >= 4


def test_resume_without_anything_kept_starts_from_the_beginning(run, toy, out):
    done = run("train", toy, "--out", out, "--resume", *QUICK)
    assert done.exit_code == 0
    assert f"no interrupted training in {out}, so this one starts from the beginning" in " ".join(done.output.split())
    load_model(out)


def test_control_c_ends_a_real_training_with_130_and_no_traceback(toy, out):
    arguments = ["train", str(toy), "--out", str(out), "--device", "cpu", *QUICK[2:]]
    arguments += ["--set", "epochs=1000000", "--set", "patience=none"]
    process = subprocess.Popen(
        [sys.executable, "-m", "se_gnn", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # tests that run in the background of a shell inherit an ignored Ctrl-C, and so would the child
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 60
        while not list(out.glob(".training/**/metrics.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "run the same command with --resume" in stderr
    assert "Traceback" not in stderr


def test_without_validation_nodes_nothing_is_said_to_be_chosen_on_them(run, toy, out, tmp_path):
    graph = load_graph(toy)
    save_graph(changed(graph, validation=graph.validation[:0]), tmp_path / "unchecked")
    told = " ".join(run("train", tmp_path / "unchecked", "--out", out, "--device", "cpu", *QUICK).stdout.split())
    assert "there are no validation nodes to choose by" in told
    assert "are chosen on the validation nodes" not in told


def test_where_a_rare_class_is_not_found_training_says_that_accuracy_says_little(tmp_path):
    told = " ".join(uneven_classes({"accuracy": 0.99, "balanced_accuracy": 0.5}, tmp_path / "model").split())
    assert "Accuracy is misleading here: the mean recall of the classes is only 50.0%" in told
    assert f"se-gnn evaluate {tmp_path / 'model'}` shows each class" in told
    assert uneven_classes({"accuracy": 0.9, "balanced_accuracy": 0.85}, tmp_path) == ""
    assert uneven_classes({"accuracy": None, "balanced_accuracy": None}, tmp_path) == ""  # no test nodes


@pytest.mark.filterwarnings("always:--quick trains")
@pytest.mark.parametrize(
    ("steps", "told"),
    [((1,), "recipe 'steps': most recipes expect edges"), ((1, 2), "--quick trains the recipe 'smooth'")],
)
def test_quick_says_what_it_does_where_edges_do_not_join_nodes_of_one_class(run, tmp_path, steps, told):
    nodes = pd.DataFrame({"id": range(40), "x": np.arange(40) % 7, "class": np.where(np.arange(40) % 2, "a", "b")})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    ends = [(i, i + step) for i in range(38) for step in steps]  # a step of 1 joins both classes, one of 2 joins equals
    pd.DataFrame(ends, columns=["from", "to"]).to_csv(tmp_path / "edges.csv", index=False)
    tables = ("--nodes", tmp_path / "nodes.csv", "--edges", tmp_path / "edges.csv", "--id", "id", "--label", "class")
    assert run("import", *tables, "--source", "from", "--target", "to", "--out", tmp_path / "g").exit_code == 0
    result = run("train", tmp_path / "g", "--out", tmp_path / "m", "--quick", "--set", "epochs=1")
    assert told in " ".join(result.output.split())
