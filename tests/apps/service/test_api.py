"""The REST service answers what the library answers, in its own words, and refuses the rest with a reason."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time

import httpx
import jsonschema
import numpy as np
import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store, answers
from se_gnn.explain import explain, schema
from se_gnn.ranking import WhatIf
from strategies import HUB, ISOLATED, UNLABELED, random_graph, small_settings, untrained
from web_client import UNLIMITED, Client


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    return answer.json()["detail"]


def test_the_card_says_what_is_served(client, hub):
    card = client.get("/v1/model").json()
    assert card["nodes"] == hub.graph.num_nodes
    assert card["classes"] == list(hub.graph.class_names)
    assert [part["part"] for part in card["accuracy"]] == ["labeled", "validation", "test"]


@pytest.mark.parametrize("node", [HUB, 5, UNLABELED, ISOLATED, 7])
def test_an_explanation_is_the_librarys(client, hub, node):
    answer = client.get(f"/v1/nodes/%23{node}/explanation", params={"k": 2})
    expected = explain(hub, node, k=2, attributes=True)[0]
    assert answer.content == expected.to_json(indent=None).encode("utf-8", "replace")
    jsonschema.validate(answer.json(), schema())


def test_predictions_are_the_librarys(client, hub):
    nodes = [HUB, "n45", ISOLATED]
    found = client.post("/v1/predict", json={"nodes": nodes}).json()["predictions"]
    expected = hub.predict(np.array([HUB, 45, ISOLATED]))
    for row, chances, weights in zip(found, expected.probabilities, expected.weights):
        np.testing.assert_allclose(list(row["probabilities"].values()), chances, rtol=1e-6)
        np.testing.assert_allclose([vote["weight"] for vote in row["nearest"]], weights, rtol=1e-6)
    names = [hub.graph.node_names[node] for node in (HUB, 45, ISOLATED)]
    assert [row["node"] for row in found] == names


def test_a_labeled_node_is_not_among_its_own_votes():
    graph = random_graph(num_labeled=4)
    trained = untrained(graph, small_settings(num_nearest=4))
    client = Client(create_app(Store.of_model(trained), UNLIMITED))
    node, other = (row["nearest"] for row in client.post("/v1/predict", json={"nodes": [0, 9]}).json()["predictions"])
    assert [vote["node"] for vote in node] == [graph.node_names[one.node] for one in explain(trained, 0)[0].votes]
    assert (len(node), len(other)) == (3, 4)


def test_an_explanation_can_be_had_under_other_settings(client, hub):
    before = explain(hub, UNLABELED)[0]
    first, second = (one.node for one in before.votes[:2])
    without = [f"#{first}", before.nodes[second].name]
    parameters = {"num_nearest": 3, "node_weight": 0.9, "without": without}
    found = client.get(f"/v1/nodes/%23{UNLABELED}/explanation", params=parameters).json()
    jsonschema.validate(found, schema())
    assert found["settings"]["num_nearest"] == len(found["votes"]) == 3
    assert found["settings"]["node_weight"] == 0.9
    expected = explain(hub, UNLABELED, what_if=WhatIf(num_nearest=3, node_weight=0.9, without=(first, second)))[0]
    assert [one["node"] for one in found["votes"]] == [one.node for one in expected.votes]
    np.testing.assert_allclose(found["answer"]["probabilities"], expected.probabilities, rtol=1e-6)


def test_nearest_is_the_ranking_in_pages(client, hub):
    ranking = next(hub.rank(np.array([HUB])))
    able = ranking.nodes[ranking.voting.numpy()]
    pages = [client.get(f"/v1/nodes/%23{HUB}/nearest", params={"offset": at, "limit": 10}).json() for at in (0, 10, 20)]
    rows = [row for page in pages for row in page["nearest"]]
    assert [row["id"] for row in rows] == able.tolist()
    assert pages[0]["total"] == len(able)
    assert sum(row["weight"] for row in rows) == pytest.approx(1)


def test_the_local_graph_comes_in_pages(client, hub):
    whole = explain(hub, HUB)[0].edge_ids.tolist()
    first = client.get(f"/v1/nodes/%23{HUB}/local-graph", params={"limit": 7}).json()
    rest = client.get(f"/v1/nodes/%23{HUB}/local-graph", params={"limit": 5000, "offset": 7}).json()
    assert [edge["id"] for edge in first["edges"] + rest["edges"]] == whole
    assert first["total"] == len(whole)
    ends = {edge[end] for edge in first["edges"] for end in ("start", "end")}
    assert {node["id"] for node in first["nodes"]} == ends | {HUB}


def test_the_similarity_of_a_node_and_a_labeled_one_is_that_of_the_vote(client, hub):
    explanation = explain(hub, UNLABELED)[0]
    one = explanation.votes[0]
    found = client.post("/v1/similarity", json={"one": "n45", "other": one.node}).json()
    assert found["similarity"] == pytest.approx(one.similarity, abs=1e-5)
    assert found["structure_similarity"] == pytest.approx(one.structure_similarity, abs=1e-5)
    best = dict(zip(one.matches.edge_ids.tolist(), one.matches.similarity.tolist()))
    assert found["num_matches"] == len(best)
    for match in found["matches"]:
        assert match["similarity"] == pytest.approx(best[match["edge"]["id"]], abs=1e-5)
    alone = client.post("/v1/similarity", json={"one": ISOLATED, "other": one.node}).json()
    assert (alone["structure_similarity"], alone["matches"]) == (None, [])


def test_a_wrong_request_is_told_why(client, hub):
    assert "positions go from 0 to 59" in problem(client.get("/v1/nodes/%2360"), 404)
    assert "unknown node 'nobody'" in problem(client.post("/v1/predict", json={"nodes": ["nobody"]}), 404)
    problem(client.get("/v1/nodes/x/explanation"), 404)
    problem(client.post("/v1/predict", json={"nodes": []}), 422)
    problem(client.post("/v1/predict", json={"nodes": list(range(1001))}), 422)
    problem(client.post("/v1/predict", content=b"{"), 422)
    problem(client.post("/v1/predict", json={"nodes": [True]}), 422)  # no position
    other = "/v1/nodes/%230/explanation"
    problem(client.get(other, params={"num_nearest": "true"}), 422)
    assert "30 labeled nodes" in problem(client.get(other, params={"num_nearest": 31}), 400)
    assert "not labeled" in problem(client.get(other, params={"without": ["#45"]}), 400)
    everyone = [f"#{node}" for node in hub.graph.train.tolist()]
    assert "at least one" in problem(client.get(other, params={"without": everyone}), 400)
    problem(client.get("/v1/nothing"), 404)
    problem(client.delete("/v1/model"), 405)
    problem(client.post("/v1/predict", content=b"x" * 5_000_000), 413)


def test_a_misspelled_parameter_is_refused_and_not_left_aside(client):
    for address in ("/v1/nodes?limits=1", "/v1/nodes/%231/explanation?nearest=2", "/v1/model?limit=1", "/v1/map?k=1"):
        assert "unknown parameter" in problem(client.get(address), 422)
    assert "did you mean 'limit'?" in problem(client.get("/v1/nodes?limits=1"), 422)
    assert "this address has none" in problem(client.post("/v1/predict?k=1", json={"nodes": ["n45"]}), 422)
    known = {"limit": 1, "predicted": 0, "part": "test", "sort": "name"}
    assert client.get("/v1/nodes", params=known).status_code == 200


def test_until_all_nodes_are_scored_the_table_says_when_to_ask_again(hub):
    client = Client(create_app(Store.of_model(hub), UNLIMITED))
    for path in ("/v1/nodes", "/v1/map", "/readyz", "/v1/nodes/%233"):
        answer = client.get(path)
        problem(answer, 503)
        assert answer.headers["retry-after"] == "1"
    assert client.get("/v1/nodes/%233/explanation").status_code == 200
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/v1/model").json()["scored"] is False


def test_a_store_scores_in_the_background(hub):
    store = Store.of_model(hub)
    store.start()
    for _ in range(200):
        if store.snapshot.ready:
            break
        time.sleep(0.05)
    store.close()
    assert Client(create_app(store, UNLIMITED)).get("/v1/nodes").json()["total"] == hub.graph.num_nodes


def test_metrics_count_by_route_and_never_by_what_was_asked(client):
    client.get("/v1/nodes/%231")
    client.get("/v1/nodes/%232")
    client.get("/no/such/path-of-a-stranger")
    text = client.get("/metrics").text
    assert 'se_gnn_requests_total{route="/v1/nodes/{node:path}",status="200"} 2.0' in text
    assert "stranger" not in text


def test_the_map_has_every_node_once_within_its_bounds(client, hub):
    found = client.get("/v1/map").json()
    assert sorted(found["node"]) == list(range(hub.graph.num_nodes))
    assert all(0 <= value <= found["steps"] for axis in ("x", "y") for value in found[axis])
    assert sum(found["labeled"]) == len(hub.graph.train)


def test_a_heavy_node_takes_a_worker_and_not_the_server(store, monkeypatch):
    """While one explanation takes its time, the server lives, and what does not fit is told when to ask again."""
    gate = threading.Event()
    explained = explain(store.snapshot.trained, 0)[0]
    monkeypatch.setattr(answers, "explanation", lambda *_: explained if gate.wait(30) else None)
    app = create_app(store, dataclasses.replace(UNLIMITED, workers=1, waiting=1))

    async def scenario():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            heavy = [asyncio.create_task(client.get("/v1/nodes/%230/explanation")) for _ in range(2)]
            await asyncio.sleep(0.1)
            alive = await asyncio.wait_for(client.get("/healthz"), 5)
            full = await client.get("/v1/nodes/%231/explanation")
            gate.set()
            done = await asyncio.gather(*heavy)
        return alive, full, done

    alive, full, done = asyncio.run(scenario())
    assert alive.status_code == 200
    assert problem(full, 503)
    assert full.headers["retry-after"] == "1"
    assert [answer.status_code for answer in done] == [200, 200]
