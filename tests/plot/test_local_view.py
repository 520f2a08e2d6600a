from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from se_gnn.explain import explain
from se_gnn.plot import explanation_figure
from se_gnn.plot.local_view import case_view, local_views, target_view
from se_gnn.plot.placement import laid_out
from strategies import HUB, ISOLATED, LABELED, hub_graph, small_settings, untrained


@pytest.mark.parametrize("node", [HUB, LABELED, 45])
@pytest.mark.parametrize("most", [5, 12, 1000])
def test_a_view_is_small_connected_and_counts_what_it_hides(hub, node, most):
    explanation = explain(hub, node)[0]
    view = target_view(explanation, most_edges=most, crucial_edges=3)
    assert len(view.edges) <= most
    assert len(view.edges) + view.hidden == len(explanation.edge_ids)
    shown = nx.Graph(view.edges.tolist())
    assert nx.is_connected(shown)
    assert view.nodes[0] == node
    assert set(shown) == set(view.nodes.tolist())
    assert (view.nodes[view.ends] == view.edges).all()


def test_the_rings_count_hops_in_the_whole_graph(hub):
    graph = hub.graph
    whole = nx.Graph(graph.edges.ends.tolist())
    view = target_view(explain(hub, LABELED)[0], most_edges=12, crucial_edges=3)
    hops = nx.single_source_shortest_path_length(whole, LABELED)
    assert view.hops.tolist() == [hops[node] for node in view.nodes.tolist()]


def test_the_numbered_edges_are_the_crucial_subgraph(hub):
    explanation = explain(hub, 45)[0]
    view = target_view(explanation, most_edges=1000, crucial_edges=4)
    numbered = {numbers: edge for edge, numbers in zip(view.edge_ids.tolist(), view.numbers) if numbers}
    crucial = explanation.crucial_subgraph(size=4).edge_ids.tolist()
    assert numbered == {(number,): edge for number, edge in enumerate(crucial, start=1)}


@pytest.mark.parametrize("most", [12, 1000])
def test_a_matched_edge_carries_the_numbers_of_the_edges_it_is_matched_with(hub, most):
    explanation = explain(hub, 45)[0]
    target = target_view(explanation, most_edges=most, crucial_edges=5)
    number_of = {edge: numbers[0] for edge, numbers in zip(target.edge_ids.tolist(), target.numbers) if numbers}
    assert number_of
    for neighbor in explanation.votes:
        if neighbor.matches is None:
            continue
        view = case_view(neighbor, explanation, target, most_edges=most)
        expected: dict[int, set[int]] = {}
        for edge, matched in zip(neighbor.matches.edge_ids.tolist(), neighbor.matches.matched_ids.tolist()):
            if edge in number_of:
                expected.setdefault(matched, set()).add(number_of[edge])
        drawn = {edge: set(numbers) for edge, numbers in zip(view.edge_ids.tolist(), view.numbers) if numbers}
        assert drawn == expected


def test_an_edge_is_as_strong_as_its_best_match(hub):
    explanation = explain(hub, 45)[0]
    target = target_view(explanation, most_edges=1000, crucial_edges=5)
    neighbor = next(one for one in explanation.votes if one.matches is not None)
    view = case_view(neighbor, explanation, target, most_edges=1000)
    for edge, similarity in zip(view.edge_ids.tolist(), view.similarity):
        with_it = neighbor.matches.matched_ids == edge
        best = neighbor.matches.similarity[with_it].max() if with_it.any() else np.nan
        np.testing.assert_equal(similarity, best)


def test_a_node_without_edges_is_shown_alone(hub):
    view = target_view(explain(hub, ISOLATED)[0], most_edges=30, crucial_edges=5)
    assert view.nodes.tolist() == [ISOLATED]
    assert (len(view.edges), len(view.ends), view.hidden) == (0, 0, 0)


@pytest.mark.parametrize("max_edges", [1, 2, 4])
def test_a_local_graph_whose_edges_do_not_reach_the_center_is_drawn(max_edges):
    config = small_settings(num_nearest=3, max_edges=max_edges)
    trained = untrained(hub_graph(()), config)
    apart = 0
    for node in range(trained.graph.num_nodes):
        views = local_views(explain(trained, node)[0], num_cases=3)
        for view, points in zip(views, laid_out(views)):
            apart += len(view.edges) > 0 and view.nodes[0] not in view.edges
            assert np.isfinite(points).all()
            assert (np.linalg.norm(points, axis=1) <= 1 + 1e-9).all()
            assert len(view.edge_ids) + view.hidden <= max_edges
    explanation_figure(explain(trained, 0)[0])
    assert apart or max_edges > 1
