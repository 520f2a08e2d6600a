"""Recommendations are those of scoring every pair."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.links import SEGNNLinkPredictor, recommend
from se_gnn.links.pairs import Links


@pytest.mark.parametrize("name", ["predictor", "structural"])
@pytest.mark.parametrize("max_memory", [None, "1M"])
def test_recommendations_are_the_best_of_all_pairs(
    name: str, max_memory: str | None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("se_gnn.links.recommendations.memory_budget", lambda size: 1 << 34 if size is None else 1 << 10)
    fitted: SEGNNLinkPredictor = request.getfixturevalue(name)
    model = fitted.trained_
    kind, count = model.types[0], model.graph.num_nodes
    links = Links(model.graph, kind)
    queries = np.array([0, 5, 17, 42])
    found = recommend(model, queries, 7, kind, max_memory=max_memory)
    for row, query in enumerate(queries.tolist()):
        others = np.setdiff1d(np.arange(count), [query, *links.ahead.of_node(query)])
        scores = model.scores(np.stack([np.full(len(others), query), others], axis=1), kind)
        order = np.lexsort((others, -scores))[:7]
        np.testing.assert_array_equal(found.nodes[row], others[order])
        np.testing.assert_array_equal(found.scores[row], scores[order])


def test_only_nodes_of_the_right_type_are_recommended(seller: SEGNNLinkPredictor) -> None:
    found = seller.recommend("c3", 5, type="buys")
    assert len(found) == 5
    assert all(one.name.startswith("p") for one in found)
    bought = Links(seller.graph_, seller.trained_.types[0]).ahead.of_node(3)
    assert not set(bought.tolist()) & {one.node for one in found}
    with pytest.raises(InputError, match="do not start from node 'p1'"):
        seller.recommend("p1", 5, type="buys")
    with pytest.raises(InputError, match="k must be at least 1"):
        seller.recommend("c3", 0, type="buys")


def test_there_are_no_more_recommendations_than_nodes(seller: SEGNNLinkPredictor) -> None:
    bought = len(Links(seller.graph_, seller.trained_.types[0]).ahead.of_node(3))
    assert len(seller.recommend("c3", 500, type="buys")) == 50 - bought
