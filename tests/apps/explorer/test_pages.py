"""Pages without a browser: every state is an address, forms work without script, nothing reaches the file system."""

from __future__ import annotations

import csv
import io
import re

import pytest

from se_gnn.apps.explorer import create_app
from se_gnn.apps.explorer.states import NodeState, TableState, node_href, node_key
from se_gnn.apps.service import Store
from se_gnn.apps.service.models import NodeQuery, Outcome, Part, Sort
from se_gnn.display.text import from_csv_cell
from se_gnn.explain import explain
from se_gnn.plot.style import readable
from se_gnn.ranking import WhatIf
from strategies import UNLABELED, random_graph, small_settings, untrained
from web_client import UNLIMITED, Client

PEOPLE = {"Accept": "text/html"}


def test_a_state_of_the_table_and_its_address_are_the_same(client):
    query = NodeQuery(
        search="n 4", predicted=1, label=2, part=Part.test, outcome=Outcome.wrong, least=0.1, most=0.9,
        left=0.1, bottom=0.2, right=0.8, top=0.9, sort=Sort.weight, descending=True,
    )  # fmt: skip
    state = TableState(query=query, page=3)
    page = client.get(state.here, headers=PEOPLE)
    assert page.status_code == 200
    assert f'data-url="{state.here.replace("&", "&amp;")}"' in page.text
    assert TableState(query=NodeQuery()).here == "/"


def test_a_state_of_a_node_and_its_address_are_the_same(client, hub):
    what_if = WhatIf(num_nearest=4, node_weight=0.25, without=(3, 5))
    state = NodeState(graph=hub.graph, node=UNLABELED, what_if=what_if, crucial_edges=3, beside=8)
    page = client.get(state.href, headers=PEOPLE)
    assert f'data-url="{state.href.replace("&", "&amp;")}"' in page.text
    assert client.get(state.json_href).json()["settings"]["num_nearest"] == 4


def test_a_neighbor_can_be_expanded_and_folded_again(client, hub):
    plain = client.get("/nodes/%2345", headers=PEOPLE).text
    drawn = plain.split('id="around"')[1].split("</svg>")[0]
    first = re.search(r'href="(/nodes/[^"]+\?expand=[^"]+)"', drawn)[1].replace("&amp;", "&")
    more = client.get(first, headers=PEOPLE).text.split('id="around"')[1].split("</svg>")[0]
    assert more.count("<polyline") > drawn.count("<polyline")
    assert 'href="/nodes/n45"' in more  # a click on the same node folds it


def test_the_button_of_a_form_without_script_switches_a_node_off(client, hub):
    first, second = explain(hub, UNLABELED)[0].votes[:2]
    page = client.get(f"/nodes/%23{UNLABELED}?without=%23{first.node}&without=%23{second.node}", headers=PEOPLE).text
    assert len(re.findall(r'name="without" value="[^"]+" checked', page)) == 2


def test_empty_fields_of_a_form_ask_for_nothing(client):
    address = "/?search=&predicted=&label=&part=&outcome=&least=0.0&most=1.0"
    assert "of 60 nodes" in client.get(address, headers=PEOPLE).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nodes/%2360", 404), ("/nodes/x", 404), ("/nodes/%23-1", 404), ("/nodes/%230?num_nearest=99", 400),
        ("/nodes/%230?node_weight=2", 422), ("/nodes/%230?without=%2345", 400), ("/nothing", 404),
        ("/report?nodes=%2399", 404), ("/?page=0", 422), ("/?sort=names", 422), ("/..%2f..%2fetc%2fpasswd", 404),
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
    for path in ("/", f"/nodes/%23{UNLABELED}", "/map", "/model"):
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
    page = client.get("/nodes/%237", headers=PEOPLE).text
    assert readable(hub.graph.node_names[7]) in page


def test_until_all_nodes_are_scored_the_page_says_so(hub):
    page = Client(create_app(Store.of_model(hub), UNLIMITED)).get("/", headers=PEOPLE)
    assert (page.status_code, page.headers["retry-after"]) == (503, "1")
    assert "being scored" in page.text
    assert 'http-equiv="refresh"' in page.text
    assert "tries again every 2 seconds" in page.text


def test_a_node_is_found_by_its_name_and_its_links_survive_a_new_import():
    names = [
        "plain",
        "a/b?c",
        "10.1000/x y",
        "..",
        "a/../b",
        "#5",
        "Jörg",
        "17",
        "x" * 600,
        *(f"n{i}" for i in range(7)),
    ]
    graph = random_graph(3, num_nodes=16, node_names=names)
    store = Store.of_model(untrained(graph, small_settings()))
    store.snapshot.prepare()
    pages = Client(create_app(store, UNLIMITED))
    for node, name in enumerate(names):
        href = node_href(graph, node)
        assert f'data-url="{href}"' in pages.get(href, headers=PEOPLE).text
        assert pages.get("/v1" + href).json()["name"] == name
        assert pages.get(f"/v1{href}/nearest").status_code == 200
    assert [node_key(graph, node) for node in (0, 1, 3, 4, 5, 8)] == ["plain", "a/b?c", "#3", "#4", "##5", "#8"]
    assert pages.get("/v1/nodes/12").status_code == 404  # a name is never taken for a position


def test_a_report_on_nothing_asks_to_select_a_node(client):
    page = client.get("/report", headers=PEOPLE)
    assert page.status_code == 200
    assert "Select at least one node first." in page.text


def written(name):
    return name.encode("utf-8", "replace").decode()


def test_nodes_are_ranked_by_the_probability_of_a_class_and_exported_in_that_order(client, hub):
    rows = client.get("/v1/nodes", params={"of": 1, "sort": "probability", "descending": True, "limit": 200}).json()
    order = [row["id"] for row in rows["rows"]]
    chances = hub.predict().probabilities[:, 1]
    assert order == sorted(range(60), key=lambda node: (-min(chances[node], 1), node))
    page = client.get("/?of=1", headers=PEOPLE).text
    assert re.search(r'aria-sort="descending"><a [^>]*>probability of ', page)
    exported = list(csv.DictReader(io.StringIO(client.get("/export?of=1").text)))
    assert [from_csv_cell(row["node"]) for row in exported] == [written(hub.graph.node_names[node]) for node in order]
    some = list(csv.DictReader(io.StringIO(client.get("/export?nodes=%234&nodes=%232").text)))
    assert [from_csv_cell(row["node"]) for row in some] == [hub.graph.node_names[node] for node in (4, 2)]
    assert client.get("/?of=9", headers=PEOPLE).status_code == 400
