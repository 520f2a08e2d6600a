"""Closed and full standard streams, and names that no file can have, are no tracebacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

QUICK = "--set epochs=2 --set hidden_size=4 --set num_nearest=3"


def shell(command, tmp_path):
    line = command.replace("se-gnn", f"{sys.executable} -m se_gnn")
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)


def test_training_with_standard_error_closed_trains_and_spoils_no_file(toy, tmp_path):
    done = shell(f"se-gnn train {toy} --out model {QUICK} 2>&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Saved to model" in done.stdout
    assert shell("se-gnn evaluate model >&- 2>&-", tmp_path).returncode == 0


def test_everything_closed_is_fine(tmp_path):
    assert shell("se-gnn datasets <&- >&- 2>&-", tmp_path).returncode == 0
    assert shell("se-gnn train coar --out x <&- >&- 2>&-", tmp_path).returncode == 2


def test_output_that_goes_to_a_full_disk_is_one_line(tmp_path):
    done = shell("se-gnn datasets > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: No space left on device\n"


def test_a_reader_that_has_enough_is_no_mistake(tmp_path):
    done = shell("se-gnn datasets | true", tmp_path)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["x" * 300, "y" * 5000])
def test_names_that_are_too_long_are_one_line(run, toy, model, name):
    for command in (
        ("train", toy, "--out", name),
        ("evaluate", name),
        ("predict", model, "--out", f"{name}.csv"),
        ("report", model, "--out", f"{name}.html"),
        ("train", name, "--out", "z"),
        ("train", toy, "--out", "z", "--config", name),
        ("explain", model, "--graph", name, "--node", "node 1"),
        ("import", "--nodes", name, "--edges", name, "--id", "a", "--label", "b", "--out", name),
    ):
        result = run(*command)
        assert result.exit_code == 2, (command[0], result.output, result.exception)
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
