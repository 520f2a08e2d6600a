"""Models that predict numbers and links are served whole: pages, lists, exports and the service."""

from __future__ import annotations

import csv
import html
import io
import re

import numpy as np
import pytest

from se_gnn import Graph, SEGNNLinkPredictor, SEGNNRegressor
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.graph import EdgeValues
from se_gnn.links import PairExplanation
from se_gnn.model.numbers import predict_numbers, prediction_intervals
from web_client import UNLIMITED, Client

PEOPLE = {"Accept": "text/html"}


def served(model):
    store = Store.of_model(model)
    store.snapshot.prepare()
    return Client(create_app(store, UNLIMITED))


@pytest.fixture(scope="module")
def regressor():
    draw = np.random.default_rng(0)
    size = draw.uniform(20, 200, 120)
    order, names = draw.permutation(120), [f"flat {i}" for i in range(120)]
    values = 8 * size + 100 * np.sin(np.arange(120) / 8)
    values[order[110:]] = np.nan
    graph = Graph.build(
        features=((size - size.mean()) / size.std())[:, None], edges=[(i, i + 1) for i in range(119)], values=values,
        value_name="rent", unit="EUR", train=order[:60], validation=order[60:90], test=order[90:110], node_names=names,
    )  # fmt: skip
    return SEGNNRegressor(epochs=3, members=1, num_nearest=6, device="cpu").fit(graph)


@pytest.fixture(scope="module")
def numbers(regressor):
    return served(regressor.trained_)


@pytest.fixture(scope="module")
def predictor():
    draw, group = np.random.default_rng(1), np.arange(60) % 3
    pairs = [(u, v) for u in range(60) for v in range(u) if group[u] == group[v] and draw.random() < 0.2]
    names = [f"paper {i}" for i in range(60)]
    graph = Graph.build(
        features=np.eye(3)[group] + draw.random((60, 3)) / 2, edges=pairs, labels=group, node_names=names
    )
    return SEGNNLinkPredictor(node_weight=1.0).fit(graph)


@pytest.fixture(scope="module")
def links(predictor):
    return served(predictor)


def test_predicted_numbers_come_with_intervals_and_votes(numbers, regressor):
    model = regressor.trained_
    found, intervals = predict_numbers(model), prediction_intervals(model)
    rows = numbers.post("/v1/predict", json={"nodes": [3, "flat 7"]}).json()["predictions"]
    for row, node in zip(rows, (3, 7)):
        assert row["predicted"] == found.values[node]
        assert (row["low"], row["high"]) == (intervals.low[node], intervals.high[node])
        assert sum(vote["weight"] * vote["value"] for vote in row["nearest"]) == pytest.approx(found.values[node])
    card = numbers.get("/v1/model").json()
    assert (card["predicts"], card["number"], card["unit"]) == ("numbers", "rent", "EUR")
    other = numbers.get("/v1/nodes/%233/explanation", params={"num_nearest": 1}).json()
    assert other["answer"]["value"] == pytest.approx(other["votes"][0]["number"])


def test_numbers_are_listed_by_value_and_by_error(numbers, regressor):
    found = predict_numbers(regressor.trained_)
    rows = numbers.get("/v1/nodes", params={"sort": "predicted", "descending": True, "limit": 200}).json()["rows"]
    assert [row["id"] for row in rows] == np.argsort(-found.values, kind="stable").tolist()
    middle = float(np.median(found.values))
    assert numbers.get("/v1/nodes", params={"least": middle}).json()["total"] == int((found.values >= middle).sum())
    first = numbers.get("/v1/nodes", params={"sort": "error", "descending": True, "limit": 1}).json()["rows"][0]
    assert first["id"] == int(np.nanargmax(np.abs(regressor.graph_.values - found.values)))
    exported = list(csv.DictReader(io.StringIO(numbers.get("/export?sort=predicted").text)))
    assert float(exported[0]["predicted"]) == found.values.min()
    assert "sort must be one of" in numbers.get("/v1/nodes?sort=probability").json()["detail"]
    assert numbers.get("/v1/nodes?of=1").status_code == 400


def test_pages_of_numbers_show_the_distribution_and_suspicious_values(numbers):
    node = numbers.get("/nodes/flat%207", headers=PEOPLE).text
    assert 'class="distribution"' in node
    assert "90% interval" in node
    assert "the model itself has" in numbers.get("/nodes/flat%207?num_nearest=2", headers=PEOPLE).text
    assert "in usual errors" in numbers.get("/labels", headers=PEOPLE).text
    assert "R2, test nodes" in numbers.get("/model", headers=PEOPLE).text
    assert "the predicted number" in numbers.get("/map", headers=PEOPLE).text
    assert len(set(numbers.get("/v1/map").json()["predicted"])) == 8
    assert "flat 7" in numbers.get("/report?nodes=flat%207").text


def test_a_changed_value_is_previewed_with_the_numbers_it_changes(numbers, regressor):
    node = regressor.graph_.node_names[int(regressor.graph_.train[0])].replace(" ", "+")
    page = numbers.post("/labels/preview", content=f"action=relabel&node={node}&label=99&state=0", headers=PEOPLE)
    assert page.status_code == 200
    assert "99.0" in page.text
    assert ">R2<" in page.text
    assert "would change" in page.text


