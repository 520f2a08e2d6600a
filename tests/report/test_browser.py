"""Pages in a real browser: nothing is loaded, nothing goes wrong, edges light up together, names stay names."""

from __future__ import annotations

import json
import time

import pytest

from se_gnn import Config, load_dataset
from se_gnn.explain import Explainer
from se_gnn.plot.text import readable
from se_gnn.report import report_html
from strategies import untrained

NODE = 45


@pytest.fixture(scope="module")
def page(hub):
    return report_html(hub, [NODE, 0, 1, 2, 4, 5, 6, 7, 8, 58], k=3)


def lit(browser, what):
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.querySelector('title')?.textContent)", what
    )


def names_of(edge, graph):
    return " – ".join(f"\u2068{readable(graph.node_names[node])}\u2069" for node in edge)


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def outside(browser):
    """Addresses that were asked for and are not in the page."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert asked  # the page itself
    return [url for url in asked if not url.startswith(("data:", "file:"))]


def test_the_page_asks_for_nothing_and_reports_no_error(open_page, page):
    browser = open_page(page)
    browser.execute_script("window.scrollTo(0, document.body.scrollHeight)")
    assert errors(browser) == []
    assert outside(browser) == []


def test_the_policy_stops_what_a_page_might_be_made_to_do(open_page, page):
    """The browser itself refuses; without this the test above would prove less."""
    browser = open_page(page.replace("</main>", "<script>document.title='ran'</script></main>"))
    assert browser.title != "ran"


def test_pointing_at_an_edge_lights_its_match_in_every_picture_and_in_the_table(open_page, page, hub):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browser = open_page(page)
    explanation = Explainer(hub).explain(NODE)
    (edge,) = explanation.crucial_subgraph(size=1).edge_ids.tolist()
    position = explanation.edge_ids.tolist().index(edge)
    article = f"#node-{NODE}"
    line = browser.find_element(By.CSS_SELECTOR, f"{article} figure.own line.m1")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", line)
    ActionChains(browser).move_to_element(line).perform()
    (own,) = lit(browser, f"{article} figure.own .edge.lit")
    assert own.startswith(names_of(hub.graph.edges[edge], hub.graph))
    for rank, neighbor in enumerate(explanation.neighbors[:3]):
        (title,) = lit(browser, f"{article} figure:nth-of-type({rank + 2}) .edge.lit")
        assert title.startswith(names_of(hub.graph.edges[neighbor.matches.matched_ids[position]], hub.graph))
    rows = browser.find_elements(By.CSS_SELECTOR, f"{article} tr.lit")
    assert [row.get_attribute("data-m") for row in rows] == [str(edge)]
    told = browser.find_element(By.CSS_SELECTOR, f"{article} .told").text
    assert "importance" in told
    assert explanation.neighbors[0].name in told
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, f"{article} h3")).perform()
    assert lit(browser, ".lit") == []


def test_a_row_lights_its_edges(open_page, page, hub):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browser = open_page(page)
    row = browser.find_element(By.CSS_SELECTOR, f"#node-{NODE} tr[data-m]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", row)
    place = "return arguments[0].getBoundingClientRect().top + window.scrollY"
    top = browser.execute_script(place, row)
    ActionChains(browser).move_to_element(row).perform()
    assert browser.execute_script(place, row) == top  # nothing jumps
    (own,) = lit(browser, f"#node-{NODE} figure.own .edge.lit")
    edge = hub.graph.edges[int(row.get_attribute("data-m"))]
    assert own.startswith(names_of(edge, hub.graph))


def test_the_keyboard_does_what_the_pointer_does(open_page, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_page(page)
    ActionChains(browser).send_keys(Keys.TAB).perform()
    assert browser.switch_to.active_element.text == "Skip to the content"
    picture = browser.find_element(By.CSS_SELECTOR, f"#node-{NODE} figure.own svg")
    browser.execute_script("arguments[0].focus()", picture)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    first = lit(browser, f"#node-{NODE} figure.own .edge.lit")
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    second = lit(browser, f"#node-{NODE} figure.own .edge.lit")
    assert len(first) == len(second) == 1
    assert first != second
    ActionChains(browser).send_keys(Keys.ARROW_LEFT).perform()
    assert lit(browser, f"#node-{NODE} figure.own .edge.lit") == first
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert lit(browser, ".lit") == []


def test_a_tap_holds_an_edge_until_the_next(open_page, page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browser = open_page(page)
    line = browser.find_element(By.CSS_SELECTOR, f"#node-{NODE} figure.own line.m1")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", line)
    ActionChains(browser).move_to_element(line).click().perform()
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, f"#node-{NODE} h3")).perform()
    assert len(lit(browser, f"#node-{NODE} figure.own .edge.lit")) == 1


def test_hostile_names_are_text_and_nothing_else(open_page, page, hub):
    from selenium.webdriver.common.by import By

    browser = open_page(page)
    assert browser.title == "<script>hub</script> · se-gnn report"
    assert browser.execute_script("return document.scripts.length") == 1
    assert (
        browser.execute_script(
            "return document.querySelectorAll('main img, main b > i, u, main i:not(.symbol)').length"
        )
        == 0
    )
    for node in (1, 2, 4, 5, 6, 7, 8):
        heading = browser.find_element(By.CSS_SELECTOR, f"#node-{node} h3 bdi")
        assert heading.get_attribute("textContent") == readable(hub.graph.node_names[node])
        direction = "return getComputedStyle(arguments[0]).unicodeBidi"
        assert browser.execute_script(direction, heading) == "isolate"
    chips = browser.find_elements(By.CSS_SELECTOR, "#model .chip")
    assert [chip.get_attribute("textContent") for chip in chips] == list(hub.graph.class_names)


def test_long_tables_open_on_demand(open_page, page):
    from selenium.webdriver.common.by import By

    browser = open_page(page)
    shown = "return [...document.querySelectorAll('#node-0 tr[data-m]')].filter(r => r.getClientRects().length).length"
    assert browser.execute_script(shown) == 8
    button = browser.find_element(By.CSS_SELECTOR, "#node-0 button")
    assert button.get_attribute("aria-expanded") == "false"
    browser.execute_script("arguments[0].click()", button)
    assert browser.execute_script(shown) > 8
    assert button.get_attribute("aria-expanded") == "true"


def test_a_phone_has_no_need_to_scroll_sideways(open_page, page):
    browser = open_page(page)
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_color_schemes(open_page, page, scheme):
    browser = open_page(page)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    pairs = browser.execute_script(
        """
        const style = getComputedStyle(document.documentElement);
        const color = (name) => style.getPropertyValue(name).trim();
        const on = ["--paper", "--raised"].map(color);
        const text = ["--ink", "--faint", "--accent", "--right", "--wrong"].map(color);
        const numbers = ["--m1", "--m2", "--m3", "--m4", "--m5"].map((name) => [color("--on-m"), color(name)]);
        return [...text.flatMap((one) => on.map((back) => [one, back])), ...numbers];
        """
    )
    assert len(pairs) == 15
    assert min(contrast(*pair) for pair in pairs) >= 4.5
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_on_paper_everything_is_open_and_light(open_page, page):
    browser = open_page(page)
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    hidden = "return [...document.querySelectorAll('tr[data-m]')].filter(r => !r.getClientRects().length).length"
    assert browser.execute_script(hidden) == 0


@pytest.mark.slow
def test_fifty_nodes_of_cora_take_seconds_and_few_bytes(data_dir, open_page):

    graph = load_dataset("cora", data_dir=data_dir)
    trained = untrained(graph, Config.preset("best", dataset="cora"))
    report_html(trained, graph.test[:1])  # compiles
    start = time.process_time()
    text = report_html(trained, graph.test[:50])
    assert time.process_time() - start < 20
    assert len(text.encode()) < 5_000_000
    browser = open_page(text)
    assert errors(browser) == []
    assert outside(browser) == []


def contrast(one, other):
    """Contrast ratio of two colors #RRGGBB, as the web's accessibility guidelines define it."""

    def luminance(color):
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
