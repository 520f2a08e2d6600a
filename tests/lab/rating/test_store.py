"""Answers are kept once, can be taken back, and are lost by no thread, key or second page."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.rating import RatingStore
from lab.rating.store import ANSWERS, ConflictError
from rating_file import ITEMS, make_file
from se_gnn.errors import InputError

TOTAL = ITEMS * 4


def answer_all(store, name):
    rater = store.rater_named(name)
    for i in range(TOTAL):
        pair = store.standing(rater).question.pair
        store.record(rater, pair, ANSWERS[i % 3], f"{name}-{i}")
    return rater


def test_answers_are_on_the_disk_when_they_are_acknowledged(store, file):
    answer_all(store, "ann")
    with sqlite3.connect(file) as other:
        assert other.execute("SELECT count(*) FROM answer").fetchone() == (TOTAL,)
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._connection.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL


def test_raters_at_once_lose_nothing(store, file):
    names = [f"rater {i}" for i in range(6)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: answer_all(store, name), names))
    assert len(store.ratings()) == len(names) * TOTAL
    assert all(store.standing(store.rater_named(name)).question is None for name in names)


def test_two_processes_may_write_at_once(file):
    stores = [RatingStore(file), RatingStore(file)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(answer_all, stores, ["ann", "bob"]))
    assert len(stores[0].ratings()) == 2 * TOTAL


def test_the_same_click_counts_once(store):
    rater = store.rater_named("ann")
    pair = store.standing(rater).question.pair
    start = threading.Barrier(8)

    def click(_):
        start.wait()
        store.record(rater, pair, "similar", "one click")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(click, range(8)))
    assert [one.answer for one in store.ratings()] == ["similar"]


def test_an_answer_from_a_second_page_does_not_replace_the_first(store):
    rater = store.rater_named("ann")
    pair = store.standing(rater).question.pair
    store.record(rater, pair, "similar", "page 1")
    with pytest.raises(ConflictError, match="another page"):
        store.record(rater, pair, "different", "page 2")
    with pytest.raises(ConflictError, match="first answer counts"):
        store.record(rater, pair, "different", "page 1")
    assert [one.answer for one in store.ratings()] == ["similar"]


def test_undo_asks_the_same_pair_again_and_keeps_a_record(store, file):
    rater = store.rater_named("ann")
    pair = store.standing(rater).question.pair
    store.record(rater, pair, "similar", "first")
    for _ in range(2):  # a double click
        store.undo(rater, pair, "undo")
    assert store.standing(rater).question.pair == pair
    assert store.ratings() == []
    store.record(rater, pair, "different", "second")
    assert [one.answer for one in store.ratings()] == ["different"]
    with sqlite3.connect(file) as other:
        assert other.execute("SELECT count(*) FROM answer WHERE undone_at IS NOT NULL").fetchone() == (1,)


def test_only_the_last_answer_can_be_undone(store):
    rater = answer_all(store, "ann")
    first, last = store.order(rater)[0], store.standing(rater).last
    with pytest.raises(ConflictError, match="not the last answer"):
        store.undo(rater, first, "a")
    store.undo(rater, last, "b")
    assert len(store.ratings()) == TOTAL - 1


def test_the_same_name_goes_on_after_the_file_is_opened_again(file):
    first = RatingStore(file)
    rater = first.rater_named("Ann  Lee")
    asked = first.standing(rater).question.pair
    first.record(rater, asked, "skipped", "k")
    first.close()
    again = RatingStore(file)
    assert again.rater_named("ann lee") == rater
    assert again.standing(rater).question.pair == again.order(rater)[1]
    assert again.standing(rater).skipped == 1


@pytest.mark.parametrize("name", ["", "  \n ", "x" * 61])
def test_a_name_must_be_there_and_short(store, name):
    with pytest.raises(InputError, match="between 1 and 60"):
        store.rater_named(name)


@pytest.mark.parametrize(
    ("pair", "answer", "key"), [(1, "maybe", "k"), (999, "similar", "k"), (1, "similar", ""), (1, "similar", "k" * 65)]
)
def test_a_bad_answer_is_refused(store, pair, answer, key):
    with pytest.raises(InputError):
        store.record(store.rater_named("ann"), pair, answer, key)
    assert store.ratings() == []


def test_a_file_of_something_else_is_refused_and_not_changed(tmp_path):
    other, text = tmp_path / "other.sqlite", tmp_path / "text.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    text.write_text("dear diary, today I wrote a long text")
    for path, reason in [(other, "something else"), (text, "nor an SQLite file"), (tmp_path, "is a folder")]:
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(InputError, match=reason):
            RatingStore(path)
        assert (path.read_bytes() if path.is_file() else b"") == before
    with pytest.raises(InputError, match="is not there yet"):
        RatingStore(tmp_path / "missing.sqlite")


def test_a_damaged_file_is_refused(tmp_path):
    path = make_file(tmp_path / "r.sqlite")
    content = bytearray(path.read_bytes())
    content[100:4096] = bytes(3996)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|something else"):
        RatingStore(path)


def test_a_newer_version_is_refused(file):
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(InputError, match="newer se-gnn"):
        RatingStore(file)
