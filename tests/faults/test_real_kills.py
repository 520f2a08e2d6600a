"""Processes that are really killed: the same promises, with SIGKILL in place of an exception."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.commands import SCENARIOS, copy_of
from faults.injector import watching
from faults.test_enumerated import check, names

pytestmark = pytest.mark.filterwarnings("default")

CHILD = """
import os, signal, sys
from pathlib import Path
from faults.commands import SCENARIOS, quick_and_often
from faults.injector import watching
root, name, at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with quick_and_often(), watching(root, at, lambda _: os.kill(os.getpid(), signal.SIGKILL)):
    SCENARIOS[name].run(root)
"""


def kill_really(name, prepared, tmp_path, counts, shares):
    scenario = SCENARIOS[name]
    root = copy_of(prepared, tmp_path / "undisturbed")
    old = scenario.look(root)
    with watching(root) as seen:
        assert scenario.run(root).exit_code == 0
    expected = old, scenario.look(root), seen.seen, names(root)
    for share in shares:
        at = 1 + int(share * (len(seen.seen) - 1))
        root = copy_of(prepared, tmp_path / "run")
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        done = subprocess.run([sys.executable, "-c", CHILD, str(root), name, str(at)], check=False, timeout=300,
                              env={**os.environ, "PYTHONPATH": paths}, capture_output=True)  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr
        check(scenario, root, expected, f"SIGKILL at {seen.seen[at - 1]}")
        counts["killed processes"] += 1


def test_a_training_that_is_really_killed_leaves_the_old_or_the_new_model(prepared, tmp_path, counts):
    kill_really("train, over an old one", prepared, tmp_path, counts, [0.5, 0.86])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCENARIOS if not name.startswith("attack,")])
def test_commands_that_are_really_killed_leave_the_old_or_the_new(name, prepared, tmp_path, counts):
    kill_really(name, prepared, tmp_path, counts, [i / 9 for i in range(10)])


def test_a_second_training_into_a_folder_is_refused_while_the_first_runs(prepared, tmp_path):
    root = copy_of(prepared, tmp_path / "run")
    command = [sys.executable, "-m", "se_gnn", "train", str(root / "toy"), "--out", str(root / "m"), "-q",
               "--preset", "authors",
               "--set", "epochs=1000000", "--set", "patience=none", "--set", "hidden_size=4",
               "--set", "num_nearest=3"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.Popen(command, env=environment)
    try:
        while not (root / "m" / ".training" / "metrics.jsonl").exists():
            assert first.poll() is None
            time.sleep(0.05)
        second = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        overwriting = SCENARIOS["train, new"].run(root, "--out", str(root / "m"), "--overwrite")
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 2
    assert "unfinished training" in second.stderr
    assert overwriting.exit_code == 2
    assert f"is being written by another se-gnn (process {first.pid})" in overwriting.stderr
    assert SCENARIOS["train, new"].run(root, "--out", str(root / "m"), "--overwrite").exit_code == 0
