"""The table of all nodes: filters, order, search; quick at a million rows."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

from se_gnn.apps.service.models import NodeQuery, Outcome, Part, Sort
from se_gnn.apps.service.node_table import ClassTable, LinkTable
from se_gnn.model import Prediction


def rows(client, **parameters):
    answer = client.get("/v1/nodes", params={"limit": 200, **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_filter_keeps_exactly_the_nodes_it_names(client, hub):
    prediction, graph = hub.predict(), hub.graph
    chances = prediction.probabilities.max(axis=1)
    expected = {
        "predicted=1": prediction.classes == 1,
        "label=2": graph.labels == 2,
        "part=test": np.isin(np.arange(60), graph.test),
        "part=none": ~np.isin(np.arange(60), np.concatenate([graph.train, graph.validation, graph.test])),
        "outcome=wrong": (graph.labels >= 0) & (graph.labels != prediction.classes),
        "outcome=unknown": graph.labels < 0,
        "answered=no": np.zeros(60, bool),  # too few validation nodes to tell
        "answered=yes": np.ones(60, bool),
        "least=0.5": chances >= 0.5,
        "most=0.5": chances <= 0.5,
    }
    for text, mask in expected.items():
        name, value = text.split("=")
        assert [row["id"] for row in rows(client, **{name: value})["rows"]] == np.flatnonzero(mask).tolist(), text
    both = rows(client, part="test", outcome="wrong")
    assert [row["id"] for row in both["rows"]] == [
        node for node in graph.test if graph.labels[node] != prediction.classes[node]
    ]


def test_nodes_without_an_answer_are_told_from_the_others(hub):
    table = ClassTable(hub.graph, hub.predict())
    asked = [NodeQuery(answered=False), NodeQuery(answered=True)]
    assert all(len(table.find(query)) == 60 for query in asked)  # not judged yet: nobody is left out
    table.judge(np.arange(60) % 7 == 0)
    assert table.find(asked[0]).tolist() == list(range(0, 60, 7))
    assert len(table.find(asked[1])) == 60 - 9


@pytest.mark.parametrize("sort", [one for one in Sort if one not in (Sort.error, Sort.width, Sort.links)])
def test_each_order_is_that_of_its_column_and_pages_cut_it(client, sort):
    up = [row["id"] for row in rows(client, sort=sort)["rows"]]
    down = [row["id"] for row in rows(client, sort=sort, descending=True)["rows"]]
    assert sorted(up) == sorted(down) == list(range(60))
    pages = [rows(client, sort=sort, offset=at, limit=7)["rows"] for at in range(0, 60, 7)]
    assert [row["id"] for page in pages for row in page] == up
    if sort in ("probability", "weight"):
        values = [row[sort] for row in rows(client, sort=sort, descending=True)["rows"]]
        assert values == sorted(values, reverse=True)


def test_a_search_finds_words_in_any_case_and_order(client, hub):
    names = hub.graph.node_names
    assert [row["id"] for row in rows(client, search="N45")["rows"]] == [45]
    assert [row["id"] for row in rows(client, search="PWNED script")["rows"]] == [1]
    assert [row["id"] for row in rows(client, search="مرحبا")["rows"]] == [4]
    assert rows(client, search="no such node")["total"] == 0
    assert rows(client, search="   ")["total"] == len(names)
    for node in (1, 2, 3, 5, 6, 8):
        assert node in [row["id"] for row in rows(client, search=names[node])["rows"]]


def found(search, names, captions=None):
    nobody, count = np.empty(0, np.int64), len(names)
    split = {"train": nobody, "validation": nobody, "test": nobody}
    graph = SimpleNamespace(node_names=names, captions=captions, num_nodes=count, degrees=np.zeros(count, int), **split)
    return LinkTable(graph).find(NodeQuery(search=search)).tolist()


def test_a_search_does_not_run_from_one_node_or_its_name_into_the_next():
    names = {"names": ("ab", "cd", ""), "captions": ("x", "", "yz")}
    assert [found(search, **names) for search in ("bc", "bx", "ab x", "z")] == [[], [], [0], [2]]


@pytest.mark.parametrize("typed", ["muller", "MÜLLER", "Mu\u0308ller", "\u0308 muller"])
def test_a_search_finds_names_with_accents_however_they_are_typed(typed):
    names = ("Jörg Müller", "Mueller", "Zoë")
    assert (found(typed, names), found("zoe", names)) == ([0], [2])


def test_a_region_of_the_map_is_a_filter(client, store):
    points = store.snapshot.table.points
    inside = (points[:, 0] <= 0.5) & (points[:, 1] >= 0.3)
    found = rows(client, left=0, right=0.5, bottom=0.3, top=1)
    assert [row["id"] for row in found["rows"]] == np.flatnonzero(inside).tolist()


def test_a_million_rows_stay_quick():
    count = 1_000_000
    generator = np.random.default_rng(0)
    labels = generator.integers(-1, 5, count)
    graph = SimpleNamespace(
        labels=labels,
        class_names=("a", "b", "c", "d", "e"),
        node_names=tuple(map(str, range(count))),
        captions=None,
        train=np.arange(1000),
        validation=np.arange(1000, 2000),
        test=np.arange(2000, 500_000),
        num_nodes=count,
        caption=str,
    )
    chances = generator.random((count, 5), dtype=np.float32)
    weights = generator.random((count, 1), dtype=np.float32)
    same = np.zeros((count, 1), np.int64)
    prediction = Prediction(
        nodes=np.arange(count), probabilities=chances, cases=same, weights=weights, overall=weights, node=weights,
        structure=weights,
    )  # fmt: skip
    table = ClassTable(graph, prediction)
    queries = [
        NodeQuery(search="777", sort=Sort.probability),
        NodeQuery(search="1", sort=Sort.probability, descending=True, outcome=Outcome.wrong),
        NodeQuery(part=Part.test, predicted=3, least=0.5, sort=Sort.weight),
    ]
    for query in queries:
        table._order(query.sort, query.descending, None)  # made once
    began = time.process_time()
    totals = [len(table.find(query)) for query in queries]
    assert time.process_time() - began < 3  # of this machine's time, whatever else it does; usually a tenth
    assert totals[0] == sum("777" in name for name in graph.node_names)
    began = time.process_time()
    table.find(queries[1])
    assert time.process_time() - began < 0.05  # the next page
