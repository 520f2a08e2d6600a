"""A run that was killed, at any moment, goes on to the same bits; what belongs to another run is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from se_gnn.errors import InputError
from se_gnn.settings.sections import Aggregation
from se_gnn.training import checkpoint, fit, trainer
from strategies import random_graph, rich_graph, small_settings

EPOCHS = 7
ASKED = small_settings(epochs=EPOCHS, patience="none", learning_rate=0.05)
GRAPH = random_graph(1, num_nodes=24, num_edges=40, num_labeled=8, isolated=(2, 20))


class Killed(BaseException):
    """Not an Exception: nothing may swallow it, as nothing swallows a kill."""


def records(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def without_time(values):
    return {key: value for key, value in values.items() if not key.startswith("seconds")}


@pytest.fixture(autouse=True)
def checkpoint_every_epoch(monkeypatch):
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return fit(GRAPH, ASKED, seed=3, folder=folder), records(folder)


def assert_resumes(folder, uninterrupted):
    """Going on in the folder ends where the run that was never interrupted ended."""
    expected, history = uninterrupted
    found = fit(GRAPH, ASKED, seed=3, folder=folder)
    for name, tensor in expected.encoder.state_dict().items():
        assert torch.equal(found.encoder.state_dict()[name], tensor), name
    assert (found.facts.validation, found.facts.chosen) == (expected.facts.validation, expected.facts.chosen)
    assert found.settings == expected.settings
    assert [record["epoch"] for record in records(folder)] == list(range(EPOCHS))
    assert list(map(without_time, records(folder))) == list(map(without_time, history))
    assert {path.name for path in folder.iterdir()} <= {"metrics.jsonl", checkpoint.NAME}


def train_until(patch, folder, owner, name, count, *, after):
    """Train, and be killed at the so-many-th call of a function, before or after it did its work."""
    original, calls = getattr(owner, name), 0

    def deadly(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls < count:
            return original(*args, **kwargs)
        if after:
            original(*args, **kwargs)
        raise Killed

    with patch.context() as context:
        context.setattr(owner, name, deadly)
        with pytest.raises(Killed):
            fit(GRAPH, ASKED, seed=3, folder=folder)


@pytest.mark.parametrize("count", [1, 2, 4, EPOCHS])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_killed_around_a_step_goes_on_to_the_same_bits(count, after, tmp_path, uninterrupted, monkeypatch):
    train_until(monkeypatch, tmp_path, torch.optim.Adam, "step", count, after=after)
    assert_resumes(tmp_path, uninterrupted)


@pytest.mark.parametrize("count", [1, 3, EPOCHS])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_killed_around_a_checkpoint_goes_on_to_the_same_bits(count, after, tmp_path, uninterrupted, monkeypatch):
    train_until(monkeypatch, tmp_path, checkpoint, "save_checkpoint", count, after=after)
    assert_resumes(tmp_path, uninterrupted)


@pytest.mark.parametrize("count", [1, 3, EPOCHS])
@pytest.mark.parametrize("after", [False, True])
def test_a_run_killed_while_a_checkpoint_is_moved_in_place_goes_on_to_the_same_bits(
    count, after, tmp_path, uninterrupted, monkeypatch
):
    train_until(monkeypatch, tmp_path, Path, "replace", count, after=after)
    assert_resumes(tmp_path, uninterrupted)


def test_a_run_killed_while_a_checkpoint_is_written_goes_on_to_the_same_bits(tmp_path, uninterrupted, monkeypatch):
    train_until(monkeypatch, tmp_path, Path, "replace", 4, after=False)
    for partial in tmp_path.glob("*partial*"):  # as a kill leaves it: cut short
        partial.write_bytes(partial.read_bytes()[:100])
    assert_resumes(tmp_path, uninterrupted)


def test_a_run_killed_while_a_line_of_metrics_is_written_goes_on_to_the_same_bits(tmp_path, uninterrupted, monkeypatch):
    train_until(monkeypatch, tmp_path, torch.optim.Adam, "step", 4, after=False)
    with (tmp_path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"epoch": 3, "lo')
    assert_resumes(tmp_path, uninterrupted)


def test_a_run_killed_again_and_again_goes_on_to_the_same_bits(tmp_path, uninterrupted, monkeypatch):
    for _ in range(4):
        train_until(monkeypatch, tmp_path, torch.optim.Adam, "step", 2, after=True)
    assert len(records(tmp_path)) == 4
    assert_resumes(tmp_path, uninterrupted)


def test_seldom_checkpoints_end_in_the_same_bits(tmp_path, uninterrupted, monkeypatch):
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 1e9)
    train_until(monkeypatch, tmp_path, torch.optim.Adam, "step", 5, after=True)
    assert not (tmp_path / checkpoint.NAME).exists()
    assert_resumes(tmp_path, uninterrupted)


def test_a_process_that_is_killed_goes_on_to_the_same_bits(tmp_path):
    """Every run in a process of its own: what other tests left behind in this one plays no part."""
    child = tmp_path / "child.py"
    child.write_text(
        f"""
import sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from safetensors.torch import save_file
from strategies import random_graph, small_settings
from se_gnn.training import checkpoint, fit, trainer

folder, pause = Path(sys.argv[1]), float(sys.argv[2])
trainer.SECONDS_BETWEEN_CHECKPOINTS = 0.0
save = checkpoint.save_checkpoint
def slowly(*args):
    save(*args)
    time.sleep(pause)  # so that the kill comes before the end
checkpoint.save_checkpoint = slowly
trained = fit(
    random_graph(1, num_nodes=24, num_edges=40, num_labeled=8, isolated=(2, 20)),
    small_settings(epochs={EPOCHS}, patience="none", learning_rate=0.05),
    seed=3, folder=folder,
)
save_file(trained.encoder.state_dict(), folder.with_suffix(".safetensors"))
""",
        encoding="utf-8",
    )
    whole, folder = tmp_path / "whole", tmp_path / "run"

    def command(where, pause):
        return [sys.executable, str(child), str(where), str(pause)]

    subprocess.run(command(whole, 0), check=True)
    process = subprocess.Popen(command(folder, 0.2))
    try:
        deadline = time.monotonic() + 120
        while not (folder / checkpoint.NAME).exists() or len(records(folder)) < 3:
            assert process.poll() is None, "the child ended by itself"
            assert time.monotonic() < deadline, "the child is too slow"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    assert (folder / checkpoint.NAME).exists()
    assert len(records(folder)) < EPOCHS
    subprocess.run(command(folder, 0), check=True)
    assert folder.with_suffix(".safetensors").read_bytes() == whole.with_suffix(".safetensors").read_bytes()
    assert list(map(without_time, records(folder))) == list(map(without_time, records(whole)))


def test_a_run_that_has_ended_is_not_trained_again(tmp_path, uninterrupted, monkeypatch):
    fit(GRAPH, ASKED, seed=3, folder=tmp_path / "new" / "folder")
    monkeypatch.setattr(torch.optim.Adam, "step", lambda *_, **__: pytest.fail("trained again"))
    assert_resumes(tmp_path / "new" / "folder", uninterrupted)


# --- what is refused


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    train_until(monkeypatch, tmp_path, torch.optim.Adam, "step", 3, after=False)
    assert (tmp_path / checkpoint.NAME).exists()
    return tmp_path


OTHER_RUN = "belongs to a run with other data, settings or seed; remove it to start again"


def test_a_checkpoint_of_another_seed_is_refused(interrupted):
    with pytest.raises(InputError, match=OTHER_RUN):
        fit(GRAPH, ASKED, seed=4, folder=interrupted)


@pytest.mark.parametrize("change", [{"epochs": 9}, {"temperature": 0.5}, {"hidden_size": 7}])
def test_a_checkpoint_of_other_settings_is_refused(interrupted, change):
    with pytest.raises(InputError, match=OTHER_RUN):
        fit(GRAPH, ASKED.changed(**change), seed=3, folder=interrupted)


def changed_graphs():
    features = GRAPH.features.copy()
    features[0, 0] += 1
    size = {"num_nodes": 24, "num_edges": 40, "num_labeled": 8, "isolated": (2, 20)}
    split = {"validation": GRAPH.validation, "test": GRAPH.test}
    return {
        "a feature": random_graph(1, **size, features=features),
        "an edge": GRAPH.with_edges(GRAPH.edges.ends[1:]),
        "a label": random_graph(1, **size, labels=np.where(np.arange(24) == 5, 0, GRAPH.labels)),
        "one labeled node less": GRAPH.with_split(train=GRAPH.train[:-1], **split),
        "a labeled node for validation": GRAPH.with_split(
            train=GRAPH.train[:-1], validation=np.append(GRAPH.validation, GRAPH.train[-1]), test=GRAPH.test
        ),
        "a validation node for the test": GRAPH.with_split(
            train=GRAPH.train, validation=GRAPH.validation[:-1], test=np.append(GRAPH.test, GRAPH.validation[-1])
        ),
        "sparse features": random_graph(1, **size, features=sp.csr_array(GRAPH.features)),
    }


@pytest.mark.parametrize("what", list(changed_graphs()))
def test_a_checkpoint_of_another_graph_is_refused(interrupted, what):
    with pytest.raises(InputError, match=OTHER_RUN):
        fit(changed_graphs()[what], ASKED, seed=3, folder=interrupted)


@pytest.mark.parametrize("length", [0, 5, 200, -1])
def test_a_truncated_checkpoint_is_refused(interrupted, length):
    path = interrupted / checkpoint.NAME
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(InputError, match=r"cannot be read: .*; remove it to start again"):
        fit(GRAPH, ASKED, seed=3, folder=interrupted)


def test_a_checkpoint_of_another_version_is_refused(interrupted, monkeypatch):
    monkeypatch.setattr(checkpoint, "VERSION", "99")
    with pytest.raises(InputError, match="has version 3, this one reads 99"):
        fit(GRAPH, ASKED, seed=3, folder=interrupted)


def test_a_refused_checkpoint_is_left_alone(interrupted):
    before = {path.name: path.read_bytes() for path in interrupted.iterdir()}
    with pytest.raises(InputError):
        fit(GRAPH, ASKED, seed=4, folder=interrupted)
    assert {path.name: path.read_bytes() for path in interrupted.iterdir()} == before


@pytest.mark.parametrize("place", [100, -300, -1])
def test_one_changed_byte_of_a_checkpoint_is_noticed(interrupted, place):
    path = interrupted / checkpoint.NAME
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"remove it to start again"):
        fit(GRAPH, ASKED, seed=3, folder=interrupted)


def test_two_trainings_into_one_folder_are_refused(tmp_path, monkeypatch):
    step = trainer.TrainingRun.step

    def another(self):
        if self.epoch == 2:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        return step(self)

    errors = []

    def second():
        try:
            fit(GRAPH, ASKED, seed=4, folder=tmp_path)
        except InputError as error:
            errors.append(str(error))

    monkeypatch.setattr(trainer.TrainingRun, "step", another)
    fit(GRAPH, ASKED, seed=3, folder=tmp_path)
    assert len(errors) == 1
    assert "is being written by another se-gnn" in errors[0]
    assert [record["epoch"] for record in records(tmp_path)] == list(range(EPOCHS))


def test_metrics_of_another_run_do_not_stay_in_the_file(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 0, "loss": 99.0}\n' * 20)
    fit(GRAPH, ASKED, seed=3, folder=tmp_path)
    assert [record["epoch"] for record in records(tmp_path)] == list(range(EPOCHS))


@pytest.mark.parametrize("aggregation", get_args(Aggregation))
def test_every_encoder_goes_on_from_its_checkpoint_to_the_same_bits(aggregation, tmp_path, monkeypatch):
    graph = rich_graph(num_nodes=16, num_edges=30, num_labeled=8)
    asked = ASKED.changed(aggregation=aggregation, match_attributes=True, epochs=3)
    expected = fit(graph, asked, seed=3).encoder.state_dict()
    original, calls = trainer.checkpoint.save_checkpoint, []

    def deadly(*arguments):
        original(*arguments)
        calls.append(arguments)
        if len(calls) == 2:
            raise Killed

    with monkeypatch.context() as context:
        context.setattr(trainer.checkpoint, "save_checkpoint", deadly)
        with pytest.raises(Killed):
            fit(graph, asked, seed=3, folder=tmp_path)
    found = fit(graph, asked, seed=3, folder=tmp_path).encoder.state_dict()
    for name, tensor in expected.items():
        assert torch.equal(found[name], tensor), name
