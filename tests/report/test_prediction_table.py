"""The table of all predictions in a real browser: searched, filtered, sorted, by keyboard, and without script."""

from __future__ import annotations

import json

import numpy as np
import pytest

from se_gnn.plot.style import readable
from se_gnn.report import report_html


@pytest.fixture(scope="module")
def page(hub):
    return report_html(hub, [45, 7], k=1)


def rows_of(opened):
    """The rows that are there, as lists of texts."""
    return opened.locator(".predictions tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def search(opened, **values):
    """Fill fields as a person does."""
    opened.evaluate(
        """
        (values) => {
        for (const [name, value] of Object.entries(values)) {
          const field = document.querySelector(`[data-field="${name}"]`);
          field.value = value;
          field.dispatchEvent(new Event("input", { bubbles: true }));
        }
        }
        """,
        values,
    )


def shown(opened):
    return opened.locator(".shown").text_content()


def press(opened, what):
    opened.locator(what).first.evaluate("element => element.click()")


def test_every_prediction_is_found_by_name_and_by_class(open_page, page, hub):
    opened = open_page(page)
    graph, prediction = hub.graph, hub.predict()
    assert shown(opened) == f"1–25 of {graph.num_nodes} nodes"
    for node in (1, 12, 30, 58):
        search(opened, search=readable(graph.node_names[node]).upper())
        assert readable(graph.node_names[node]) in [row[0] for row in rows_of(opened)]
    search(opened, search="THIRD")
    found = set(np.flatnonzero(prediction.classes == 2)) | set(np.flatnonzero(graph.labels == 2))
    assert shown(opened).endswith(f"of {len(found)} nodes")
    search(opened, search="no such node")
    assert rows_of(opened) == []
    assert shown(opened) == "No node passes these filters."


def test_filters_and_pages_hold_exactly_the_nodes_they_name(open_page, page, hub):
    opened = open_page(page)
    graph, prediction = hub.graph, hub.predict()
    sure = prediction.probabilities.max(axis=1)
    press(opened, '[data-view="mistakes"]')
    wrong = graph.test[prediction.classes[graph.test] != graph.labels[graph.test]]
    surest_first = wrong[np.argsort(-np.round(sure[wrong], 4), kind="stable")]
    assert [row[0] for row in rows_of(opened)] == [readable(graph.node_names[node]) for node in surest_first]
    press(opened, '[data-view="uncertain"]')
    search(opened, least="50", most="75", predicted="1")
    expected = int(((sure >= 0.5) & (sure <= 0.75) & (prediction.classes == 1)).sum())
    assert len(rows_of(opened)) == min(expected, 25)
    press(opened, '[data-view="certain"]')  # clears the filters
    press(opened, ".pager button:last-of-type")
    assert shown(opened) == f"26–50 of {graph.num_nodes} nodes"
    press(opened, ".pager button")
    assert shown(opened) == f"1–25 of {graph.num_nodes} nodes"


COLUMNS = ("name", "predicted", "probability", "label", "outcome", "part", "closest", "closestLabel", "weight")


@pytest.mark.parametrize("column", COLUMNS)
def test_every_column_sorts_both_ways_by_its_button(open_page, page, column):
    opened = open_page(page)
    search(opened, part="validation")
    button = opened.locator(f'[data-sort="{column}"]')
    head = "button => button.closest('th').getAttribute('aria-sort')"
    seen = {}
    for _ in range(2):
        button.press("Enter")
        seen[button.evaluate(head)] = [row[COLUMNS.index(column)] for row in rows_of(opened)]
    assert seen.keys() == {"ascending", "descending"}
    assert len(seen["ascending"]) == 6
    assert seen["ascending"] == seen["descending"][::-1]
    assert opened.locator("th[aria-sort]").count() == 1


def test_rows_of_the_script_look_as_those_of_the_page(open_page, page):
    opened = open_page(page)
    assert rows_of(open_page(page, java_script_enabled=False)) == rows_of(opened)[:12]


def test_without_script_the_page_has_a_short_table_and_opens_by_hand(open_page, page):
    opened = open_page(page, java_script_enabled=False)
    assert opened.locator(".predictions tbody tr").count() == 12
    assert not opened.locator(".filters").is_visible()
    assert not opened.locator(".pager").is_visible()
    assert "With JavaScript" in opened.locator("#predictions").inner_text()
    other = opened.locator("#node-7 .inside")
    assert not other.is_visible()
    opened.locator("#node-7 summary").first.press("Enter")
    other.wait_for()


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
    opened = open_page(before + start + json.dumps(columns) + end + rest.partition(end)[2])
    took = opened.evaluate(
        """
        () => {
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
        }
        """
    )
    assert max(took) < 1000  # milliseconds; far less where nothing else runs
    assert len(rows_of(opened)) == 25
    assert shown(opened) == f"1–25 of {sum('199' in name for name in columns['name'])} nodes"
