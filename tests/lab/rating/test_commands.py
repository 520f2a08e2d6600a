"""`python -m lab rate` and `python -m lab ratings` as a user runs them; mistakes are found before any work."""

from __future__ import annotations

import csv
import sqlite3

import pytest

from lab.rating import RatingStore
from rating_file import make_file

QUICK = ("--prepare-only", "--methods", "se-gnn", "--items", "2")


def test_the_pairs_are_prepared_once_and_an_equal_command_goes_on(run, model, tmp_path):
    out = tmp_path / "r.sqlite"
    first = run("rate", model, "--out", out, "--prepare-only", "--methods", "se-gnn,mlp-k", "--items", "2")
    assert first.exit_code == 0, first.output
    assert "toy: training MLP-K ..." in first.output
    assert "Prepared 4 pairs" in first.output
    again = run("rate", model, "--out", out, "--prepare-only", "--methods", "mlp-k,se-gnn", "--items", "2")
    assert (again.exit_code, again.output) == (0, "")


@pytest.mark.parametrize(
    ("changed", "told"),
    [(("--items", "3"), "--items 2"), (("--seed", "5"), "--seed 0"), (("--methods", "mlp-k"), "--methods se-gnn")],
)
def test_a_file_of_other_settings_is_refused(run, model, tmp_path, changed, told):
    out = tmp_path / "r.sqlite"
    run("rate", model, "--out", out, *QUICK)
    other = run("rate", model, "--out", out, *QUICK, *changed)
    assert other.exit_code == 2
    assert f"was prepared with {told}; give the same again" in other.output


def test_a_file_of_other_models_is_refused(run, model, tmp_path):
    out = make_file(tmp_path / "r.sqlite", items=2, methods=("se-gnn",))
    other = run("rate", model, "--out", out, *QUICK)
    assert other.exit_code == 2
    assert "was prepared with other models (toy)" in other.output


def test_mistakes_are_found_before_any_work(run, model, tmp_path):
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("notes")
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    out = tmp_path / "new.sqlite"
    for arguments, told in [
        ((tmp_path, "--out", out), "is not a model folder"),
        ((model, text, "--out", out), "is not a model folder but a file"),
        ((model, model, "--out", out), "must be given once"),
        ((model, "--out", text), "not a file of ratings"),
        ((model, "--out", database), "an SQLite file of something else"),
        ((model, "--out", tmp_path), "is a folder"),
        ((model, "--out", tmp_path / "no" / "r.sqlite"), "does not exist"),
        ((model, "--out", out, "--methods", "gcn"), "unknown method 'gcn'"),
        ((model, "--out", out, "--items", "0"), "items must be between 1"),
        ((model, "--out", out, "--items", "500"), "--items must be at most"),
        ((model, "--out", out, "--host", "0.0.0.0"), "give --token-file"),
    ]:
        result = run("rate", *arguments)
        assert result.exit_code == 2, result.output
        assert told in result.output
        assert not out.exists()


def test_ratings_are_shown_with_intervals_and_agreement(run, tmp_path):
    path = make_file(tmp_path / "r.sqlite", items=2)
    empty = run("ratings", path)
    assert "0 answers by 0 raters" in empty.output
    store = RatingStore(path)
    for name in ("=cmd()", "bob"):
        rater = store.rater_named(name)
        for i, pair in enumerate(store.order(rater)):
            store.record(rater, pair, "similar" if pair % 2 else "different", f"{name} {i}")
    store.close()
    out = tmp_path / "answers.csv"
    result = run("ratings", path, "--out", out)
    assert result.exit_code == 0, result.output
    assert "16 answers by 2 raters" in result.output
    line = next(line for line in result.output.splitlines() if "SE-GNN" in line)
    assert line.split() == ["toy", "SE-GNN", "4", "100%", "51.0%", "to", "100%", "0"]
    assert "1.000" in result.output
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert {row["rater"] for row in rows} == {"'=cmd()", "bob"}
    assert {row["method"] for row in rows} == {"se-gnn", "mlp-k", "gcn-k", "gin-k"}


def test_ratings_of_something_else_are_refused(run, tmp_path):
    assert "is not there yet" in run("ratings", tmp_path / "none.sqlite").output
    path = make_file(tmp_path / "r.sqlite")
    result = run("ratings", path, "--out", tmp_path / "answers.txt")
    assert result.exit_code == 2
    assert ".csv" in result.output
