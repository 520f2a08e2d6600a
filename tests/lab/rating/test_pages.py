"""The pages: what a rater sees and sends, with reloads, double clicks, second windows and hostile input."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.rating import METHODS, RatingStore
from lab.rating.application import create_app
from rating_file import ITEMS, make_file
from web_client import UNLIMITED, Client

TOTAL = ITEMS * 4
PAGE = {"Accept": "text/html"}


class Browser:
    """Keeps a cookie, and reads the fields of the page it is on."""

    def __init__(self, app, name="ann"):
        self.client = Client(app)
        started = self.client.post("/start", data={"name": name}, headers=PAGE)
        assert started.status_code == 303, started.text
        self.headers = {**PAGE, "Cookie": started.headers["set-cookie"].partition(";")[0]}

    def page(self):
        return self.client.get("/", headers=self.headers).text

    def fields(self, form="/answer"):
        part = self.page().partition(f'action="{form}"')[2].partition("</form>")[0]
        return dict(re.findall(r'name="(pair|key)" value="([^"]*)"', part))

    def send(self, path, fields, **headers):
        return self.client.post(path, data=fields, headers={**self.headers, **headers})

    def answer(self, value, **headers):
        return self.send("/answer", {**self.fields(), "answer": value}, **headers)


@pytest.fixture
def app(store):
    return create_app(store, UNLIMITED)


def test_a_rater_answers_skips_undoes_and_comes_to_the_end(app, store):
    browser = Browser(app)
    for i in range(TOTAL):
        assert f"{i} of {TOTAL} answered" in browser.page()
        assert browser.answer(("similar", "different", "skipped")[i % 3]).headers["location"] == "/"
    assert "that was all" in browser.page()
    assert browser.send("/undo", browser.fields("/undo")).status_code == 303
    assert f"{TOTAL - 1} of {TOTAL} answered" in browser.page()
    assert len(store.ratings()) == TOTAL - 1


def test_a_reload_shows_the_same_pair(app):
    browser = Browser(app)
    browser.answer("similar")
    assert browser.fields()["pair"] == browser.fields()["pair"]


def test_nothing_on_a_page_names_a_method(app):
    browser = Browser(app)
    for _ in range(4):
        text = re.sub(r"<footer.*|<title>.*?</title>|se-gnn-\w+", "", browser.page().lower(), flags=re.S)
        assert not [name for name in METHODS if name in text]
        browser.answer("similar")


def test_a_double_click_counts_once_and_a_second_window_is_told(app, store):
    browser = Browser(app)
    first, second = browser.fields(), browser.fields()
    assert first["key"] != second["key"]
    for _ in range(2):
        assert browser.send("/answer", {**first, "answer": "similar"}).headers["location"] == "/"
    told = browser.send("/answer", {**second, "answer": "different"})
    assert told.headers["location"] == "/?note=elsewhere"
    page = browser.client.get("/?note=elsewhere", headers=browser.headers).text
    assert "answered on another page" in page
    assert [one.answer for one in store.ratings()] == ["similar"]


def test_a_script_gets_a_status_without_a_page(app):
    browser = Browser(app)
    fields = browser.fields()
    accept = {"Accept": "application/json"}
    assert browser.send("/answer", {**fields, "answer": "similar"}, **accept).status_code == 204
    conflict = browser.send("/answer", {**fields, "answer": "different"}, **accept)
    assert conflict.status_code == 409
    assert conflict.headers["content-type"] == "application/problem+json"


def test_two_raters_at_once_lose_nothing(app, store):
    def rate(name):
        browser = Browser(app, name)
        for _ in range(TOTAL):
            assert browser.answer("similar").status_code == 303
            browser.page()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(rate, ["ann", "bob"]))
    assert len(store.ratings()) == 2 * TOTAL


@pytest.mark.parametrize("fields", [{}, {"pair": "x"}, {"pair": "1" * 40}, {"pair": "1", "answer": "'; DROP"}])
def test_a_bad_form_is_answered_with_a_reason(app, store, fields):
    assert Browser(app).send("/answer", fields, Accept="application/json").status_code == 400
    assert store.ratings() == []


def test_without_a_name_nothing_is_kept(app):
    for headers in ({}, {"Cookie": "se-gnn-rater=made-up"}, {"Cookie": b"\xff\xfe=;;"}):
        answer = Client(app).post("/answer", data={"pair": "1"}, headers=headers)
        assert answer.status_code in (400, 403)


def test_a_form_from_another_site_is_refused(app, store):
    browser = Browser(app)
    fields = {**browser.fields(), "answer": "similar"}
    assert browser.send("/answer", fields, Origin="https://evil.example").status_code == 403
    assert browser.send("/answer", fields, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert store.ratings() == []


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>', "{{ 7 * 7 }}", "=1+1", "\u202eevil"])
def test_hostile_names_are_only_text(app, name):
    page = Browser(app, name).page()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert "49 " not in page


def test_a_bad_name_is_explained_on_the_page(app):
    answer = Client(app).post("/start", data={"name": " "}, headers=PAGE)
    assert answer.status_code == 400
    assert "between 1 and 60" in answer.text


def test_another_person_at_the_same_browser_starts_anew(app):
    browser = Browser(app)
    gone = browser.client.post("/leave", headers=browser.headers)
    assert "Max-Age=0" in gone.headers["set-cookie"]


def test_the_page_goes_on_after_the_server_was_started_again(tmp_path):
    path = make_file(tmp_path / "r.sqlite")
    first = RatingStore(path)
    browser = Browser(create_app(first, UNLIMITED))
    sent = {**browser.fields(), "answer": "similar"}
    browser.send("/answer", sent)
    first.close()
    second = RatingStore(path)
    browser.client = Client(create_app(second, UNLIMITED))
    assert browser.send("/answer", sent).status_code == 303  # the answer got lost on its way: the browser sends again
    assert "1 of 20 answered" in browser.page()
    second.close()