def test_a_pair_is_a_page_and_an_explanation(links, predictor):
    expected = predictor.explain("paper 3", "paper 6")
    asked = {"source": "paper 3", "target": "paper 6"}
    answer = links.get("/v1/pairs/explanation", params=asked)
    assert PairExplanation.from_dict(answer.json()) == expected
    row = links.post("/v1/pairs", json={"pairs": [["paper 3", 6]]}).json()["pairs"][0]
    assert row["probability"] == pytest.approx(expected.probability)
    page = links.get("/pairs", params=asked, headers=PEOPLE).text
    assert 'class="pair-picture"' in page
    assert all(vote.node.caption in page for vote in expected.votes)
    assert 'class="pair-picture"' in links.get("/report", params=asked).text


def test_recommendations_of_a_node_lead_to_their_reasons(links, predictor):
    expected = predictor.recommend("paper 3", 4)
    found = links.get("/v1/nodes/paper%203/recommendations?k=4").json()["recommendations"]
    assert [(one["name"], one["probability"]) for one in found] == [(one.name, one.probability) for one in expected]
    page = links.get("/nodes/paper%203", headers=PEOPLE).text
    assert f'href="/pairs?source=paper+3&amp;target={expected[0].name.replace(" ", "+")}"' in page
    assert links.get("/model", headers=PEOPLE).status_code == 200
    rows = links.get("/v1/nodes?sort=links&descending=true&limit=1").json()["rows"]
    assert rows[0]["links"] == int(predictor.graph_.degrees.max())


def test_every_link_of_a_typed_and_directed_graph_leads_to_its_reasons():
    draw, group = np.random.default_rng(2), np.arange(40) % 2
    pairs = [(u, 40 + v) for u in range(40) for v in range(20) if group[u] == v % 2 and draw.random() < 0.2]
    kinds = (np.arange(len(pairs)) % 2).astype(np.int32)
    features = np.eye(2)[np.concatenate([group, np.arange(20) % 2])] + draw.random((60, 2)) / 2
    graph = Graph.build(
        features=features, edges=np.array(pairs), labels=np.repeat([0, -1], [40, 20]),
        node_types=np.repeat([0, 1], [40, 20]), node_type_names=("customer", "product"),
        edge_values=EdgeValues(direction=np.ones(len(pairs), np.int8), type=kinds, type_names=("buys", "likes")),
    )  # fmt: skip
    client = served(SEGNNLinkPredictor(node_weight=1.0, num_nearest=1).fit(graph))
    for node in (0, 41):
        page = client.get(f"/nodes/%23{node}", headers=PEOPLE).text
        hrefs = {html.unescape(one) for one in re.findall(r'href="(/pairs[^"]+)"', page)}
        assert len(hrefs) >= graph.degrees[node]
        assert {client.get(one, headers=PEOPLE).status_code for one in sorted(hrefs)[::4]} == {200}


def test_what_makes_no_sense_for_a_kind_of_answer_says_so(links, numbers):
    for path in ("/labels", "/v1/nodes/paper%203/explanation", "/export"):
        assert "links" in links.get(path).json()["detail"]
    assert "not links" in numbers.get("/v1/nodes/flat%207/recommendations").json()["detail"]
    assert "Labels" not in links.get("/", headers=PEOPLE).text


def test_folders_of_numbers_and_links_are_served(tmp_path, regressor, predictor):
    regressor.save(tmp_path / "numbers")
    predictor.save(tmp_path / "links")
    for folder, predicts in (("numbers", "numbers"), ("links", "links")):
        card = Client(create_app(Store.of_folder(tmp_path / folder), UNLIMITED)).get("/v1/model").json()
        assert card["predicts"] == predicts


def test_cases_of_another_model_state_the_agreement_first():
    pytest.importorskip("torch_geometric", reason="needs torch_geometric: pip install 'se-gnn[data]'")
    import torch

    from se_gnn import CaseExplainer
    from se_gnn.tables.pyg import to_pyg
    from strategies import random_graph

    class Linear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.hidden, self.out = torch.nn.Linear(5, 8), torch.nn.Linear(8, 3)

        def forward(self, x, edge_index):
            return self.out(torch.relu(self.hidden(x)))

    explainer = CaseExplainer(Linear().eval(), to_pyg(random_graph(3, num_nodes=60, num_labeled=30, num_classes=3)))
    client = served(explainer.trained_)
    assert client.get("/v1/model").json()["agreement"] == pytest.approx(explainer.agreement)
    page = client.get("/nodes/%2340", headers=PEOPLE).text
    sentence = page.split('class="sentence">')[1]
    assert "model" in sentence[: sentence.index("held-out nodes")]
    assert "agree on" in client.get("/model", headers=PEOPLE).text
    for path in ("/", "/map", "/labels"):
        assert client.get(path, headers=PEOPLE).status_code == 200
