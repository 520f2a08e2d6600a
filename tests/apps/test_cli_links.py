"""Links from the command line: train, predict pairs, recommend, explain and report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.datasets.links import planted_links
from se_gnn.graph.storage import save_graph
from se_gnn.links import PairExplanation, SEGNNLinkPredictor
from tests.commands import Run


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """A model of links."""
    folder = tmp_path_factory.mktemp("links")
    save_graph(planted_links(families=12, seed=1).graph, folder / "graph")
    result = run("train", folder / "graph", "--task", "links", "--out", folder / "model", "--set", "node_weight=1")
    assert result.exit_code == 0, result.output
    assert "hidden link" in result.output
    return folder / "model"


def test_pairs_of_a_file_get_probabilities(linked: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("source,target\n1,5\n#2,40\n", encoding="utf-8")
    result = run("predict", linked, "--pairs", tmp_path / "pairs.csv", "--out", tmp_path / "found.jsonl")
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = SEGNNLinkPredictor.load(linked).predict_proba([(1, 5), (2, 40)])
    assert [one["probability"] for one in found] == expected.tolist()


def test_recommendations_are_printed_or_written(linked: Path, run: Run, tmp_path: Path) -> None:
    shown = run("recommend", linked, "--nodes", "3", "--k", "2")
    assert shown.exit_code == 0, shown.output
    names = [one.name for one in SEGNNLinkPredictor.load(linked).recommend(3, 2)]
    assert all(f"\n{name} " in shown.output for name in names)
    assert run("recommend", linked, "--out", tmp_path / "all.csv", "--k", "1").exit_code == 0
    assert len((tmp_path / "all.csv").read_text(encoding="utf-8").splitlines()) == 1 + 96
    assert "give --nodes" in run("recommend", linked).output


def test_a_pair_is_explained_in_words_json_and_a_page(linked: Path, run: Run, tmp_path: Path) -> None:
    words = run("explain", linked, "--pair", "3,15")
    assert words.exit_code == 0, words.output
    assert "chance that 3 is linked with 15" in words.output
    read = PairExplanation.from_dict(json.loads(run("explain", linked, "--pair", "3,15", "--json").output))
    assert read == SEGNNLinkPredictor.load(linked).explain(3, 15)
    assert run("report", linked, "--pair", "3,15", "--pair", "1,2", "--out", tmp_path / "pair.html").exit_code == 0
    page = (tmp_path / "pair.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    for vote in read.votes:
        assert f"{vote.contribution:+.2f}" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "--pair", "3"), "two nodes with a comma between"),
        (("explain", "--pair", "3,nobody"), "nobody"),
        (("explain", "--node", "3"), "explain --pair"),
        (("explain", "--pair", "3,4", "--node", "3"), "--node has an effect only without --pair"),
        (("predict", "--out", "x.csv"), "predict --pairs"),
        (("report", "--out", "x.html"), "report --pair"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: tuple[str, ...], message: str, linked: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(arguments[0], linked, *arguments[1:])
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


def test_training_links_refuses_what_it_does_not_read(linked: Path, run: Run, tmp_path: Path) -> None:
    graph = linked.parent / "graph"
    for given, message in (
        (("--preset", "paper"), "--preset has an effect only without --task links"),
        (("--set", "epochs=2"), "takes num_nearest and node_weight"),
        (("--set", "num_nearest=0"), "num_nearest must be at least 1, got 0"),
    ):
        result = run("train", graph, "--task", "links", "--out", tmp_path / "model", *given)
        assert result.exit_code != 0
        assert message in " ".join(result.output.split())
    again = run("train", graph, "--task", "links", "--out", linked)
    assert "already holds a model; --overwrite" in again.output
