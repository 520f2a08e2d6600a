"""What becomes of two good tables."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from se_gnn.display.values import node_values, show_value
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.columns import CategoryColumn, DateColumn, NumberColumn, TextColumn
from se_gnn.graph.storage import graph_files, load_graph
from se_gnn.tables import load_import, read_tables

ROLES = {"id": "account", "label": "fraud", "source": "from", "target": "to"}


def tables(num_rows=60, seed=0, **columns):
    """A node table of two classes and a ring of edges."""
    generator = np.random.default_rng(seed)
    nodes = pd.DataFrame(
        {"account": [f"A-{i}" for i in range(num_rows)], "fraud": np.where(np.arange(num_rows) % 3, "no", "yes")}
    )
    nodes["x"] = generator.normal(size=num_rows)
    for name, values in columns.items():
        nodes[name] = values
    ring = np.arange(num_rows)
    edges = pd.DataFrame(
        {"from": nodes.account[ring].to_numpy(), "to": nodes.account[(ring + 1) % num_rows].to_numpy()}
    )
    return nodes, edges


def column(imported, name):
    return next(column for column in imported.graph.columns if column.name == name)


def test_every_kind_of_column_is_understood_and_shown_as_the_table_has_it(load):
    imported = load(train_share=1.0, val_share=0.0, edge_ignore=["amount"])
    graph = imported.graph
    assert {c.name: c.kind for c in graph.columns} == {
        "country": "category", "balance": "number", "opened": "date", "verified": "boolean", "note": "text"
    }  # fmt: skip
    assert graph.node_names == ("A-0", "A-1", "A-2", "A-3", "A-4", "A-5")
    assert graph.class_names == ("no", "yes")
    assert graph.labels.tolist() == [0, 0, 1, 0, 1, -1]
    shown = node_values(graph, 2)
    assert shown.pop("note") == "paid in full"
    assert shown == {"country": "DE", "balance": "312.50", "opened": "2020-03-05", "verified": "yes"}
    assert node_values(graph, 1)["balance"] == "(missing)"
    assert node_values(graph, 3)["country"] == "(missing)"
    assert graph.edges.ends.tolist() == [[0, 1], [2, 3], [3, 4]]


def test_the_summary_says_what_was_understood(load):
    summary = load(train_share=1.0, val_share=0.0, edge_ignore=["amount"]).summary
    assert (summary.edges_given, summary.edges_duplicate, summary.edges_reciprocal, summary.self_loops) == (6, 1, 1, 1)
    assert (summary.num_edges, summary.isolated, summary.degree_max) == (3, 1, 2)
    assert summary.classes == {"no": 3, "yes": 2}
    assert (summary.unlabeled, summary.num_train) == (1, 5)
    assert summary.homophily == pytest.approx(1 / 3)
    assert summary.homophily_by_chance == pytest.approx((4 / 6) ** 2 + (2 / 6) ** 2)
    assert summary.unused_edge_columns == ("amount",)
    text = str(summary)
    for words in ("6 nodes", "balance   number", "1 missing", "no: 3 (60.0%)", "1 isolated", "not used  amount"):
        assert words in text
    assert max(map(len, text.split("\n"))) <= max(80, len(summary.nodes_table) + 50)
    assert json.loads(summary.to_json())["columns"][2]["kind"] == "number"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", "-3e2", "+4"], "number"),
        (["1", "NA", "2", "n/a"], "number"),
        (["01067", "01069", "10115", "10117"], "category"),  # a number does not begin with 0
        (["0", "1", "1", "0"], "boolean"),
        (["TRUE", "false", "", "True"], "boolean"),
        (["y", "n", "y", "n"], "boolean"),
        ([True, False, None, True], "boolean"),
        (["2020-01-01", "2021-05-06T12:30:00", "2020-01-01 10:00:00.5", "2020-01-01T00:00:00+02:00"], "date"),
        (["31.12.2020", "01.02.2021", "", "05.06.2022"], "date"),
        (["12/31/2020", "01/02/2021", "02/03/2021", "05/06/2022"], "date"),
        (pd.to_datetime(["2020-01-01", "2021-01-01", None, "2022-01-01"]), "date"),
        (["red", "green", "blue", "red"], "category"),
        (pd.Categorical(["red", "green", None, "red"]), "category"),
        (["NA", "NB", "NA", "NC"], "category"),
        ([1.5, 2.5, None, 3.5], "number"),
        ([7, 8, 9, 7], "number"),
    ],
)
def test_kinds_by_example(values, kind):
    nodes, edges = tables(num_rows=40)
    nodes["c"] = pd.concat([pd.Series(values)] * 10, ignore_index=True)
    assert column(read_tables(nodes, edges, **ROLES), "c").kind == kind


def test_texts_with_several_words_are_text_and_codes_of_one_word_name_rows():
    nodes, edges = tables(num_rows=60)
    nodes["note"] = [f"payment number {i} came late" for i in range(60)]
    nodes["iban"] = [f"DE{i * 7919}" for i in range(60)]
    nodes["row"] = np.arange(60) + 5
    imported = read_tables(nodes, edges, **ROLES)
    assert column(imported, "note").vocabulary == ("came", "late", "number", "payment")
    assert {c.name for c in imported.summary.columns if c.kind == "left out"} == {"iban", "row"}
    asked = read_tables(nodes, edges, **ROLES, kinds={"row": "category", "iban": "text"}, ignore=["note"])
    assert column(asked, "row").kind == "category"
    assert any("column 'iban' is left out: no word that two rows share" in w for w in asked.summary.warnings)


def test_an_encoding_is_fitted_on_all_rows_and_no_label_or_split_changes_it():
    color = ["red", "green"] * 20 + ["violet"] * 20
    nodes, edges = tables(seed=1, color=color, note=[f"paid {i} euros in month {i % 12}" for i in range(60)])
    nodes["part"] = ["train"] * 6 + ["test"] * 54
    one = read_tables(nodes, edges, **ROLES, split="part")
    shuffled = nodes.assign(fraud=np.roll(nodes.fraud, 1), part=nodes.part[::-1].to_numpy())
    other = read_tables(shuffled, edges, **ROLES, split="part")
    assert other.graph.columns == one.graph.columns
    np.testing.assert_array_equal(other.graph.features, one.graph.features)
    assert column(one, "color").categories == ("green", "red", "violet")
    assert {"10", "11"} <= set(column(one, "note").vocabulary)  # words of rows that are not labeled
    assert column(one, "x").offset == pytest.approx(nodes.x.mean())
    assert column(one, "x").scale == pytest.approx(nodes.x.std(ddof=0))


def test_the_number_of_words_is_limited_by_the_user_and_many_are_kept_sparse():
    generator = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(400)])
    notes = [" ".join(generator.choice(words, 6)) for _ in range(300)]
    nodes, edges = tables(num_rows=300, note=notes)
    every = read_tables(nodes, edges, **ROLES).graph
    assert len(every.columns[-1].vocabulary) > 300
    assert sp.issparse(every.features)
    few = read_tables(nodes, edges, **ROLES, text_words=20)
    assert len(column(few, "note").vocabulary) == 20


def test_heavy_tails_are_compared_by_magnitude_and_shown_as_they_are():
    amounts = np.concatenate([np.arange(1, 60), [1e6]])
    nodes, edges = tables(amount=amounts)
    imported = read_tables(nodes, edges, **ROLES, train_share=1.0, val_share=0.0)
    assert column(imported, "amount").log_unit == pytest.approx(np.median(amounts))
    assert np.abs(imported.graph.features).max() < 10
    assert node_values(imported.graph, 59)["amount"] == "1000000"
    assert node_values(imported.graph, 6)["amount"] == "7"


def test_rare_categories_share_a_feature():
    color = ["red"] * 2000 + ["green"] * 1000 + ["odd"]
    nodes, edges = tables(num_rows=3001, color=color)
    imported = read_tables(nodes, edges, **ROLES, train_share=1.0, val_share=0.0, max_train=None)
    assert column(imported, "color").categories == ("green", "red")
    place = column(imported, "color").features
    assert imported.graph.features[3000, list(place)].tolist() == [0, 0, 1]
    assert imported.graph.raw.row(3000)["color"] == "odd"


def test_constant_empty_and_leaking_columns_are_pointed_out():
    nodes, edges = tables()
    nodes["same"] = "x"
    nodes["empty"] = None
    nodes["closed_on"] = np.where(nodes.fraud == "yes", "2020-01-01", None)  # known only once the class is
    nodes["risk"] = np.where(nodes.fraud == "yes", 0.9, 0.1) + np.random.default_rng(0).normal(size=60) / 100
    imported = read_tables(nodes, edges, **ROLES)
    text = "\n".join(imported.summary.warnings)
    assert "column 'same' is left out: the same value in all rows" in text
    assert "column 'empty' is left out: no value in any row" in text
    assert "column 'closed_on' alone tells the class" in text
    assert "column 'risk' alone tells the class" in text
    assert "column 'x'" not in text
    with pytest.raises(InputError, match=r"strict: 4 warnings"):
        read_tables(nodes, edges, **ROLES, strict=True)


def test_missing_values_that_the_encoding_does_not_know_are_reported():
    nodes, edges = tables()
    first = read_tables(nodes, edges, **ROLES)
    nodes.loc[55, "x"] = None
    later = read_tables(nodes, edges, **ROLES, like=first.graph)
    told = "column 'x': 1 missing values, but none in the rows that the encoding was fitted on"
    assert told in later.summary.warnings[0]
    assert later.graph.features[55, 0] == 0


def test_a_drawn_split_keeps_the_share_of_each_class_and_follows_the_seed():
    nodes, edges = tables(num_rows=300)
    one, again, other = (read_tables(nodes, edges, **ROLES, seed=seed).graph for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.train, again.train)
    assert not np.array_equal(one.train, other.train)
    assert np.bincount(one.labels[one.train]).tolist() == [120, 60]
    assert np.bincount(one.labels[one.validation]).tolist() == [40, 20]
    assert len(np.concatenate([one.train, one.validation, one.test])) == 300


def test_a_large_class_does_not_outvote_a_small_one_and_nodes_that_judge_keep_their_shares():
    nodes, edges = tables(num_rows=300)
    graph = read_tables(nodes, edges, **ROLES, max_train=30).graph
    parts = {part: np.bincount(graph.labels[getattr(graph, part)]).tolist() for part in ("train", "validation", "test")}
    assert parts == {"train": [30, 30], "validation": [40, 20], "test": [40, 20]}
    with pytest.raises(InputError, match="max_train must be at least 1, got 0"):
        read_tables(nodes, edges, **ROLES, max_train=0)


def test_a_split_column_is_followed_and_may_leave_nodes_out():
    part = ["Train", "validation", "test", None] * 15
    nodes, edges = tables(part=part)
    graph = read_tables(nodes, edges, **ROLES, split="part").graph
    assert graph.train.tolist() == list(range(0, 60, 4))
    assert graph.validation.tolist() == list(range(1, 60, 4))
    assert graph.test.tolist() == list(range(2, 60, 4))


def test_numbers_name_nodes_as_people_write_them():
    nodes, edges = tables()
    nodes["account"] = np.arange(60) + 1000
    edges = pd.DataFrame({"from": [1000.0, 1001.0], "to": ["1001", "1002"]})  # floats, as pandas makes them of gaps
    graph = read_tables(nodes, edges, **ROLES).graph
    assert graph.node_names[:2] == ("1000", "1001")
    assert graph.edges.ends.tolist() == [[0, 1], [1, 2]]


def test_classes_that_are_numbers_keep_their_order():
    nodes, edges = tables()
    nodes["fraud"] = np.resize([10.0, 9.0, np.nan, 2.0], 60)
    imported = read_tables(nodes, edges, **ROLES)
    assert imported.graph.class_names == ("2", "9", "10")
    assert imported.summary.unlabeled == 15


def test_words_for_missing_values_are_named_by_the_user():
    nodes, edges = tables(country=["NA", "DE", "FR"] * 20)
    assert "NA" in column(read_tables(nodes, edges, **ROLES), "country").categories
    assert "NA" not in column(read_tables(nodes, edges, **ROLES, missing=["NA"]), "country").categories


def test_decimal_commas_are_noticed_and_read(load):
    nodes = "account;balance;fraud\n" + "".join(f"a{i};{i},5;{i % 2}\n" for i in range(20))
    edges = "from\tto\na1\ta2\n"
    noticed = load(nodes=nodes, edges=edges)
    assert any("read with a decimal comma" in warning for warning in noticed.summary.warnings)
    for imported in (noticed, load(nodes=nodes, edges=edges, decimal=",")):
        balance = column(imported, "balance")
        assert isinstance(balance, NumberColumn)
        assert balance.decimals == 1
    points = load(nodes=nodes, edges=edges, decimal=".")
    assert any("--set decimal=," in warning for warning in points.summary.warnings)


def test_a_decimal_comma_is_noticed_column_by_column(load):
    nodes = "account;balance;age;fraud\n" + "".join(f"a{i};{i},5;{i}.25;{i % 2}\n" for i in range(20))
    imported = load(nodes=nodes, edges="from,to\na1,a2\n")
    assert any("numbers in 'balance' are read with a decimal comma" in one for one in imported.summary.warnings)
    balance, age = (column(imported, name) for name in ("balance", "age"))
    assert (balance.decimal_point, balance.decimals) == (",", 1)
    assert (age.decimal_point, age.decimals) == (".", 2)


def test_thousands_are_read_as_the_decimal_point_of_the_table_says(load):
    rows = "".join(f"a{i};{i}.234;{i},5;{i % 2}\n" for i in range(1, 30))
    imported = load(nodes=f"account;turnover;rate;fraud\n{rows}", edges="from,to\na1,a2\n")
    assert show_value(column(imported, "turnover"), imported.graph.features[2, [0]]) == "3234"


def test_a_column_of_numbers_with_an_infinite_one_is_not_a_category(load):
    nodes = "account,x,fraud\n" + "".join(f"a{i},{['NaN', 'inf', i, i + 0.5][i % 4]},{i % 2}\n" for i in range(40))
    with pytest.raises(InputError, match=r"column 'x', row 2 .*: 'inf' is not a finite number.*--set missing=inf"):
        load(nodes=nodes, edges="from,to\na1,a2\n")
    imported = load(nodes=nodes, edges="from,to\na1,a2\n", missing=["inf"])
    assert isinstance(column(imported, "x"), NumberColumn)


def test_categories_that_may_be_meant_as_numbers_are_pointed_out(load):
    nodes = "account,x,fraud\n" + "".join(f"a{i},{['low', i, i][i % 3]},{i % 2}\n" for i in range(40))
    imported = load(nodes=nodes, edges="from,to\na1,a2\n")
    assert any("'x': 65% of the values are numbers, but not all" in text for text in imported.summary.warnings)


def test_dates_that_can_be_read_in_two_ways_are_pointed_out():
    nodes, edges = tables(day=["01/02/2020", "03/04/2021", "05/06/2022"] * 20)
    imported = read_tables(nodes, edges, **ROLES)
    assert any("could as well be month/day/year" in warning for warning in imported.summary.warnings)
    day = column(imported, "day")
    assert show_value(day, imported.graph.features[0, list(day.features)]) == "2020-02-01"


def test_quotes_newlines_and_a_byte_order_mark(load):
    nodes = "\ufeffaccount,note,x,fraud\n" + "".join(
        f'"a ""{i}"", b","two\nlines {i % 7}",{i},{i % 2}\n' for i in range(30)
    )
    imported = load(nodes=nodes, edges='from,to\n"a ""1"", b","a ""2"", b"\n')
    assert imported.graph.node_names[1] == 'a "1", b'
    assert imported.graph.edges.ends.tolist() == [[1, 2]]


def test_new_rows_are_encoded_as_the_training_rows_were():
    nodes, edges = tables(
        num_rows=80,
        color=["red", "green", None, "blue"] * 20,
        since=pd.date_range("2020-01-01", periods=80).strftime("%d.%m.%Y"),
        ok=["yes", "no"] * 40,
        note=[f"payment {i} of May came late" for i in range(80)],
    )
    first = read_tables(nodes, edges, **ROLES)
    new = nodes.iloc[[3, 7, 11, 20]].assign(account=["n1", "n2", "n3", "n4"], fraud=None)
    grown = pd.concat([nodes, new], ignore_index=True)
    links = pd.concat([edges, pd.DataFrame({"from": ["n1", "n2"], "to": ["A-3", "n1"]})], ignore_index=True)
    later = read_tables(grown.drop(columns="note").assign(note=grown.note, extra=1), links, **ROLES, like=first.graph)
    assert later.graph.columns == first.graph.columns
    np.testing.assert_array_equal(later.graph.features[:80], first.graph.features)
    np.testing.assert_array_equal(later.graph.features[80:], first.graph.features[[3, 7, 11, 20]])
    for part in ("train", "validation", "test"):  # the same nodes vote as before
        np.testing.assert_array_equal(getattr(later.graph, part), getattr(first.graph, part))
    assert later.graph.class_names == first.graph.class_names
    assert {c.name: c.kind for c in later.summary.columns}["extra"] == "left out"
    kinds = {type(c) for c in first.graph.columns}
    assert {NumberColumn, CategoryColumn, DateColumn, TextColumn} <= kinds


def test_nodes_labeled_since_then_test_and_where_no_voter_is_left_all_vote():
    nodes, edges = tables()
    first = read_tables(nodes, edges, **ROLES)
    more = nodes.iloc[:5].assign(account=[f"B-{i}" for i in range(5)])
    later = read_tables(pd.concat([nodes, more]), edges, **ROLES, like=first.graph).graph
    np.testing.assert_array_equal(later.train, first.graph.train)
    assert later.test.tolist() == [*first.graph.test.tolist(), 60, 61, 62, 63, 64]
    others = nodes.assign(account=nodes.account.str.replace("A", "C"))
    links = edges.apply(lambda end: end.str.replace("A", "C"))
    assert len(read_tables(others, links, **ROLES, like=first.graph).graph.train) == 60


def test_a_split_column_decides_all_parts_of_new_rows_and_without_one_all_parts_stay():
    nodes, edges = tables()
    parts = ["train", "train", "val", "calibration", "test"] * 12
    first = read_tables(nodes.assign(part=parts), edges, **ROLES, split="part").graph
    later = read_tables(nodes, edges, **ROLES, like=first).graph
    for part in ("train", "validation", "test", "calibration"):
        np.testing.assert_array_equal(getattr(later, part), getattr(first, part))
    moved = [*parts[1:], ""]  # some were in another part, and one is in none now
    again = read_tables(nodes.assign(part=moved), edges, **ROLES, split="part", like=first).graph
    assert again.calibration.tolist() == list(range(2, 60, 5))
    fresh = read_tables(nodes.assign(part=moved), edges, **ROLES, split="part").graph
    for part in ("train", "validation", "test", "calibration"):
        np.testing.assert_array_equal(getattr(again, part), getattr(fresh, part))


def test_new_rows_must_have_the_columns_and_classes_of_the_model():
    nodes, edges = tables(color=["red", "green", "blue"] * 20)
    first = read_tables(nodes, edges, **ROLES).graph
    with pytest.raises(InputError, match=r"nodes has no column 'color'"):
        read_tables(nodes.drop(columns="color"), edges, **ROLES, like=first)
    with pytest.raises(InputError, match=r"column 'fraud', row 1 .* class 'maybe' is not one of the model's: no, yes"):
        read_tables(nodes.assign(fraud="maybe"), edges, **ROLES, like=first)
    with pytest.raises(InputError, match=r"column 'x', row 1 .* 'a' is not a finite number"):
        read_tables(nodes.assign(x="a"), edges, **ROLES, like=first)
    lonely = read_tables(nodes.assign(fraud=None), edges, **ROLES, like=first)
    assert "nobody can vote" in lonely.summary.warnings[0]


def test_an_import_is_saved_and_loaded_whole(load, tmp_path):
    imported = load()
    imported.save(tmp_path / "graph")
    loaded = load_import(tmp_path / "graph")
    assert graph_files(loaded.graph) == graph_files(imported.graph)
    assert loaded.nodes[""].equals(imported.nodes[""])
    assert (loaded.summary, loaded.settings) == (imported.summary, imported.settings)
    assert load_graph(tmp_path / "graph").columns == imported.graph.columns
    (tmp_path / "graph" / "import.json").write_text("{}")
    with pytest.raises(InputError, match=r"the import in .* cannot be read"):
        load_import(tmp_path / "graph")


def test_many_classes_with_few_training_rows_share_one_warning(load):
    rows = "".join(f"A-{i},{i},{'abcde'[i % 5]}\n" for i in range(10))
    imported = load(nodes=f"account,size,fraud\n{rows}", edges="from,to\nA-0,A-1\nA-2,A-3\n")
    told = [warning for warning in imported.summary.warnings if "rests on chance" in warning]
    assert len(told) == 1
    assert told[0].startswith("5 of 5 classes have fewer than 3 training rows ('a' 1, 'b' 1, 'c' 1, and 2 more)")


def test_ids_in_either_form_of_unicode_name_the_same_node(load):
    composed, decomposed = "M\u00fcller", "Mu\u0308ller"
    nodes = f"account,x,fraud\n{decomposed},1,no\nB,2,yes\nC,5,no\n"
    edges = f"from,to\n{composed},B\nC,{decomposed}\n"
    imported = load(nodes=nodes, edges=edges)
    graph = imported.graph
    assert graph.edges.ends.tolist() == [[0, 1], [0, 2]]
    assert graph.node_id(composed) == graph.node_id(decomposed) == graph.nodes.find(decomposed) == 0
    assert any("decomposed Unicode (NFD) and are kept as NFC" in told for told in imported.summary.warnings)
    with pytest.raises(
        InputError, match=f"row 2 .*the id '{composed}' was given in row 1 already, in another form of Uni"
    ):
        load(nodes=nodes.replace("B,2", f"{composed},2"), edges=edges)
    with pytest.raises(InputError, match=r"'Mu\\u0308ller' and 'M\\xfcller' are two forms of the same text"):
        Graph.build(features=np.eye(2), edges=[[0, 1]], labels=[0, 1], node_names=[decomposed, composed])
