"""What the columns of tables are guessed to be, on tables of different shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from se_gnn.errors import InputError
from se_gnn.tables import read_new_nodes, read_tables
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


def test_each_edge_table_may_call_its_ends_differently(save):
    u, v, draw = pairs()
    films = pd.DataFrame({"film_id": range(1, NUM + 1), "título": [f"El año {i}" for i in range(NUM)]})
    films["género"] = draw.choice(["drama", "terror"], NUM)
    actors = pd.DataFrame({"actor_id": [f"a{i}" for i in range(NUM)], "nombre": [f"Ángel {i}" for i in range(NUM)]})
    plays = pd.DataFrame({"actor_id": [f"a{i}" for i in u], "film_id": v + 1})
    follows = pd.DataFrame({"film": u + 1, "sequel": v + 1})
    tables = {"films": films, "actors": actors, "plays": plays, "follows": follows}
    guess = guess_tables([save(f"{name}.csv", table) for name, table in tables.items()])
    assert guess.settings["source"] == {"plays": "actor_id", "follows": "film"}
    assert guess.settings["target"] == {"plays": "film_id", "follows": "sequel"}
    assert (guess.settings["label"], guess.settings["caption"]) == ("género", "título")
    assert "--source plays=actor_id,follows=film" in guess.command("graph")
    graph = read_tables(*guess.tables, **guess.settings).graph
    sequels = pd.DataFrame({"film": [999], "sequel": [1]})
    played = pd.DataFrame({"actor_id": ["a1"], "film_id": [999]})
    rows = {"films": pd.DataFrame({"film_id": [999], "título": ["El fin"]})}
    new = read_new_nodes(graph, rows, {"follows": sequels, "plays": played})
    assert len(new.pairs) == 2, "new rows have the columns of the import"


def test_edges_to_unknown_nodes_are_left_out_and_ids_that_come_again_are_named(save):
    u, v, draw = pairs()
    nodes = pd.DataFrame({"sku": [f"S{i}" for i in range(NUM)], "category": draw.choice(["toys", "books"], NUM)})
    edges = pd.DataFrame({"sku_1": [f"S{i}" for i in u], "sku_2": [f"S{i}" for i in v]})
    edges.loc[:3, "sku_2"] = "GONE"
    paths = [save("products.csv", nodes), save("together.csv", edges)]
    guess = guess_tables(paths)
    assert ("left out", "4 of 150 rows of together.csv refer to nodes that are in no table") in guess.reasons
    assert guess.command("graph").endswith("--set drop_dangling=true --out graph")
    assert read_tables(*guess.tables, **guess.settings).graph.num_nodes == NUM
    paths[0] = save("products.csv", pd.concat([nodes, nodes[:1]]))
    guess = guess_tables(paths)
    with pytest.raises(InputError, match=r"the id 'S0' was given in row 1 already .* keep one row per node"):
        read_tables(*guess.tables, **guess.settings)
