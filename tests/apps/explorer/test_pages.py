"""Pages without a browser: every state is an address, forms work without script, nothing reaches the file system."""

from __future__ import annotations

import re

import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.explorer.states import NodeState, TableState
from se_gnn.apps.service import Store
from se_gnn.apps.service.node_table import NodeQuery, Outcome, Part, Sort
from se_gnn.explain import Explainer
from se_gnn.plot.text import readable
from se_gnn.ranking import WhatIf
from strategies import UNLABELED
from web_client import UNLIMITED, Client

PEOPLE = {"Accept": "text/html"}


def test_a_state_of_the_table_and_its_address_are_the_same(client):
    query = NodeQuery(
        search="n 4", predicted=1, label=2, part=Part.test, outcome=Outcome.wrong, least=0.1, most=0.9,
        region=(0.1, 0.2, 0.8, 0.9), sort=Sort.weight, descending=True,
    )  # fmt: skip
    state = TableState(query=query, page=3)
    page = client.get(state.here, headers=PEOPLE)
    assert page.status_code == 200
    assert f'data-url="{state.here.replace("&", "&amp;")}"' in page.text
    assert TableState(query=NodeQuery()).here == "/"


def test_a_state_of_a_node_and_its_address_are_the_same(client):
    what_if = WhatIf(num_nearest=4, node_weight=0.25, without=(3, 5))
    state = NodeState(node=UNLABELED, what_if=what_if, crucial_edges=3, beside=8)
    page = client.get(state.href, headers=PEOPLE)
    assert f'data-url="{state.href.replace("&", "&amp;")}"' in page.text
    assert NodeState(node=4).href == "/nodes/4"
    assert client.get(state.json_href).json()["settings"]["num_nearest"] == 4


def test_the_button_of_a_form_without_script_switches_a_node_off(client, hub):
    first, second = Explainer(hub).explain(UNLABELED).neighbors[:2]
    page = client.get(f"/nodes/{UNLABELED}?without={first.node}&without={second.node}", headers=PEOPLE).text
    assert re.findall(r'name="without" value="(\d+)" checked', page) == [str(first.node), str(second.node)]


def test_empty_fields_of_a_form_ask_for_nothing(client):
    address = "/?search=&predicted=&label=&part=&outcome=&least=0.0&most=1.0"
    assert "of 60 nodes" in client.get(address, headers=PEOPLE).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nodes/60", 404), ("/nodes/x", 422), ("/nodes/-1", 422), ("/nodes/0?num_nearest=99", 400),
        ("/nodes/0?node_weight=2", 422), ("/nodes/0?without=45", 400), ("/nothing", 404), ("/report", 400),
        ("/report?nodes=99", 400), ("/?page=0", 422), ("/?sort=names", 422), ("/..%2f..%2fetc%2fpasswd", 404),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_said_on_a_page(client, path, status):
    page = client.get(path, headers=PEOPLE)
    assert page.status_code == status
    assert "<h1>" in page.text
    assert "Traceback" not in page.text


def test_a_page_beyond_the_last_is_the_last(client):
    assert "51–60 of 60 nodes" in client.get("/?page=99", headers=PEOPLE).text


def test_pages_hold_no_script_or_style_of_their_own(client):
    for path in ("/", f"/nodes/{UNLABELED}", "/map", "/model"):
        page = client.get(path, headers=PEOPLE).text
        assert "<style" not in page
        assert " style=" not in page
        assert re.findall(r"<script[^>]*>", page) == [re.search(r'<script type="module" src="/assets/[^"]+">', page)[0]]
        assert not re.search(r"\son\w+=", re.sub(r"&[^;]+;", "", page.split("<main")[0]))
        assert "http://" not in page.replace("http://www.w3.org", "")


def test_every_asset_of_a_page_is_there(client):
    page = client.get("/map", headers=PEOPLE).text
    for address in re.findall(r'"(/assets/[^"]+)"', page):
        answer = client.get(address)
        assert answer.status_code == 200, address
        folder = address.rsplit("/", 1)[0]
        for module in re.findall(r'from "\./([^"]+)"', answer.text):
            assert client.get(f"{folder}/{module}").status_code == 200, module


def test_names_are_shown_as_the_report_shows_them(client, hub):
    page = client.get("/nodes/7", headers=PEOPLE).text
    assert readable(hub.graph.node_names[7]) in page


def test_until_all_nodes_are_scored_the_page_says_so(hub):
    page = Client(create_app(Store.of_model(hub), UNLIMITED)).get("/", headers=PEOPLE)
    assert (page.status_code, page.headers["retry-after"]) == (503, "1")
    assert "being scored" in page.text
    assert 'http-equiv="refresh"' in page.text
    assert "tries again every 2 seconds" in page.text
