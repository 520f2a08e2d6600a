"""What everything outside asks: listed pairs, the nearest, and the matches of those that vote, in any layout."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import on_every_device
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Similarity, similarity
from se_gnn.similarity.cpu import pairs
from similarity.test_edge_data import EVERYTHING, each, terms_of
from strategies import Sides, continuous, graphs, measures, random_graph, rich_graph, seeds


def listed(generator, num_queries, num_cases):
    """Some cases for each query, as CSR rows; none for some, some of them twice."""
    sizes = generator.integers(0, 2 * num_cases, num_queries)
    sizes[:1] = 0
    return np.concatenate([[0], np.cumsum(sizes)]), generator.integers(0, num_cases, sizes.sum())


def assert_listed_as_all(sides, h, seed):
    ptr, positions = listed(np.random.default_rng(seed), len(sides.queries), len(sides.cases))
    owners = np.repeat(np.arange(len(sides.queries)), np.diff(ptr))
    with torch.no_grad():
        whole = sides.compare(h)
    found = sides.at(h).compare_listed(sides.queries, sides.cases, ptr, positions)
    for name in ("node", "structure", "overall"):
        assert torch.equal(getattr(found, name), getattr(whole, name)[owners, positions]), name


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, measure=measures, directions=st.sampled_from(["one", "both"]))
def test_listed_pairs_have_the_bits_of_a_comparison_of_all(graph, seed, measure, directions):
    sides = Sides.of(graph, SimilaritySettings(measure=measure, directions=directions))
    assert_listed_as_all(sides, continuous(seed, graph.num_nodes, 5), seed)


@settings(max_examples=20)
@given(seed=seeds, setting=each)
def test_listed_pairs_have_the_same_bits_whatever_edges_carry(seed, setting):
    graph, config = rich_graph(seed, num_nodes=12, num_edges=26), SimilaritySettings(**setting)
    _, terms = terms_of(graph, config, 4)
    assert_listed_as_all(Sides.of(graph, config, terms=terms), continuous(seed, 12, 4), seed)


def test_long_lists_in_pieces_have_the_same_bits(monkeypatch):
    graph = random_graph(4, num_nodes=50, num_edges=140, num_labeled=9, isolated=(3, 40))
    sides = Sides.of(graph, SimilaritySettings(measure="distance", directions="both"))
    for keys, matches in ((1, 1), (40, 1000)):
        monkeypatch.setattr(pairs, "KEYS_AT_A_TIME", keys)
        monkeypatch.setattr(pairs, "MATCHES_AT_A_TIME", matches)
        assert_listed_as_all(sides, continuous(5, 50, 7), 1)


@on_every_device
@settings(max_examples=15)
@given(seed=seeds, setting=each, wide=st.booleans())
def test_every_backend_compares_listed_pairs(seed, setting, wide, device):
    graph, config = rich_graph(seed, num_nodes=12, num_edges=26), SimilaritySettings(**setting)
    dtype = torch.float64 if wide else torch.float32
    _, terms = terms_of(graph, config, 4, dtype, device)
    sides, h = Sides.of(graph, config, terms=terms), continuous(seed, 12, 4).to(dtype).to(device)
    ptr, positions = listed(np.random.default_rng(seed), 12, 3)
    owners = np.repeat(np.arange(12), np.diff(ptr))
    with torch.no_grad():
        whole = sides.compare(h).overall[owners, positions]
    found = sides.at(h).compare_listed(sides.queries, sides.cases, ptr, positions).overall
    torch.testing.assert_close(found, whole, rtol=1e-5, atol=1e-5)


@settings(max_examples=30)
@given(graph=graphs(), seed=seeds, measure=measures, data=st.data())
def test_the_nearest_are_the_first_by_similarity_and_a_node_itself_comes_last(graph, seed, measure, data):
    sides, h = Sides.of(graph, SimilaritySettings(measure=measure)), continuous(seed, graph.num_nodes, 3)
    count = data.draw(st.integers(1, len(graph.train)))
    found, whole = sides.at(h).nearest(sides.queries, sides.cases, count), sides.compare(h)
    for t, row in enumerate(whole.overall.tolist()):
        order = sorted(range(len(row)), key=lambda i: (graph.train[i] == t, -row[i], i))[:count]
        assert found.positions[t].tolist() == order
        assert torch.equal(found.node[t], whole.node[t, order])
        assert torch.equal(found.structure[t], whole.structure[t, order])
        expected = [-np.inf if graph.train[i] == t else row[i] for i in order]
        assert found.overall[t].tolist() == expected


def assert_same_matches(one, other, count):
    np.testing.assert_array_equal(one.positions, other.positions)
    np.testing.assert_array_equal(one.importance(), other.importance())
    for i in range(count):
        for ours, theirs in zip(one.of(i), other.of(i)):
            np.testing.assert_array_equal(ours, theirs)


@on_every_device
@settings(max_examples=20)
@given(seed=seeds, setting=each, count=st.integers(1, 3))
def test_matches_are_the_same_in_a_table_of_all_cases_and_in_lists_of_those_that_vote(seed, setting, count, device):
    graph, config = rich_graph(seed, num_nodes=12, num_edges=26), SimilaritySettings(**setting)
    _, terms = terms_of(graph, config, 4, device=device)
    sides = Sides.of(graph, config, terms=terms)
    at = sides.at(continuous(seed, 12, 4).to(device))
    found = []
    for small in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(similarity, "_table_is_smaller", lambda *_, small=small: small)
            nearest, matches = at.nearest_with_matches(sides.queries, sides.cases, count, depth=count + 1)
            assert matches.listed != small
            found += [matches, at.match(sides.queries, sides.cases, matches.positions)]
        assert torch.equal(nearest.positions, at.nearest(sides.queries, sides.cases, count + 1).positions)
    for other in found[1:]:
        assert_same_matches(found[0], other, len(sides.queries))


def test_matches_are_those_of_the_whole_table():
    graph = rich_graph(3, num_nodes=20, num_edges=60)
    sides, h = Sides.of(graph, dataclasses.replace(EVERYTHING, match_attributes=False)), continuous(3, 20, 6)
    _, table = sides.at(h).compare_with_matches(sides.queries, sides.cases)
    positions = np.array([[2, -1, 0]] * 20)
    matches = sides.at(h).match(sides.queries, sides.cases, positions)
    for i in range(20):
        values, matched = matches.of(i)
        every, everyone = table.of(i)
        for column, position in ((0, 2), (2, 0)):
            np.testing.assert_array_equal(values[:, column], every[:, position])
            np.testing.assert_array_equal(matched[:, column], everyone[:, position])
        assert (matched[:, 1] == -1).all()
        assert np.isneginf(values[:, 1]).all()


def test_the_layout_of_matches_is_chosen_by_the_numbers_it_holds():
    graph = random_graph(1, num_nodes=60, num_edges=100, num_labeled=30)
    sides = Sides.of(graph, SimilaritySettings(hops=1))
    at, asked = sides.at(continuous(0, 60, 4)), len(sides.queries.local.edge_ids)
    for count in (1, 30):
        positions = np.tile(np.arange(count), (60, 1))
        matches = at.match(sides.queries, sides.cases, positions)
        held = matches.similarity.size
        assert held == min(asked * count, sides.queries.num_queries * 30)
        assert Similarity.match_bytes(sides.queries, sides.cases, count) == 8 * held
