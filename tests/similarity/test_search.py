"""The K nearest among many labeled nodes: what bounds leave out is never among them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from se_gnn.config import Config
from se_gnn.graph import AttributedGraph
from se_gnn.model import Voter
from se_gnn.similarity import search
from se_gnn.similarity.search import Search
from se_gnn.similarity.short import Directions
from searches import COUNTS, assert_same, by_comparing_all, cases, in_communities, planned


@pytest.fixture(scope="module")
def communities():
    return in_communities()


@given(case=cases())
@settings(max_examples=100, deadline=None)
def test_the_nearest_and_their_bits_are_those_of_a_comparison_with_all(case):
    h, plan, count = case
    assert_same(Search(h, plan, count).nearest(), by_comparing_all(h, plan, count))


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("directions", ["one", "both"])
def test_most_labeled_nodes_are_left_out_on_communities(communities, measure, directions):
    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), measure=measure, directions=directions, max_edges=16)
    found = Search(h, plan, 5)
    possible = found._possible(0, 600)
    assert possible.ptr[-1] / 600 < 12  # of 300
    assert_same(found.nearest(), by_comparing_all(h, plan, 5))


def test_blocks_of_targets_and_their_number_change_nothing(communities):
    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), max_edges=16)
    whole, small = Search(h, plan, 7).nearest(), Search(h, plan, 7, budget=4 * 300 * 50).nearest()
    assert_same(small, whole)


def test_it_is_asked_for_by_counts_alone(communities, monkeypatch):
    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), max_edges=16)
    assert search.nearest_by_bounds(h, plan, 5) is None  # too few labeled nodes
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    assert search.nearest_by_bounds(h, plan, 5) is not None
    assert search.nearest_by_bounds(h, plan, 299) is None  # nearly all are wanted
    assert search.nearest_by_bounds(h.double(), plan, 5) is None  # another kernel
    assert search.nearest_by_bounds(h, dataclasses.replace(plan, node_weight=0.0), 5) is None  # nothing is known first


def test_random_vectors_are_compared_with_all(monkeypatch):
    generator = np.random.default_rng(0)
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    edges, h = generator.integers(0, 800, size=(4000, 2)), generator.normal(size=(800, 64)).astype(np.float32)
    plan = planned(edges[edges[:, 0] != edges[:, 1]], 800, np.arange(0, 800, 2), np.arange(800), max_edges=32)
    assert search.nearest_by_bounds(torch.from_numpy(h), plan, 10) is None


def test_a_vote_by_search_is_the_vote_of_all(communities, monkeypatch):
    h, edges, labeled = communities
    labels = np.arange(600) % 6
    graph = AttributedGraph.build(features=np.zeros((600, 1)), edges=edges, labels=labels, train=labeled)
    voter = Voter(graph, Config().with_settings(num_nearest=9, max_edges=16))
    plan = voter.plan(np.arange(600))
    wanted = voter.predict(h, plan)
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    monkeypatch.setattr(search, "compare", None, raising=False)
    found = voter.predict(h, plan)
    for name in ("neighbors", "weights", "overall", "node", "structure", "probabilities"):
        assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes(), name


def test_short_vectors_keep_lengths_and_bound_products():
    generator = np.random.default_rng(0)
    vectors = (generator.normal(size=(50, 20)) @ generator.normal(size=(20, 64))).astype(np.float32)
    ends = np.stack([np.arange(50), np.arange(50)[::-1]], axis=1)
    edges = (vectors[ends[:, 0]] + vectors[ends[:, 1]]).astype(np.float64) / 2
    short, products = Directions.of(vectors, ends, unit=False).edges(vectors, ends), edges @ edges.T
    for part in (short.coarse.astype(np.float64), short.fine.astype(np.float64)):
        np.testing.assert_allclose((part**2).sum(axis=1), short.squares, rtol=1e-5)
        rest, along = np.outer(part[:, -1], part[:, -1]), part[:, :-1] @ part[:, :-1].T
        room = 1e-6 * np.sqrt(np.outer(short.squares, short.squares))
        assert (products <= along + rest + room).all()
        assert (products >= along - rest - room).all()
