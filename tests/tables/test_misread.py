"""What a table means to a person is read, or the difference is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from se_gnn.display.text import to_csv_cell
from se_gnn.display.values import node_values
from se_gnn.errors import InputError
from se_gnn.tables import ImportSettings, read_tables
from se_gnn.tables.values import read_number

SETTINGS = {"id": "account", "label": "fraud", "source": "from", "target": "to"}


def frame(num_rows=60, **columns):
    generator = np.random.default_rng(0)
    start = {"account": [f"A-{i}" for i in range(num_rows)], "fraud": np.where(np.arange(num_rows) % 3, "no", "yes")}
    return pd.DataFrame({**start, "x": generator.normal(size=num_rows), **columns})


def ring(names):
    return pd.DataFrame({"from": list(names), "to": list(np.roll(np.asarray(names, dtype=object), 1))})


def imported(nodes, *, edges=None, like=None, **settings):
    given = ImportSettings(**{**SETTINGS, **settings})
    return read_tables(nodes, ring(nodes.account) if edges is None else edges, given, like=like)


def kinds(result):
    return {column.name: column.kind for column in result.graph.columns}


def warned(result, words):
    return any(words in warning for warning in result.summary.warnings)


@pytest.mark.parametrize("above", ["\n", "\n\n\n", "\r\n", "   \n", ",,,,,,\n", '"",,\n', "\ufeff\n"])
def test_blank_lines_above_the_header_are_no_rows(load, tmp_path, above):
    usual = load()
    for name in ("nodes", "edges"):
        text = (tmp_path / f"{name}.csv").read_text()
        changed = load(**{name: above + text})
        assert changed.graph.node_names == usual.graph.node_names
        assert changed.graph.num_edges == usual.graph.num_edges


def test_rows_are_counted_from_the_header_below_blank_lines(load, tmp_path):
    load()
    nodes = (tmp_path / "nodes.csv").read_text()
    with pytest.raises(InputError, match=r"nodes.csv, row 6 \(the header not counted\): 8 values where the header"):
        load(nodes="\n\n" + nodes.replace("99.99", "99,99"))
    broken = ("\n" + nodes).replace("paid", "payé").encode().replace(b"asked", b"ask\xe9d")
    with pytest.raises(InputError, match=r"column 'note', row 4 \(line 6\) is not UTF-8"):
        load(nodes=broken)


def test_a_header_of_any_length_is_read_whole(load):
    names = [f"column-{i}-{'x' * 50}" for i in range(3000)]  # 190 KB
    rows = "".join(f"a{i}," + ",".join([str(i * 0.5)] * 3000) + f",{i % 2}\n" for i in range(8))
    result = load(nodes=f"account,{','.join(names)},fraud\n{rows}", edges="from,to\na0,a1\na1,a2\n")
    assert len(result.graph.columns) == 3000
    assert result.graph.class_names == ("0", "1")


def test_a_name_of_a_column_may_be_long(load):
    long = "x" * 200_000
    rows = "".join(f"a{i},{i * 0.5},{i % 2}\n" for i in range(8))
    result = load(nodes=f"account,{long},fraud\n{rows}", edges="from,to\na0,a1\n")
    assert result.graph.columns[0].name == long


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1,234.5", ".", 1234.5), ("1,234,567", ".", 1234567), ("12%", ".", 12), ("$5", ".", 5),
        ("$1,000.50", ".", 1000.5), ("-$5", ".", -5), ("$-5", ".", -5), ("5 €", ".", 5),
        ("EUR 5", ".", 5), ("(1,200)", ".", -1200), ("1 234", ".", 1234), ("1.234,5", ",", 1234.5),
        ("1.234", ",", 1234), ("-1.234", ",", -1234),
        ("12.5", ",", 12.5),
        ("12,5 %", ",", 12.5), ("1'234.50", ".", 1234.5), ("3,5", ".", None), ("1,23,456", ".", None),
        ("1.234.567", ".", None), ("(5", ".", None), ("--5", ".", None), ("5 apples", ".", None),
        ("", ".", None), (",", ".", None), ("1e400", ".", None), ("$", ".", None),
        ("1,234 567", ".", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text, decimal, number):
    assert read_number(text, decimal) == number


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (lambda i: f"{i * 1371.25:,.2f}", "numbers such as '1,371.25' are read as 1371.25"),
        (lambda i: f"{i % 17}%", "numbers such as '0%' are read as 0"),
        (lambda i: f"${i * 2.5}", "numbers such as '$0.0' are read as 0"),
        (lambda i: f"{'$' if i % 2 else '€'}{i / 2}", "they have different units ($, €), which are not converted"),
    ],
)
def test_dressed_numbers_are_numbers_and_a_line_says_so(cell, said):
    result = imported(frame(price=[cell(i) for i in range(60)]))
    assert kinds(result)["price"] == "number"
    assert warned(result, "column 'price': ")
    assert warned(result, said)
    assert node_values(result.graph, 3)["price"] == cell(3)


def test_a_comma_that_may_be_a_decimal_point_is_said():
    result = imported(frame(price=[f"{i % 9 + 1},{i % 7}25" for i in range(60)]))
    assert warned(result, "if that comma is a decimal point: --set decimal=,")


def test_new_rows_are_read_in_the_same_writing():
    first = imported(frame(price=[f"${i},000.00" for i in range(100, 160)]))
    later = imported(frame(price=[f"{i}000" for i in range(100, 160)]), like=first.graph)
    np.testing.assert_array_equal(later.graph.features, first.graph.features)


def test_near_unique_whole_numbers_are_keys_and_can_be_kept():
    generator = np.random.default_rng(0)
    seen_by = generator.choice(10**6, 60, replace=False)
    nodes = frame(site_id=seen_by, as_text=seen_by.astype(str), amount=seen_by / 7, visits=np.arange(60) % 20)
    result = imported(nodes)
    assert kinds(result) == {"x": "number", "amount": "number", "visits": "number"}
    assert warned(result, "column 'site_id' is left out: a key: another whole number in nearly every row")
    assert warned(result, "keep=['site_id'] uses it")
    assert result.graph.raw.row(0)["site_id"] == str(seen_by[0])
    assert kinds(imported(nodes, keep=["site_id"]))["site_id"] == "number"
    assert kinds(imported(nodes, kinds={"site_id": "number"}))["site_id"] == "number"


def test_few_rows_and_negative_numbers_are_no_keys():
    generator = np.random.default_rng(0)
    assert "n" in kinds(imported(frame(49, n=generator.choice(10**6, 49, replace=False))))
    assert "n" in kinds(imported(frame(n=generator.choice(10**6, 60, replace=False) - 500_000)))


def test_a_column_to_keep_must_be_an_attribute():
    with pytest.raises(InputError, match="keep must name attributes, but 'fraud' is the id, the label"):
        imported(frame(), keep=["fraud"])
    with pytest.raises(InputError, match="nodes has no column 'y'"):
        imported(frame(), keep=["y"])


def test_captions_name_nodes_for_people_and_rows_are_kept_as_given():
    names = ["Ann  Lee", None, *(f"Person {i}" for i in range(58))]
    nodes = frame(who=names, note=[f"  long text {i} " + "word " * 200 for i in range(60)], hidden="secret")
    result = imported(nodes, caption="who", ignore=["hidden"])
    graph = result.graph
    assert [graph.caption(node) for node in (0, 1, 2)] == ["Ann Lee", "A-1", "Person 0"]
    row = graph.raw.row(2)
    assert set(row) == {"x", "who", "note"}  # neither id, label nor what is ignored
    assert row["note"].startswith("long text 2 word")
    assert row["note"].endswith("...")
    assert len(row["note"]) == 500
    assert graph.raw.row(1)["who"] is None
    notes = {column.name: column.note for column in result.summary.columns}
    assert notes["who"] == "shown to people, not used as an attribute"
    assert not any("who" in name for name in graph.feature_names)  # nothing is learned from it
    asked = imported(nodes, caption="who", keep=["who"], ignore=["hidden"])
    assert any("who" in name for name in asked.graph.feature_names)
    with pytest.raises(InputError, match="nodes has no column 'whom'"):
        imported(nodes, caption="whom")


def test_typed_values_are_kept_as_people_write_them():
    days = pd.date_range("2020-01-01", periods=60)
    nodes = frame(
        day=days, time=days + pd.Timedelta(hours=1.5), flag=[True, None] * 30, tag=pd.Categorical(["a", "b"] * 30)
    )
    row = imported(nodes).graph.raw.row(1)
    assert (row["day"], row["time"]) == ("2020-01-02", "2020-01-02 01:30:00")
    assert (row["flag"], row["tag"]) == (None, "b")


def test_classes_that_look_alike_are_said_and_merged_when_asked():
    nodes = frame(fraud=["a", "a ", "A", "1", "1.0", "01"] * 10)
    result = imported(nodes)
    assert result.graph.class_names == ("01", "1", "1.0", "A", "a")
    assert warned(result, "classes '01', '1' and '1.0' look alike and are kept apart")
    assert warned(result, "classes 'A' and 'a' look alike")
    assert warned(result, "6 classes are 5 without the spaces around their names")
    merged = imported(nodes, merge_classes=True)
    assert merged.graph.class_names == ("1", "a")
    assert merged.summary.classes == {"1": 30, "a": 30}
    assert warned(merged, "class 'a' takes in 'A'")
    later = imported(frame(fraud=["A", "1.0"] * 30), merge_classes=True, like=merged.graph)
    assert later.graph.class_names == ("1", "a")
    with pytest.raises(InputError, match="class 'A' is not one of the model's: 1, a"):
        imported(frame(fraud=["A", "1"] * 30), like=merged.graph)


def test_spaces_around_ids_do_not_count(load, tmp_path):
    usual = load()
    edges = (tmp_path / "edges.csv").read_text().replace(",", ", ")
    assert load(edges=edges).graph.edges.ends.tolist() == usual.graph.edges.ends.tolist()


@pytest.mark.parametrize(("wrong", "why"), [(np.inf, "inf is not finite"), (1e300, r"1e\+300 is a float beyond 2\^53")])
@pytest.mark.parametrize("column", ["account", "fraud", "from"])
def test_floats_that_name_nothing_are_refused_with_their_row(wrong, why, column):
    ids = np.arange(60, dtype=float) * 1000
    nodes = pa.table({"account": ids, "fraud": np.arange(60.0) % 2, "x": np.random.default_rng(0).normal(size=60)})
    edges = pa.table({"from": ids, "to": np.roll(ids, 1)})
    spoiled = np.where(np.arange(60) == 2, wrong, edges["from"] if column == "from" else nodes[column])
    if column == "from":
        edges = edges.set_column(0, "from", pa.array(spoiled))
    else:
        nodes = nodes.set_column(nodes.column_names.index(column), column, pa.array(spoiled))
    with pytest.raises(InputError, match=rf"column '{column}', row 3 .*{why}"):
        read_tables(nodes, edges, ImportSettings(**SETTINGS))


def test_ids_that_are_floats_are_named_without_decimals():
    nodes = frame(account=np.arange(60, dtype=float) * 3)
    assert imported(nodes).graph.node_names[:3] == ("0", "3", "6")


def test_formulas_written_by_us_are_read_back_as_they_were(tmp_path):
    names = [f"={i}+1" if i % 2 else f"@{i}" for i in range(60)]
    nodes = frame(account=[to_csv_cell(name) for name in names], y=[to_csv_cell(f"-{i / 4}") for i in range(60)])
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    ring(nodes.account).to_csv(tmp_path / "edges.csv", index=False)
    result = read_tables(tmp_path / "nodes.csv", tmp_path / "edges.csv", ImportSettings(**SETTINGS))
    assert result.graph.node_names == tuple(names)
    assert kinds(result)["y"] == "number"


def test_a_table_without_attributes_is_described_by_its_edges():
    nodes = frame()[["account", "fraud"]]
    spokes = pd.DataFrame({"from": ["A-0"] * 20, "to": [f"A-{i}" for i in range(10, 50, 2)]})
    edges = pd.concat([ring(nodes.account), spokes])
    first = imported(nodes, edges=edges)
    assert {column.kind for column in first.graph.columns} == {"structure"}
    names = [column.name for column in first.graph.columns]
    assert "number of triangles" not in names  # no triangles: the same for all
    assert warned(first, f"features are taken from the edges around it: {', '.join(names)}")
    shown = node_values(first.graph, 0)
    assert (shown["number of edges"], shown["mean edges of neighbors"]) == ("22", "2.9")
    assert {column.name: column.kind for column in first.summary.columns}["number of edges"] == "structure"
    more = pd.concat([edges, pd.DataFrame({"from": ["A-5"], "to": ["A-50"]})])
    later = imported(nodes, edges=more, like=first.graph)
    assert later.graph.columns == first.graph.columns
    assert node_values(later.graph, 5)["number of edges"] == "3"


def test_the_summary_stays_in_its_columns_whatever_names_and_kinds_are_long():
    nodes = frame()[["account", "fraud"]].assign(**{"a" * 70: "x"})
    edges = pd.concat([ring(nodes.account), pd.DataFrame({"from": ["A-0"], "to": ["A-30"]})])
    lines = str(imported(nodes, edges=edges).summary).split("\n")
    assert max(map(len, lines)) <= 80
    kinds = ("id ", "label ", "left out", "structure")
    assert len({line.index(kind) for line in lines[1:6] for kind in kinds if f"  {kind}" in line}) == 1


def test_classes_that_read_like_no_value_or_differ_by_what_nobody_sees_are_said():
    result = imported(frame(fraud=["yes", "NA", "no", "no\u200b", "yes", "no"] * 10))
    assert warned(result, "class 'NA' reads like no value; if it means that the class is not known: --set missing=NA")
    assert warned(result, "look alike and are kept apart")
