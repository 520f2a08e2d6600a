"""Structure similarity, Eq. (6), against plain loops."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.similarity import match_edges, structure, structure_similarity
from se_gnn.similarity.kernels.reference import similarity
from se_gnn.similarity.structure import StructurePlan
from strategies import continuous, graphs, measures, random_graph, seeds

hops = st.integers(1, 3)


def by_loops(h, graph, targets, labeled, measure):
    """Mean over the edges of a target of their best similarity with the edges of a labeled node, [T, L]."""
    edges = [(h[u] + h[v]) / 2 for u, v in graph.edges.tolist()]
    rows = []
    for t in range(len(targets)):
        row = []
        for one in range(len(labeled)):
            best = [
                max(float(similarity(edges[e], edges[other], measure)) for other in labeled.row(one))
                for e in targets.row(t)
                if len(labeled.row(one))
            ]
            row.append(np.mean(best) if best else -np.inf)
        rows.append(row)
    return np.array(rows)


def plan_of(graph, hops, targets=None):
    nodes = np.arange(graph.num_nodes) if targets is None else targets
    return StructurePlan.build(graph.edges, local_graphs(graph, nodes, hops), local_graphs(graph, graph.train, hops))


@settings(max_examples=50)
@given(graph=graphs(max_nodes=8), seed=seeds, hops=hops, measure=measures)
def test_it_is_the_mean_similarity_of_an_edge_with_its_best_match(graph, seed, hops, measure):
    h = continuous(seed, graph.num_nodes, 3)
    targets, labeled = local_graphs(graph, np.arange(graph.num_nodes), hops), local_graphs(graph, graph.train, hops)
    found = structure_similarity(h, plan_of(graph, hops), measure)
    np.testing.assert_allclose(found, by_loops(h, graph, targets, labeled, measure), rtol=1e-5, atol=2e-6)


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_with_and_without_a_gradient_it_is_the_same(graph, seed, hops, measure):
    h = continuous(seed, graph.num_nodes, 3)
    plan = plan_of(graph, hops)
    streamed = structure_similarity(h, plan, measure)
    learning = structure_similarity(h.clone().requires_grad_(), plan, measure)
    torch.testing.assert_close(learning.detach(), streamed, rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        assert torch.equal(structure_similarity(h.clone().requires_grad_(), plan, measure), streamed)


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_it_is_minus_infinity_exactly_where_one_of_the_two_has_no_edges(graph, seed, hops, measure):
    h = continuous(seed, graph.num_nodes, 3)
    for vectors in (h, h.clone().requires_grad_()):
        found = structure_similarity(vectors, plan_of(graph, hops), measure)
        without = graph.degrees == 0
        expected = without[:, None] | without[graph.train][None, :]
        np.testing.assert_array_equal(torch.isneginf(found), expected)
        assert not torch.isnan(found).any()


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_a_node_without_edges_is_never_the_nearest_by_structure(graph, seed, hops, measure):
    found = structure_similarity(continuous(seed, graph.num_nodes, 3), plan_of(graph, hops), measure)
    with_edges = graph.degrees[graph.train] > 0
    if with_edges.any():
        for target in np.flatnonzero(graph.degrees):
            assert with_edges[int(found[target].argmax())]


def test_its_gradient_is_that_of_the_mean_over_the_best_matches():
    graph = random_graph(1, isolated=(0, 9))
    h = continuous(2, graph.num_nodes, 3).double().requires_grad_()
    plan = plan_of(graph, 2)
    weights = torch.from_numpy(np.random.default_rng(3).normal(size=(graph.num_nodes, len(graph.train))))
    labeled, targets = local_graphs(graph, graph.train, 2), local_graphs(graph, np.arange(graph.num_nodes), 2)

    total = torch.zeros((), dtype=torch.float64)
    u, v = graph.edges.T.copy()
    edges = (h[u] + h[v]) / 2
    lengths = edges.norm(dim=1)
    cosine = edges @ edges.T / (lengths[:, None] * lengths[None])
    for t in range(len(targets)):
        for one in range(len(labeled)):
            if len(targets.row(t)) and len(labeled.row(one)):
                block = cosine[targets.row(t)][:, labeled.row(one)]
                total = total + weights[t, one] * block.amax(dim=1).mean()
    (expected,) = torch.autograd.grad(total, h)

    narrow = h.detach().float().requires_grad_()
    found = structure_similarity(narrow, plan, "cosine")
    torch.where(torch.isfinite(found), found * weights.float(), 0).sum().backward()
    torch.testing.assert_close(narrow.grad, expected.float(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("budget", [1, 500, 1 << 14])
def test_the_memory_it_may_take_does_not_change_a_bit(budget, measure, monkeypatch):
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    h, plan = continuous(5, graph.num_nodes, 7), plan_of(graph, 2)
    whole = structure_similarity(h, plan, measure)
    monkeypatch.setattr(structure, "memory_budget", lambda *_: budget)
    assert torch.equal(structure_similarity(h, plan, measure), whole)


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, budget=st.integers(1, 400), measure=measures)
def test_no_chunk_size_changes_a_bit_of_a_small_graph(graph, seed, budget, measure):
    h, plan = continuous(seed, graph.num_nodes, 3), plan_of(graph, 2)
    whole = structure_similarity(h, plan, measure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure, "memory_budget", lambda *_: budget)
        assert torch.equal(structure_similarity(h, plan, measure), whole)


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_with_the_matches_kept_it_has_the_same_bits(graph, seed, hops, measure):
    h, plan = continuous(seed, graph.num_nodes, 3), plan_of(graph, hops)
    found, matching = structure.structure_with_matches(h, plan, measure)
    assert torch.equal(found, structure_similarity(h, plan, measure))
    for kept, expected in zip((matching.similarity, matching.winners), match_edges(h, plan.matching, measure)):
        np.testing.assert_array_equal(kept, expected)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_the_number_of_threads_does_not_change_a_bit(measure):
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9)
    h = continuous(5, graph.num_nodes, 7)
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            results.append(structure_similarity(h, plan_of(graph, 2), measure))
    finally:
        numba.set_num_threads(before)
    assert torch.equal(*results)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_graph_without_edges_has_no_structure_to_compare(measure):
    graph = AttributedGraph.build(features=np.ones((4, 2)), edges=[], labels=[0, 1, 0, 1], train=[0, 1])
    for h in (continuous(0, 4, 3), continuous(0, 4, 3).requires_grad_()):
        assert torch.isneginf(structure_similarity(h, plan_of(graph, 2), measure)).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_no_targets_give_no_rows(measure):
    graph = random_graph(0)
    plan = plan_of(graph, 2, targets=np.empty(0, np.int64))
    assert structure_similarity(continuous(0, graph.num_nodes, 3), plan, measure).shape == (0, 6)


def test_a_target_has_the_same_bits_alone_and_among_others():
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    h = continuous(5, graph.num_nodes, 7)
    for measure in ("cosine", "distance"):
        together = structure_similarity(h, plan_of(graph, 2), measure)
        for node in range(graph.num_nodes):
            alone = structure_similarity(h, plan_of(graph, 2, targets=np.array([node])), measure)
            assert torch.equal(alone[0], together[node])


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_a_matching_names_edges_by_their_ids(graph, seed, hops, measure):
    h, labeled = continuous(seed, graph.num_nodes, 3), local_graphs(graph, graph.train, hops)
    targets = local_graphs(graph, np.arange(graph.num_nodes), hops)
    _, matching = structure.structure_with_matches(h, plan_of(graph, hops), measure)
    for i in range(len(targets)):
        np.testing.assert_array_equal(matching.edge_ids[matching.rows(i)], targets.row(i))
    for column in range(len(labeled)):
        wanted = set(labeled.row(column).tolist()) or {-1}
        assert set(matching.matched_ids[:, column].tolist()) <= wanted
