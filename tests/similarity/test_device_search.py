"""The search by lists of pairs, on every device: the nearest are those of a comparison with all."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from backends import _ON_CUDA, on_every_device
from se_gnn.similarity import search
from se_gnn.similarity.device_search import DeviceSearch
from se_gnn.similarity.kernels import pairs_any
from searches import COUNTS, by_comparing_all, cases, in_communities, planned

TOLERANCE = 2e-6  # of a similarity, relative to the longest vector


@pytest.fixture(scope="module")
def communities():
    return in_communities()


def assert_same_nearest(h, plan, count, **sizes):
    """Positions are equal but where similarities are, up to rounding."""
    found = DeviceSearch(h, plan, count, **{"budget": 1 << 30, **sizes}).nearest()
    wanted = by_comparing_all(h.cpu(), plan, count)
    room = TOLERANCE * max(1.0, float(h.norm(dim=1).max()) if not plan.measure.unit else 1.0)
    overall = found.overall.cpu()
    torch.testing.assert_close(overall, wanted.overall, rtol=0, atol=room)
    other = found.positions.cpu() != wanted.positions
    apart = torch.minimum(
        (wanted.overall[:, 1:] - wanted.overall[:, :-1]).abs(), torch.tensor(torch.inf)
    )  # two that are nearly as near may change places
    close = torch.zeros_like(other)
    close[:, 1:] |= apart <= 2 * room
    close[:, :-1] |= apart <= 2 * room
    close[:, -1] = True
    assert not (other & ~close).any()


@on_every_device
@given(case=cases(directions=("one",)))
@settings(max_examples=40, deadline=None)
def test_the_nearest_are_those_of_a_comparison_with_all(case, device):
    h, plan, count = case
    if plan.node_weight > 0:
        assert_same_nearest(h.to(device), plan, count)


@on_every_device
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_few_pairs_are_compared_on_communities(communities, measure, device):
    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), measure=measure, max_edges=16)
    found = DeviceSearch(h.to(device), plan, 5, budget=1 << 30)
    assert len(found._possible(torch.arange(600, device=device)).rows) / 600 < 12  # of 300
    assert_same_nearest(h.to(device), plan, 5)
    assert_same_nearest(h.to(device), plan, 5, budget=64 * 300 * 50)  # blocks of targets


@pytest.mark.parametrize("name", ["pair_bounds", "pair_means"])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
@pytest.mark.parametrize("device", [pytest.param("cuda", marks=_ON_CUDA)])
def test_triton_does_the_same_as_plain_pytorch(communities, measure, name, device):
    from se_gnn.similarity.kernels import pairs_triton  # only on machines with Triton

    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), measure=measure, max_edges=None)
    found = DeviceSearch(h.to(device), plan, 5, budget=1 << 30)
    pairs = torch.nonzero(~(found.bare[0][:, None] | found.bare[1][None]))[::7].T.contiguous()
    if name == "pair_means":
        one, other = ([kernel.pair_means(found.exact, *pairs, plan.measure)] for kernel in (pairs_any, pairs_triton))
    else:
        needed = torch.full((pairs.shape[1],), -torch.inf, device=device)
        one, other = (
            kernel.pair_bounds(found.fine, *pairs, needed, found.slack, unit=plan.measure.unit)
            for kernel in (pairs_any, pairs_triton)
        )
    for mine, theirs in zip(one, other):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-4)


@on_every_device
def test_a_search_is_made_where_the_embeddings_are(communities, device, monkeypatch):
    h, edges, labeled = communities
    plan = planned(edges, 600, labeled, np.arange(600), max_edges=16)
    for name, value in COUNTS.items():
        monkeypatch.setattr(search, name, value)
    monkeypatch.setattr(DeviceSearch, "pays", lambda _: True)
    found = search.nearest_by_bounds(h.to(device), plan, 5)
    assert found is not None
    assert found.positions.device.type == device


@on_every_device
def test_random_vectors_are_compared_with_all(device):
    generator = np.random.default_rng(0)
    edges, h = generator.integers(0, 800, size=(4000, 2)), generator.normal(size=(800, 64)).astype(np.float32)
    plan = planned(edges[edges[:, 0] != edges[:, 1]], 800, np.arange(0, 800, 2), np.arange(800), max_edges=32)
    assert not DeviceSearch(torch.from_numpy(h).to(device), plan, 10, budget=1 << 30).pays()
