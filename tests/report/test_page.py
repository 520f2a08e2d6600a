"""What a page says, and that it loads nothing, read without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.graph.columns import TextColumn
from se_gnn.report import report_html
from strategies import changed, random_graph, small_settings, untrained

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Text of a page, its elements, and whether every one of them was closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == [], self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data

    def all(self, tag, **attributes):
        return [found for name, found in self.elements if name == tag and attributes.items() <= found.items()]

    @property
    def words(self):
        return " ".join(self.text.split())


@pytest.fixture(scope="module")
def page(hub):
    return Page(report_html(hub, [0, 1, 45, 58], k=3))


def test_each_node_has_its_place_in_the_order_asked_for(page):
    assert [found["id"] for found in page.all("article")] == ["node-0", "node-1", "node-45", "node-58"]
    assert len(page.all("svg", role="img")) >= 4 * (1 + 1 + 3)  # the strip, and four local graphs, of each node


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    targets = [found["href"] for found in page.all("a")]
    assert targets
    assert all(target.removeprefix("#") in ids for target in targets)


def test_pictures_have_words_for_those_who_do_not_see_them(page):
    assert all(found.get("aria-label") for found in page.all("svg", role="img"))
    assert all(found.get("role") == "img" or found.get("aria-hidden") == "true" for found in page.all("svg"))
    assert all(found.get("alt") for found in page.all("img"))
    assert all(found.get("aria-label") for found in page.all("div", role="region"))


def test_the_page_names_nothing_outside_itself(page, hub):
    for _, found in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in found)
        for name in ("src", "href", "action", "srcset", "data", "xlink:href"):
            assert found.get(name, "#").startswith(("#", "data:"))
    assert "url(" not in report_html(hub, [45])
    assert "@import" not in report_html(hub, [45])


def test_the_policy_knows_the_style_and_the_script_by_their_digests(hub):
    text = report_html(hub, [45])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    for tag, opened in (("style", "<style>"), ("script", '<script type="module">')):
        (content,) = re.findall(rf"{opened}(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_sentence_and_the_vote_are_those_of_the_explanation(page, hub):
    explanation = explain(hub, 58)[0]
    assert "The node has no edges, so it was compared by its own attributes alone." in page.words
    assert all(explanation.caption(one.node) in page.text or one.node in range(1, 9) for one in explanation.votes)


def test_accuracy_and_split_are_those_of_the_model(page, hub):
    prediction = hub.predict()
    graph = hub.graph
    right = int((prediction.classes[graph.test] == graph.labels[graph.test]).sum())
    assert f"{right} right, n = {len(graph.test)}" in page.words
    facts = re.sub(r"\s+", "", page.text)
    assert "labeled30nodesusedfortraining,whichvote" in facts
    assert f"classunknown{int((graph.labels < 0).sum())}nodes" in facts


def test_an_empty_split_is_said():
    graph = random_graph(num_nodes=12, num_labeled=12)
    trained = untrained(graph.with_split(train=np.arange(12)), small_settings())
    words = Page(report_html(trained, [0])).words
    assert "the split has no validation nodes" in words
    assert "the split has no test nodes" in words
    assert "There are no test nodes, so these are the labeled nodes." in words
    assert "The split has neither validation nor test nodes to judge by." in words


def test_without_names_nodes_are_chosen(hub):
    assert Page(report_html(hub)).all("article")


def test_a_node_named_twice_is_explained_once(hub):
    assert len(Page(report_html(hub, [3, 3, 3])).all("article")) == 1


def test_large_local_graphs_count_what_they_do_not_show(page, hub):
    edges = len(explain(hub, 0)[0].edge_ids)
    shown = int(re.search(r"(\d+) of (\d+) are shown", page.words)[1])
    assert shown <= 30 < edges
    assert f"and {edges - shown} more" in page.words


@pytest.mark.parametrize("num_nearest", [1, 28])
def test_any_number_of_labeled_neighbors_is_shown_or_counted(num_nearest):
    graph = random_graph(num_nodes=40, num_edges=60, num_labeled=30)
    trained = untrained(graph, small_settings(num_nearest=num_nearest))
    text = report_html(trained, [35], k=6)
    found = Page(text)
    assert len(found.all("figure")) == 1 + min(6, num_nearest)
    votes = re.search(r'<table class="[^"]* vote"[^>]*>(.*?)</table>', text, flags=re.S)[1]
    single = votes.count('<td class="bar weight">')
    more = sum(int(count) for count in re.findall(r"and (\d+) more", votes))
    assert single + more == num_nearest
    widths = [float(width) for width in re.findall(r'class="share c\d+" width="([\d.]+)"', votes)]
    assert len(widths) == single  # a sum of many has no bar
    assert widths[0] == max(widths) == 100


def test_a_graph_without_any_edge_has_a_report():
    graph = random_graph(edges=np.zeros((0, 2), np.int64))
    words = Page(report_html(untrained(graph, small_settings()), [12])).words
    assert "Without edges to match" in words


def test_pictures_of_nodes_are_shown():
    graph = random_graph(num_features=6, image_shape=(2, 3))
    found = Page(report_html(untrained(graph, small_settings()), [12], k=2))
    assert len(found.all("img")) == 1 + 3  # heading, local graphs
    assert all(image["src"].startswith("data:image/png;base64,") for image in found.all("img"))


def test_attributes_with_names_are_shown(page):
    assert "Rows side by side" in page.words
    assert "<u>height</u>" in page.text


def test_a_text_of_a_table_is_shown_as_words_without_numbers():
    words = TextColumn(name="purpose", first=0, size=2, vocabulary=("rent", "food"), idf=(1.0, 1.0))
    features = np.tile(np.float32([[0.6, 0.8], [1, 0]]), (8, 1))
    graph = changed(random_graph(1, num_features=2), features=features, columns=(words,))
    trained = untrained(graph, small_settings())
    page = report_html(trained, [12], k=1)
    shown = Page(page).words
    assert "<bdi>food rent</bdi>" in page
    assert "rent" in page
    assert "<bdi>rent</bdi>" in page
    assert "Each effect is exact: the attribute is removed from one of the two nodes at a time" in shown


def test_a_name_that_is_a_number_is_not_read_as_a_count(hub):
    numbered = Page(report_html(untrained(random_graph(), small_settings()), [12]))
    assert "No single case decides this" in numbered.words or "Removing node" in numbered.words
    assert "in node" in numbered.words
    assert "in node" not in Page(report_html(hub, [45])).words


def test_bad_input_is_refused_before_any_work(hub):
    with pytest.raises(InputError, match="unknown node 60: positions go from 0 to 59"):
        report_html(hub, [60])
    with pytest.raises(InputError, match="k must be at least 1, got 0"):
        report_html(hub, [1], k=0)


def test_the_same_model_gives_the_same_bytes(hub):
    assert report_html(hub, [45, 0]) == report_html(hub, [45, 0])
