"""The K nearest among many labeled nodes: what bounds leave out is never among them."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.graph import Graph
from se_gnn.model import Prediction
from se_gnn.ranking import Cases, Ranker
from se_gnn.settings import Settings, SimilaritySettings
from se_gnn.similarity import Nearest, Similarity, top
from se_gnn.similarity.cpu import search
from se_gnn.similarity.cpu.bounds import ShortVectors, directions, pair_bounds, shorter
from se_gnn.similarity.cpu.search import Search
from strategies import Sides

COUNTS = {"FEWEST_CASES": 1, "FEWEST_PAIRS": 1, "SHARE": 1}


def by_comparing_all(h, sides, count):
    similarities = sides.compare(h)
    queries, cases = (side.nodes_on(h.device) for side in (sides.queries, sides.cases))
    overall = similarities.overall.masked_fill(queries[:, None] == cases, -torch.inf)
    order = top(overall, count)
    tables = (overall, similarities.node, similarities.structure)
    return Nearest(order, *(table.gather(1, order) for table in tables))


def searched(h, sides, count, **options):
    return Search(sides.comparison(h), count, **options)


def by_bounds(h, sides, count, budget=1 << 30):
    return search.nearest_by_bounds(sides.comparison(h), count, budget)


def assert_same(found, wanted):
    for name in Nearest.__slots__:
        one, other = (getattr(side, name).numpy() for side in (found, wanted))
        np.testing.assert_array_equal(one, other, err_msg=name)
        assert one.tobytes() == other.tobytes(), name  # the sign of a zero too


def sides_of(edges, num_nodes, labeled, **settings):
    labels = np.zeros(num_nodes, int)
    graph = Graph.build(features=np.zeros((num_nodes, 1)), edges=edges, labels=labels, train=np.asarray(labeled))
    return Sides.of(graph, SimilaritySettings(**settings))


@st.composite
def cases(draw):
    """Small graphs with ties, equal vectors, nodes without edges, opposite ends, far outliers, lengths of nearly 0."""
    num_nodes, depth = draw(st.integers(6, 40)), draw(st.sampled_from([1, 3, 15, 16, 17, 40]))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["whole", "normal", "equal", "near", "outliers", "offset", "canceled", "tiny"]))
    h = generator.normal(size=(num_nodes, depth))
    if kind == "whole":
        h = generator.integers(-1, 2, size=h.shape).astype(float)
    elif kind == "equal":
        h = h[generator.integers(0, 3, size=num_nodes)]
    elif kind == "near":  # nearly one point: what bounds tell apart is less than rounding
        h = h[:1] + 1e-6 * h
    elif kind == "outliers":
        h[generator.integers(0, num_nodes, size=2)] *= 1e8
    elif kind == "tiny":  # squares that float32 can hardly hold, and lengths below what counts as 0
        h *= 10.0 ** generator.uniform(*draw(st.sampled_from([(-24, -18), (-16, 2)])), size=(num_nodes, 1))
    elif kind == "offset":
        h = h + 1000
    elif kind == "canceled":  # the ends of some edges are nearly or wholly opposite: a match is found by rounding alone
        half = num_nodes // 2
        h[half : 2 * half] = -h[:half] + draw(st.sampled_from([0, 1e-6])) * generator.normal(size=(half, depth))
    edges = generator.integers(0, num_nodes, size=(draw(st.integers(1, 3 * num_nodes)), 2))
    if kind == "canceled":
        edges = np.concatenate([edges, np.arange(2 * half).reshape(2, half).T])
    edges = edges[edges[:, 0] != edges[:, 1]]
    if draw(st.booleans()):
        edges = edges[(edges < num_nodes // 2).all(axis=1)]  # half of the nodes have none
    labeled = np.sort(generator.permutation(num_nodes)[: draw(st.integers(4, num_nodes))])
    settings_ = {
        "measure": draw(st.sampled_from(["cosine", "distance"])),
        "node_weight": draw(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0])),
        "max_edges": draw(st.sampled_from([None, 3, 64])),
        "hops": draw(st.sampled_from([1, 2])),
    }
    sides = sides_of(edges.reshape(-1, 2), num_nodes, labeled, **settings_)
    return torch.from_numpy(h.astype(np.float32)), sides, draw(st.integers(1, len(labeled) - 2))


@given(case=cases())
@settings(max_examples=100, deadline=None)
def test_the_nearest_and_their_bits_are_those_of_a_comparison_with_all(case):
    h, sides, count = case
    assert_same(searched(h, sides, count).nearest(), by_comparing_all(h, sides, count))


@pytest.fixture(scope="module")
def communities():
    """A graph of 600 nodes in which 300 are labeled, and embeddings that lie close to a few directions."""
    generator = np.random.default_rng(0)
    num_nodes = 600
    groups = np.arange(num_nodes) % 6
    first, second = generator.integers(num_nodes, size=(2, 2400))
    same = (groups[first] == groups[second]) & (first != second)
    centers = generator.normal(size=(6, 40))
    h = centers[groups] + 0.2 * generator.normal(size=(num_nodes, 4)) @ generator.normal(size=(4, 40))
    labeled = np.sort(generator.permutation(num_nodes)[:300])
    edges = np.stack([first[same], second[same]], axis=1)
    return torch.from_numpy(h.astype(np.float32)), edges, labeled


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_most_labeled_nodes_are_left_out_on_communities(communities, measure):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, measure=measure, max_edges=16)
    found = searched(h, sides, 5)
    candidates = found.candidates(np.arange(600))
    assert (len(candidates.near[0]) + len(candidates.others[0])) / 600 < 30  # of 300
    assert_same(found.nearest(), by_comparing_all(h, sides, 5))


def test_blocks_of_targets_and_their_number_change_nothing(communities):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, max_edges=16)
    whole, small = searched(h, sides, 7).nearest(), searched(h, sides, 7, budget=1 << 18).nearest()
    assert_same(small, whole)


@pytest.mark.usefixtures("all_threads")
def test_the_number_of_threads_changes_nothing(communities):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, max_edges=16)
    several, before = searched(h, sides, 7).nearest(), numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert_same(searched(h, sides, 7).nearest(), several)
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_first_bounds_by_centers_are_never_below_the_similarity(communities, measure):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, measure=measure, node_weight=0.5, max_edges=16)
    some = np.arange(0, 600, 20)
    upper, itself = searched(h, sides, 5).upper(some), some[:, None] == labeled
    assert (upper >= sides.compare(h).overall.numpy()[some])[~itself].all()
    assert np.isneginf(upper[itself]).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("level", [0, 1])
def test_bounds_by_short_vectors_are_never_below_the_similarity(communities, measure, level):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, measure=measure, max_edges=16)
    found, structure = searched(h, sides, 5), sides.compare(h).structure.numpy()
    some, ptr, positions = np.arange(600), np.arange(601) * 300, np.tile(np.arange(300), 600)
    bounds = pair_bounds(*found.levels[level], found.terms, some, ptr, positions).reshape(600, 300)
    defined = np.isfinite(structure)
    np.testing.assert_array_equal(np.isnan(bounds), ~defined)
    assert (bounds >= structure)[defined].all()


def test_local_graphs_of_very_many_edges():
    generator = np.random.default_rng(1)
    edges = np.concatenate(
        [generator.integers(0, 60, size=(400, 2)), np.stack([np.zeros(59, int), np.arange(1, 60)], 1)]
    )
    h = torch.from_numpy(generator.normal(size=(60, 24)).astype(np.float32))
    sides = sides_of(edges[edges[:, 0] != edges[:, 1]], 60, np.arange(50))
    assert sides.cases.sizes.max() > 128
    assert_same(searched(h, sides, 6).nearest(), by_comparing_all(h, sides, 6))


def test_what_does_not_fit_the_memory_is_not_prepared(communities, monkeypatch):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, max_edges=16)
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    assert by_bounds(h, sides, 5, budget=1 << 14) is None


def test_it_is_asked_for_by_counts_alone(communities, monkeypatch):
    h, edges, labeled = communities
    sides = sides_of(edges, 600, labeled, max_edges=16)
    assert by_bounds(h, sides, 5) is None  # too few labeled nodes
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    assert by_bounds(h, sides, 5) is not None
    assert by_bounds(h, sides, 299) is None  # nearly all are wanted
    assert by_bounds(h, sides_of(edges, 600, labeled, max_edges=16, directions="both"), 5) is None


def test_random_vectors_are_compared_with_all(monkeypatch):
    generator = np.random.default_rng(0)
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    edges, h = generator.integers(0, 800, size=(4000, 2)), generator.normal(size=(800, 64)).astype(np.float32)
    sides = sides_of(edges[edges[:, 0] != edges[:, 1]], 800, np.arange(0, 800, 2), max_edges=32)
    assert by_bounds(torch.from_numpy(h), sides, 10) is None


def test_a_vote_by_search_is_the_vote_of_all(communities, monkeypatch):
    h, edges, labeled = communities
    labels = np.arange(600) % 6
    graph = Graph.build(features=np.zeros((600, 1)), edges=edges, labels=labels, train=labeled)
    settings = Settings.of("paper", measure="cosine", num_nearest=9, max_edges=16).resolve()
    ranker = Ranker(Similarity(graph, h, settings.similarity), Cases.of(graph, settings), settings.vote)
    queries = ranker.similarity.items(np.arange(600))
    wanted = Prediction.of([ranker.rank(queries, depth=9)])
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    found = Prediction.of([ranker.rank(queries, depth=9)])
    for name in ("cases", "weights", "overall", "node", "structure", "probabilities"):
        assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes(), name


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("width", [8, 48])
def test_short_vectors_keep_lengths_and_bound_products(unit, width):
    generator = np.random.default_rng(0)
    vectors = (generator.normal(size=(50, 60)) @ generator.normal(size=(60, 64))).astype(np.float32)
    made = ShortVectors.of(vectors, np.arange(50)[:, None] * [1, 1], directions(vectors), unit=unit)
    short = made.short if width == made.short.shape[1] else shorter(made.short)
    wide = vectors.astype(np.float64)
    wide = wide / np.linalg.norm(wide, axis=1, keepdims=True) if unit else wide
    products, slack = wide @ wide.T, 1e-6 * np.outer(*[np.linalg.norm(wide, axis=1)] * 2)
    np.testing.assert_allclose((short**2).sum(axis=1), made.squares, rtol=1e-5)
    along, rest = short[:, :-1].astype(np.float64), short[:, -1].astype(np.float64)
    assert (products <= along @ along.T + np.outer(rest, rest) + slack).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_a_node_whose_vector_is_nearly_0_is_found_among_nodes_that_point_away(measure):
    """Its cosine with any node is nearly 0, which is more than that of vectors at an obtuse angle."""
    generator = np.random.default_rng(0)
    h = generator.normal(size=(60, 20))
    h[0::3] *= 1e-16
    h[1::3] = -np.abs(h[1::3])
    h[2::3] = np.abs(h[2::3])
    h = torch.from_numpy(h.astype(np.float32))
    for weight in (0.5, 1.0):
        sides = sides_of([(0, 1), (2, 3)], 60, np.arange(60), measure=measure, node_weight=weight)
        assert_same(searched(h, sides, 30).nearest(), by_comparing_all(h, sides, 30))
