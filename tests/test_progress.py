"""What people see of long work, and that it changes nothing else."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest

from se_gnn import progress
from se_gnn.apps.cli.options import shows_progress
from se_gnn.device import resolve_device
from se_gnn.progress import announce_compilation, bar, phase, tell, tiles
from se_gnn.settings import Settings
from se_gnn.training.estimate import Estimate, estimate
from se_gnn.training.trainer import TrainingRun
from strategies import random_graph, small_settings, untrained


@pytest.fixture
def at_once(monkeypatch):
    """Bars appear without waiting, and tiles are small."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "SMALLEST_TILE", 1)


def covered(count, step):
    return [i for part in tiles(count, step, unit="edge") for i in range(part.start, part.stop)]


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(("count", "step"), [(0, 5), (1, 5), (7, 3), (1000, 1000), (130, 7)])
def test_tiles_cover_everything_once_and_in_order(at_once, capsys, shown, count, step):
    with phase("scoring", shown=shown):
        assert covered(count, step) == list(range(count))
    assert ("scoring" in capsys.readouterr().err) == (shown and count > 0)


def test_only_the_outer_of_two_loops_has_a_bar(at_once, capsys):
    with phase("scoring", shown=True):
        for _ in tiles(3, 1, unit="node"):
            covered(2, 1)
    assert "2/2" not in capsys.readouterr().err
    assert progress._PHASE.get() is None


def test_what_is_quick_shows_no_bar(capsys):
    with phase("scoring", shown=True):
        covered(100, 10)
    assert capsys.readouterr().err == ""


def test_a_bar_changes_no_bit_of_a_prediction(at_once, capsys):
    one, same = (
        untrained(random_graph(1, num_nodes=40, num_edges=90), small_settings(directions="both")) for _ in range(2)
    )
    plain = one.predict()
    with phase("scoring", shown=True):
        seen = same.predict()
    assert "scoring" in capsys.readouterr().err
    for name in ("probabilities", "cases", "weights", "overall"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(seen, name))


def test_compilation_is_said_once_and_only_where_it_happens(capsys):
    def compiled():
        function = numba.njit(lambda x: x + 1)
        with announce_compilation(shown=True):
            function(1)
            function(2)
            function(1.5)
        return function

    function = compiled()
    assert capsys.readouterr().err.count("Compiling kernels, once per machine") == 1
    with announce_compilation(shown=True):
        function(3)
    with announce_compilation(shown=False):
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == ""


def test_a_long_training_is_told_what_to_change_and_a_short_one_is_not():
    short, long = (Estimate(200, *each, faster="fewer epochs") for each in ((0.05, 1 << 20), (36.0, 3 << 30)))
    assert str(short) == "about 10 s for about 200 epochs of 0.05 s, 1 MB of memory"
    assert "about 2.0 h for about 200 epochs of 36 s" in str(long)
    assert str(long).endswith(".\n            Faster: fewer epochs")
    assert "are free" in str(Estimate(1, 0.1, 1 << 60))


def test_an_estimate_is_made_of_the_first_epochs():
    graph, resolved = random_graph(1, num_nodes=30), small_settings().resolve()
    run = TrainingRun(graph, resolved, seed=0, device=resolve_device("cpu"), folder=None)
    record = run.step()
    found = estimate(run)
    assert found.epochs == 5
    assert found.seconds_per_epoch == record["seconds"]
    assert found.memory > 0


def test_progress_is_shown_unless_it_is_unwanted_or_stderr_is_closed(monkeypatch):
    assert shows_progress()
    assert not shows_progress(quiet=True)
    monkeypatch.setattr(sys, "stderr", None)  # as in `se-gnn train digits --out model 2>&-`
    assert not shows_progress()


def test_a_log_gets_one_line_per_phase_and_a_terminal_gets_a_bar(at_once, capsys, monkeypatch):
    with phase("scoring", shown=True):
        covered(5, 1)
    assert capsys.readouterr().err == "scoring ...\n"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with phase("scoring", shown=True):
        covered(5, 1)
    assert "scoring: 100%" in capsys.readouterr().err


def test_what_is_said_to_be_faster_has_an_effect_under_the_settings():
    graph = random_graph(1, num_nodes=30)
    told = {}
    for preset, runs, members in (("paper", 1, 1), ("best", 8, 5), ("best", 5, 5), ("best", 1, 1)):
        resolved = Settings.of(preset, hidden_size=4, num_nearest=3).resolve()
        run = TrainingRun(graph, resolved, seed=0, device=resolve_device("cpu"), folder=None)
        run.step()
        told[preset, runs] = estimate(run, runs, members).faster
    assert "max_local_edges" in told["paper", 1]
    assert not any("max_local_edges" in told["best", runs] for runs in (8, 5, 1))  # of no effect there
    assert "--quick" in told["best", 8]
    assert "--quick" not in told["best", 5]
    assert "members=1" in told["best", 5]
    assert "members=1" not in told["best", 1]


def test_a_line_never_stands_behind_a_bar(at_once, capsys):
    tell("first")
    with bar(total=10, name="work", unit="step", shown=True) as shown:
        shown.mininterval = 0
        shown.update(5)
        tell("second")
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    assert "first" in lines
    assert "second" in lines
