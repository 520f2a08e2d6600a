"""The page comes from result files alone: means, deviations, what is missing, what made it."""

import pytest

from reproduce import default, figure_5, figure_7, goals, rivals, table_2, table_4, table_5
from reproduce.__main__ import chosen_jobs, main
from reproduce.experiments import EXPERIMENTS, on_results_page
from reproduce.job import Job, jobs_of
from reproduce.markdown import spread
from reproduce.methods import classify
from reproduce.page import README_END, README_START, write_page, write_readme
from reproduce.store import Result, Store
from se_gnn.errors import InputError

MACHINE = {"cores": 2, "cpu": "a CPU", "gpu": None, "memory_gb": 8.2, "python": "3.12.1", "packages": {"torch": "2.7"}}
MADE = {"command": "python -m reproduce run all --seeds 5", "commit": "abc123", "machine": MACHINE}


def put(store, series, *values, seconds=60.0):
    """A result for each seed, with these accuracies."""
    for seed, value in enumerate(values):
        shares = [value] * 8
        measures = {"accuracy": value, "precision_at_5": value, "precision": shares, "role_precision": shares}
        store.put(Job(series, seed), Result(seed, measures, seconds, MADE))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def test_a_cell_is_mean_and_deviation_in_percent(store):
    gcn = classify("cora", "gcn")
    put(store, gcn, 0.8, 0.81, 0.82, 0.83, 0.84)
    assert spread(store.of(gcn), "accuracy") == "82.0 ± 1.4"  # sqrt((4 + 1 + 0 + 1 + 4) / 5) = 1.41


def test_a_cell_of_fewer_seeds_says_so_and_nothing_is_made_up(store):
    gcn = classify("cora", "gcn")
    assert spread(store.of(gcn), "accuracy") == "not run yet"
    put(store, gcn, 0.8, 0.9)
    assert spread(store.of(gcn), "accuracy") == "85.0 ± 5.0 (2 seeds)"
    assert spread(store.of(gcn), "edge_accuracy") == "-"


def test_table_2_has_print_and_ours_side_by_side(store, tmp_path):
    put(store, classify("cora", "gcn"), *[0.815] * 5)
    rows = table_2.render(store, tmp_path).splitlines()
    assert "| GCN | 80.8 ± 1.1 | 81.5 ± 0.0 | 71.9 ± 1.0 | not run yet | 78.4 ± 0.4 | not run yet |" in rows


def test_the_page_shows_every_experiment_and_what_made_it(store, tmp_path):
    put(store, classify("cora", "se-gnn"), *[0.8] * 5)
    put(store, classify("citeseer", "gcn", noise="metattack-0.25"), 0.5)
    page = write_page(store, tmp_path / "docs").read_text(encoding="utf-8")
    assert [page.count(f"## {one.TITLE}\n") for one in on_results_page().values()] == [1] * 14
    assert "Made by `python -m reproduce run table-2` on machine A, seeds 0-4; each row of `table-2.jsonl` in" in page
    assert "- A: 2 cores of a CPU, 8 GB; Python 3.12.1, torch 2.7" in page
    assert "| `table-2` | 5 | 5 min | 60 s |" in page
    assert (tmp_path / "docs/results/figure-5.svg").exists()
    assert not (tmp_path / "docs/results/figure-6.svg").exists()  # nothing to show yet
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / "docs" / line.split("(")[1].rstrip(")")).exists()


def test_without_any_result_all_is_said_to_be_missing(store, tmp_path):
    page = write_page(store, tmp_path / "docs").read_text(encoding="utf-8")
    assert page.count("> Not run yet: `make reproduce-") == 13
    assert "![" not in page


def test_all_pictures_are_drawn_from_full_results(store, tmp_path):
    for experiment in EXPERIMENTS.values():
        for series in experiment.series():
            if series.kind == "classify":
                put(store, series, 0.7, 0.8)
    write_page(store, tmp_path / "docs")
    drawn = {path.name for path in (tmp_path / "docs/results").iterdir()}
    assert drawn == {"figure-3.svg", "figure-5.svg", "figure-6.svg", "figure-7.svg"}


