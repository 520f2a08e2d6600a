"""Pages in a real browser: nothing is loaded, nothing goes wrong, edges light up together, names stay names."""

from __future__ import annotations

import numpy as np
import pytest

from chromium import until
from se_gnn import load_dataset
from se_gnn.explain import explain
from se_gnn.graph.columns import RawTable
from se_gnn.number_format import decimal
from se_gnn.plot.style import readable
from se_gnn.report import report_html
from se_gnn.settings import Settings
from strategies import changed, untrained

NODE = 45


@pytest.fixture(scope="module")
def page(hub):
    return report_html(hub, [NODE, 0, 1, 2, 4, 5, 6, 7, 8, 58], k=3)


def lit(opened, what):
    return opened.locator(what).evaluate_all("all => all.map(e => e.querySelector('title')?.textContent)")


def hover(opened, what):
    """Point at an element of the page, where it stands still."""
    what.evaluate("element => element.scrollIntoView({block: 'center', behavior: 'instant'})")
    box = what.bounding_box()
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def names_of(edge, graph):
    return " – ".join(f"\u2068{readable(graph.node_names[node])}\u2069" for node in edge)


def outside(opened):
    """Addresses that were asked for and are not in the page."""
    assert opened.asked  # the page itself
    return [url for url in opened.asked if not url.startswith(("data:", "file:"))]


def test_the_page_asks_for_nothing_and_reports_no_error(open_page, page):
    opened = open_page(page)
    opened.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    assert opened.problems == []
    assert outside(opened) == []


def test_the_policy_stops_what_a_page_might_be_made_to_do(open_page, page):
    """The browser itself refuses; without this the test above would prove less."""
    opened = open_page(page.replace("</main>", "<script>document.title='ran'</script></main>"))
    assert opened.title() != "ran"
    assert "Content Security Policy" in opened.problems[0]


def test_pointing_at_an_edge_lights_its_match_in_every_picture_and_in_the_table(open_page, page, hub):
    opened = open_page(page)
    explanation = explain(hub, NODE)[0]
    (edge,) = explanation.crucial_subgraph(size=1).edge_ids.tolist()
    position = explanation.edge_ids.tolist().index(edge)
    article = f"#node-{NODE}"
    hover(opened, opened.locator(f"{article} figure.own polyline.m1").first)
    (own,) = lit(opened, f"{article} figure.own .edge.lit")
    assert own.startswith(names_of(hub.graph.edges.ends[edge], hub.graph))
    for rank, neighbor in enumerate(explanation.votes[:3]):
        (title,) = lit(opened, f"{article} figure:nth-of-type({rank + 2}) .edge.lit")
        assert title.startswith(names_of(hub.graph.edges.ends[neighbor.matches.matched_ids[position]], hub.graph))
    rows = opened.locator(f"{article} tr.lit").all()
    assert [row.get_attribute("data-m") for row in rows] == [str(edge)]
    told = opened.locator(f"{article} .told").inner_text()
    assert "importance" in told
    assert explanation.caption(explanation.votes[0].node) in told
    hover(opened, opened.locator(f"{article} h3"))
    assert lit(opened, ".lit") == []


def test_a_row_lights_its_edges(open_page, page, hub):
    opened = open_page(page)
    row = opened.locator(f"#node-{NODE} tr[data-m]").first
    place = "row => row.getBoundingClientRect().top + window.scrollY"
    top = row.evaluate(place)
    hover(opened, row)
    assert row.evaluate(place) == top  # nothing jumps
    (own,) = lit(opened, f"#node-{NODE} figure.own .edge.lit")
    edge = hub.graph.edges.ends[int(row.get_attribute("data-m"))]
    assert own.startswith(names_of(edge, hub.graph))


