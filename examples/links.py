"""What will a customer buy next, and why? Customers and products as two node types, purchases as links.

`python examples/links.py` makes customers with interests and products with topics, hides a purchase of some customers,
learns from the others, and asks how often the hidden one is among the ten that it recommends. Then it explains one.
"""

from __future__ import annotations

import numpy as np

from se_gnn import Graph, SEGNNLinkPredictor
from se_gnn.graph import EdgeValues

TOPICS = ("garden", "kitchen", "music", "travel", "books", "sports")
CUSTOMERS, PRODUCTS = 200, 150


def make_shop(seed: int = 0) -> tuple[Graph, list[tuple[str, str]]]:
    """A graph of purchases, and some purchases that are not in it."""
    rng = np.random.default_rng(seed)
    interest, topic = rng.integers(0, len(TOPICS), CUSTOMERS), rng.integers(0, len(TOPICS), PRODUCTS)
    words = 8 * len(TOPICS)
    features = np.zeros((CUSTOMERS + PRODUCTS, 2 * words), np.float32)
    for node, one in enumerate([*interest, *topic]):
        first = 0 if node < CUSTOMERS else words
        features[node, first + 8 * one + rng.choice(8, 4, replace=False)] = 1  # words of its own topic
        features[node, first + rng.integers(0, words, 3)] = 1  # any words
    likes = np.where(interest[:, None] == topic[None, :], 0.2, 0.01)
    bought = np.argwhere(rng.random(likes.shape) < likes)
    hidden = bought[rng.permutation(len(bought))[:40]]
    kept = np.array([pair for pair in bought.tolist() if pair not in hidden.tolist()])
    names = [f"customer {i}" for i in range(CUSTOMERS)] + [f"{TOPICS[t]} product {i}" for i, t in enumerate(topic)]
    graph = Graph.build(
        features=features,
        edges=kept + np.array([0, CUSTOMERS]),
        labels=np.concatenate([interest, np.full(PRODUCTS, -1)]),
        node_names=names,
        node_types=np.repeat([0, 1], [CUSTOMERS, PRODUCTS]),
        node_type_names=("customer", "product"),
        edge_values=EdgeValues(
            direction=np.ones(len(kept), np.int8), type=np.zeros(len(kept), np.int32), type_names=("buys",)
        ),
        name="shop",
    )
    return graph, [(names[u], names[CUSTOMERS + v]) for u, v in hidden.tolist()]


def main() -> None:
    """Fit, recommend, explain."""
    graph, hidden = make_shop()
    predictor = SEGNNLinkPredictor().fit(graph)
    found = [product in {one.name for one in predictor.recommend(who, 10, type="buys")} for who, product in hidden]
    print(f"{sum(found)} of {len(hidden)} hidden purchases are among the ten products recommended")
    print(f"(at random, about {10 * len(hidden) / PRODUCTS:.0f} would be)\n")
    print(predictor.explain(*hidden[0], type="buys").sentence())


if __name__ == "__main__":
    main()
