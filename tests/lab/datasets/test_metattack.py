"""Attacked versions of `citeseer` and `cora-nettack`: what the attack changed."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.sparse as sp

from lab.datasets import load_dataset, metattack
from se_gnn.errors import InputError


@pytest.mark.parametrize("name", ["citeseer", "cora"])
@pytest.mark.parametrize("rate", metattack.RATES)
def test_an_attack_changed_its_share_of_the_edges_and_nothing_else(data_dir, name, rate):
    clean = metattack.load_attacked(name, 0, data_dir=data_dir)
    attacked = load_dataset(f"{name}-metattack-{rate:g}", data_dir=data_dir)
    before, after = (set(map(tuple, graph.edges.ends.tolist())) for graph in (clean, attacked))
    assert len(before ^ after) == int(rate * len(before))
    assert len(after - before) > 0.95 * len(before ^ after)  # nearly all are added
    assert attacked.name == f"{name}-metattack-{rate:g}"
    for field in ("labels", "train", "validation", "test"):
        np.testing.assert_array_equal(getattr(attacked, field), getattr(clean, field))
    assert (attacked.features != clean.features).nnz == 0


@pytest.mark.parametrize(
    ("name", "rate", "text"),
    [
        ("pubmed", 0.1, "attacked graphs are published for citeseer and cora, got 'pubmed'"),
        ("cora", 0.3, "rate must be one of 0, 0.05, 0.1, 0.15, 0.2, 0.25, got 0.3"),
    ],
)
def test_an_attack_that_nobody_published_is_refused(name, rate, text):
    with pytest.raises(InputError, match=re.escape(text)):
        metattack.load_attacked(name, rate)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], "must be symmetric"),
        ([[0, 2, 0], [2, 0, 0], [0, 0, 0]], "with entries 0 and 1"),
        ([[1, 1, 0], [1, 0, 0], [0, 0, 0]], "a diagonal of zeros"),
        ([[0, 1], [1, 0]], "must join the 3 nodes of the clean graph, got shape (2, 2)"),
    ],
)
def test_an_adjacency_that_is_no_undirected_graph_is_refused(matrix, text):
    content = io.BytesIO()
    sp.save_npz(content, sp.csr_array(matrix))
    with pytest.raises(InputError, match=re.escape(text)):
        metattack._read_adjacency(content.getvalue(), 3, where="x.npz")