def test_the_keyboard_does_what_the_pointer_does(open_page, page):
    opened = open_page(page)
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Skip to the content"
    opened.locator(f"#node-{NODE} figure.own svg").first.evaluate("picture => picture.focus()")
    opened.keyboard.press("ArrowRight")
    first = lit(opened, f"#node-{NODE} figure.own .edge.lit")
    opened.keyboard.press("ArrowRight")
    second = lit(opened, f"#node-{NODE} figure.own .edge.lit")
    assert len(first) == len(second) == 1
    assert first != second
    opened.keyboard.press("ArrowLeft")
    assert lit(opened, f"#node-{NODE} figure.own .edge.lit") == first
    opened.keyboard.press("Escape")
    assert lit(opened, ".lit") == []


def test_a_tap_holds_an_edge_until_the_next(open_page, page):
    opened = open_page(page)
    hover(opened, opened.locator(f"#node-{NODE} figure.own polyline.m1").first)
    opened.mouse.down()
    opened.mouse.up()
    hover(opened, opened.locator(f"#node-{NODE} h3"))
    assert len(lit(opened, f"#node-{NODE} figure.own .edge.lit")) == 1


@pytest.fixture(scope="module")
def by_distance(hub):
    """A model whose similarities differ from edge to edge."""
    return untrained(hub.graph, hub.settings.changed(measure="distance"))


@pytest.fixture(scope="module")
def distance_page(by_distance):
    return report_html(by_distance, [NODE], k=3)


def test_what_is_told_of_a_match_is_what_the_table_says_of_it(open_page, distance_page, by_distance):
    """An edge of a neighbor that several edges are matched with has another similarity with each of them."""
    opened = open_page(distance_page)
    explanation = explain(by_distance, NODE)[0]
    opened.evaluate("document.querySelector('.matching button')?.click()")  # all rows
    for row in opened.locator(f"#node-{NODE} tr[data-m]").all():
        hover(opened, row)
        told = opened.locator(f"#node-{NODE} .told-match").all_inner_texts()
        position = explanation.edge_ids.tolist().index(int(row.get_attribute("data-m")))
        expected = [decimal(explanation.importance[position])]
        expected += [decimal(one.matches.similarity[position]) for one in explanation.votes[:3]]
        assert [piece.split()[-1] for piece in told] == expected


def test_pointing_at_a_match_tells_each_edge_that_is_matched_with_it(open_page, distance_page, by_distance):
    opened = open_page(distance_page)
    explanation = explain(by_distance, NODE)[0]
    found = opened.evaluate(
        """
        (node) => {
        const article = document.getElementById(`node-${node}`);
        const found = [];
        [...article.querySelectorAll("figure:not(.own) svg")].forEach((svg, column) => {
          for (const edge of svg.querySelectorAll(".edge[data-m]")) {
            svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
            const told = [...article.querySelectorAll(".told-edge b .similarity")].map((one) => one.textContent);
            found.push({ column, ids: edge.dataset.m.split(" "), told });
          }
        });
        return found;
        }
        """,
        NODE,
    )
    assert max(len(edge["ids"]) for edge in found) > 1  # else the test shows nothing
    for edge in found:
        matches = explanation.votes[edge["column"]].matches
        positions = np.searchsorted(matches.edge_ids, [int(one) for one in edge["ids"]])
        similarity = {decimal(matches.similarity[position]) for position in positions}
        assert len(edge["told"]) == min(2, len(edge["ids"]))
        assert set(edge["told"]) <= similarity


def test_hostile_names_are_text_and_nothing_else(open_page, page, hub):
    opened = open_page(page)
    assert opened.title() == "<script>hub</script> · se-gnn report"
    kinds = opened.evaluate("[...document.scripts].map((script) => script.type)")
    assert kinds == ["application/json", "module"]
    assert opened.locator("main img, main b > i, u, main i:not(.symbol)").count() == 0
    for node in (1, 2, 4, 5, 6, 7, 8):
        heading = opened.locator(f"#node-{node} h3 bdi").first
        assert heading.text_content() == readable(hub.graph.node_names[node])
        assert heading.evaluate("element => getComputedStyle(element).unicodeBidi") == "isolate"
    assert opened.locator("#by-class .chip").all_text_contents() == list(hub.graph.class_names)


