"""What a person can do in the explorer, in a real browser."""

from __future__ import annotations

import json
import re
from urllib.parse import quote_plus, unquote
from xml.etree import ElementTree

import numpy as np
import pytest

from chromium import until
from se_gnn.apps.explorer.states import node_href, node_key
from se_gnn.explain import explain
from se_gnn.labels.novelty import Novelty
from se_gnn.number_format import percent
from se_gnn.plot.style import readable
from se_gnn.ranking import WhatIf
from strategies import HUB, ISOLATED, UNLABELED

NODE = UNLABELED


def votes(page):
    """Names of the labeled neighbors, as the table has them."""
    until(page, "document.querySelector('#vote').ariaBusy !== 'true'")
    return page.locator("#vote tbody th .name").all_text_contents()


def expected(hub, node=NODE, **what_if):
    return explain(hub, node, what_if=WhatIf(**what_if))[0]


def names(explanation):
    return [readable(explanation.caption(one.node)) for one in explanation.votes]


def slide(page, name, value):
    """Move a slider as a hand does: it tells every step, and the last one when it is let go."""
    page.locator(f"input[name={name}]").evaluate(
        "(slider, value) => { slider.value = value; for (const kind of ['input', 'change'])"
        " slider.dispatchEvent(new Event(kind, { bubbles: true })); }",
        str(value),
    )


def test_a_node_is_found_by_its_name_and_its_explanation_is_read(page, hub):
    page.goto("/")
    assert page.locator("tbody tr").count() == 25
    page.get_by_label("search", exact=True).press_sequentially("N45")
    page.wait_for_url("**/?search=N45")
    until(page, "document.querySelectorAll('tbody tr').length === 1")
    page.locator("tbody th a").click()
    explanation = expected(hub)
    assert page.locator("h1").inner_text() == "n45"
    verdict = page.locator(".verdict").inner_text()
    assert explanation.predicted_name in verdict
    assert percent(explanation.probabilities[explanation.predicted]) in verdict
    assert votes(page) == names(explanation)
    assert page.locator(".sentence").inner_text() == explanation.sentence()


def test_pointing_at_an_edge_and_focusing_it_lights_its_match(page, hub):
    page.goto(f"/nodes/%23{NODE}")
    line = page.locator("figure.own polyline.m1").first
    line.scroll_into_view_if_needed()
    box = line.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("figure.own .edge.lit").count() == 1
    assert page.locator("figure:not(.own) .edge.lit").count() == 1
    assert "importance" in page.locator(".told").inner_text()
    page.mouse.move(0, 0)
    assert page.locator(".lit").count() == 0
    page.locator("figure.own svg").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("figure.own .edge.lit title").text_content()
    page.keyboard.press("ArrowRight")
    assert page.locator("figure.own .edge.lit title").text_content() != first
    page.keyboard.press("Escape")
    assert page.locator(".lit").count() == 0


def test_both_sliders_count_the_vote_again_and_the_address_says_so(page, hub):
    page.goto(f"/nodes/%23{NODE}")
    before = votes(page)
    slide(page, "num_nearest", 9)
    page.wait_for_url("**num_nearest=9**")
    assert votes(page) == names(expected(hub, num_nearest=9))
    slide(page, "node_weight", 1)
    page.wait_for_url("**node_weight=1**")
    other = expected(hub, num_nearest=9, node_weight=1.0)
    assert votes(page) == names(other) != before
    assert "With these settings the prediction" in page.locator(".changed").inner_text()
    assert percent(other.probabilities[other.predicted]) in page.locator(".verdict").inner_text()
    page.get_by_role("link", name="As trained").click()
    page.wait_for_url(f"**{node_href(hub.graph, NODE)}")
    assert votes(page) == before
    assert page.locator("input[name=num_nearest]").input_value() == "5"


def test_the_slider_of_the_crucial_subgraph_numbers_so_many_edges(page):
    page.goto(f"/nodes/%23{HUB}")
    for size in (2, 7):
        slide(page, "edges", size)
        page.wait_for_url(f"**edges={size}**")
        until(page, f"document.querySelectorAll('figure.own g.number').length === {size}")


def test_a_labeled_node_is_switched_off_and_on_again(page, hub):
    page.goto(f"/nodes/%23{NODE}")
    explanation = expected(hub)
    first = explanation.votes[0]
    page.get_by_role("button", name=re.compile("^Switch .* off$")).first.click()
    page.wait_for_url(f"**without={quote_plus(node_key(hub.graph, first.node))}**")
    assert votes(page) == names(expected(hub, without=(first.node,)))
    second = expected(hub, without=(first.node,)).votes[0].node
    page.get_by_role("button", name=re.compile("^Switch .* off$")).first.click()
    page.wait_for_url(f"**without={quote_plus(node_key(hub.graph, second))}**")
    assert votes(page) == names(expected(hub, without=(first.node, second)))
    # The box leaves the page when it is clicked; `uncheck` would look for it again.
    page.locator("#off input").first.click()
    page.wait_for_url(f"**{node_href(hub.graph, NODE)}?without={quote_plus(node_key(hub.graph, second))}")
    assert votes(page) == names(expected(hub, without=(second,)))


