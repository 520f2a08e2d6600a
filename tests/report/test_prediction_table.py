"""The table of all predictions in a real browser: searched, filtered, sorted, by keyboard, and without script."""

from __future__ import annotations

import json

import numpy as np
import pytest

from se_gnn.plot.text import readable
from se_gnn.report import report_html


@pytest.fixture(scope="module")
def page(hub):
    return report_html(hub, [45, 7], k=1)


def rows_of(browser):
    """The rows that are there, as lists of texts."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.predictions tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent))"
    )


def search(browser, **values):
    """Fill fields as a person does."""
    browser.execute_script(
        """
        for (const [name, value] of Object.entries(arguments[0])) {
          const field = document.querySelector(`[data-field="${name}"]`);
          field.value = value;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }
        """,
        values,
    )


def shown(browser):
    return browser.execute_script("return document.querySelector('.shown').textContent")


def press(browser, what):
    browser.execute_script("document.querySelector(arguments[0]).click()", what)


def test_every_prediction_is_found_by_name_and_by_class(open_page, page, hub):
    browser = open_page(page)
    graph, prediction = hub.graph, hub.predict()
    assert shown(browser) == f"1–25 of {graph.num_nodes} nodes"
    for node in (1, 12, 30, 58):
        search(browser, search=readable(graph.node_names[node]).upper())
        assert readable(graph.node_names[node]) in [row[0] for row in rows_of(browser)]
    search(browser, search="THIRD")
    found = set(np.flatnonzero(prediction.classes == 2)) | set(np.flatnonzero(graph.labels == 2))
    assert shown(browser).endswith(f"of {len(found)} nodes")
    search(browser, search="no such node")
    assert rows_of(browser) == []
    assert shown(browser) == "No node passes these filters."


def test_filters_and_pages_hold_exactly_the_nodes_they_name(open_page, page, hub):
    browser = open_page(page)
    graph, prediction = hub.graph, hub.predict()
    sure = prediction.probabilities.max(axis=1)
    press(browser, '[data-view="mistakes"]')
    wrong = graph.test[prediction.classes[graph.test] != graph.labels[graph.test]]
    surest_first = wrong[np.argsort(-np.round(sure[wrong], 4), kind="stable")]
    assert [row[0] for row in rows_of(browser)] == [readable(graph.node_names[node]) for node in surest_first]
    press(browser, '[data-view="uncertain"]')
    search(browser, least="50", most="75", predicted="1")
    expected = int(((sure >= 0.5) & (sure <= 0.75) & (prediction.classes == 1)).sum())
    assert len(rows_of(browser)) == min(expected, 25)
    press(browser, '[data-view="certain"]')  # clears the filters
    press(browser, ".pager button:last-of-type")
    assert shown(browser) == f"26–50 of {graph.num_nodes} nodes"
    press(browser, ".pager button")
    assert shown(browser) == f"1–25 of {graph.num_nodes} nodes"


COLUMNS = ("name", "predicted", "probability", "label", "outcome", "part", "closest", "closestLabel", "weight")


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_sorts_both_ways_by_its_button(open_page, page, column):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_page(page)
    search(browser, part="validation")
    button = browser.find_element(By.CSS_SELECTOR, f'[data-sort="{column}"]')
    head = "return arguments[0].closest('th').getAttribute('aria-sort')"
    seen = {}
    for _ in range(2):
        button.send_keys(Keys.ENTER)
        seen[browser.execute_script(head, button)] = [row[COLUMNS.index(column)] for row in rows_of(browser)]
    assert seen.keys() == {"ascending", "descending"}
    assert len(seen["ascending"]) == 6
    assert seen["ascending"] == seen["descending"][::-1]
    assert browser.execute_script("return document.querySelectorAll('th[aria-sort]').length") == 1


def test_rows_of_the_script_look_as_those_of_the_page(open_page, page):
    browser = open_page(page)
    made = rows_of(browser)[:12]
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.refresh()
        assert rows_of(browser) == made
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_without_script_the_page_has_a_short_table_and_opens_by_hand(open_page, page):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser = open_page(page)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.refresh()
        assert len(browser.find_elements(By.CSS_SELECTOR, ".predictions tbody tr")) == 12
        assert not browser.find_element(By.CSS_SELECTOR, ".filters").is_displayed()
        assert not browser.find_element(By.CSS_SELECTOR, ".pager").is_displayed()
        assert "With JavaScript" in browser.find_element(By.ID, "predictions").text
        other = browser.find_element(By.CSS_SELECTOR, "#node-7 .inside")
        assert not other.is_displayed()
        browser.find_element(By.CSS_SELECTOR, "#node-7 summary").send_keys(Keys.ENTER)
        assert other.is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_twenty_thousand_predictions_are_searched_and_sorted_at_once(open_page, page):
    """The columns of many nodes in the place of those of few."""
    number = 20_000
    columns = {
        "classes": ["a", "b", "c"], "parts": ["", "labeled", "validation", "test"],
        "name": [f"node-{i}" for i in range(number)], "predicted": [i % 3 for i in range(number)],
        "probability": [(7 * i) % 10_001 for i in range(number)], "label": [i % 2 for i in range(number)],
        "part": [i % 4 for i in range(number)], "closest": [i // 2 for i in range(number)],
        "weight": [i % 5000 for i in range(number)], "explained": [],
    }  # fmt: skip
    start, end = '<script type="application/json" id="predictions-data">', "</script>"
    before, _, rest = page.partition(start)
    browser = open_page(before + start + json.dumps(columns) + end + rest.partition(end)[2])
    took = browser.execute_script(
        """
        const field = document.querySelector('[data-field="search"]');
        const steps = [
          () => document.querySelector('[data-sort="name"]').click(),
          () => document.querySelector('[data-sort="closest"]').click(),
          () => { field.value = "199"; field.dispatchEvent(new Event("input")); },
        ];
        return steps.map((step) => {
          const start = performance.now();
          step();
          return performance.now() - start;
        });
        """
    )
    assert max(took) < 1000  # milliseconds; far less where nothing else runs
    assert len(rows_of(browser)) == 25
    assert shown(browser) == f"1–25 of {sum('199' in name for name in columns['name'])} nodes"
