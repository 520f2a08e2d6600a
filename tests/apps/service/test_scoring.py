"""New rows over HTTP: as if they had been in the graph from the start."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.labels.extension import extend
from se_gnn.tables import ImportSettings, read_new_nodes, read_tables
from strategies import small_settings, untrained
from web_client import UNLIMITED, Client

NEW = [{"account": "x/1", "amount": 1.5, "country": "DE"}, {"account": "x2", "amount": None, "country": "Mars"}]
EDGES = [{"from": "x/1", "to": "a3"}, {"from": "x2", "to": "x/1"}]


@pytest.fixture(scope="module")
def model():
    generator = np.random.default_rng(0)
    classes = np.arange(40) % 2
    nodes = pd.DataFrame({"account": [f"a{i}" for i in range(40)], "fraud": np.array(["no", "yes"])[classes]})
    nodes["amount"] = classes + generator.normal(scale=0.3, size=40).round(3)
    nodes["country"] = np.array(["DE", "FR", "US"])[generator.integers(3, size=40)]
    ends = generator.integers(40, size=(80, 2))
    edges = pd.DataFrame({"from": [f"a{i}" for i in ends[:, 0]], "to": [f"a{i}" for i in ends[:, 1]]})
    settings = ImportSettings(id="account", label="fraud", source="from", target="to")
    return untrained(read_tables(nodes, edges, settings).graph, small_settings())


@pytest.fixture(scope="module")
def client(model):
    return Client(create_app(Store.of_model(model), UNLIMITED))


def test_new_rows_are_predicted_as_the_library_predicts_them_and_not_stored(client, model):
    answer = client.post("/v1/predict", json={"new_nodes": NEW, "new_edges": EDGES})
    assert answer.status_code == 200, answer.text
    expected = extend(model, read_new_nodes(model.graph, pd.DataFrame(NEW), pd.DataFrame(EDGES))).prediction
    for row, probabilities in zip(answer.json()["predictions"], expected.probabilities, strict=True):
        assert list(row["probabilities"].values()) == pytest.approx(probabilities.tolist(), abs=1e-6)
        assert sum(vote["weight"] for vote in row["nearest"]) == pytest.approx(1, abs=1e-5)
    assert [row["node"] for row in answer.json()["predictions"]] == ["x/1", "x2"]
    assert any("Mars" in note or "categor" in note for note in answer.json()["notes"])
    assert client.get("/v1/nodes/x2").status_code in (404, 503)
    assert model.graph.num_nodes == 40


def test_new_rows_are_explained_in_a_batch(client):
    answer = client.post("/v1/explain", json={"new_nodes": NEW, "new_edges": EDGES, "k": 2})
    assert answer.status_code == 200, answer.text
    assert [one["query"]["name"] for one in answer.json()["explanations"]] == ["x/1", "x2"]
    known = client.post("/v1/explain", json={"nodes": ["a3", 4]}).json()
    assert [one["query"]["name"] for one in known["explanations"]] == ["a3", "a4"]
    assert known["notes"] == []


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({}, 422, "give either nodes or new_nodes"),
        ({"nodes": ["a1"], "new_nodes": NEW}, 422, "give either nodes or new_nodes"),
        ({"nodes": ["a1"], "new_edges": EDGES}, 422, "new_edges have an effect only with new_nodes"),
        ({"new_nodes": [{"account": "a1", "amount": 1, "country": "DE"}]}, 400, "a1"),
        ({"new_nodes": NEW, "new_edges": [*EDGES, {"from": "x2", "to": "nobody"}]}, 400, "nobody"),
        ({"new_nodes": [{"account": "x", "amout": 1}]}, 400, "amout"),
        ({"new_nodes": [{"account": "x", "amount": "much", "country": "DE"}]}, 400, "amount"),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_the_reason(client, body, status, text):
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == status, answer.text
    assert text in answer.json()["detail"]
    assert "--" not in answer.json()["detail"]  # options are for the command line


def test_a_page_documents_every_address_and_loads_nothing_from_elsewhere(client):
    page = client.get("/docs", headers={"Accept": "text/html"}).text
    for path in client.get("/v1/openapi.json").json()["paths"]:
        assert f"<code>{path}</code>" in page
    assert "new_edges" in page
    assert 'src="http' not in page
