"""What a person does in a browser: rate ten pairs by keyboard and mouse, reload in the middle, undo, go offline."""

from __future__ import annotations

import pytest

from chromium import watched_page
from lab.rating import RatingStore
from lab.rating.application import create_app
from live_server import serving
from rating_file import make_file
from web_client import UNLIMITED


def open_page(browser, address, name, **options):
    page = watched_page(browser.new_context(**options))
    page.goto(address)
    page.get_by_label("your name").fill(name)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Are the two local graphs similar?").wait_for()
    page.wait_for_load_state("load")  # the heading is there before the script that reads the keys
    return page


def answered(page, count):
    page.get_by_text(f"{count} of 20 answered").first.wait_for()


def test_two_people_rate_ten_pairs_with_a_reload_in_the_middle(browser, tmp_path):
    store = RatingStore(make_file(tmp_path / "ratings.sqlite"))
    with serving(create_app(store, UNLIMITED)) as address:
        ann, bob = (open_page(browser, address, name) for name in ("ann", "bob"))
        for i in range(5):
            ann.keyboard.press("sdk"[i % 3])
            bob.get_by_role("button", name="Not similar").dblclick()
            answered(ann, i + 1)
            answered(bob, i + 1)
        shown = ann.get_by_role("img").first.get_attribute("aria-label"), ann.locator("[name=pair]").first.input_value()
        ann.reload()
        assert ann.locator("[name=pair]").first.input_value() == shown[1]
        assert shown[0] == "Local graph"
        ann.get_by_role("button", name="Undo").click()
        answered(ann, 4)
        for i in range(4, 10):
            ann.get_by_role("button", name="Similar S", exact=True).focus()
            ann.keyboard.press("Enter")
            answered(ann, i + 1)
        assert ann.problems == []
    found = store.ratings()
    store.close()
    assert [one.answer for one in found if one.rater == "bob"] == ["different"] * 5
    assert [one.answer for one in found if one.rater == "ann"] == [
        "similar", "different", "skipped", "similar", *["similar"] * 6
    ]  # fmt: skip


def test_an_answer_is_sent_again_until_the_server_is_back(browser, tmp_path):
    store = RatingStore(make_file(tmp_path / "ratings.sqlite"))
    with serving(create_app(store, UNLIMITED)) as address:
        page = open_page(browser, address, "ann")
        page.context.set_offline(True)
        page.keyboard.press("s")
        page.get_by_text("Not saved yet").wait_for()
        assert store.ratings() == []
        page.context.set_offline(False)
        answered(page, 1)
    assert len(store.ratings()) == 1
    store.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark(browser, tmp_path, scheme):
    store = RatingStore(make_file(tmp_path / "ratings.sqlite"))
    size = {"width": 360, "height": 740}
    with serving(create_app(store, UNLIMITED)) as address:
        page = open_page(browser, address, "ann", viewport=size, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        for button in page.locator(".answers button").all():
            assert button.is_visible()
            assert button.bounding_box()["height"] >= 40
        assert page.problems == []
    store.close()
