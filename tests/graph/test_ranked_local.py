"""Claims about local graphs with at most M edges."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.local import MAX_NODES, TELEPORT
from strategies import graphs, random_graph, rich_graph


def walked_shares(graph, center, hops):
    """Personalized PageRank of `hops` steps, exactly."""
    teleport, neighbors = Fraction(str(TELEPORT)), [[] for _ in range(graph.num_nodes)]
    for u, v in graph.edges.ends.tolist():
        neighbors[u].append(v)
        neighbors[v].append(u)
    share = [Fraction(0)] * graph.num_nodes
    share[center] = Fraction(1)
    for _ in range(hops):
        arriving = [Fraction(0)] * graph.num_nodes
        for u, around in enumerate(neighbors):
            for v in around:
                arriving[v] += (1 - teleport) * share[u] / len(around)
        arriving[center] += teleport
        share = arriving
    return share


def plain_local_graph(graph, center, hops, max_edges):
    """The definition in loops: nodes by their share, each with its edges to those inside."""
    share = walked_shares(graph, center, hops)
    reached = [v for v in range(graph.num_nodes) if share[v] > 0 or v == center]
    order = sorted(reached, key=lambda v: (v != center, -share[v], v))
    inside, edges = set(), set()
    for v in order[:MAX_NODES]:
        joining = {
            i for i, (a, b) in enumerate(graph.edges.ends) if (a == v and b in inside) or (b == v and a in inside)
        }
        if len(edges) + len(joining) > max_edges:
            break
        edges |= joining
        inside.add(v)
    return sorted(edges), len(reached) - len(inside)


@given(graph=graphs(), hops=st.integers(1, 3), max_edges=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_local_graph_is_that_of_the_definition(graph, hops, max_edges):
    local = local_graphs(graph, np.arange(graph.num_nodes), hops, max_edges)
    for node in range(graph.num_nodes):
        edges, left_out = plain_local_graph(graph, node, hops, max_edges)
        assert local.row(node).tolist() == edges
        assert local.left_out[node] == left_out


@pytest.mark.parametrize("seed", range(6))
def test_of_nodes_reached_equally_often_the_lowest_id_comes_first(seed):
    graph = random_graph(seed, num_nodes=40, num_edges=90)
    local = local_graphs(graph, np.arange(40), 3, 12)
    assert [local.row(node).tolist() for node in range(40)] == [
        plain_local_graph(graph, i, 3, 12)[0] for i in range(40)
    ]


@given(graph=graphs(), hops=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_limit_that_does_not_bind_gives_the_whole_neighborhood(graph, hops):
    nodes = np.arange(graph.num_nodes)
    limited, whole = local_graphs(graph, nodes, hops, 10_000), local_graphs(graph, nodes, hops)
    for node in nodes[limited.left_out == 0]:
        assert limited.row(node).tolist() == whole.row(node).tolist()


def test_local_graph_of_a_hub_stays_small_and_holds_its_center():
    star = nx.star_graph(500)
    edges = np.array(sorted({*star.edges, *((i, i + 1) for i in range(1, 400))}))
    graph = Graph.build(features=np.ones((501, 1)), edges=edges, labels=np.arange(501) % 2)
    local = local_graphs(graph, np.array([0]), 2, 64)
    assert 0 < len(local.row(0)) <= 64
    assert (graph.edges.ends[local.row(0)] == 0).any(axis=1).sum() == MAX_NODES - 1
    assert local.left_out[0] == 501 - MAX_NODES


@pytest.mark.parametrize("threads", [1, 2])
def test_local_graphs_do_not_depend_on_threads_or_on_who_else_is_asked(threads):
    graph = random_graph(3, num_nodes=80, num_edges=300)
    nodes = np.arange(80)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        together = local_graphs(graph, nodes, 2, 20)
        alone = [local_graphs(graph, nodes[i : i + 1], 2, 20).row(0).tolist() for i in range(80)]
    finally:
        numba.set_num_threads(before)
    assert [together.row(i).tolist() for i in range(80)] == alone


@pytest.mark.parametrize("rich", [False, True])
def test_a_limit_that_no_local_graph_reaches_takes_no_memory(rich):
    graph = rich_graph(num_nodes=30, num_edges=90) if rich else random_graph(num_nodes=30, num_edges=90)
    nodes = np.arange(graph.num_nodes)
    whole, limited = (local_graphs(graph, nodes, 2, most) for most in (400, 2**31 - 1))
    np.testing.assert_array_equal(whole.edge_ids, limited.edge_ids)
    np.testing.assert_array_equal(whole.ptr, limited.ptr)
