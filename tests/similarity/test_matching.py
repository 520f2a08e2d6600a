"""Every backend against the paper's formula: values, argmax and gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import match, match_edges, on_every_backend, on_triton, pull
from se_gnn.graph import Graph, local_graphs
from se_gnn.similarity import backend as backends
from se_gnn.similarity import reference
from strategies import continuous, measures, random_graph, seeds, way_of, ways, whole_numbers

sizes = st.integers(1, 5)


def every_similarity(h, way, measure):
    """sim(query, key) of all pairs in float64, [Q, K]."""
    wide = h.detach().double().numpy()
    queries, keys = (wide[ends].mean(axis=1) for ends in (way.queries.ends, way.keys.ends))
    if measure == "distance":
        return -np.linalg.norm(queries[:, None] - keys[None], axis=-1)
    lengths = np.linalg.norm(queries, axis=-1)[:, None] * np.linalg.norm(keys, axis=-1)[None]
    return np.divide(queries @ keys.T, lengths, out=np.zeros(lengths.shape), where=lengths > 0)


def gradient(kernel, h, way, measure, weights):
    """Gradient to h of the weighted sum of the best matches."""
    return matches_and_gradient(kernel, h, way, measure, weights)[2]


def matches_and_gradient(kernel, h, way, measure, weights):
    """Best matches, winners, and the gradient to h of the weighted sum of the best matches."""
    leaf = h.clone().requires_grad_()
    best, winners = kernel(leaf, way, measure)
    (torch.where(winners >= 0, best * weights, 0).sum() + 0 * leaf.sum()).backward()  # there even without a match
    return best.detach(), winners, leaf.grad


def assert_wins(h, way, measure, winners):
    """Each winner lies in its local graph and nothing in there is more similar, but for rounding."""
    exact = every_similarity(h, way, measure)
    for t in range(way.keys.num_local):
        members = way.keys.columns[way.keys.ptr[t] : way.keys.ptr[t + 1]]
        for q in range(len(way.queries)):
            if not len(members):
                assert winners[q, t] == -1
            else:
                assert winners[q, t] in members
                assert exact[q, winners[q, t]] >= exact[q, members].max() - 1e-5


@pytest.fixture(scope="module")
def wide():
    """More queries than one block of lanes, and local graphs of very different size."""
    graph = random_graph(3, num_nodes=60, num_edges=170, num_labeled=9, isolated=(2, 30))
    return graph, way_of(graph, np.arange(graph.num_edges), local_graphs(graph, graph.train, 2))


@on_every_backend
@settings(max_examples=60)
@given(case=ways(), seed=seeds, size=sizes)
def test_distance_argmax_agrees_exactly_with_the_paper_ties_included(case, seed, size, backend):
    graph, way = case
    h = whole_numbers(seed, graph.num_nodes, size)
    best, winners = match(backend, h, way, "distance")
    expected, first = reference.match_edges(h, way, "distance")
    assert torch.equal(winners, first)
    torch.testing.assert_close(best, expected, rtol=1e-6, atol=0)


@on_every_backend
@settings(max_examples=60)
@given(case=ways(), seed=seeds, size=sizes)
def test_cosine_of_tied_edges_has_the_best_value_and_a_winner_that_reaches_it(case, seed, size, backend):
    graph, way = case
    h = whole_numbers(seed, graph.num_nodes, size)
    best, winners = match(backend, h, way, "cosine")
    torch.testing.assert_close(best, reference.match_edges(h, way, "cosine")[0], rtol=0, atol=1e-6)
    assert_wins(h, way, "cosine", winners.numpy())


@on_every_backend
@settings(max_examples=60)
@given(case=ways(), seed=seeds, size=st.integers(2, 5), measure=measures)
def test_values_and_argmax_agree_with_the_paper(case, seed, size, measure, backend):
    graph, way = case
    h = continuous(seed, graph.num_nodes, size)
    best, winners = match(backend, h, way, measure)
    expected, first = reference.match_edges(h, way, measure)
    torch.testing.assert_close(best, expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(winners, first)


@on_every_backend
@settings(max_examples=60)
@given(case=ways(), seed=seeds, size=st.integers(2, 5), measure=measures)
def test_gradients_agree_with_autograd_through_the_paper(case, seed, size, measure, backend):
    graph, way = case
    h = continuous(seed, graph.num_nodes, size)
    weights = continuous(seed + 1, len(way.queries), way.keys.num_local)
    expected = gradient(reference.match_edges, h, way, measure, weights)
    torch.testing.assert_close(pull(backend, h, way, measure, weights), expected, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def half(wide):
    """Every other query of the wide case: the plain version takes seconds for them."""
    graph, _ = wide
    return graph, way_of(graph, np.arange(0, graph.num_edges, 2), local_graphs(graph, graph.train, 2))


@pytest.fixture(scope="module", params=[48, 320, 1000])
def embeddings(request, half):
    """Embeddings of an ensemble, and weights of a sum of matches."""
    graph, way = half
    return continuous(5, graph.num_nodes, request.param), continuous(6, len(way.queries), way.keys.num_local)


@pytest.fixture(scope="module", params=["cosine", "distance"])
def of_the_paper(request, half, embeddings):
    """A measure, and matches and gradients by the plain version."""
    (_, way), (h, weights), measure = half, embeddings, request.param
    return measure, *matches_and_gradient(reference.match_edges, h, way, measure, weights)


def assert_as_the_paper(backend, way, embeddings, of_the_paper):
    (h, weights), (measure, expected, first, slopes) = embeddings, of_the_paper
    best, winners = match(backend, h, way, measure)
    torch.testing.assert_close(best, expected, rtol=1e-5, atol=1e-5)
    assert torch.equal(winners, first)
    torch.testing.assert_close(pull(backend, h, way, measure, weights), slopes, rtol=1e-3, atol=1e-4)


@on_every_backend
def test_embeddings_of_an_ensemble_are_as_wide_as_they_like(half, embeddings, of_the_paper, backend):
    assert_as_the_paper(backend, half[1], embeddings, of_the_paper)


@on_triton
@pytest.mark.parametrize("shared", [2, 1000], ids=["products once", "for each local graph"])
def test_triton_forms_products_once_or_for_each_local_graph(half, embeddings, of_the_paper, shared, monkeypatch):
    monkeypatch.setattr("se_gnn.similarity.cuda.backend.SHARED", shared)
    assert_as_the_paper("triton", half[1], embeddings, of_the_paper)


@on_every_backend
@settings(max_examples=60)
@given(case=ways(), seed=seeds, size=sizes)
def test_gradients_of_tied_distances_agree_with_autograd_through_the_paper(case, seed, size, backend):
    graph, way = case
    h = whole_numbers(seed, graph.num_nodes, size)
    weights = continuous(seed + 1, len(way.queries), way.keys.num_local)
    expected = gradient(reference.match_edges, h, way, "distance", weights)
    torch.testing.assert_close(pull(backend, h, way, "distance", weights), expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=30)
@given(case=ways(), seed=seeds, measure=measures)
def test_the_differentiable_operation_has_the_gradients_of_its_kernel(case, seed, measure):
    graph, way = case
    h, weights = continuous(seed, graph.num_nodes, 4), continuous(seed + 1, len(way.queries), way.keys.num_local)
    assert torch.equal(gradient(match_edges, h, way, measure, weights), pull("numba", h, way, measure, weights))


@settings(max_examples=100)
@given(case=ways(), seed=seeds, measure=measures)
def test_the_torch_kernel_has_the_gradients_of_the_paper(case, seed, measure):
    graph, way = case
    h = continuous(seed, graph.num_nodes, 4)
    weights = continuous(seed + 1, len(way.queries), way.keys.num_local)
    wide = h.double()  # on the CPU the torch kernel is the one for all but float32
    torch.testing.assert_close(
        gradient(match_edges, wide, way, measure, weights.double()),
        gradient(reference.match_edges, wide, way, measure, weights.double()),
    )


@on_every_backend
@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_many_queries_find_their_best_match(wide, measure, size, backend):
    graph, way = wide
    assert len(way.queries) > 128
    h = continuous(5, graph.num_nodes, size)
    best, winners = match(backend, h, way, measure)
    assert_wins(h, way, measure, winners.numpy())
    exact = every_similarity(h, way, measure)
    some = winners.numpy() >= 0
    np.testing.assert_allclose(best.numpy()[some], np.take_along_axis(exact, winners.numpy(), 1)[some], atol=2e-6)
    assert torch.isneginf(best[~torch.from_numpy(some)]).all()


@pytest.mark.parametrize("size", [3, 16])
@on_every_backend
def test_of_many_equally_distant_edges_the_one_with_the_lowest_id_wins(wide, size, backend):
    graph, way = wide
    h = whole_numbers(7, graph.num_nodes, size)
    _, winners = match(backend, h, way, "distance")
    squared = every_similarity(h, way, "distance") ** 2
    rounded = np.round(4 * squared)  # quarters: exact
    for t in range(way.keys.num_local):
        members = way.keys.columns[way.keys.ptr[t] : way.keys.ptr[t + 1]]
        if len(members):
            np.testing.assert_array_equal(winners[:, t], members[rounded[:, members].argmin(axis=1)])


@on_every_backend
def test_far_from_the_origin_the_nearest_edge_is_still_found(wide, backend):
    graph, way = wide
    h = continuous(5, graph.num_nodes, 8) + 300
    best, _ = match(backend, h, way, "distance")
    exact = every_similarity(h, way, "distance")
    for t in np.flatnonzero(np.diff(way.keys.ptr)):
        members = way.keys.columns[way.keys.ptr[t] : way.keys.ptr[t + 1]]
        np.testing.assert_allclose(best[:, t], exact[:, members].max(axis=1), atol=1e-3)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@on_every_backend
def test_an_empty_local_graph_matches_nothing(measure, backend):
    graph = Graph.build(features=np.ones((4, 1)), edges=[[0, 1], [1, 2]], labels=[0, 1, 0, 1])
    way = way_of(graph, np.array([0]), local_graphs(graph, np.array([3, 0]), 1))
    best, winners = match(backend, continuous(0, 4, 3), way, measure)
    assert best[0, 0] == -torch.inf
    assert winners[0, 0] == -1
    assert winners[0, 1] == 0  # the edge itself
    torch.testing.assert_close(best[0, 1], torch.tensor(1.0 if measure == "cosine" else 0.0), atol=1e-6, rtol=0)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@on_every_backend
def test_a_graph_without_edges_asks_and_answers_nothing(measure, backend):
    graph = random_graph(0, num_edges=0)
    way = way_of(graph, np.empty(0, np.int64), local_graphs(graph, graph.train, 2))
    best, winners = match(backend, continuous(0, graph.num_nodes, 3), way, measure)
    assert best.shape == winners.shape == (0, 6)


@on_every_backend
def test_negative_similarities_do_not_lose_against_absent_edges(backend):
    graph = Graph.build(features=np.ones((4, 1)), edges=[[0, 1], [2, 3]], labels=[0, 1, 0, 1])
    way = way_of(graph, np.array([0]), local_graphs(graph, np.array([2]), 1))
    h = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    assert match(backend, h, way, "cosine")[0].tolist() == [[-1.0]]
    assert match(backend, h, way, "distance")[0].tolist() == [[-2.0]]


@on_every_backend
def test_a_cosine_with_a_zero_edge_is_zero(backend):
    graph = Graph.build(features=np.ones((4, 1)), edges=[[0, 1], [2, 3]], labels=[0, 1, 0, 1])
    way = way_of(graph, np.array([0, 1]), local_graphs(graph, np.array([0, 2]), 1))
    h = torch.tensor([[1.0, 2.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 1.0]])  # edge 0 is the zero vector
    torch.testing.assert_close(match(backend, h, way, "cosine")[0], torch.tensor([[0.0, 0.0], [0.0, 1.0]]))


def test_two_equal_edges_have_distance_zero_and_no_gradient():
    graph = Graph.build(features=np.ones((4, 1)), edges=[[0, 1], [2, 3]], labels=[0, 1, 0, 1])
    way = way_of(graph, np.array([0]), local_graphs(graph, np.array([2]), 1))
    h = torch.tensor([[0.1, 0.7], [0.3, 0.2], [0.3, 0.2], [0.1, 0.7]], requires_grad=True)
    best, _ = match_edges(h, way, "distance")
    best.sum().backward()
    assert best.tolist() == [[0.0]]
    assert torch.equal(h.grad, torch.zeros(4, 2))


@on_every_backend
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_many_thousand_keys_are_all_looked_at(measure, backend):
    graph = random_graph(8, num_nodes=900, num_edges=8000, num_labeled=6)
    queries = np.arange(0, graph.num_edges, 110)
    way = way_of(graph, queries, local_graphs(graph, graph.train, 3))
    assert len(way.keys) > 7000
    h = continuous(5, graph.num_nodes, 5)
    _, winners = match(backend, h, way, measure)
    exact = every_similarity(h, way, measure)
    for t in range(way.keys.num_local):
        members = way.keys.columns[way.keys.ptr[t] : way.keys.ptr[t + 1]]
        best = exact[:, members].max(axis=1)
        np.testing.assert_allclose(exact[np.arange(len(queries)), winners[:, t]], best, atol=1e-4)
        assert np.isin(winners[:, t], members).all()


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_embeddings_in_any_memory_layout_give_the_same_bits(wide, measure):
    graph, way = wide
    h = continuous(5, graph.num_nodes, 7)
    columns_first = h.T.contiguous().T
    every_other = torch.stack([h, h], dim=2).reshape(graph.num_nodes, 14)[:, ::2]
    weights = continuous(6, len(way.queries), way.keys.num_local)
    expected, pull = match_edges(h, way, measure), gradient(match_edges, h, way, measure, weights)
    for other in (columns_first, every_other):
        assert torch.equal(other, h)
        assert not other.is_contiguous()
        for found, wanted in zip(match_edges(other, way, measure), expected):
            assert torch.equal(found, wanted)
        assert torch.equal(gradient(match_edges, other, way, measure, weights), pull)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_every_entry_of_memory_that_was_not_cleared_is_written(wide, measure, monkeypatch):
    graph, way = wide
    h, weights = continuous(5, graph.num_nodes, 7), continuous(6, len(way.queries), way.keys.num_local)
    expected = (*match_edges(h, way, measure), gradient(match_edges, h, way, measure, weights))

    def poisoned(make):
        def fill(*args, **kwargs):
            memory = make(*args, **kwargs)
            memory[...] = -77 if np.issubdtype(memory.dtype, np.integer) else np.nan
            return memory

        return fill

    for name in ("empty", "empty_like"):
        monkeypatch.setattr(np, name, poisoned(getattr(np, name)))
    found = (*match_edges(h, way, measure), gradient(match_edges, h, way, measure, weights))
    for one, other in zip(found, expected):
        assert torch.equal(one, other)


@settings(max_examples=100)
@given(case=ways(), seed=seeds, measure=measures)
def test_a_query_is_answered_alike_alone_and_among_others(case, seed, measure):
    graph, way = case
    h = continuous(seed, graph.num_nodes, 3)
    best, winners = match_edges(h, way, measure)
    for q, edge in enumerate(way.queries.ids):
        alone = way._replace(queries=way_of(graph, [edge], local_graphs(graph, graph.train, 1)).queries)
        one, winner = match_edges(h, alone, measure)
        assert torch.equal(one[0], best[q])
        assert torch.equal(winner[0], winners[q])


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("block_bytes", [1, 4096])
def test_the_torch_kernel_does_not_depend_on_its_block_size(wide, measure, block_bytes, monkeypatch):
    graph, way = wide
    h, weights = continuous(5, graph.num_nodes, 7).double(), continuous(6, len(way.queries), way.keys.num_local)
    whole = (*match_edges(h, way, measure), gradient(match_edges, h, way, measure, weights))
    monkeypatch.setattr(backends, "BLOCK_BYTES", block_bytes)
    blocks = (*match_edges(h, way, measure), gradient(match_edges, h, way, measure, weights))
    torch.testing.assert_close(blocks, whole)
    assert torch.equal(blocks[1], whole[1])


FRESH_PROCESS = """
import hashlib, sys
sys.path.insert(0, {tests!r})
import numpy as np
from se_gnn.settings import SimilaritySettings
from se_gnn.similarity import Similarity, items_of
from strategies import continuous, random_graph

