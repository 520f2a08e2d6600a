"""Jobs run once, resume, fail alone, and run again when their settings change."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reproduce import __main__ as command_line
from reproduce.job import Job, Series, jobs_of
from reproduce.json_lines import read_rows
from reproduce.runner import Making, _in_parallel, run_jobs
from reproduce.settings_digest import digest_of
from reproduce.store import Result, Store

ROOT = Path(__file__).resolve().parents[2]
MAKING = Making(command="python -m reproduce run x", commit="abc", device="cpu")


def series(method="gcn", **settings):
    return Series(kind="counting", dataset="cora", method=method, settings=settings)


def run(jobs, store, say=lambda line: None):
    return run_jobs(jobs, store, MAKING, processes=1, say=say)


def test_a_job_with_a_result_is_not_run_again(tmp_path, counting):
    store = Store(tmp_path)
    run(jobs_of([series()], 2), store)
    run(jobs_of([series()], 3), store)
    assert counting == [f"counting/cora/gcn/seed-{seed}" for seed in (0, 1, 2)]
    assert [result.measures["accuracy"] for result in store.of(series())] == [0, 0.1, 0.2]


def test_other_settings_make_a_result_out_of_date(tmp_path, counting):
    store = Store(tmp_path)
    run(jobs_of([series(depth=2)], 1), store)
    assert store.of(series(depth=3)) == []
    run(jobs_of([series(depth=3)], 1), store)
    assert len(counting) == 2
    assert len(store.of(series(depth=3))) == store.num_stale(series(depth=3)) == 1


def test_a_failure_leaves_no_result_and_stops_nobody(tmp_path, counting):
    store, lines = Store(tmp_path), []
    failed = run(jobs_of([series("bad", fails=True), series("good")], 1), store, lines.append)
    assert [job.series.method for job in failed] == ["bad"]
    assert len(store.of(series("good"))) == 1
    assert store.get(failed[0]) is None
    assert any("no such luck" in line for line in lines)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, counting, monkeypatch):
    store, jobs = Store(tmp_path), jobs_of([series()], 3)
    put = Store.put

    def interrupt(self, job, result):
        if job.seed == 1:
            raise KeyboardInterrupt
        put(self, job, result)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(jobs, store)
    lines = []
    run(jobs, store, lines.append)
    assert lines[0] == "3 jobs, 1 done before, 2 to run"
    assert len(store.of(series())) == 3


def test_what_took_longest_before_starts_first(tmp_path, counting):
    store = Store(tmp_path)
    for method, seconds in (("quick", 1), ("slow", 100)):
        store.put(Job(series(method, old=True), 0), Result(0, {}, seconds, {}))
    run(jobs_of([series("quick"), series("slow")], 1), store)
    assert counting == ["counting/cora/slow/seed-0", "counting/cora/quick/seed-0"]


def test_progress_says_what_remains(tmp_path, counting):
    lines = []
    run(jobs_of([series()], 2), Store(tmp_path), lines.append)
    assert lines[0] == "2 jobs, 0 done before, 2 to run"
    assert lines[2].startswith("  1 of 2 jobs run, about ")
    assert len(lines) == 4  # after the last one nothing remains


def test_a_series_of_two_tables_runs_once_and_one_without_randomness_has_one_seed():
    fixed = Series(kind="counting", dataset="cora", method="load", settings={}, seeded=False)
    assert [job.name.split("/", 1)[1] for job in jobs_of([series(), fixed, series()], 2)] == [
        "cora/gcn/seed-0",
        "cora/gcn/seed-1",
        "cora/load/seed-0",
    ]


def test_a_result_says_what_made_it(tmp_path, counting):
    store, job = Store(tmp_path), Job(series(depth=2), 0)
    run([job], store)
    (content,) = read_rows(tmp_path / "other.jsonl")
    assert content["digest"] == digest_of({"depth": 2})
    assert content["job"]["seed"] == 0
    assert content["made"]["device"] == "cpu"
    assert content["settings"] == {"depth": 2}
    assert content["made"]["command"] == "python -m reproduce run x"
    assert content["made"]["commit"] == "abc"
    assert content["made"]["machine"]["packages"]["torch"]


def test_processes_share_the_jobs(tmp_path):
    command = [sys.executable, "-m", "reproduce", "run", "table-1", "--only", "ba-shapes", "--jobs", "2"]
    done = subprocess.run(
        [*command, "--trial"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (content,) = read_rows(tmp_path / "build/trial/table-1.jsonl")
    assert content["measures"]["nodes"] == 700


def test_what_takes_hours_on_a_cpu_is_left_out_and_said(tmp_path, monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(command_line, "run_jobs", lambda jobs, *args, **how: ran.extend(jobs) or [])
    monkeypatch.setattr(command_line, "describe_commit", lambda apart_from: "abc")
    command = ["run", "table-2", "--only", "citeseer", "--seeds", "2", "--results", str(tmp_path)]
    assert command_line.main(command) == 0
    assert {job.series.method for job in ran}.isdisjoint({"pro-gnn"})
    assert capsys.readouterr().out.startswith("left out: 2 jobs of Pro-GNN, each takes hours on a CPU.")
    ran.clear()
    assert command_line.main([*command, "--only", "pro-gnn"]) == 0
    assert [job.name for job in ran] == ["classify/citeseer/pro-gnn/seed-0", "classify/citeseer/pro-gnn/seed-1"]
    assert not capsys.readouterr().out


@pytest.mark.parametrize("found", ["abc with changes", None])
def test_results_of_source_that_is_in_no_commit_are_refused(found, tmp_path, monkeypatch, capsys, counting):
    monkeypatch.setattr(command_line, "describe_commit", lambda apart_from: found)
    assert command_line.main(["run", "table-1", "--results", str(tmp_path)]) == 1
    assert ("--trial" if found else "--commit") in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_commit_of_a_repository_is_not_overruled(monkeypatch):
    monkeypatch.setattr(command_line, "describe_commit", lambda apart_from: "abc")
    assert command_line.source_commit("def", trial=False) == "abc"
    monkeypatch.setattr(command_line, "describe_commit", lambda apart_from: None)
    assert command_line.source_commit("def", trial=False) == "def"


def test_a_run_in_several_processes_leaves_the_environment_as_it_was():
    import numba

    @numba.njit(parallel=True)
    def launched(count):
        total = 0
        for i in numba.prange(count):
            total += i
        return total

    launched(4)
    before = dict(os.environ)
    list(_in_parallel([], Making(command="none", commit=None, device="cpu"), 2))
    assert dict(os.environ) == before
    assert numba.njit(lambda x: x + 1)(1) == 2  # compiles, and so reads the environment again