def test_another_neighbor_is_compared_with(page, hub):
    page.goto(f"/nodes/%23{NODE}")
    third = expected(hub).votes[2]
    page.locator("button[name=beside]").nth(1).click()  # the nearest is compared already
    page.wait_for_url(f"**beside={quote_plus(node_key(hub.graph, third.node))}**")
    assert readable(expected(hub).caption(third.node)) in page.locator("figure:not(.own) figcaption").inner_text()


def test_any_node_leads_on_and_back_and_forward_work(page, hub):
    page.goto(f"/nodes/%23{NODE}")
    slide(page, "num_nearest", 3)
    page.wait_for_url("**num_nearest=3**")
    three = votes(page)
    neighbor = expected(hub).votes[0]
    page.locator("#vote tbody th a").first.click()
    page.wait_for_url(f"**{node_href(hub.graph, neighbor.node)}")
    assert page.locator("h1 .name").text_content() == readable(expected(hub).caption(neighbor.node))
    page.go_back()
    page.wait_for_url("**num_nearest=3**")
    assert votes(page) == three
    page.go_back()
    page.wait_for_url(f"**{node_href(hub.graph, NODE)}")
    until(page, "document.querySelectorAll('#vote tbody tr').length === 5")
    assert page.locator("input[name=num_nearest]").input_value() == "5"
    page.go_forward()
    until(page, "document.querySelectorAll('#vote tbody tr').length === 3")
    other = page.locator("figure.own svg a").nth(1)
    target = other.get_attribute("href")
    other.dispatch_event("click")
    page.wait_for_url(f"**{target}")


def test_a_link_shows_another_person_the_same(page, browser, address):
    page.goto(f"/nodes/%23{NODE}")
    slide(page, "num_nearest", 8)
    slide(page, "node_weight", 0.25)
    page.wait_for_url("**node_weight=0.25**")
    mine = (votes(page), page.locator("#verdict").inner_text())
    context = browser.new_context()
    other = context.new_page()
    other.goto(page.url)
    assert (votes(other), other.locator("#verdict").inner_text()) == mine
    context.close()


def test_a_region_of_the_map_lists_its_nodes(page, hub, store):
    page.goto("/map")
    page.wait_for_selector("[data-map][data-ready]")
    box = page.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    page.wait_for_url("**left=**")
    until(page, "document.querySelector('#region').textContent.includes('in the region')")
    corners = {name: float(value) for name, value in re.findall(r"(left|bottom|right|top)=([\d.]+)", page.url)}
    points = store.snapshot.table.points
    inside = (points[:, 0] >= corners["left"]) & (points[:, 0] <= corners["right"])
    inside &= (points[:, 1] >= corners["bottom"]) & (points[:, 1] <= corners["top"])
    assert 0 < inside.sum() < len(inside)
    assert page.locator("#region").inner_text().startswith(f"{inside.sum()} node")
    links = page.locator("tbody th a").all()
    listed = [hub.graph.nodes.find(unquote(link.get_attribute("href").removeprefix("/nodes/"))) for link in links]
    assert listed == np.flatnonzero(inside)[:25].tolist()