def test_long_tables_open_on_demand(open_page, page):
    opened = open_page(page)
    opened.evaluate("document.querySelector('#node-0 > details').open = true")
    shown = "[...document.querySelectorAll('#node-0 tr[data-m]')].filter(r => r.getClientRects().length).length"
    assert opened.evaluate(shown) == 8
    button = opened.locator("#node-0 .matching button")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert opened.evaluate(shown) > 8
    assert button.get_attribute("aria-expanded") == "true"


def test_sections_are_folded_and_a_link_opens_its_own(open_page, page):
    opened = open_page(page)
    unfolded = "[...document.querySelectorAll('.case > details[open]')].map(d => d.parentElement.id)"
    assert opened.evaluate(unfolded) == [f"node-{NODE}"]
    assert opened.evaluate("document.scrollingElement.scrollHeight") < 7800
    opened.evaluate("location.hash = 'node-7'")
    until(opened, f"{unfolded}.includes('node-7')")
    opened.evaluate("location.hash = 'calibration'")
    until(opened, "document.getElementById('calibration').open")
    opened.evaluate("document.querySelector('#node-7 > details').open = false; location.hash = 'node-7'")
    until(opened, f"{unfolded}.includes('node-7')")


def test_a_page_opened_at_a_node_shows_it(open_page, page):
    opened = open_page(page)
    opened.goto(f"{opened.url}#node-6")
    opened.reload()
    until(opened, "document.querySelector('#node-6 > details').open")
    until(opened, "Math.abs(document.getElementById('node-6').getBoundingClientRect().top) < 200")


