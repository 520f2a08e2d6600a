"""Generated graphs in which one thing alone tells the classes apart: the direction, type, weight or amount of edges.

Ends and node attributes are drawn alike for both classes, so that a model of these alone has to guess.

Accounts have edges with partners, half of them shops and half people, which a column says. Of an account of the one
class an edge leads away (is of type "pays", weighs much where it goes to a shop, has a high amount) with probability
`CLEAR`, of the other class with the rest of it. Only accounts have labels. Shapes: N nodes, E edges.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph

Signal = Literal["direction", "kind", "weight", "attribute"]

CLEAR = 0.9  # how often an edge is as its account's class says
HEAVY, LIGHT = 8.0, 1.0


def edge_signal_graph(
    signal: Signal, *, accounts: int = 240, partners: int = 120, edges_each: int = 8, seed: int = 0
) -> Graph:
    """A graph of two classes that only one thing on its edges tells apart.

    Args:
        signal: what tells the classes apart.
        accounts: nodes with a label; 40 vote, 40 choose the best epoch, the rest is for the test.
        partners: nodes without a label.
        edges_each: edges of each account, to different partners.
        seed: of all that is random.

    >>> graph = edge_signal_graph("direction")
    >>> graph.edge_values.edge_data, len(graph.train)
    (('direction',), 40)
    """
    if signal not in get_args(Signal):
        raise InputError(f"signal must be one of {', '.join(get_args(Signal))}, got {signal!r}")
    generator = np.random.default_rng(seed)
    nodes = accounts + partners
    labels = np.full(nodes, -1, np.int64)
    labels[:accounts] = generator.permutation(accounts) % 2
    shop = np.arange(nodes) % 2 == 0
    half = edges_each // 2
    chosen = [
        accounts + np.concatenate([2 * generator.choice(partners // 2, half, replace=False) + side for side in (0, 1)])
        for _ in range(accounts)
    ]
    pairs = np.stack([np.repeat(np.arange(accounts), 2 * half), np.concatenate(chosen)], axis=1)
    clear = generator.random(len(pairs)) < CLEAR
    first = (labels[pairs[:, 0]] == 0) == clear  # the edge is as those of the first class are
    features = generator.normal(size=(nodes, 4)).astype(np.float32)
    features = np.column_stack(
        [features, (np.arange(nodes) >= accounts) & shop, (np.arange(nodes) >= accounts) & ~shop]
    )
    train, val, test = np.split(generator.permutation(accounts), [40, 80])
    return Graph.build(
        features=features.astype(np.float32),
        feature_names=[*(f"noise {i + 1}" for i in range(4)), "shop", "person"],
        edges=pairs,
        edge_values=_values(signal, first, shop[pairs[:, 1]], generator),
        labels=labels,
        class_names=["sender", "receiver"] if signal == "direction" else ["first", "second"],
        node_names=[f"account {i}" if i < accounts else f"{'shop' if shop[i] else 'person'} {i}" for i in range(nodes)],
        train=train,
        validation=val,
        test=test,
        name=f"only {signal}",
    )


def _values(signal: Signal, first: np.ndarray, to_shop: np.ndarray, generator: np.random.Generator) -> EdgeValues:
    """What the edges carry, [E] each: ``first`` of them as those of the first class do."""
    if signal == "direction":
        return EdgeValues(direction=np.where(first, 1, -1).astype(np.int8))
    if signal == "kind":
        return EdgeValues(type=np.where(first, 0, 1).astype(np.int32), type_names=("pays", "refunds"))
    if signal == "weight":
        return EdgeValues(weight=np.where(first == to_shop, HEAVY, LIGHT).astype(np.float32))
    amount = np.where(first, 1.0, -1.0) + 0.2 * generator.normal(size=len(first))
    return EdgeValues(attributes=amount.astype(np.float32)[:, None], attribute_names=("amount",))