def test_the_map_works_by_keyboard(page):
    page.goto("/map")
    page.wait_for_selector("[data-map][data-ready]")
    page.locator("canvas").focus()
    for key in ("+", "+", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**left=**")
    corners = [float(value) for value in re.findall(r"(?:left|right)=([\d.]+)", page.url)]
    assert corners[1] - corners[0] == pytest.approx(1 / 1.5**2, abs=0.01)


def test_what_is_seen_is_exported(page, hub):
    page.goto(f"/nodes/%23{NODE}?num_nearest=4")
    saved = {}
    for name in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        saved[name] = download.value.path().read_bytes()
    svg = ElementTree.fromstring(saved["SVG"])
    assert len(svg.findall("{http://www.w3.org/2000/svg}svg")) == 2
    assert saved["PNG"].startswith(b"\x89PNG")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert json.loads(download.value.path().read_text())["settings"]["num_nearest"] == 4
    with page.expect_download() as download:
        page.get_by_role("link", name="Report in one file").click()
    assert 'id="node-45"' in download.value.path().read_text()


def test_a_report_is_made_of_the_chosen_nodes(page):
    page.goto("/?part=test")
    for box in page.locator("td.choose input").all()[:2]:
        box.check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report on selected").click()
    assert re.findall(r'<article class="case" id="node-(\d+)"', download.value.path().read_text()) == ["36", "37"]


@pytest.fixture
def far(store):
    """Some nodes that have no answer, for as long as the test runs."""
    snapshot, table, nodes = store.snapshot, store.snapshot.table, np.array([3, NODE])
    judged, every = snapshot.novelty, np.arange(len(table))
    snapshot.novelty = Novelty(
        nodes=every, score=np.isin(every, nodes).astype(float), threshold=0.5, false_alarms=0.05, judged=len(every),
        smoothed=False, ridge=1.0, simulated=None,
    )  # fmt: skip
    table.judge(snapshot.novelty.abstains)
    yield nodes
    table.judge(np.zeros(len(table), bool))
    snapshot.novelty = judged


def test_a_node_unlike_anything_known_is_found_and_says_so(page, hub, far):
    page.goto("/")
    page.get_by_role("link", name="No answer").click()
    page.wait_for_url("**answered=false**")
    until(page, "document.querySelectorAll('tbody tr').length === 2")
    page.locator("tbody th a").first.click()
    page.wait_for_url(f"**{node_href(hub.graph, far[0])}")
    assert page.locator(".verdict").inner_text().startswith("No answer")
    assert "is predicted" not in page.locator("#verdict").inner_text()
    assert page.locator("#vote tbody tr").count() > 0  # the nearest cases stay as context
    page.goto(f"/nodes/%23{HUB}")
    assert page.locator(".far").count() == 0


def test_filters_and_order_are_part_of_the_address(page):
    page.goto("/")
    page.get_by_label("part of the split").select_option("test")
    page.wait_for_url("**part=test**")
    until(page, "document.querySelectorAll('tbody tr').length === 4")
    page.get_by_role("columnheader", name="probability").get_by_role("link").click()
    page.wait_for_url("**sort=probability**")
    assert "part=test" in page.url
    page.get_by_label("search", exact=True).fill("no such node")
    page.wait_for_selector(".empty")
    page.get_by_role("link", name="Show all nodes").click()
    until(page, "document.querySelectorAll('tbody tr').length === 25")
    assert page.get_by_label("part of the split").input_value() == ""


def test_a_server_that_does_not_answer_is_told_and_asked_again(page):
    page.goto(f"/nodes/%23{NODE}")
    page.route("**/nodes/**", lambda route: route.abort())
    slide(page, "num_nearest", 7)
    page.wait_for_selector("#trouble:not([hidden])")
    assert "cannot be reached" in page.locator("#trouble").inner_text()
    page.unroute("**/nodes/**")
    page.get_by_role("button", name="Try again").click()
    until(page, "document.querySelectorAll('#vote tbody tr').length === 7")
    assert page.locator("#trouble").is_hidden()
    page.problems[:] = [one for one in page.problems if "ERR_FAILED" not in one]


def test_hostile_names_are_text_and_nothing_else(page, hub):
    for path in ("/", "/?search=script", "/nodes/%231", "/nodes/%232", "/nodes/%236", "/nodes/%237", "/map", "/model"):
        page.goto(path)
        assert page.title() != "pwned"
        assert page.locator("main img, main u, main bdi > *").count() == 0
        assert page.evaluate("document.scripts.length") == 1
    page.goto("/nodes/%231")
    assert page.locator("h1 .name").text_content() == hub.graph.node_names[1]


@pytest.mark.parametrize("path", ["/", f"/nodes/%23{HUB}", f"/nodes/%23{ISOLATED}", "/map", "/model"])
def test_pages_fit_a_phone_light_and_dark_and_every_field_has_a_name(page, path):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    unnamed = """[...document.querySelectorAll("input:not([type=hidden]), select, button, canvas, svg[role=img]")]
        .filter((one) => !(one.ariaLabel || one.labels?.length || one.textContent.trim())).length"""
    assert page.evaluate(unnamed) == 0
    assert page.locator("h1, h2").count() >= 1
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_the_whole_page_of_a_node_is_reached_by_the_tab_key(page):
    page.goto(f"/nodes/%23{NODE}")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name || document.activeElement.tagName"))
    assert {"num_nearest", "node_weight", "edges", "beside", "without", "svg", "A"} <= reached


@pytest.mark.slow
def test_a_hundred_thousand_points_are_drawn_fluidly(page):
    generator = np.random.default_rng(0)
    count, steps = 100_000, 65_535
    columns = {
        "total": count, "steps": steps, "classes": ["a", "b"], "colors": ["#E69F00", "#56B4E9"],
        "node": list(range(count)), "x": generator.integers(0, steps, count).tolist(),
        "y": generator.integers(0, steps, count).tolist(), "predicted": generator.integers(0, 2, count).tolist(),
        "labeled": [0] * count,
    }  # fmt: skip
    page.route("**/v1/map", lambda route: route.fulfill(json=columns))
    page.goto("/map")
    page.wait_for_selector("[data-map][data-ready]")
    took = page.evaluate(
        """async () => {
          const canvas = document.querySelector("canvas");
          const began = performance.now();
          for (let i = 0; i < 30; i++) {
            canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "ArrowLeft" : "ArrowRight" }));
            await new Promise(requestAnimationFrame);
          }
          return (performance.now() - began) / 30;
        }"""
    )
    assert took < 50  # milliseconds per frame
