"""Small graphs whose links follow attributes."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.graph import EdgeValues, Graph
from se_gnn.links import SEGNNLinkPredictor


def words(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Twelve words of each group, of which a node has some, and a few others."""
    own = np.repeat(np.eye(group.max() + 1)[group], 12, axis=1)
    return ((rng.random(own.shape) < 0.05 + 0.5 * own) * 1).astype(np.float32)


def joined(group: np.ndarray, rng: np.random.Generator, degree: float) -> list[tuple[int, int]]:
    """Pairs, most of them within a group."""
    count = len(group)
    same = group[:, None] == group[None, :]
    odds = np.where(same, 0.9, 0.1) * degree / (count / (group.max() + 1))
    return [(int(u), int(v)) for u, v in np.argwhere(np.triu(rng.random((count, count)) < odds, 1))]


@pytest.fixture(scope="session")
def plain() -> Graph:
    """120 nodes in four groups, without directions."""
    rng = np.random.default_rng(3)
    group = np.arange(120) % 4
    return Graph.build(features=words(group, rng), edges=joined(group, rng, 5), labels=group)


@pytest.fixture(scope="session")
def directed() -> Graph:
    """The same size with directions and weights."""
    rng = np.random.default_rng(4)
    group = np.arange(100) % 4
    pairs = np.array(joined(group, rng, 6))
    values = EdgeValues(
        direction=rng.choice(np.array([-1, 1], np.int8), len(pairs)),
        weight=rng.choice(np.array([1, 2, 4], np.float32), len(pairs)),
    )
    return Graph.build(features=words(group, rng), edges=pairs, labels=group, edge_values=values)


@pytest.fixture(scope="session")
def shop() -> Graph:
    """40 customers who buy 50 products and like some of them: two node types, two edge types."""
    rng = np.random.default_rng(5)
    taste, sort = np.arange(40) % 3, np.arange(50) % 3
    features = np.zeros((90, 72), np.float32)
    features[:40, :36], features[40:, 36:] = words(taste, rng), words(sort, rng)
    fits = taste[:, None] == sort[None, :]
    buys = np.argwhere(rng.random(fits.shape) < np.where(fits, 0.3, 0.03)) + np.array([0, 40])
    likes = np.argwhere(rng.random(fits.shape) < np.where(fits, 0.15, 0.02)) + np.array([0, 40])
    values = EdgeValues(
        direction=np.ones(len(buys) + len(likes), np.int8),
        type=np.repeat(np.array([0, 1], np.int32), [len(buys), len(likes)]),
        type_names=("buys", "likes"),
    )
    return Graph.build(
        features=features,
        edges=np.concatenate([buys, likes]),
        labels=np.concatenate([taste, np.full(50, -1)]),
        node_names=[f"c{i}" for i in range(40)] + [f"p{i}" for i in range(50)],
        node_types=np.repeat([0, 1], [40, 50]),
        node_type_names=("customer", "product"),
        edge_values=values,
    )


@pytest.fixture(scope="session")
def predictor(plain: Graph) -> SEGNNLinkPredictor:
    """Fitted without directions."""
    return SEGNNLinkPredictor(num_nearest=2, node_weight=1.0).fit(plain)


@pytest.fixture(scope="session")
def structural(directed: Graph) -> SEGNNLinkPredictor:
    """Fitted with directions, weights and structure."""
    return SEGNNLinkPredictor(num_nearest=2, node_weight=0.7).fit(directed)


@pytest.fixture(scope="session")
def seller(shop: Graph) -> SEGNNLinkPredictor:
    """Fitted on two node types and two edge types."""
    return SEGNNLinkPredictor(num_nearest=1, node_weight=1.0).fit(shop)
