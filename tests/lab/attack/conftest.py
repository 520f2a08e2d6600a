"""A graph small enough for the dense reference, of two groups that a GCN tells apart."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.graph import Graph


@pytest.fixture(scope="session")
def groups() -> Graph:
    """60 nodes in three groups with binary attributes, 5 labeled a group; edges mostly within a group."""
    return make_groups(60, seed=0)


def make_groups(num_nodes: int, *, seed: int, within: float = 0.2, across: float = 0.01) -> Graph:
    generator = np.random.default_rng(seed)
    labels = np.arange(num_nodes) % 3
    u, v = np.triu_indices(num_nodes, 1)
    edge = generator.random(len(u)) < np.where(labels[u] == labels[v], within, across)
    ring = np.stack([np.arange(num_nodes), (np.arange(num_nodes) + 3) % num_nodes], axis=1)  # no node is alone
    words = generator.random((num_nodes, 30)) < np.where(np.arange(30) % 3 == labels[:, None], 0.3, 0.1)
    return Graph.build(
        name="groups",
        features=words.astype(np.float32),
        edges=np.concatenate([np.stack([u[edge], v[edge]], axis=1), ring]),
        labels=labels,
        train=np.arange(15),
        validation=np.arange(15, 30),
        test=np.arange(30, num_nodes),
    )
