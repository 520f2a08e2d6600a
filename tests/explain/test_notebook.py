"""What a notebook shows: complete, well formed, and harmless whatever the names are."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from se_gnn.explain import explain
from strategies import random_graph, small_settings, untrained

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "مرحبا \u202e abc", "😀", "a & b", "\ud800")
ALLOWED = {"div", "p", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "bdi"}


class Page(HTMLParser):
    """Tags, attributes and text of a piece of HTML; all tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], set(), [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def explanation():
    names = HOSTILE + tuple(f"n{i}" for i in range(len(HOSTILE), 16))
    graph = random_graph(1, node_names=names, class_names=("<b>one</b>", "two"), feature_names=tuple("<>&\"'"))
    return explain(untrained(graph, small_settings()), 12, attributes=True)[0]


def test_every_vote_is_shown_and_names_are_text_only(explanation):
    page = Page(explanation._repr_html_())
    assert set(page.tags) <= ALLOWED
    assert page.attributes <= {"style", "scope"}
    text = "".join(page.text)
    for neighbor in explanation.votes:
        assert explanation.caption(neighbor.node).encode("utf-8", "replace").decode() in text
        assert f"{neighbor.weight:.1%}" in text
    assert "<b>one</b>" in text
    assert "importance" in text
    assert "effect" in text


def test_it_takes_the_colors_of_the_page_and_nothing_from_the_network(explanation):
    shown = explanation._repr_html_()
    assert not re.search(r"#[0-9a-f]{3,6}\b|rgb|url\(|src=|href=|http", re.sub(r">[^<]*<", "><", shown))
    assert "currentColor" in shown


def test_it_is_utf_8(explanation):
    explanation._repr_html_().encode("utf-8")


def test_a_node_without_edges_has_no_table_of_edges():
    explanation = explain(untrained(random_graph(1, isolated=(2,)), small_settings()), 2)[0]
    page = Page(explanation._repr_html_())
    assert page.tags.count("table") == 2
