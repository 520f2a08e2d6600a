"""Rows of results: found by settings although settings come and go, removed when nothing shows them."""

import json

import pytest

from reproduce.experiments import EXPERIMENTS, file_names
from reproduce.job import Job, Series, series_name
from reproduce.json_lines import append_row, read_rows, write_rows
from reproduce.methods import preset_on, se_gnn_settings
from reproduce.prune import wanted_rows
from reproduce.settings_digest import digest_of, same_settings
from reproduce.store import RESULTS, Result, Store
from se_gnn.errors import InputError
from se_gnn.settings import Settings

GCN = Series(kind="counting", dataset="cora", method="gcn", settings={"depth": 2})


def test_a_setting_that_came_later_is_one_that_is_off():
    stored = {"values": {"num_nearest": 5}}
    assert same_settings(stored, {"values": {"num_nearest": 5, "later": None}})
    assert not same_settings(stored, {"values": {"num_nearest": 5, "later": 60}})
    assert not same_settings(stored, {"values": {"num_nearest": 6, "later": None}})


def test_a_setting_that_is_gone_was_off():
    wanted = {"values": {"num_nearest": 5}}
    assert same_settings({"values": {"num_nearest": 5, "gone": None}}, wanted)
    assert not same_settings({"values": {"num_nearest": 5, "gone": 1}}, wanted)


def test_a_new_setting_begins_as_what_was_done_before_wherever_the_settings_are():
    defaults = Settings.of("paper").resolve().values()
    for whole in (lambda values: {"values": values}, lambda values: {"config": {"values": values}}):
        stored = {name: value for name, value in defaults.items() if name != "members"}
        assert same_settings(whole(stored), whole(defaults))
        assert not same_settings(whole(stored), whole(defaults | {"members": 2}))


def test_what_was_given_counts_even_if_it_equals_the_default():
    one, other = se_gnn_settings("cora", "best"), se_gnn_settings("cora", "best", num_nearest=40)
    assert one["values"] == other["values"]
    assert not same_settings(one, other)


def test_digests_are_equal_for_equal_settings_alone():
    assert digest_of({"a": {"b": 1, "c": 2}}) == digest_of({"a": {"c": 2, "b": 1, "off": None}})
    assert digest_of({"a": {"b": 1}}) != digest_of({"a": {"b": 2}})


def test_the_last_row_of_a_job_counts(tmp_path):
    store = Store(tmp_path)
    for value in (0.1, 0.2):
        store.put(Job(GCN, 0), Result(0, {"accuracy": value}, 1, {}))
    for read in (store, Store(tmp_path)):
        assert [result.measures["accuracy"] for result in read.of(GCN)] == [0.2]


def test_a_row_that_a_kill_cut_short_is_not_there_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "x.jsonl"
    append_row(path, {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2, "half')
    assert read_rows(path) == [{"n": 1}]
    append_row(path, {"n": 3})
    assert read_rows(path) == [{"n": 1}, {"n": 3}]


def test_a_damaged_line_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": \n{"n": 3}\n')
    with pytest.raises(InputError, match=r"x\.jsonl:2 is truncated or damaged"):
        read_rows(path)


def test_a_file_without_rows_goes(tmp_path):
    path = tmp_path / "x.jsonl"
    write_rows(path, [{"n": 1}])
    write_rows(path, [])
    assert not path.exists()


def test_what_nothing_shows_is_pruned(tmp_path):
    store = Store(tmp_path)
    shown = next(one for one in EXPERIMENTS["table-2"].series() if one.method == "gcn")
    old = Series(kind="classify", dataset=shown.dataset, method="gcn", settings={"hidden_size": 99})
    for series, seed, commit in ((shown, 0, "abc"), (shown, 1, "abc with changes"), (old, 2, "abc"), (GCN, 0, "abc")):
        store.put(Job(series, seed, "table-2"), Result(seed, {}, 1, {"commit": commit}))
    assert store.keep(wanted_rows()) == 3
    assert [result.seed for result in store.of(shown)] == [0]


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_committed_rows_say_what_made_them(path):
    homes = file_names()
    for row in read_rows(path):
        assert row["digest"] == digest_of(row["settings"])
        assert row["made"]["command"].startswith("python ")
        assert row["made"]["commit"]
        assert "changes" not in row["made"]["commit"]
        assert row["made"]["machine"]
        assert isinstance(row["job"]["seed"], int)
        assert homes.get(series_name(row["job"]), path.stem) == path.stem
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[-1])


def test_results_of_the_authors_settings_are_current():
    """The default of a new setting must be what was done before."""
    store = Store()
    for dataset in ("citeseer", "pubmed"):
        assert len(store.of(preset_on(dataset, "authors"))) == 5


def test_a_line_that_was_cut_short_goes_before_the_next_is_written(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b'{"b": ' + b"9" * 100_000)
    append_row(path, {"c": 3})
    assert read_rows(path) == [{"a": 1}, {"c": 3}]
