"""Loops over rows in parts."""

from __future__ import annotations

import threading

import numba
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.deterministic.layers import map_parts
from se_gnn.graph import local, local_graphs
from se_gnn.similarity import top
from se_gnn.similarity.cpu import backend
from strategies import random_graph, rich_graph


@given(count=st.integers(0, 200), fewest=st.integers(1, 50))
def test_parts_are_all_rows_once_and_in_their_order(count, fewest):
    parts = map_parts(lambda part: list(range(count))[part], count, fewest=fewest)
    assert [row for part in parts for row in part] == list(range(count))
    assert len(parts) == 1 or min(len(part) for part in parts) >= fewest


@pytest.mark.usefixtures("all_threads")
def test_parts_run_at_the_same_time():
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("one thread")
    both = threading.Barrier(2)
    assert map_parts(lambda part: both.wait(timeout=30) in (0, 1), 2, fewest=1) == [True, True]


@pytest.mark.usefixtures("all_threads")
def test_an_error_in_a_part_is_raised():
    def fail(part: slice) -> None:
        if part.start:
            raise ValueError("in a part")

    with pytest.raises(ValueError, match="in a part"):
        map_parts(fail, 8, fewest=1)


@pytest.mark.usefixtures("all_threads")
def test_local_graphs_in_parts_are_the_same(monkeypatch):
    graph, nodes = random_graph(3, num_nodes=80, num_edges=300), np.arange(80)
    whole = local_graphs(graph, nodes, 2, 20)
    monkeypatch.setattr(local, "FEWEST_SMALL", 1)
    parts = local_graphs(graph, nodes, 2, 20)
    for name in ("ptr", "edge_ids", "left_out"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


@pytest.mark.usefixtures("all_threads")
def test_roles_in_parts_are_the_same(monkeypatch):
    graph = rich_graph(1, num_nodes=40, num_edges=90)
    around = local_graphs(graph, np.arange(40), 2)
    whole = local.edge_roles(graph, around, 2)
    monkeypatch.setattr(local, "FEWEST_SMALL", 1)
    assert len(set(whole)) > 2
    np.testing.assert_array_equal(whole, local.edge_roles(graph, around, 2))


@pytest.mark.usefixtures("all_threads")
def test_the_nearest_in_parts_are_the_same(monkeypatch):
    overall = torch.randint(0, 9, (60, 30), generator=torch.Generator().manual_seed(0)).float()
    whole = top(overall, 12)
    monkeypatch.setattr(backend, "MANY", 1)
    assert torch.equal(whole, top(overall, 12))
    assert torch.equal(whole, torch.sort(overall, dim=1, descending=True, stable=True).indices[:, :12])
