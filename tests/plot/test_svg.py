"""Local graphs as SVG, compared by structure."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from se_gnn.explain import explain
from se_gnn.plot.local_view import target_view
from se_gnn.plot.style import MATCH_COLORS, readable
from se_gnn.plot.svg import local_graph_pictures
from strategies import HUB, ISOLATED, LABELED, UNLABELED


def pictures(trained, node, count=3):
    explanation = explain(trained, node)[0]
    found = local_graph_pictures(explanation, num_cases=count)
    return explanation, found, [ElementTree.fromstring(one.svg) for one in found]


def of_class(root, name):
    return [element for element in root.iter() if name in element.get("class", "").split()]


@pytest.mark.parametrize("node", [HUB, LABELED, UNLABELED, ISOLATED])
def test_every_edge_and_node_of_a_view_is_drawn_once_and_the_rest_is_counted(hub, node):
    _, found, roots = pictures(hub, node)
    assert len(found) == 4
    for picture, root in zip(found, roots):
        (nodes,) = of_class(root, "nodes")
        assert len(of_class(root, "edge")) == len(picture.view.edges)
        assert len([shape for shape in nodes if shape.tag in ("circle", "polygon")]) == len(picture.view.nodes)
        assert len(of_class(root, "center")) == 1
        if picture.view.hidden:
            drawn = len(picture.view.edge_ids)
            assert f"{drawn} of {drawn + picture.view.hidden:,} edges drawn" in root.get("aria-label")


def test_numbers_have_their_color_and_edges_of_a_number_too(hub):
    _, found, roots = pictures(hub, UNLABELED)
    for picture, root in zip(found, roots):
        numbers = sorted(number for numbers in picture.view.numbers for number in numbers)
        boxes = [(element.find("text").text, element.find("rect").get("fill")) for element in of_class(root, "number")]
        assert sorted(boxes) == [(str(number), MATCH_COLORS[number - 1]) for number in numbers]
        for number in numbers:
            lines = [element for element in of_class(root, f"m{number}") if element.tag == "polyline"]
            assert {line.get("stroke") for line in lines} == {MATCH_COLORS[number - 1]}


@pytest.mark.parametrize("node", [HUB, UNLABELED])
def test_links_are_the_matches(hub, node):
    explanation, found, roots = pictures(hub, node)
    shown = set(found[0].view.edge_ids.tolist())
    for neighbor, picture, root in zip(explanation.votes, found[1:], roots[1:]):
        matches = neighbor.matches
        for edge, element in zip(picture.view.edge_ids.tolist(), of_class(root, "edge")):
            with_it = (matches.matched_ids == edge) & np.isin(matches.edge_ids, list(shown))
            with_it &= explanation.node not in explanation.edges[edge].ends
            assert [int(text) for text in element.get("data-m", "").split()] == matches.edge_ids[with_it].tolist()


def test_strength_is_width_and_numbered_edges_are_bold(hub):
    _, found, roots = pictures(hub, UNLABELED)
    view, root = found[0].view, roots[0]
    widths = [float(element.get("stroke-width")) for element in of_class(root, "edge")]
    plain = [(value, width) for value, width, numbers in zip(view.similarity, widths, view.numbers) if not numbers]
    assert [width for _, width in sorted(plain)] == sorted(width for _, width in plain)
    assert min(width for width, numbers in zip(widths, view.numbers) if numbers) > max(width for _, width in plain)


def test_a_node_without_edges_is_its_center_alone(hub):
    _, found, roots = pictures(hub, ISOLATED)
    assert len(found[0].view.edges) == 0
    assert "has no edges" in roots[0].get("aria-label")


def test_names_are_text_whatever_they_hold(hub):
    _, found, roots = pictures(hub, HUB)
    graph = hub.graph
    titles = [title.text for root in roots for title in root.iter("title")]
    for node in found[0].view.nodes.tolist():
        assert any(readable(graph.node_names[node]) in title for title in titles)
    assert not [element for root in roots for element in root.iter() if element.tag in ("script", "b")]


def test_pictures_stand_alone_and_numbers_are_few(digits):
    _, found, roots = pictures(digits, 3)
    assert {number for numbers in found[0].view.numbers for number in numbers} == set(range(1, 6))
    for root in roots:
        assert all(element.get("fill") for element in root.iter() if element.tag in ("circle", "rect", "text"))
    view = target_view(explain(digits, 3)[0], most_edges=30, crucial_edges=5)
    assert view.edges.tolist() == found[0].view.edges.tolist()
