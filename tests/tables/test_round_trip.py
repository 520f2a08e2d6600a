"""Tables, graph, tables: what comes back is what came in, and is the same graph again."""

from __future__ import annotations

import datetime
import unicodedata

import pyarrow as pa
import pyarrow.csv as pa_csv
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.tables import load_import, read_tables
from strategies import assert_same_graph

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)
ROLES = {"id": "id", "label": "label", "source": "from", "target": "to"}


MINIMUM = datetime.datetime(1900, 1, 1)
MAXIMUM = datetime.datetime(2100, 1, 1)


def as_id(text):
    """A text as ids are compared: without spaces around it, in Unicode's composed form."""
    return unicodedata.normalize("NFC", text.strip())


def some(values, num_rows):
    """A column of these values, some of them missing."""
    return st.lists(st.none() | values, min_size=num_rows, max_size=num_rows)


@st.composite
def tables(draw):
    """A node table with a column of every kind, typed, and an edge table, with anything a graph would merge."""
    num_rows = draw(st.integers(4, 10))
    ids = draw(
        st.lists(words.filter(str.strip), min_size=num_rows, max_size=num_rows, unique_by=as_id)
        | st.lists(st.integers(-(10**12), 10**12), min_size=num_rows, max_size=num_rows, unique=True)
    )
    labels = ["a", "b", *draw(some(st.sampled_from(["a", "b"]), num_rows - 2))]
    parts = [draw(st.sampled_from(["train", "val", "test", None])) if label is not None else None for label in labels]
    parts[:2] = ["train", "train"]
    columns = {
        "number": pa.array(draw(some(st.floats(-1e30, 1e30), num_rows)), pa.float64()),
        "count": pa.array(draw(some(st.integers(-(2**40), 2**40), num_rows)), pa.int64()),
        "flag": pa.array(draw(some(st.booleans(), num_rows)), pa.bool_()),
        "kind": pa.array(draw(some(words, num_rows)), pa.string()),
        "day": pa.array(draw(some(st.dates(MINIMUM.date(), MAXIMUM.date()), num_rows)), pa.date32()),
        "time": pa.array(draw(some(st.datetimes(MINIMUM, MAXIMUM), num_rows)), pa.timestamp("us")),
        "note": pa.array(draw(some(st.lists(words, max_size=4).map(" ".join), num_rows)), pa.string()),
        "fine": pa.array(range(num_rows), pa.float64()),  # one column that surely becomes a feature
    }
    nodes = {"id": ids, "label": labels, **columns}
    if draw(st.booleans()):
        nodes["part"] = pa.array(parts, pa.string())
    ends = st.lists(st.sampled_from(ids), min_size=1, max_size=15)
    sources = draw(ends)
    targets = draw(st.lists(st.sampled_from(ids), min_size=len(sources), max_size=len(sources)))
    return pa.table(nodes), pa.table({"from": sources, "to": targets})


KINDS = {"kind": "category", "note": "text"}  # single letters may look like booleans


@settings(max_examples=40)
@given(given_tables=tables())
def test_tables_come_back_from_a_graph(given_tables, tmp_path_factory):
    nodes, edges = given_tables
    split = "part" if "part" in nodes.column_names else None
    imported = read_tables(nodes, edges, **ROLES, split=split, kinds=KINDS)
    folder = tmp_path_factory.mktemp("import")
    imported.save(folder)
    nodes_back, edges_back = load_import(folder).to_tables()
    assert nodes_back.select(nodes.column_names).equals(nodes)
    assert edges_back.equals(edges)
    again = read_tables(
        nodes_back, edges_back, **ROLES, split=imported.split_column, kinds=KINDS, name=imported.graph.name
    )
    assert_same_graph(again.graph, imported.graph, but=("roles",))  # a split of its own


def test_files_come_back_value_by_value(load, tmp_path):
    imported = load()
    nodes, edges = imported.to_tables()
    pa_csv.write_csv(nodes, tmp_path / "again.csv")
    pa_csv.write_csv(edges, tmp_path / "again-edges.csv")
    again = read_tables(
        tmp_path / "again.csv", tmp_path / "again-edges.csv", id="account", label="fraud", source="from", target="to",
        split="split", name="nodes",
    )  # fmt: skip
    assert again.nodes[""].drop_columns("split").equals(imported.nodes[""])
    assert_same_graph(again.graph, imported.graph, but=("roles",))  # a split of its own


def test_a_split_column_of_another_meaning_keeps_its_name(load):
    imported = load(nodes="account,split,x,fraud\n" + "".join(f"A-{i},{i % 3},{i * i},{i % 2}\n" for i in range(9)))
    nodes, _ = imported.to_tables()
    assert nodes.column_names == ["account", "split", "x", "fraud", "split_"]
    assert nodes.column("split").to_pylist() == ["0", "1", "2"] * 3