graph = random_graph(1, num_nodes=150, num_edges=400, num_labeled=20)
queries, cases = (items_of(graph, nodes, SimilaritySettings()) for nodes in (np.arange(150), graph.train))
digests = {{}}
for measure in {order!r}:
    for directions in ("one", "both"):
        config = SimilaritySettings(measure=measure, directions=directions)
        h = continuous(0, 150, 33)
        similarity = Similarity(graph, h, config)
        kept, there = similarity.compare_with_matches(queries, cases)
        overall = similarity.compare(queries, cases).overall
        arrays = [overall.numpy(), kept.overall.numpy(), there.similarity, there.matched_ids]
        leaf = h.clone().requires_grad_()
        overall = Similarity(graph, leaf, config).compare(queries, cases).overall
        overall.sum().backward()
        arrays += [overall.detach().numpy(), leaf.grad.numpy()]
        held = hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays))
        digests[measure, directions] = held.hexdigest()
print(sorted(digests.items()))
"""


def digests_in_a_fresh_process(order, threads):
    script = FRESH_PROCESS.format(tests=str(Path(__file__).parents[1]), order=order)
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert "cosine" in done.stdout
    return done.stdout


def test_neither_threads_nor_what_a_process_ran_before_change_a_bit():
    """Compiled functions are loaded in the order of their first call."""
    one = digests_in_a_fresh_process(["cosine", "distance"], threads=1)
    assert digests_in_a_fresh_process(["distance", "cosine"], threads=2) == one
    assert digests_in_a_fresh_process(["cosine", "distance"], threads=4) == one


def test_of_edges_too_close_to_tell_by_scores_the_closest_wins():
    # ten thousand times closer than they are long: their squares differ by less than float32 can say
    h = torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0003, 0.0], [1.0001, 0.0], [1.0002, 0.0], [-3.0, 0.0]])
    graph = Graph.build(features=np.ones((6, 1)), edges=[[0, 1], [2, 3], [3, 4], [2, 4]], labels=[0] * 6)
    way = way_of(graph, np.array([0]), local_graphs(graph, np.array([3]), 1))
    best, winners = match_edges(h, way, "distance")
    expected, first = reference.match_edges(h.double(), way, "distance")
    assert torch.equal(winners, first)
    torch.testing.assert_close(best.double(), expected, rtol=1e-3, atol=0)
