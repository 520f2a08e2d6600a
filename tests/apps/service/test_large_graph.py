"""A server of a large graph lists some of its nodes, and answers for all of them."""

from __future__ import annotations

import csv
import html
import io
import json
import re

import numpy as np
import pytest

from labels.conftest import block_graph, block_model
from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.explain import explain
from se_gnn.graph.spread import listed_nodes
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.labels.novelty import novelty
from se_gnn.model import Model
from se_gnn.model.folder import save_model
from se_gnn.report import report_html
from se_gnn.settings import Settings
from se_gnn.similarity import Similarity
from strategies import untrained
from web_client import UNLIMITED, Client

NODES = 400


@pytest.fixture(scope="module")
def large():
    """Constants under which 400 nodes are many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MOST_ROWS": NODES - 1, "FEWEST_ROWS": 80, "MOST_PAIRS": 1}.items():
            patch.setattr(f"se_gnn.graph.spread.{name}", value)
        patch.setattr("se_gnn.labels.smoothing.MOST_SMOOTHED", 0)
        yield


@pytest.fixture(scope="module")
def folder(large, tmp_path_factory):
    """A model on a mapped graph."""
    place, graph = tmp_path_factory.mktemp("large"), block_graph(NODES, noise=2.0)
    model = untrained(graph, Settings.of("best", hidden_size=8, members=1, num_nearest=5, temperature=0.3))
    save_graph(graph, place / "graph", mapped=True)
    save_model(Model(model.encoder, load_graph(place / "graph"), model.settings), place / "model")
    return place / "model"


@pytest.fixture(scope="module")
def compared():
    """The nodes that were compared with the cases, in this order."""
    return []


@pytest.fixture(scope="module")
def store(folder, compared):
    nearest = Similarity.nearest

    def counted(self, queries, *more):
        compared.extend(queries.nodes.tolist())
        return nearest(self, queries, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Similarity, "nearest", counted)
        made = Store.of_folder(folder)
        made.snapshot.prepare()
    return made


@pytest.fixture(scope="module")
def client(store):
    return Client(create_app(store, UNLIMITED))


@pytest.fixture(scope="module")
def model(store):
    return store.snapshot.trained


@pytest.fixture(scope="module")
def other(model):
    """A node that is not listed."""
    return int(np.setdiff1d(np.arange(NODES), listed_nodes(model.graph))[3])


def rows(client, **asked):
    answer = client.get("/v1/nodes", params={"limit": 200, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def text_of(client, path, **asked):
    answer = client.get(path, params=asked)
    assert answer.status_code == 200, answer.text[:500]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def test_it_is_ready_after_comparing_listed_nodes_alone_and_each_once(store, model, compared):
    graph = model.graph
    parts = [graph.train, graph.validation, graph.calibration]
    assert sorted(compared) == np.unique(np.concatenate([listed_nodes(graph), *parts])).tolist()
    assert Client(create_app(store, UNLIMITED)).get("/readyz").json()["status"] == "ready"


def test_its_list_is_that_of_the_report_with_the_same_predictions(client, model):
    listed, whole = rows(client), model.predict()
    nodes = listed_nodes(model.graph)
    assert (listed["total"], listed["every"]) == (len(nodes), False)
    assert [row["id"] for row in listed["rows"]] == nodes.tolist()
    assert [row["predicted"] for row in listed["rows"]] == [
        model.graph.class_names[one] for one in whole.classes[nodes]
    ]
    assert client.get("/v1/model").json()["listed"] == len(nodes)
    columns = json.loads(re.search(r'id="predictions-data">(.*?)</script>', report_html(model, k=1), re.S).group(1))
    assert columns["id"][: len(nodes)] == nodes.tolist()


def test_a_node_that_is_not_listed_is_found_by_its_name_or_position(client, model, other):
    name, expected = model.graph.node_names[other], model.predict(np.array([other]))
    for search in (name, f"#{other}"):
        found = rows(client, search=search, sort="probability")
        row = next(one for one in found["rows"] if one["id"] == other)
        assert row == client.get(f"/v1/nodes/{name}").json()
        assert row["predicted"] == model.graph.class_names[expected.classes[0]]
        assert row["closest"] == expected.cases[0, 0]
        assert name in text_of(client, "/", search=search)
    assert other not in [row["id"] for row in rows(client)["rows"]]
    assert rows(client, search=name, left=0.0, right=0.5)["total"] < rows(client, search=name)["total"]


def test_words_find_listed_nodes(client, model):
    nodes = listed_nodes(model.graph)
    wanted = [node for node in nodes.tolist() if "n1" in model.graph.node_names[node]]
    found = [row["id"] for row in rows(client, search="N1")["rows"]]
    assert set(wanted) <= set(found) <= {*wanted, 1}  # n1 is a name, too


def test_a_node_that_is_not_listed_is_explained_as_in_the_library(client, model, other):
    told = client.get(f"/v1/nodes/%23{other}/explanation").json()
    own = json.loads(explain(model, other, k=5, attributes=True)[0].to_json())
    assert told == own
    assert model.graph.node_names[other] in text_of(client, f"/nodes/%23{other}")


def test_pages_say_of_how_many_nodes_they_are(client, model):
    listed = len(listed_nodes(model.graph))
    for page in ("/", "/map", "/model", "/labels"):
        assert f"The graph has 400 nodes. This page is about {listed} of them" in text_of(client, page)
    assert f"of {listed} nodes listed" in text_of(client, "/")
    answer = client.get("/v1/map").json()
    assert (answer["total"], len(answer["node"])) == (400, listed)
    assert sorted(answer["node"]) == listed_nodes(model.graph).tolist()


def test_novelty_is_judged_alike_on_every_surface(client, model, other):
    graph, scored = model.graph, novelty(model)
    listed = rows(client)["rows"]
    assert [row["answered"] for row in listed] == (~scored.abstains[listed_nodes(graph)]).tolist()
    assert client.get(f"/v1/nodes/%23{other}").json()["answered"] == (not scored.abstains[other])
    others = np.setdiff1d(np.arange(NODES), listed_nodes(graph))
    far, near = others[np.argmax(scored.score[others])], others[np.argmin(scored.score[others])]
    assert (scored.abstains[far], scored.abstains[near]) == (True, False)
    for page in (
        lambda node: text_of(client, f"/nodes/%23{node}"),
        lambda node: report_html(model, [node], k=1).split('<section id="nodes"')[1],
    ):
        assert "No answer" in page(far)
        assert "No answer" not in page(near)


def test_files_hold_listed_nodes_and_those_that_are_named(client, model, other):
    whole = list(csv.DictReader(io.StringIO(client.get("/export").text)))
    assert [row["node"] for row in whole] == [model.graph.node_names[node] for node in listed_nodes(model.graph)]
    named = list(csv.DictReader(io.StringIO(client.get("/export", params={"nodes": [f"#{other}", "n3"]}).text)))
    assert [row["node"] for row in named] == [model.graph.node_names[other], "n3"]
    page = client.get("/report", params={"nodes": f"#{other}"}).text
    assert f'id="node-{other}"' in page


def test_an_edit_says_what_becomes_of_listed_nodes(client, model):
    removed = model.graph.node_names[model.graph.train[0]]
    fields = {"action": "remove", "node": removed, "state": "0"}
    answer = client.post("/labels/preview", data=fields)
    assert answer.status_code == 200, answer.text
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())
    nodes = np.union1d(listed_nodes(model.graph), model.graph.validation)
    assert f"of {len(nodes)} would change The graph has 400 nodes." in text
    assert "Labels to check" in text_of(client, "/labels")


def test_too_many_labeled_nodes_are_not_audited_for_a_page(folder, monkeypatch):
    monkeypatch.setattr("se_gnn.report.page.MOST_COMPARED", 10)
    store = Store.of_folder(folder)
    store.snapshot.prepare()
    text = text_of(Client(create_app(store, UNLIMITED)), "/labels")
    assert "too many labeled nodes to look for wrong labels here; se-gnn labels audit looks for them" in text


def test_a_number_is_predicted_of_listed_nodes_and_of_those_asked_for(large):
    graph = block_graph(NODES)
    values = np.where(graph.labels < 0, np.nan, graph.labels * 10.0)
    number = type(graph).build(
        features=graph.features, edges=graph.edges.ends, values=values, train=graph.train, validation=graph.validation,
        test=graph.test, node_names=graph.node_names,
    )  # fmt: skip
    model = untrained(number, Settings.of("best", hidden_size=8, num_nearest=5, members=1))
    store = Store.of_model(model)
    store.snapshot.prepare()
    client = Client(create_app(store, UNLIMITED))
    other = int(np.setdiff1d(np.arange(NODES), listed_nodes(number))[0])
    row = client.get(f"/v1/nodes/%23{other}").json()
    assert row["predicted"] == pytest.approx(explain(model, other)[0].answer.value)
    assert row["interval"] is not None
    for page in ("/", f"/nodes/%23{other}", "/model", "/map", "/labels"):
        assert client.get(page).status_code == 200


def test_attributes_are_read_for_a_node_alone_with_the_same_scores(large, monkeypatch):
    trained = block_model(block_graph(NODES))
    alone = novelty(trained)
    assert not alone.smoothed
    np.testing.assert_allclose(novelty(trained, np.array([7, 3])).score, alone.score[[7, 3]], atol=1e-9)
    monkeypatch.setattr("se_gnn.labels.novelty.AT_A_TIME", 10 * trained.graph.num_features)
    np.testing.assert_allclose(novelty(trained).score, alone.score, atol=1e-9)
