"""Structure similarity, Eq. (6), against the paper's loops, on every device there is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.graph import Graph, local_graphs
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Items, comparison, reference
from se_gnn.similarity.cpu import backend, matching
from strategies import Sides, continuous, graphs, measures, random_graph, seeds

hops = st.integers(1, 3)
directions = st.sampled_from(["one", "both"])


def ends(graph, local, i):
    """Edges of the i-th local graph by their ends."""
    return graph.edges.ends[local.row(i)].tolist()


def by_loops(h, graph, targets, labeled, measure, both=False):
    """Eq. (6) of every pair, [T, L]."""
    asking, answering = ([ends(graph, local, i) for i in range(len(local))] for local in (targets, labeled))
    rows = [
        [reference.structure_similarity(h, own, others, measure, both=both) for others in answering] for own in asking
    ]
    return torch.stack([torch.stack(row) for row in rows])


def sides_of(graph, hops, measure="cosine", *, queries=None, directions="one"):
    return Sides.of(graph, SimilaritySettings(measure=measure, directions=directions, hops=hops), queries)


@on_every_device
@settings(max_examples=40)
@given(graph=graphs(max_nodes=8), seed=seeds, hops=hops, measure=measures, directions=directions)
def test_it_is_the_mean_similarity_of_an_edge_with_its_best_match(graph, seed, hops, measure, directions, device):
    h, sides = continuous(seed, graph.num_nodes, 3), sides_of(graph, hops, measure, directions=directions)
    expected = by_loops(h.double(), graph, sides.queries.local, sides.cases.local, measure, directions == "both")
    for vectors in (h.to(device), h.clone().to(device).requires_grad_()):
        found = sides.structure(vectors).detach().cpu()
        torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=2e-6)


@on_every_device
@settings(max_examples=30)
@given(graph=graphs(max_nodes=8), seed=seeds, measure=measures, directions=directions)
def test_its_gradient_is_that_of_the_paper(graph, seed, measure, directions, device):
    sides = sides_of(graph, 2, measure, directions=directions)
    h, weights = continuous(seed, graph.num_nodes, 3), continuous(seed + 1, graph.num_nodes, len(graph.train))
    leaf, wide = h.clone().to(device).requires_grad_(), h.double().requires_grad_()
    found = sides.structure(leaf)
    (torch.where(torch.isfinite(found), found * weights.to(device), 0).sum() + 0 * leaf.sum()).backward()
    exact = by_loops(wide, graph, sides.queries.local, sides.cases.local, measure, directions == "both")
    (torch.where(torch.isfinite(exact), exact * weights, 0).sum() + 0 * wide.sum()).backward()
    torch.testing.assert_close(leaf.grad.cpu().double(), wide.grad, rtol=1e-3, atol=1e-5)


@on_every_device
@settings(max_examples=40)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_it_is_minus_infinity_exactly_where_one_of_the_two_has_no_edges(graph, seed, hops, measure, device):
    h = continuous(seed, graph.num_nodes, 3).to(device)
    for vectors in (h, h.clone().requires_grad_()):
        found = sides_of(graph, hops, measure).structure(vectors).detach().cpu()
        without = graph.degrees == 0
        expected = without[:, None] | without[graph.train][None, :]
        np.testing.assert_array_equal(torch.isneginf(found), expected)
        assert not torch.isnan(found).any()


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_a_node_without_edges_is_never_the_nearest_by_structure(graph, seed, hops, measure):
    found = sides_of(graph, hops, measure).structure(continuous(seed, graph.num_nodes, 3))
    with_edges = graph.degrees[graph.train] > 0
    if with_edges.any():
        for target in np.flatnonzero(graph.degrees):
            assert with_edges[int(found[target].argmax())]


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures, directions=directions)
def test_with_a_gradient_and_with_matches_it_has_the_same_bits(graph, seed, hops, measure, directions):
    h, sides = continuous(seed, graph.num_nodes, 3), sides_of(graph, hops, measure, directions=directions)
    found = sides.structure(h)
    assert torch.equal(sides.structure(h.clone().requires_grad_()).detach(), found)
    assert torch.equal(sides.comparison(h).structure_and_matches(None)[0], found)


@on_every_device
@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("budget", [1, 500, 1 << 14])
def test_the_memory_it_may_take_does_not_change_a_bit(budget, measure, device, monkeypatch):
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    h, sides = continuous(5, graph.num_nodes, 7).to(device), sides_of(graph, 2, measure, directions="both")
    whole = sides.structure(h)
    monkeypatch.setattr(comparison, "memory_budget", lambda *_: budget)
    assert torch.equal(sides.structure(h), whole)


@pytest.mark.parametrize("max_edges", [None, 12])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_products_held_for_some_edges_at_a_time_change_no_bit(measure, max_edges, monkeypatch):
    graph = random_graph(4, num_nodes=120, num_edges=600, num_labeled=20, isolated=(3, 40))
    h = continuous(5, graph.num_nodes, 7)
    sides = Sides.of(graph, SimilaritySettings(measure=measure, max_edges=max_edges))
    whole, made, multiplied = sides.structure(h), [], matching.multiplied
    monkeypatch.setattr(matching, "multiplied", lambda *given: made.append(given) or multiplied(*given))
    monkeypatch.setattr(matching.numba, "get_num_threads", lambda: 1)
    monkeypatch.setattr(backend, "CHUNK_BYTES", 1 << 13)
    assert torch.equal(sides.structure(h), whole)
    assert len(made) == 1  # matches are held for some edges at a time, and no product is formed twice
    for name in ("GRAM_BYTES", "HELD_BYTES"):
        monkeypatch.setattr(backend, name, 1 << 10)
    made.clear()
    assert torch.equal(sides.structure(h), whole)
    assert len(made) > 1


@settings(max_examples=50)
@given(graph=graphs(), seed=seeds, budget=st.integers(1, 400), measure=measures, directions=directions)
def test_no_chunk_size_changes_a_bit_of_a_small_graph(graph, seed, budget, measure, directions):
    h, sides = continuous(seed, graph.num_nodes, 3), sides_of(graph, 2, measure, directions=directions)
    whole = sides.structure(h)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "memory_budget", lambda *_: budget)
        assert torch.equal(sides.structure(h), whole)


@pytest.mark.parametrize("directions", ["one", "both"])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_block_of_labeled_nodes_has_the_bits_of_the_whole(measure, directions):
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    h, sides = continuous(5, graph.num_nodes, 7), sides_of(graph, 2, measure, directions=directions)
    whole = sides.structure(h)
    for low, high in ((0, 4), (4, 5), (5, 9)):
        assert torch.equal(sides.comparison(h).block(low, high).structure(None), whole[:, low:high])


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, hops=hops, measure=measures)
def test_a_matching_names_edges_by_their_ids(graph, seed, hops, measure):
    h, sides = continuous(seed, graph.num_nodes, 3), sides_of(graph, hops, measure, directions="both")
    _, found = sides.comparison(h).structure_and_matches(None)
    asking, answering = sides.queries.local, sides.cases.local
    for i in range(len(asking)):
        for position in range(len(answering)):
            matched = found.of(i)[1][:, position]
            others = answering.row(position)
            if len(others):
                ours = graph.edges.ends[asking.row(i)].tolist()
                best = reference.matched_edges(h.double(), ours, ends(graph, answering, position), measure)
                np.testing.assert_array_equal(matched, others[best])
            else:
                assert (matched == -1).all()


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, most=st.integers(1, 6), measure=measures, directions=directions)
def test_local_graphs_of_some_edges_are_compared_as_any(graph, seed, most, measure, directions):
    generator = np.random.default_rng(seed)
    queries, cases = (
        Items(graph.edges.ends, local_graphs(graph, nodes, 2).sampled(most, generator=generator))
        for nodes in (np.arange(graph.num_nodes), graph.train)
    )
    settings = SimilaritySettings(measure=measure, directions=directions)
    h, sides = continuous(seed, graph.num_nodes, 3), Sides(graph, settings, queries, cases)
    expected = by_loops(h.double(), graph, queries.local, cases.local, measure, directions == "both")
    torch.testing.assert_close(sides.structure(h).double(), expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_graph_without_edges_has_no_structure_to_compare(measure):
    graph = Graph.build(features=np.ones((4, 2)), edges=[], labels=[0, 1, 0, 1], train=[0, 1])
    for h in (continuous(0, 4, 3), continuous(0, 4, 3).requires_grad_()):
        assert torch.isneginf(sides_of(graph, 2, measure, directions="both").structure(h)).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_no_targets_give_no_rows(measure):
    graph = random_graph(0)
    sides = sides_of(graph, 2, measure, queries=np.empty(0, np.int64), directions="both")
    assert sides.structure(continuous(0, graph.num_nodes, 3)).shape == (0, 6)


def test_a_target_has_the_same_bits_alone_and_among_others():
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    h = continuous(5, graph.num_nodes, 7)
    for measure in ("cosine", "distance"):
        together = sides_of(graph, 2, measure, directions="both").structure(h)
        for node in range(graph.num_nodes):
            alone = sides_of(graph, 2, measure, queries=np.array([node]), directions="both").structure(h)
            assert torch.equal(alone[0], together[node])


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, measure=measures, directions=directions)
def test_edges_of_equal_weight_count_as_without_weights(graph, seed, measure, directions):
    h, sides = continuous(seed, graph.num_nodes, 3), sides_of(graph, 2, measure, directions=directions)
    weights = torch.full((graph.num_edges,), 0.5)
    found = sides.structure(h, edge_weights=weights)
    torch.testing.assert_close(found, sides.structure(h), rtol=1e-5, atol=1e-6)
