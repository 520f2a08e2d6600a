"""The kernel for pairs against edge matching as the paper writes it."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.similarity.kernels import reference
from se_gnn.similarity.kernels.pairs_cpu import pair_structure
from se_gnn.similarity.kernels.plan import MatchPlan
from strategies import continuous, measures, random_graph, seeds


def by_reference(h, edges, targets, labeled, measure, directions):
    """Mean of the best matches of the reference kernel, in float64, [T, L]."""

    def one_way(asking, answering):
        plan = MatchPlan.build(edges, asking.union(), answering)
        best = reference.match_edges(h.double(), plan, measure)[0].numpy()
        columns = asking.positions(plan.query_ids)
        means = np.full((len(asking), len(answering)), -np.inf)
        for i in np.flatnonzero(asking.sizes):
            means[i] = best[columns[asking.ptr[i] : asking.ptr[i + 1]]].mean(axis=0)
        return means

    there = one_way(targets, labeled)
    return (there + one_way(labeled, targets).T) / 2 if directions == "both" else there


def everyone(targets, labeled):
    return np.tile(np.arange(len(labeled)), (len(targets), 1))


def two_stars(first, second):
    """A star of ``first`` edges around node 0, and one of ``second`` edges around node 1, as local graphs."""
    edges = [[0, 2 + i] for i in range(first)] + [[1, 2 + first + i] for i in range(second)]
    num_nodes = 2 + first + second
    labels = np.arange(num_nodes) % 2
    graph = AttributedGraph.build(features=np.ones((num_nodes, 1)), edges=np.array(edges), labels=labels)
    return graph.edges, *(local_graphs(graph, np.array([node]), 2) for node in (0, 1))


def of_two(h, edges, star, other, measure):
    """Structure similarity of two local graphs, both ways, in float64."""
    ends = h.double().numpy()[edges]
    middles = torch.from_numpy(ends.mean(axis=1))
    a, b = middles[star.row(0)], middles[other.row(0)]
    if measure == "distance":
        scores = -torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
    else:
        scores = torch.nn.functional.cosine_similarity(a[:, None], b[None], dim=2)
    return float((scores.amax(dim=1).mean() + scores.amax(dim=0).mean()) / 2)


@given(
    seed=seeds,
    measure=measures,
    directions=st.sampled_from(["one", "both"]),
    depth=st.integers(1, 40),
    shift=st.sampled_from([0.0, 3.0]),
)
def test_structure_of_pairs_is_that_of_the_reference(seed, measure, directions, depth, shift):
    graph = random_graph(seed, num_nodes=10, num_edges=9, isolated=(0, 7), num_labeled=3)
    targets, labeled = (local_graphs(graph, nodes, 2) for nodes in (np.arange(10), graph.train))
    h = continuous(seed, 10, depth) + shift
    found = pair_structure(h, graph.edges, targets, labeled, everyone(targets, labeled), measure, directions)
    expected = by_reference(h, graph.edges, targets, labeled, measure, directions)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("num_edges", [1, 6, 15, 16, 17, 63, 64, 65, 95, 96, 97, 130, 200])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_local_graphs_of_any_size_are_matched_whole(num_edges, measure):
    """Sizes around those of vectors, tiles and groups, on both sides."""
    edges, star, other = two_stars(num_edges, 230 - num_edges)
    h = continuous(num_edges, 232, 7)
    found = pair_structure(h, edges, star, other, np.array([[0]]), measure, "both")
    assert float(found) == pytest.approx(of_two(h, edges, star, other, measure), rel=1e-5)


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-3])
def test_small_distances_keep_their_digits(apart):
    """Each edge has a close one in the other local graph; scores alone would lose most digits of its distance."""
    edges, star, other = two_stars(39, 39)
    near = np.random.default_rng(0).integers(-40, 40, (40, 8)) / np.float32(4)  # exact in float32, and so are middles
    h = np.empty((80, 8), np.float32)
    h[[0, *range(2, 41)]] = near
    h[[1, *range(41, 80)]] = near + np.float32(apart)
    found = pair_structure(torch.from_numpy(h), edges, star, other, np.array([[0]]), "distance", "both")
    assert float(found) == pytest.approx(of_two(torch.from_numpy(h), edges, star, other, "distance"), rel=1e-3)
    assert float(found) == pytest.approx(-apart * 8**0.5, rel=1e-3)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_node_is_as_similar_to_itself_as_can_be(measure):
    graph = random_graph(3, num_nodes=40, num_edges=90, num_labeled=40)
    local = local_graphs(graph, np.arange(40), 2)
    itself = np.arange(40)[:, None]
    found = pair_structure(continuous(3, 40, 9) + 5, graph.edges, local, local, itself, measure, "both").numpy()
    known = found[np.isfinite(found)]
    if measure == "distance":
        np.testing.assert_array_equal(known, 0)
    else:
        np.testing.assert_allclose(known, 1, atol=1e-6)


@given(seed=seeds, measure=measures)
def test_a_pair_has_the_same_bits_alone_and_among_others_on_any_number_of_threads(seed, measure):
    graph = random_graph(seed, num_nodes=30, num_edges=60, num_labeled=10)
    targets, labeled = (local_graphs(graph, nodes, 2) for nodes in (np.arange(30), graph.train))
    h, every = continuous(seed, 30, 17), everyone(targets, labeled)
    together = pair_structure(h, graph.edges, targets, labeled, every, measure, "both").numpy()
    one, reversed_ = targets.select(np.array([4])), every[:1, ::-1].copy()
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = pair_structure(h, graph.edges, one, labeled, reversed_, measure, "both").numpy()
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(alone[0, ::-1], together[4])
