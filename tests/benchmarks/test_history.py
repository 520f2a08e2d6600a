"""A figure that got clearly worse since the run before is found; one on another machine is not compared."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.history import changes


def run(started, median, *, bound="at least", cores=2, commit="a" * 12):
    figure = {"name": "speedup", "unit": "x faster", "bound": bound, "median": median}
    case = {"name": "one", "preset": "best", "settings": [], "figures": [figure]}
    machine = {"cpu": "some", "cores": cores}
    about = {"format": 1, "quick": False, "started": started, "commit": commit, "machine": machine}
    return {**about, "cases": [case, {"name": "two", "status": "failed"}]}


@pytest.mark.parametrize(
    ("bound", "before", "after", "worse"),
    [("at least", 10, 8, True), ("at least", 10, 9.5, False), ("at most", 10, 12, True), ("at most", 10, 8, False)],
)
def test_a_figure_that_moved_the_wrong_way_by_more_than_a_tenth_is_a_regression(bound, before, after, worse):
    (change,) = changes([run("2026-01-01", before, bound=bound), run("2026-02-01", after, bound=bound)])
    assert change.regressed == worse
    assert ("WORSE" in str(change)) == worse


def test_only_the_last_two_runs_on_the_same_type_of_machine_are_compared():
    runs = [run("2026-01-01", 20), run("2026-02-01", 10), run("2026-03-01", 1, cores=8), run("2026-04-01", 10)]
    (change,) = changes(runs)
    assert change.medians == (10, 10)


def test_the_command_fails_if_a_figure_got_worse(tmp_path, capsys):
    files = []
    for name, started, median in (("old", "2026-01-01T00:00:00+00:00", 10), ("new", "2026-02-01T00:00:00+00:00", 5)):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps(run(started, median)), encoding="utf-8")
    assert main(["history", *map(str, files)]) == 1
    assert "one, speedup" in capsys.readouterr().out
