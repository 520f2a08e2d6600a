"""The runner measures every case on a tiny graph, and says why where it cannot."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from benchmarks import ours
from benchmarks.__main__ import main
from benchmarks.cases import CASES, Case, Figure
from benchmarks.graphs import generated_graph, load_graph, smaller
from benchmarks.measure import Outcome, RunSettings, Side, Spread, alternate
from benchmarks.memory import run_apart
from benchmarks.page import render_page
from benchmarks.readme import END, SHOWN, START, speed_table, write_readme
from benchmarks.results import read_results, read_runs, run_cases, write_results
from benchmarks.table import results_table
from se_gnn.graph import local_graphs

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {case.name: case for case in CASES}
SPEEDUP = Figure(name="speedup", unit="x faster", bound="at least", target=10, aim=20)


def made_up(case: Case, run: RunSettings) -> Outcome:
    """A workload that measures nothing."""
    return Outcome(figures={"speedup": Spread(15.0, 12.0, 18.0)}, samples={"ours": [0.1], "bytes": [2e9]})


def broken(case: Case, run: RunSettings) -> Outcome:
    """A workload that fails."""
    raise RuntimeError("no luck")


def case_of(monkeypatch, name, workload):
    monkeypatch.setattr("benchmarks.workloads.made_up", workload, raising=False)
    return Case(
        name=name,
        title="made up",
        workload="benchmarks.workloads:made_up",
        dataset="tiny",
        ours="x",
        figures=(SPEEDUP,),
    )


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.startswith("cora-")])
def test_cora_cases_run_on_a_tiny_graph(name):
    case = dataclasses.replace(BY_NAME[name], dataset="tiny")
    results = run_cases([case], RunSettings(quick=True))
    (record,) = results["cases"]
    assert record["status"] == "measured", record
    assert all(figure["low"] > 0 for figure in record["figures"])
    assert name in results_table(results)
    json.dumps(results)


def test_whole_run_and_its_peak_memory_are_measured_in_a_process_of_its_own():
    case = dataclasses.replace(BY_NAME["pubmed"], dataset="tiny")
    (record,) = run_cases([case], RunSettings(quick=True))["cases"]
    assert record["status"] == "measured", record
    assert 0 < record["samples"]["bytes after imports"][0] <= record["samples"]["peak bytes"][0]
    assert record["details"]["explained matched edges"] > 0


def test_job_does_not_inherit_the_peak_of_the_process_that_started_it():
    ballast = b"x" * 300_000_000
    report = run_apart("json:loads", {"s": "{}"})
    assert len(ballast) > report.peak


def test_doubling_compares_a_graph_with_one_twice_its_size(monkeypatch):
    monkeypatch.setattr(
        "benchmarks.workloads.scale.run_apart",
        lambda job, arguments: _Report({"seconds": arguments["num_nodes"] / 1e3, "bytes": 1.0, "peak bytes": 1.0}),
    )
    (record,) = run_cases([BY_NAME["doubling"]], RunSettings(quick=True))["cases"]
    assert [figure["median"] for figure in record["figures"]] == [2.0, 1.0]


def test_the_parts_of_matching_agree_with_what_they_are_measured_against(data_dir, monkeypatch):
    monkeypatch.setenv("SE_GNN_DATA", str(data_dir))
    (record,) = run_cases([BY_NAME["cora-product"]], RunSettings(quick=True))["cases"]
    assert record["status"] == "measured", record
    assert record["details"]["share of equal winners"] > 0.999


@dataclasses.dataclass
class _Report:
    result: dict


def test_missing_data_skips_the_case_and_says_why(monkeypatch, tmp_path):
    def no_network(url, **how):
        raise OSError("no network in tests")

    monkeypatch.delenv("SE_GNN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("pooch.retrieve", no_network)
    (record,) = run_cases([BY_NAME["amazon-photo"]], RunSettings(quick=True))["cases"]
    assert record["status"] == "skipped"
    assert "SE_GNN_DATA" in record["reason"]


def test_a_case_that_fails_is_reported(monkeypatch):
    results = run_cases([case_of(monkeypatch, "bad", broken)], RunSettings())
    assert results["cases"][0]["reason"] == "RuntimeError: no luck"
    assert "failed" in results_table(results)


def test_explanations_in_bulk_hand_out_as_much_as_one_node_after_the_other():
    graph = load_graph("tiny", seed=0)
    trained = ours.untrained_model(graph, ours.settings_for(graph, preset="best"), seed=0)
    explained = ours.explain_nodes(trained)
    objects = [ours.explain_one(trained, node) for node in range(graph.num_nodes)]
    votes = [vote for explanation in objects for vote in explanation.votes]
    assert explained.nodes == len(objects)
    assert explained.votes == len(votes)
    assert explained.ranked_edges == sum(len(explanation.importance) for explanation in objects)
    assert explained.matched_edges == sum(len(vote.matches) for vote in votes if vote.matches)


def test_sides_are_measured_in_turn():
    calls = []
    sides = {"a": Side(lambda: calls.append("a"), units=2), "b": Side(lambda: calls.append("b"))}
    samples = alternate(sides, rounds=2, shortest=0)
    assert calls == ["a", "b", "a", "b"]
    assert [len(values) for values in samples.values()] == [2, 2]


def test_page_shows_the_numbers_of_the_results_and_where_they_come_from(monkeypatch, tmp_path):
    case = case_of(monkeypatch, "made-up", made_up)
    path = tmp_path / "results.json"
    write_results(run_cases([case], RunSettings(seed=7), arguments=["made-up"]), path)
    page = render_page([read_results(path)], [case, BY_NAME["cora-epoch"]])
    assert "| **15** x faster | 12 to 18 | met, aim not |" in page
    assert "speedup at least 60 x faster (aim 100) | not measured" in page
    assert "python -m benchmarks made-up" in page
    assert "seed 7" in page
    assert "bytes: 2 GB" in page
    assert "the aim is 20" in page


def test_page_without_results_lists_every_case_as_not_measured():
    page = render_page([], CASES)
    assert page.count("not measured") == sum(len(case.figures) for case in CASES)


def test_quick_results_are_never_rendered(monkeypatch):
    results = run_cases([case_of(monkeypatch, "made-up", made_up)], RunSettings(quick=True))
    with pytest.raises(ValueError, match="quick run"):
        render_page([results], CASES)


def test_smaller_graph_of_a_quick_run_keeps_the_labeled_nodes_and_has_local_graphs():
    graph = generated_graph(2_000, seed=0)
    small = smaller(graph, 400, seed=0)
    assert small.num_nodes == 400
    assert len(small.train) == len(graph.train)
    assert (local_graphs(small, small.train, 2).sizes > 0).mean() > 0.5


def test_command_lists_cases_and_names_the_nearest_for_a_wrong_one(capsys):
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in BY_NAME)
    with pytest.raises(SystemExit):
        main(["cora-epoc"])
    assert "did you mean 'cora-epoch'" in capsys.readouterr().err


def test_command_writes_json_and_prints_a_table(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.__main__.CASES", (case_of(monkeypatch, "made-up", made_up),))
    path = tmp_path / "out" / "results.json"
    assert main(["made-up", "--json", str(path)]) == 0
    assert "15 x faster" in capsys.readouterr().out
    assert main(["render", str(path)]) == 0
    assert "**15** x faster" in capsys.readouterr().out


def test_the_readme_gets_the_measured_figures_and_keeps_the_rest(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    figures = [{"median": 78.84, "unit": "x faster"}]
    write_readme([{"cases": [{"name": "cora-epoch", "status": "measured", "figures": figures}]}], readme)
    found = readme.read_text().splitlines()
    assert (found[0], found[-1]) == ("before", "after")
    assert "old" not in found
    assert f"| {SHOWN['cora-epoch']} | 78.8 x faster |" in found
    assert f"| {SHOWN['pubmed']} | not measured |" in found
    assert set(SHOWN) <= set(BY_NAME)


def test_runs_are_read_from_the_first_to_the_last(tmp_path):
    for name, started in {"b": "2026-01-01T10:00:00+00:00", "a": "2026-01-02T10:00:00+00:00"}.items():
        write_results({"format": 1, "started": started}, tmp_path / f"{name}.json")
    runs = read_runs(sorted(tmp_path.glob("*.json")))
    assert [run["started"][:10] for run in runs] == ["2026-01-01", "2026-01-02"]


def test_the_speed_in_our_readme_is_that_of_the_published_results():
    published = read_runs((ROOT / "benchmarks" / "published").glob("cpu-*.json"))
    assert speed_table(published) in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_service_is_measured_by_real_requests():
    case = dataclasses.replace(BY_NAME["serve-cora"], dataset="tiny")
    (record,) = run_cases([case], RunSettings(quick=True))["cases"]
    assert record["status"] == "measured", record
    figures = {figure["name"]: figure["median"] for figure in record["figures"]}
    assert figures["answered of 50 readers at once"] == 100
