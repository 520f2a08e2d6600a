"""The K nearest among many labeled nodes on a CUDA device: what bounds leave out is never among them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from backends import GPU, INTERPRETED, ON_TRITON, cuda_backend
from se_gnn.graph import Graph
from se_gnn.model import Prediction
from se_gnn.ranking import Cases, Ranker
from se_gnn.settings import Settings
from se_gnn.similarity import Nearest, Similarity, backend, comparison, measure
from similarity.test_search import by_comparing_all, cases, sides_of

pytestmark = ON_TRITON
BUDGET = 1 << 28


def check(h, sides, count):
    """Every bit of the nearest is that of a comparison of all pairs."""
    from se_gnn.similarity.cuda import backend as cuda
    from se_gnn.similarity.cuda import search

    if not (sides.queries.sizes.any() and sides.cases.sizes.any()):
        return
    chosen = mock.Mock(return_value=cuda_backend())
    with (
        mock.patch.object(cuda, "SHARED", 1 << 60),  # small graphs share the products of their edges
        mock.patch.object(backend, "backend_for", chosen),
        mock.patch.object(comparison, "backend_for", chosen),
        mock.patch.object(measure, "backend_for", chosen),
    ):
        h = h.to(GPU)
        nearest = search.Search(sides.comparison(h), count, budget=BUDGET).nearest()
        wanted = by_comparing_all(h, sides, count)
    for name in Nearest.__slots__:
        assert torch.equal(getattr(nearest, name), getattr(wanted, name)), name


@given(case=cases())
@settings(max_examples=5 if INTERPRETED else 60, deadline=None)
def test_bounds_leave_out_none_of_the_nearest(case):
    check(*case)


@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("depth", [8, 64, 160])
def test_the_nearest_are_those_of_all_pairs_where_local_graphs_take_several_tiles(measure, depth):
    generator = np.random.default_rng(3)
    edges = generator.integers(0, 400, size=(2_400, 2))
    sides = sides_of(edges, 400, np.arange(0, 400, 2), measure=measure, hops=2)
    h = torch.from_numpy(generator.normal(size=(400, depth)).astype(np.float32))
    check(h, sides, 9)


@pytest.mark.skipif(INTERPRETED, reason="needs a CUDA device")
def test_a_model_with_many_labeled_nodes_searches_on_the_device_and_predicts_as_on_the_cpu(monkeypatch):
    from se_gnn.similarity.cuda import backend as cuda
    from se_gnn.similarity.cuda import search

    generator = np.random.default_rng(0)
    groups = np.arange(4_000) % 4
    first, second = generator.integers(4_000, size=(2, 40_000))
    same = (groups[first] == groups[second]) & (first != second)
    graph = Graph.build(
        features=np.ones((4_000, 1)), edges=np.stack([first[same], second[same]], axis=1), labels=groups,
        train=np.arange(0, 4_000, 2),
    )  # fmt: skip
    centers = generator.normal(size=(4, 40))
    h = torch.from_numpy((centers[groups] + 0.2 * generator.normal(size=(4_000, 40))).astype(np.float32))
    settings = Settings.of("best").resolve()
    cases = Cases.of(graph, settings)
    there, here = (Ranker(Similarity(graph, one, settings.similarity), cases, settings.vote) for one in (h.cuda(), h))
    queries = here.similarity.items(np.arange(4_000))
    monkeypatch.setattr(cuda, "SHARED", 1 << 60)
    monkeypatch.setattr(search, "FEWEST_PAIRS", 1)
    monkeypatch.setattr(search, "MATCH", 1e6)  # as if there were many more
    assert search.nearest_by_bounds(there.similarity.comparison(queries, cases.items), 20, 1 << 30) is not None
    ours, wanted = (Prediction.of([one.rank(queries, depth=20)]) for one in (there, here))
    np.testing.assert_allclose(ours.overall, wanted.overall, atol=1e-5)
    np.testing.assert_allclose(ours.probabilities, wanted.probabilities, atol=1e-4)