@pytest.fixture(scope="module")
def captioned(hub):
    """People's names instead of codes, and the rows of a table with a long text."""
    graph = hub.graph
    captions = [f"Kwame Wolfeschlegelsteinhausenbergerdorff {i}" for i in range(graph.num_nodes)]
    notes = ["salary rent school books and a long story " * 20 if i % 2 else None for i in range(graph.num_nodes)]
    raw = RawTable.from_columns({"country": ["DE", "PL"] * (graph.num_nodes // 2), "note": notes})
    codes = [f"AC-{i:09d}" for i in range(graph.num_nodes)]
    table = changed(graph, captions=tuple(captions), raw=raw, node_names=tuple(codes))
    return untrained(table, hub.settings)


def test_captions_stand_before_codes_and_both_find_a_node(open_page, captioned):
    opened = open_page(report_html(captioned, [NODE], k=3))
    heading = opened.locator(f"#node-{NODE} h3").inner_text()
    assert heading == f"Kwame Wolfeschlegelsteinhausenbergerdorff {NODE} AC-{NODE:09d}"
    for words in (f"AC-{NODE:09d}", f"wolfe dorff {NODE}"):
        opened.locator('[data-field="search"]').fill(words)
        assert any(f"AC-{NODE:09d}" in row for row in opened.locator(".predictions tbody tr").all_inner_texts())


def test_rows_stand_side_by_side_with_equal_values_marked(open_page, captioned):
    opened = open_page(report_html(captioned, [NODE], k=5))
    rows = opened.evaluate(
        "[...document.querySelectorAll('.rows tbody tr')].map(row => [...row.cells]"
        ".map(cell => [cell.textContent, cell.classList.contains('equal')]))"
    )
    country = next(row for row in rows if row[0][0] == "country")
    own = country[1][0]
    assert own == ["DE", "PL"][NODE % 2]
    assert [agrees for _, agrees in country[2:]] == [value == own for value, _ in country[2:]]
    note = next(row for row in rows if row[0][0] == "note")
    assert {value for value, _ in note[1:]} <= {"(missing)", note[1][0]}
    assert note[1][0].startswith("salary rent school")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", ["hostile names", "captions"])
def test_nothing_is_wider_than_the_window(open_page, page, captioned, kind, width):
    html = page if kind == "hostile names" else report_html(captioned, [NODE, 0], k=4)
    opened = open_page(html, viewport={"width": width, "height": 844}, is_mobile=width < 600)
    opened.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
    wide, room = opened.evaluate("[document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]")
    assert wide <= room <= width
    spilled = "[...document.querySelectorAll('td, th')].filter(cell => cell.scrollWidth > cell.clientWidth + 1)"
    assert opened.evaluate(f"{spilled}.map(cell => cell.textContent)") == []
    if width == 390:  # tables are cards: none of them has to be scrolled either
        cut = "[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth)"
        assert opened.evaluate(f"{cut}.map(s => s.getAttribute('aria-label'))") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_color_schemes(open_page, page, scheme):
    """Every text of the page against the ground it stands on, as the browser computes them."""
    opened = open_page(page, color_scheme=scheme)
    pairs = opened.evaluate(
        """
        () => {
        for (const details of document.querySelectorAll("details")) details.open = true;
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const painted = (colors) => {
          canvas.clearRect(0, 0, 1, 1);
          for (const color of colors) {
            canvas.fillStyle = color;
            canvas.fillRect(0, 0, 1, 1);
          }
          return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const found = new Map();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const element = walker.currentNode.parentElement;
          if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
          if (element.closest("svg, script, option, :disabled")) continue;
          const grounds = [];
          for (let at = element; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
          const pair = [painted([...grounds, getComputedStyle(element).color]), painted(grounds)];
          found.set(JSON.stringify(pair), [...pair, element.outerHTML.slice(0, 80)]);
        }
        const numbers = getComputedStyle(document.documentElement);
        for (const one of ["--m1", "--m2", "--m3", "--m4", "--m5"].map((name) => numbers.getPropertyValue(name))) {
          found.set(one, [painted([numbers.getPropertyValue("--on-m")]), painted([one]), "a number in a picture"]);
        }
        return [...found.values()];
        }
        """
    )
    assert len(pairs) > 12
    assert [(what, contrast(one, other)) for one, other, what in pairs if contrast(one, other) < 4.5] == []
    paper = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_on_paper_everything_is_open_and_light(open_page, page):
    opened = open_page(page, color_scheme="dark")
    opened.emulate_media(media="print")
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    hidden = "[...document.querySelectorAll('tr[data-m]')].filter(r => !r.getClientRects().length).length"
    assert opened.evaluate(hidden) == 0
    folded = "document.querySelectorAll('details:not([open])').length"
    before = opened.evaluate(folded)
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate(folded) == 0
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate(folded) == before


@pytest.mark.slow
def test_fifty_nodes_of_cora_take_few_bytes(data_dir, open_page):
    graph = load_dataset("cora", data_dir=data_dir)
    trained = untrained(graph, Settings.of("best"))
    text = report_html(trained, graph.test[:50])
    assert len(text.encode()) < 5_000_000
    opened = open_page(text)
    assert opened.problems == []
    assert outside(opened) == []


def contrast(one, other):
    """Contrast ratio of two colors, red, green and blue up to 255, as the web's accessibility guidelines define it."""

    def luminance(color):
        channels = [value / 255 for value in color]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_a_tooltip_says_the_similarity_of_its_match_or_how_many_there_are(open_page, distance_page, by_distance):
    opened = open_page(distance_page)
    explanation = explain(by_distance, NODE)[0]
    edges = opened.locator(f"#node-{NODE} figure:not(.own)").evaluate_all(
        "all => all.flatMap((figure, column) =>"
        " [...figure.querySelectorAll('.edge[data-m]')].map(e => [column, e.dataset.m, e.firstChild.textContent]))"
    )
    assert edges
    for column, ids, title in edges:
        matches = explanation.votes[column].matches
        rows = np.searchsorted(matches.edge_ids, [int(one) for one in ids.split()])
        best = decimal(matches.similarity[rows].max())
        several = f"matched with {len(rows)} edges, similarity up to {best}"
        assert title.endswith(f": similarity {best}" if len(rows) == 1 else several)
