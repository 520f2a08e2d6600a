"""Pictures by their artists: texts, numbers, colors, widths; never by their pixels."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.text import Text

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.model import Model
from se_gnn.number_format import percent
from se_gnn.plot import explanation_figure
from se_gnn.plot.figure import ATTRIBUTES_HEADING, NOTHING_MATTERS, vote_bars
from se_gnn.plot.local_view import local_views, target_view
from se_gnn.plot.style import EDGE_COLOR, MATCH_COLORS, UNKNOWN_COLOR, class_style, figure_bytes, show
from strategies import HUB, ISOLATED, LABELED, UNLABELED, changed


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def panels(figure) -> list:
    return [axes for axes in all_axes(figure) if axes.findobj(lambda artist: artist.get_gid() == "center")]


def all_axes(figure) -> list:
    return [axes for part in figure.subfigs for axes in part.axes]


def titled(figure, title: str):
    return next(axes for axes in all_axes(figure) if title in (axes.get_title(), axes.get_title(loc="left")))


def drawn_numbers(axes) -> list[tuple[int, str]]:
    digits = axes.findobj(lambda artist: artist.get_gid() == "digit")
    boxes = axes.findobj(FancyBboxPatch)
    return sorted(
        (int(digit.get_text()), to_hex(box.get_facecolor())) for digit, box in zip(digits, boxes, strict=True)
    )


def drawn_nodes(axes) -> list[Patch]:
    return [node for node in axes.findobj(Patch) if node.get_gid() in ("nodes", "labeled")]


def drawn_lines(axes) -> list[Line2D]:
    return [line for line in axes.findobj(Line2D) if line.get_gid()]


@pytest.fixture(scope="module")
def unlabeled(hub):
    return explain(hub, UNLABELED)[0]


@pytest.fixture(scope="module")
def figure(hub, unlabeled):
    return explanation_figure(unlabeled)


def test_there_is_a_panel_for_the_node_and_for_each_of_its_three_nearest(figure):
    assert len(panels(figure)) == 4


def test_a_number_has_the_same_color_in_every_panel(figure):
    for axes in panels(figure):
        numbers = drawn_numbers(axes)
        assert numbers, "every panel of a node with edges has matches"
        assert all(color == MATCH_COLORS[number - 1].lower() for number, color in numbers)


def test_each_numbered_edge_of_the_node_appears_in_each_neighbor(figure):
    own, *others = [{number for number, _ in drawn_numbers(axes)} for axes in panels(figure)]
    assert own == set(range(1, len(own) + 1))
    assert all(numbers == own for numbers in others)


def test_numbered_edges_are_bolder_than_all_others(figure):
    for axes in panels(figure):
        colors = np.array([to_hex(line.get_color()) for line in drawn_lines(axes)])
        plain = colors == EDGE_COLOR.lower()
        widths = np.array([line.get_linewidth() for line in drawn_lines(axes)])
        assert set(colors[~plain]) <= {color.lower() for color in MATCH_COLORS}
        assert widths[~plain].min() > widths[plain].max(initial=0)


def test_a_more_similar_edge_is_drawn_wider(hub, unlabeled, figure):
    view = target_view(unlabeled, most_edges=30, crucial_edges=5)
    plain = np.array([not numbers for numbers in view.numbers])
    widths = np.array([line.get_linewidth() for line in drawn_lines(panels(figure)[0])])[
        plain
    ]  # an edge of the node has one number at most, so one line
    order = np.argsort(view.similarity[plain], kind="stable")
    assert (np.diff(widths[order]) >= 0).all()


def test_nodes_have_the_color_of_their_class_and_grey_where_it_is_not_known(hub, unlabeled, figure):
    graph = hub.graph
    views = local_views(unlabeled, num_cases=3)
    for axes, view in zip(panels(figure), views):
        drawn = [to_hex(node.get_facecolor()) for node in drawn_nodes(axes)]
        assert drawn == [class_style(int(graph.labels[node])).color.lower() for node in view.nodes]
    assert graph.labels[UNLABELED] == -1
    assert to_hex(drawn_nodes(panels(figure)[0])[0].get_facecolor()) == UNKNOWN_COLOR.lower()
    assert "gray: unknown" in texts(figure)
    assert "its label is not known" in texts(figure)


def test_the_vote_has_a_bar_of_each_neighbor_in_the_color_of_its_class(unlabeled, figure):
    bars = titled(figure, "weight in the vote").patches
    assert [bar.get_width() for bar in bars] == [one.weight for one in unlabeled.votes]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [
        class_style(one.label).color.lower() for one in unlabeled.votes
    ]
    assert all(percent(one.weight) in texts(figure) for one in unlabeled.votes)


def test_the_two_terms_reach_to_the_similarity(unlabeled, figure):
    axes = titled(figure, "similarity = node term + structure term")
    node, structure = np.split(np.array([bar.get_width() for bar in axes.patches]), 2)
    np.testing.assert_allclose(node + structure, [one.similarity for one in unlabeled.votes], rtol=1e-5)
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches[len(node) :]]
    np.testing.assert_allclose(ends, node + structure, rtol=1e-5)


def test_the_probabilities_fill_their_strip(unlabeled, figure):
    strip = next(axes for axes in all_axes(figure) if axes.get_xlim() == (0, 1) and axes.get_ylim() == (-0.5, 0.5))
    widths = sorted(bar.get_width() for bar in strip.patches)
    np.testing.assert_allclose(widths, sorted(p for p in unlabeled.probabilities if p > 0), rtol=1e-6)


def test_many_neighbors_are_summed_up_by_class_and_still_add_up_to_one(hub, unlabeled):
    many = replace(unlabeled, votes=tuple(replace(one, weight=one.weight / 10) for one in unlabeled.votes) * 10)
    bars = vote_bars(many, most=7)
    assert len(bars) <= 7 + 3
    assert sum(bar.weight for bar in bars) == pytest.approx(1, abs=1e-6)
    assert sum(int(bar.text.split()[1]) for bar in bars[7:]) == 50 - 7
    assert len(titled(explanation_figure(many), "weight in the vote").patches) == len(vote_bars(many))


def test_a_hub_shows_its_most_important_edges_and_counts_the_others(hub):
    explanation = explain(hub, HUB)[0]
    figure = explanation_figure(explanation)
    shown = len(drawn_lines(panels(figure)[0]))
    assert shown <= 30 < len(explanation.edge_ids)
    assert f"{shown} of {len(explanation.edge_ids)} edges drawn" in texts(figure)


def test_a_node_without_edges_is_alone_and_the_picture_says_so(hub):
    figure = explanation_figure(explain(hub, ISOLATED)[0])
    assert not any(drawn_numbers(axes) for axes in panels(figure))
    assert "no edges: compared by\nits own attributes alone" in texts(figure)
    assert any("Without edges to match" in text for text in texts(figure))
    _, structure = np.split(
        np.array([bar.get_width() for bar in titled(figure, "similarity = node term + structure term").patches]), 2
    )
    assert (structure == 0).all()


@pytest.mark.parametrize(("asked", "panel_rows"), [(1, 1), (3, 1), (4, 2), (5, 2), (100, 2)])
def test_there_are_as_many_local_graphs_as_asked_for(unlabeled, asked, panel_rows):
    figure = explanation_figure(unlabeled, num_cases=asked)
    drawn = panels(figure)
    assert len(drawn) == 1 + min(asked, len(unlabeled.votes))
    assert len({round(axes.get_position().y0, 3) for axes in drawn}) == panel_rows
    boxes = [axes.get_window_extent() for axes in drawn]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_the_size_of_the_crucial_subgraph_is_a_parameter(unlabeled):
    for size in (0, 2, 7):
        own, *others = panels(explanation_figure(unlabeled, crucial_edges=size))
        wanted = min(size, len(unlabeled.edge_ids))
        assert [number for number, _ in drawn_numbers(own)] == list(range(1, wanted + 1))
        assert all({number for number, _ in drawn_numbers(axes)} <= set(range(1, wanted + 1)) for axes in others)
    with pytest.raises(InputError, match="crucial_edges must be at least 0, got -1"):
        explanation_figure(unlabeled, crucial_edges=-1)
    with pytest.raises(InputError, match="num_cases must be at least 1, got 0"):
        explanation_figure(unlabeled, num_cases=0)


def test_one_neighbor_is_enough_for_a_picture(hub):
    explanation = explain(hub, UNLABELED)[0]
    alone = replace(explanation, votes=explanation.votes[:1])
    assert len(panels(explanation_figure(alone))) == 2


def test_only_cases_that_are_explained_in_full_are_drawn(hub):
    figure = explanation_figure(explain(hub, UNLABELED, k=1)[0])
    first, second = panels(figure)
    assert drawn_numbers(first)
    assert drawn_numbers(second)


def test_a_labeled_node_is_said_to_be_left_out_of_its_own_vote(hub):
    figure = explanation_figure(explain(hub, LABELED)[0])
    assert any("its own label was left out" in text for text in texts(figure))


def test_digits_are_shown_with_label_and_weight(digits):
    graph = digits.graph
    explanation = explain(digits, int(graph.test[0]))[0]
    figure = explanation_figure(explanation)
    pictures = [axes for axes in all_axes(figure) if axes.images]
    assert len(pictures) == 1 + 10
    for axes, node in zip(pictures, [explanation.node, *(one.node for one in explanation.votes)]):
        assert (axes.images[0].get_array() == graph.features[node].reshape(8, 8)).all()
    for axes, neighbor in zip(pictures[1:], explanation.votes):
        assert axes.get_xlabel() == f"‘{explanation.answer_of(neighbor)}’  {percent(neighbor.weight)}"
        assert to_hex(axes.spines["left"].get_edgecolor()) == class_style(neighbor.label).color.lower()
    assert "and 2 more" in texts(figure)


def test_a_person_s_own_style_does_not_change_the_picture(hub, unlabeled, figure):
    own = {"text.usetex": True, "text.parse_math": False, "axes.facecolor": "black", "savefig.facecolor": "black",
           "axes.grid": True, "savefig.bbox": "tight", "svg.fonttype": "none"}  # fmt: skip
    with matplotlib.rc_context(own):
        styled = figure_bytes(explanation_figure(unlabeled), "svg")
    assert styled == figure_bytes(figure, "svg")


def test_without_matplotlib_the_error_says_what_to_install(hub, unlabeled, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pictures need the package 'matplotlib': pip install 'se-gnn\[plot\]'"):
        explanation_figure(unlabeled)


def test_nodes_may_stand_by_their_features_and_the_picture_says_so(hub, unlabeled):
    figure = explanation_figure(unlabeled, arrangement="features", graph=hub.graph)
    assert len(panels(figure)) == 4
    assert any("t-SNE" in text for text in texts(figure))
    assert [drawn_numbers(axes) for axes in panels(figure)] == [
        drawn_numbers(axes) for axes in panels(explanation_figure(unlabeled))
    ]
    figure_bytes(figure, "pdf")
    with pytest.raises(InputError, match="arrangement must be structure or features, got 'spring'"):
        explanation_figure(unlabeled, arrangement="spring")
    with pytest.raises(InputError, match="give the graph with it"):
        explanation_figure(unlabeled, arrangement="features")


def test_attributes_that_have_names_are_listed_below_the_neighbors_that_share_them(hub):
    names = ("<script>$x$</script>", "a name of more than forty characters, which is long", "مرحبا")
    graph = changed(hub.graph, feature_names=names)
    explanation = explain(Model(hub.encoder, graph, hub.settings), UNLABELED, attributes=True)[0]
    figure = explanation_figure(explanation)
    listed = figure.findobj(lambda artist: artist.get_gid() == "attribute")
    expected = [show(one.name, 14) for neighbor in explanation.votes[:3] for one in neighbor.attributes.that_matter]
    assert expected
    assert [text.get_text() for text in listed if text.get_text() != NOTHING_MATTERS] == expected
    for kind in ("svg", "pdf", "png"):
        figure_bytes(figure, kind)


def test_pictures_need_no_list_of_pixels(digits):
    explanation = explain(digits, 3, attributes=True)[0]
    assert explanation.votes[0].attributes is not None
    assert ATTRIBUTES_HEADING not in texts(explanation_figure(explanation))
