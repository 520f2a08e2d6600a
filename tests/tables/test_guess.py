"""What the columns of tables are guessed to be, on tables of different shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from se_gnn.errors import InputError
from se_gnn.tables import read_tables
from se_gnn.tables.guess import guess_tables

NUM = 60


@pytest.fixture
def save(tmp_path):
    def call(name, table, **options):
        table.to_csv(tmp_path / name, index=False, **options)
        return str(tmp_path / name)

    return call


def pairs(count=150, seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(0, NUM, count), draw.integers(0, NUM, count), draw


def test_german_tables_in_cp1252_with_decimal_commas(save):
    u, v, draw = pairs()
    nodes = pd.DataFrame({"Kontonummer": [f"K{i}" for i in range(NUM)], "Inhaber": [f"Jörg {i}" for i in range(NUM)]})
    nodes["Saldo"] = [f"{x:.2f}".replace(".", ",") for x in draw.normal(size=NUM)]
    nodes["Betrug"] = ["ja", "nein", None] * (NUM // 3)
    edges = pd.DataFrame({"Art": draw.choice(["Bar", "Überweisung"], 150), "Empfänger": [f"K{i}" for i in v]})
    edges["Auftraggeber"] = [f"K{i}" for i in u]
    edges["Betrag"] = [f"{1.5 + i}".replace(".", ",") for i in range(150)]
    edges["Buchungstag"] = [f"{1 + i % 28:02d}.03.2025" for i in range(150)]
    how = {"sep": ";", "encoding": "cp1252"}
    guess = guess_tables([save("zahlungen.csv", edges, **how), save("konten.csv", nodes, **how)])
    assert guess.settings == {
        "id": "Kontonummer", "label": "Betrug", "source": "Auftraggeber", "target": "Empfänger", "directed": True,
        "edge_weight": "Betrag", "edge_type": "Art", "edge_time": "Buchungstag", "caption": "Inhaber",
    }  # fmt: skip
    imported = read_tables(*guess.tables, **guess.settings)
    assert imported.graph.edge_values.edge_data == ("direction", "weight", "type", "time")
    assert "--target 'Empfänger' --directed" in guess.command("graph")  # valid in a shell


def test_numbers_as_ids_do_not_make_every_small_number_an_end(save):
    u, v, draw = pairs()
    nodes = pd.DataFrame({"node": range(NUM), "x": draw.normal(size=NUM), "class": ["a", "b"] * (NUM // 2)})
    edges = pd.DataFrame({"years": draw.integers(0, 9, 150), "from": u, "to": v})
    guess = guess_tables([save("nodes.csv", nodes), save("links.csv", edges)])
    assert guess.settings == {"id": "node", "label": "class", "source": "from", "target": "to", "directed": True}


def test_edges_that_are_given_in_both_directions_have_none(save):
    u, v, _ = pairs()
    nodes = pd.DataFrame({"airport": range(NUM), "activity": ["q1", "q2", "q3"] * (NUM // 3)})
    both = pd.DataFrame({"from": [*u, *v], "to": [*v, *u], "seats": 1.0})
    assert "directed" not in guess_tables([save("airports.csv", nodes), save("flights.csv", both)]).settings


def test_several_node_tables_are_types(save):
    u, v, draw = pairs()
    papers = pd.DataFrame({"id": [f"p{i}" for i in range(NUM)], "topic": draw.choice(["db", "ml"], NUM), "year": 2000})
    authors = pd.DataFrame({"id": [f"a{i}" for i in range(NUM)], "country": draw.choice(["DE", "FR", "IT"], NUM)})
    writes = pd.DataFrame({"author": [f"a{i}" for i in u], "paper": [f"p{i}" for i in v]})
    paths = [save("papers.csv", papers), save("authors.csv", authors), save("writes.csv", writes)]
    guess = guess_tables(paths)
    assert list(guess.nodes) == ["papers", "authors"]
    assert guess.settings["label"] == "topic"
    assert read_tables(*guess.tables, **guess.settings).graph.target.node_type == "papers"


def test_tables_without_classes_or_without_edges_say_what_is_missing(save):
    u, v, draw = pairs()
    counties = save("counties.csv", pd.DataFrame({"county": range(NUM), "income": draw.normal(size=NUM)}))
    borders = save("borders.csv", pd.DataFrame({"county": u, "neighbor": v}))
    with pytest.raises(InputError, match=r"name it with --label COLUMN .columns: 'income'"):
        guess_tables([counties, borders])
    with pytest.raises(InputError, match="no table looks like edges"):
        guess_tables([counties, save("other.csv", pd.DataFrame({"x": draw.normal(size=NUM)}))])
    with pytest.raises(InputError, match="give at least two tables"):
        guess_tables([counties])


def test_an_import_suggests_what_edges_could_carry(save):
    u, v, draw = pairs()
    nodes = save("n.csv", pd.DataFrame({"id": range(NUM), "x": draw.normal(size=NUM), "y": ["a", "b"] * (NUM // 2)}))
    edges = pd.DataFrame({"payer": u, "payee": v, "amount": draw.uniform(1, 9, 150), "kind": ["a b", "c"] * 75})
    options = {"id": "id", "label": "y", "source": "payer", "target": "payee"}
    summary = read_tables(nodes, save("e.csv", edges), **options).summary
    assert summary.suggestion == "--directed --edge-column amount=weight --edge-column kind=type"
    assert summary.suggestion in str(summary)
    taken = read_tables(nodes, save("e.csv", edges), **options, directed=True, edge_weight="amount", edge_type="kind")
    assert taken.summary.suggestion == ""