def test_the_readme_keeps_all_but_its_table(store, tmp_path):
    for method in default.METHODS:
        put(store, default.on_graph("cora", method), *[0.78] * 10)
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{README_START}\nold\n{README_END}\nafter\n", encoding="utf-8")
    write_readme(store, readme)
    text = readme.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert f"| Cora, public split {'| 78.0 ± 0.0 ' * len(default.METHODS)}|" in text


def test_goals_are_judged_on_the_means(store):
    put(store, classify("cora", "se-gnn"), 0.79, 0.82)
    put(store, classify("citeseer", "se-gnn", noise="metattack-0.25"), 0.7)
    put(store, classify("citeseer", "gcn", noise="metattack-0.25"), 0.61)
    put(store, classify("cora", "gcn"), 0.8)
    put(store, classify("cora", "gin"), 0.5)
    text = goals.render(store)
    assert "| Cora, accuracy | 80 | 80.5 | yes |" in text
    assert "| Citeseer at 25% Metattack, points above GCN | 10 | 9.0 | no |" in text
    assert "| Citeseer at 25% Metattack, points above Pro-GNN | 0 | not run yet | not run yet |" in text
    assert text.endswith(
        "1 of 2 baseline results of Table 2 are within 1.5 points of the print. Further away: GIN on Cora (-30.5)."
    )


def test_published_numbers_stand_beside_ours_with_source_and_split(store, tmp_path):
    assert rivals.render(store, tmp_path) == ""
    put(store, default.on_graph("cora", "se-gnn"), *[0.845] * 10)
    ours, *others = [row for row in rivals.render(store, tmp_path).splitlines() if row.startswith("| ")][2:]
    assert "| public | 84.5 ± 0.0 | not run yet | not run yet | this page |" in ours
    assert [row.count("](https://") for row in others] == [1] * len(rivals.published()["rival"])
    assert [row.split(" | ")[0] for row in others if "black box" in row] == ["| GRAND", "| tuned GCN"]


def test_only_narrows_the_jobs_and_knows_its_words():
    jobs = chosen_jobs(["table-2"], 2, ["cora,citeseer", "gcn"])
    assert {job.series.name for job in jobs} == {"classify/cora/gcn", "classify/citeseer/gcn"}
    with pytest.raises(InputError, match=r"--only 'citesear' names no job here \(did you mean 'citeseer'\?\)"):
        chosen_jobs(["table-2"], 1, ["citesear"])


def test_figures_share_the_series_of_table_2():
    usual = {series.name for series in table_2.series()}
    assert figure_5.at_rate("gcn", "random", 0).name in usual
    assert figure_7.with_weights(0.01, 0.01).name in usual
    assert len(jobs_of(figure_7.series(), 1)) == 25
    assert {series.name for series in table_4.series()}.isdisjoint(usual)


def test_names_of_series_are_unique_among_all_experiments():
    every = [series for experiment in EXPERIMENTS.values() for series in experiment.series()]
    by_name = {}
    for series in every:
        assert by_name.setdefault(series.name, series.settings) == series.settings


def test_protocols_are_those_of_the_metrics():
    from lab.metrics import AUC_PROTOCOLS

    assert tuple(AUC_PROTOCOLS) == table_5.PROTOCOLS


def test_wrong_words_on_the_command_line_are_a_clear_error(capsys):
    assert main(["run", "table-2", "--only", "nothing"]) == 1
    assert "--only 'nothing' names no job here" in capsys.readouterr().err


def test_measures_of_a_case_are_drawn(tmp_path):
    from reproduce.figure_4 import draw_case

    view = {"nodes": [3, 5], "hops": [0, 1], "edges": [[3, 5]], "numbers": [[1]], "hidden": 2}
    other = {"nodes": [8, 5], "hops": [0, 1], "edges": [[5, 8]], "numbers": [[1]], "hidden": 0}
    case = {
        "views": {"target": view, "se-gnn": other},
        "places": [[[0, 0], [1, 1]], [[-1, 0], [1, 1]]],
        "nodes": [3, 5, 8],
        "labels": [0, 1, 1],
        "labeled": [8],
        "class_names": ["DB", "IR"],
    }
    assert draw_case(case, tmp_path / "results" / "figure-4.svg").endswith("(results/figure-4.svg)")
    picture = (tmp_path / "results" / "figure-4.svg").read_text(encoding="utf-8")
    assert picture.count('id="digit"') == 2
