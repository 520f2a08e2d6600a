"""The API hands out what edges carry, and what matched edges carry alike."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lab.datasets.edge_signal import edge_signal_graph
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.explain.attributes import edge_info
from se_gnn.explain.text import agreeing_facts
from se_gnn.model import SEGNN, Model
from se_gnn.settings import Settings
from strategies import changed
from web_client import UNLIMITED, Client


@pytest.fixture(scope="module")
def rich() -> Model:
    graph = edge_signal_graph("direction")
    generator = np.random.default_rng(0)
    values = dataclasses.replace(
        graph.edge_values,
        weight=generator.uniform(1, 9, graph.num_edges).astype(np.float32),
        type=generator.integers(0, 2, graph.num_edges).astype(np.int32),
        type_names=("pays", "lends"),
        attributes=generator.normal(size=(graph.num_edges, 1)).astype(np.float32),
        attribute_names=("amount",),
    )
    graph = changed(graph, edge_values=values)
    settings = Settings.of("best", members=1, hidden_size=8, output_size=4).resolve()
    return Model(SEGNN.for_graph(graph, settings), graph, settings)


@pytest.fixture(scope="module")
def rich_client(rich) -> Client:
    return Client(create_app(Store.of_model(rich), UNLIMITED))


def test_an_edge_of_a_local_graph_says_where_it_leads_and_what_it_carries(rich_client, rich):
    graph, values = rich.graph, rich.graph.edge_values
    node = int(graph.test[0])
    edges = rich_client.get(f"/v1/nodes/%23{node}/local-graph").json()["edges"]
    assert edges
    for edge in edges:
        text = edge_info(graph, edge["id"])
        assert edge["directed"] == bool(values.direction[edge["id"]])
        assert (edge["start"], edge["end"]) == (text.start, text.end)
        assert edge["facts"] == text.facts
        assert edge["weight"] == pytest.approx(values.weight[edge["id"]])
        assert edge["type"] == values.type_names[values.type[edge["id"]]]
        assert "amount" in edge["facts"]


def test_matched_edges_say_what_both_carry_alike(rich_client, rich):
    one, other = int(rich.graph.test[0]), int(rich.graph.train[0])
    matches = rich_client.post("/v1/similarity", json={"one": one, "other": other}).json()["matches"]
    assert matches
    assert any(match["alike"] for match in matches)
    for match in matches:
        expected = agreeing_facts(*(edge_info(rich.graph, match[side]["id"]) for side in ("edge", "matched")))
        assert match["alike"] == list(expected)
        assert match["matched"]["facts"]


def test_an_edge_that_carries_nothing_says_so(client):
    edges = client.get("/v1/nodes/%230/local-graph").json()["edges"]
    assert all(
        (edge["directed"], edge["type"], edge["weight"], edge["facts"]) == (False, None, None, {}) for edge in edges
    )
