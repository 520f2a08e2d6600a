"""The labels page: looked at by anybody, edited only with the token and a form of this server."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.service import Store
from se_gnn.labels import Memory
from se_gnn.model.folder import load_model, save_model
from strategies import random_graph, small_settings, untrained
from web_client import UNLIMITED, Client

TOKEN = "0123456789abcdef0123456789abcdef"
SIGNED = {"Authorization": f"Bearer {TOKEN}", "Accept": "text/html"}
FORM = {**SIGNED, "Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def folder(tmp_path):
    graph = random_graph(2, num_nodes=30, node_names=[f"node {i}" for i in range(30)], class_names=["even", "odd"])
    save_model(untrained(graph, small_settings()), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def client(folder):
    store = Store.of_folder(folder)
    store.snapshot.prepare()
    return Client(create_app(store, replace(UNLIMITED, token=TOKEN)))


def relabeled(folder):
    """A labeled node and the class it does not have."""
    graph = load_model(folder).graph
    node = int(graph.train[0])
    return graph.node_names[node], graph.class_names[1 - int(graph.labels[node])]


def proof_in(page):
    return re.search(r'name="proof" value="([0-9a-f]+)"', page)[1]


def test_a_label_is_previewed_edited_and_the_edit_is_undone(client, folder):
    page = client.get("/labels", headers=SIGNED)
    assert page.status_code == 200, page.text
    assert "Labels to check" in page.text
    node, label = relabeled(folder)
    edit = {"action": "relabel", "node": node, "label": label, "state": "0"}
    preview = client.post("/labels/preview", headers=FORM, data=edit)
    assert "would change" in preview.text
    assert not load_model(folder).history
    before = load_model(folder).graph.labels.tolist()
    done = client.post(
        "/labels/edit", headers=FORM, data={**edit, "proof": proof_in(preview.text), "reason": "checked"}
    )
    assert (done.status_code, done.headers["location"]) == (303, "/labels")
    entry = Memory(load_model(folder)).history[0]
    assert (entry.action, entry.reason, entry.changes[0].becomes.label) == ("relabel", "checked", label)
    assert "checked" in client.get("/labels", headers=SIGNED).text  # the edited model is served at once
    undo = {"action": "restore", "number": "0", "state": "1"}
    preview = client.post("/labels/preview", headers=FORM, data=undo)
    client.post("/labels/edit", headers=FORM, data={**undo, "proof": proof_in(preview.text)})
    assert load_model(folder).graph.labels.tolist() == before


@pytest.mark.parametrize(
    ("headers", "proof", "status"),
    [
        ({"Content-Type": FORM["Content-Type"]}, True, 401),
        (FORM, False, 403),
        ({**FORM, "Origin": "http://evil.example"}, True, 403),
        ({**FORM, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, True, 403),
    ],
)
def test_a_request_without_token_or_from_another_site_edits_nothing(client, folder, headers, proof, status):
    node, label = relabeled(folder)
    edit = {"action": "relabel", "node": node, "label": label, "state": "0"}
    known = proof_in(client.post("/labels/preview", headers=FORM, data=edit).text)
    answer = client.post("/labels/edit", headers=headers, data={**edit, "proof": known if proof else "0" * 64})
    assert answer.status_code == status
    assert not load_model(folder).history


def test_without_a_token_labels_are_looked_at_but_not_edited(folder):
    store = Store.of_folder(folder)
    store.snapshot.prepare()
    client = Client(create_app(store, UNLIMITED))
    assert "start the server with --token-file" in client.get("/labels", headers={"Accept": "text/html"}).text
    node, label = relabeled(folder)
    edit = {"action": "relabel", "node": node, "label": label, "state": "0", "proof": ""}
    assert client.post("/labels/edit", data=edit).status_code == 403
    assert not load_model(folder).history


def test_an_edit_after_somebody_elses_is_refused(client, folder):
    node, label = relabeled(folder)
    edit = {"action": "relabel", "node": node, "label": label, "state": "1"}
    answer = client.post("/labels/preview", headers=FORM, data=edit)
    assert answer.status_code == 400
    assert "edited in the meantime" in answer.text
    assert client.post("/labels/preview", headers=FORM, data={"action": "burn"}).status_code == 422


def test_the_page_of_a_node_and_the_service_name_the_cases_that_are_left(folder):
    trained = load_model(folder)
    every, asked = len(trained.graph.train), trained.settings.asked
    others = {name: one for name, one in asked.given.items() if name != "num_nearest"}
    free = replace(trained.settings, asked=replace(asked, given=others))
    memory = Memory(replace(trained, settings=free.decided("validation", {"num_nearest": every})))
    memory.remove([trained.graph.node_names[int(trained.graph.train[0])]])
    save_model(memory.trained, folder)
    served = Client(create_app(Store.of_folder(folder), UNLIMITED))
    other = next(node for node in range(30) if node not in trained.graph.train)
    assert f'value="{every - 1}" data-usual="{every - 1}"' in served.get(f"/nodes/node%20{other}").text
    assert served.get("/v1/model").json()["num_nearest"] == every - 1
