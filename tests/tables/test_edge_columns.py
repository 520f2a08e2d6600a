"""Edge tables with more than ends: what is read, what is kept, and what is refused, by file, column and row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from se_gnn.display.values import node_values
from se_gnn.errors import InputError
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.extend import extended_graph
from se_gnn.tables import ImportSettings, load_import, read_new_nodes, read_tables
from se_gnn.tables.networkx import from_networkx
from strategies import assert_same_graph

PAYMENTS = """\
from,to,eur,what,day,currency,fee,note
A-0,A-1,5,pays,2020-01-31,EUR,0.5,rent
A-1,A-0,7,pays,2020-02-01,USD,0.1,rent
A-2,A-3,1,owns,2020-03-01,EUR,0.2,
A-2,A-3,1,owns,2020-03-01,EUR,0.2,
A-2,A-3,3,pays,,EUR,0.7,late
A-4,A-4,9,pays,2020-01-01,USD,0.3,self
A-4,A-3,2,pays,2021-01-01,USD,0.3,on time
"""
ALL = {"directed": True, "edge_weight": "eur", "edge_type": "what", "edge_time": "day", "edge_ignore": ["note"]}


def day(text):
    return int(np.datetime64(text, "s").astype(np.int64))


def test_direction_weight_type_time_and_attributes_are_read_from_columns(load):
    imported = load(edges=PAYMENTS, **ALL)
    graph, values = imported.graph, imported.graph.edge_values
    assert graph.edges.ends.tolist() == [[0, 1], [0, 1], [2, 3], [2, 3], [3, 4]]
    assert values.direction.tolist() == [1, -1, 1, 1, -1]  # A-4 pays A-3
    assert values.weight.tolist() == [5, 7, 1, 3, 2]
    assert [values.type_names[kind] for kind in values.type] == ["pays", "pays", "owns", "pays", "pays"]
    assert values.time.tolist() == [day("2020-01-31"), day("2020-02-01"), day("2020-03-01"), NO_TIME, day("2021-01-01")]
    assert {column.name: column.kind for column in values.columns} == {"currency": "category", "fee": "number"}
    assert values.attribute_names == ("currency = EUR", "currency = USD", "fee")
    assert values.attributes[:, :2].argmax(axis=1).tolist() == [0, 1, 0, 0, 1]
    assert values.columns[1].offset == pytest.approx(np.mean([0.5, 0.1, 0.2, 0.2, 0.7, 0.3, 0.3]))  # of all rows
    assert values.raw.row(1) == {"eur": "7", "what": "pays", "day": "2020-02-01", "currency": "USD", "fee": "0.1"}
    assert (graph.merged.duplicates, graph.merged.self_loops) == (1, 1)
    assert dict(values.names) == {"weight": "eur", "type": "what", "time": "day"}


def test_an_edge_without_a_type_has_one_of_its_own(load):
    values = load(edges=PAYMENTS.replace("1,owns", "1,"), **ALL).graph.edge_values
    assert values.type_names == ("(missing)", "pays")
    assert values.type.tolist() == [1, 1, 0, 1, 1]


def test_the_summary_says_what_the_edges_carry(load):
    summary = load(edges=PAYMENTS, **ALL).summary
    text = str(summary)
    for words in ("7 directed edges given, 5 kept", "eur       weight    from 1 to 7", "owns: 1, pays: 4"):
        assert words in text
    for words in ("parallel  2 have the same ends as another; all are kept", "not used  note", "have no date"):
        assert words in text


def test_edges_without_values_stay_what_they_were(load):
    graph = load(edges=PAYMENTS, edge_ignore=["eur", "what", "day", "currency", "fee", "note"]).graph
    assert graph.edge_values is None
    assert graph.edges.ends.tolist() == [[0, 1], [2, 3], [3, 4]]


def test_a_column_that_only_names_the_edges_keeps_no_parallel_edges(load):
    edges = "from,to,payment\n" + "".join(f"A-{i % 3},A-{3 + i % 2},P-{i}\n" for i in range(60))
    imported = load(edges=edges)
    assert imported.graph.edge_values is None
    assert imported.graph.num_edges == 6
    assert "payment  left out  nearly unique, so treated as an identifier" in str(imported.summary)
    kept = load(edges=edges, directed=True).graph
    assert kept.num_edges == 60
    assert kept.edge_values.raw.row(0)["payment"] == "P-0"


def test_an_import_with_edge_values_is_saved_and_comes_back_as_tables(load, tmp_path):
    imported = load(edges=PAYMENTS, **ALL)
    imported.save(tmp_path / "graph")
    loaded = load_import(tmp_path / "graph")
    assert loaded.summary == imported.summary
    assert loaded.settings == imported.settings
    nodes, edges = loaded.to_tables()
    assert edges.column_names == PAYMENTS.splitlines()[0].split(",")
    for name, table in (("nodes", nodes), ("edges", edges)):
        pa_csv.write_csv(table, tmp_path / f"{name}.csv")
    settings = ImportSettings(
        id="account", label="fraud", source="from", target="to", split="split", name="nodes", **ALL
    )
    again = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", settings)
    assert_same_graph(again.graph, imported.graph, but=("roles",))  # a split of its own


def test_unix_seconds_and_dates_are_the_same_times(load):
    seconds = "from,to,day\nA-0,A-1,1580428800\nA-1,A-2,1580515200.9\n"
    dates = "from,to,day\nA-0,A-1,2020-01-31\nA-1,A-2,2020-02-01\n"
    one, two = (load(edges=text, edge_time="day").graph.edge_values.time for text in (seconds, dates))
    assert one.tolist() == two.tolist() == [1580428800, 1580515200]


@pytest.mark.parametrize("date", ["2020-02-01", "2020-02-01T00:00:00"])
def test_nothing_after_a_date_is_seen(load, date):
    graph = load(edges=PAYMENTS, **ALL).graph
    cut = load(edges=PAYMENTS, **ALL, until=date)
    assert cut.graph.edges.ends.tolist() == graph.until(date).edges.ends.tolist() == [[0, 1], [0, 1], [2, 3]]
    assert cut.summary.edges_later == 3  # one of them given twice
    assert graph.until(date).edge_values.weight.tolist() == [5, 7, 3]  # an edge without a date stays
    # what comes later does not shift the mean of a column either
    assert cut.graph.edge_values.columns[-1].offset == pytest.approx(np.mean([0.5, 0.1, 0.7, 0.3]))


def test_an_edge_without_a_weight_counts_as_the_median_edge(load):
    imported = load(edges="from,to,eur\nA-0,A-1,2\nA-1,A-2,4\nA-2,A-3,9\nA-3,A-4,\n", edge_weight="eur")
    assert imported.graph.edge_values.weight.tolist() == [2, 4, 9, 4]
    assert any("1 edges of" in text and "have no weight" in text for text in imported.summary.warnings)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (("A-1,A-0,7", "A-1,A-0,-7"), {}, r"edges.csv, column 'eur', row 2 .*: a weight must be above 0, got -7"),
        (("A-1,A-0,7", "A-1,A-0,0"), {}, r"column 'eur', row 2 .*above 0, got 0"),
        (("A-1,A-0,7", "A-1,A-0,much"), {}, r"column 'eur', row 2 .*'much' is not a finite number.*--edge-column eur="),
        (("2020-02-01", "soon"), {}, r"edges.csv, column 'day', row 2 .*: 'soon' is not a date"),
        (("", ""), {"edge_time": "currency"}, r"edges.csv, column 'currency', row 1 .*: 'EUR' is not a date"),
        (("", ""), {"edge_time": "eurr"}, r"has no column 'eurr' \(did you mean 'eur'\?\)"),
        (("", ""), {"edge_weight": "from"}, "column 'from' is an end of the edges"),
        (("", ""), {"edge_type": "eur"}, "must be different columns"),
        (("", ""), {"edge_ignore": ["eur"]}, "'eur' of the edges cannot be ignored"),
        (("", ""), {"until": "yesterday"}, "a date must look like 2026-03-31"),
        (("", ""), {"until": "2019-01-01", "edge_ignore": ["day"], "edge_time": None}, "until '2019-01-01' needs"),
    ],
)
def test_bad_edge_columns_are_named(load, change, options, message):
    with pytest.raises(InputError, match=message):
        load(edges=PAYMENTS.replace(*change) if change[0] else PAYMENTS, **{**ALL, **options})


def test_milliseconds_are_not_taken_for_seconds(load):
    with pytest.raises(InputError, match=r"column 'day', row 1 .*are these milliseconds\?"):
        load(edges="from,to,day\nA-0,A-1,1580428800000\nA-1,A-2,1580515200000\n", edge_time="day")


def test_new_rows_are_read_as_those_before(load):
    graph = load(edges=PAYMENTS, **ALL).graph
    later = load(edges=PAYMENTS, **ALL).graph
    settings = ImportSettings(id="account", label="fraud", source="from", target="to")
    nodes = pd.DataFrame(
        {
            "account": ["A-0", "A-1", "A-2"],
            "country": "DE",
            "balance": "3",
            "opened": "2020-01-01",
            "verified": "yes",
            "note": "late",
            "fraud": ["no", "yes", "no"],
        }
    )
    edges = pa_csv.read_csv(
        pa.BufferReader(PAYMENTS.encode()), convert_options=pa_csv.ConvertOptions(column_types={"eur": pa.string()})
    ).slice(0, 2)
    found = read_tables(nodes, edges, settings, like=later).graph.edge_values
    assert (found.edge_data, found.type_names, found.columns) == (
        graph.edge_values.edge_data,
        graph.edge_values.type_names,
        graph.edge_values.columns,
    )
    assert np.array_equal(found.attributes, graph.edge_values.attributes[:2])


NEW = pd.DataFrame(
    {"account": ["N"], "country": "DE", "balance": "3", "opened": "2020-01-01", "verified": "yes", "note": "late"}
)


def new_edges(**changes):
    row = {"from": "N", "to": "A-1", "eur": "4", "what": "pays", "day": "2020-05-05", "currency": "EUR", "fee": "0.5"}
    return pd.DataFrame({name: [value] for name, value in {**row, **changes}.items()})


def test_new_nodes_bring_edges_with_values(load):
    graph = load(edges=PAYMENTS, **ALL).graph
    new = read_new_nodes(graph, NEW, new_edges(), id="account", source="from", target="to")
    larger = extended_graph(graph, new)
    place = larger.edges.ends.tolist().index([1, 6])
    values = larger.edge_values
    assert larger.num_edges == graph.num_edges + 1
    assert (values.direction[place], values.weight[place], values.time[place]) == (-1, 4, day("2020-05-05"))
    assert values.raw.row(place)["currency"] == "EUR"
    assert np.array_equal(np.delete(values.weight, place), graph.edge_values.weight)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"what": "pay"}, r"new edges, column 'what', row 1 .*'pay' is not an edge type .*did you mean 'pays'"),
        ({"eur": "-4"}, r"new edges, column 'eur', row 1 .*above 0, got -4"),
        ({"day": "soon"}, r"new edges, column 'day', row 1 .*'soon' is not a date"),
    ],
)
def test_new_edges_that_cannot_be_read_are_named(load, changes, message):
    graph = load(edges=PAYMENTS, **ALL).graph
    with pytest.raises(InputError, match=message):
        read_new_nodes(graph, NEW, new_edges(**changes), id="account", source="from", target="to")


def test_networkx_edges_with_attributes_of_any_kind_are_read_as_columns():
    import networkx as nx

    graph = nx.MultiDiGraph()
    for i in range(4):
        graph.add_node(i, x=[i, 1], label="ab"[i % 2])
    graph.add_edge(1, 0, amount=5.0, kind="pays")
    graph.add_edge(0, 1, amount=7.0, kind="owns")
    graph.add_edge(2, 3, amount=9.5, kind="pays")
    values = from_networkx(graph, directed=True, edge_weight="amount", edge_type="kind").edge_values
    assert values.direction.tolist() == [1, -1, 1]
    assert values.weight.tolist() == [7, 5, 9.5]
    assert values.type.tolist() == [0, 1, 1]
    with pytest.raises(InputError, match="no direction to keep"):
        from_networkx(nx.Graph(graph), directed=True)


def test_the_latest_nodes_test_by_a_column_of_theirs(load):
    graph = load(split_by_time="opened", train_share=0.4, val_share=0.2).graph  # A-5 has no label
    opened = {name: node_values(graph, i)["opened"] for i, name in enumerate(graph.node_names)}
    parts = [
        sorted(opened[graph.node_names[node]] for node in part) for part in (graph.train, graph.validation, graph.test)
    ]
    assert parts == [["2020-01-01", "2020-01-31"], ["2020-03-05"], ["2021-02-01", "2022-11-11"]]


def test_the_latest_nodes_test_by_their_first_edge(load):
    imported = load(edges=PAYMENTS, **ALL, split_by_time="edges", train_share=0.5, val_share=0)
    assert imported.graph.train.tolist() == [0, 1, 4]  # A-4 has the payment to itself in January 2020
    assert imported.graph.test.tolist() == [2, 3]
    assert "by time, the latest test: first edge of each node" in str(imported.summary).replace("\n            ", " ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split_by_time": "edges"}, "split_by_time 'edges' needs edge_time"),
        ({"split_by_time": "openned"}, r"has no column 'openned' \(did you mean 'opened'\?\)"),
        ({"split_by_time": "country"}, r"nodes.csv, column 'country', row 1 .*: 'DE' is not a date"),
        ({"split_by_time": "opened", "split": "country"}, "two ways to split"),
    ],
)
def test_a_split_by_time_that_cannot_be_is_refused(load, options, message):
    with pytest.raises(InputError, match=message):
        load(**options)
