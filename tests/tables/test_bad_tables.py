"""A bad table gets an error that names file, column and row."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from se_gnn.errors import InputError
from se_gnn.tables import read_tables

ROLES = {"id": "account", "label": "fraud", "source": "from", "target": "to"}


@pytest.fixture
def tables(load, tmp_path):
    """The text of two good tables."""
    load()
    return (tmp_path / "nodes.csv").read_text(), (tmp_path / "edges.csv").read_text()


@pytest.fixture
def refused(load):
    """Import and hand back the error, which holds all the words."""

    def call(*words, **given):
        with pytest.raises(InputError) as caught:
            load(**given)
        for word in words:
            assert word in str(caught.value), caught.value
        return str(caught.value)

    return call


def frame(**columns):
    return pd.DataFrame({"account": ["a", "b", "c", "d"], "fraud": [0, 1, 0, 1], **columns})


EDGE_FRAME = pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"]})


def test_a_duplicate_id(refused, tables):
    nodes = tables[0].replace("A-4,", "A-1,")
    refused("nodes.csv, column 'account', row 5 (the header not counted)", "'A-1' was given in row 2", nodes=nodes)


def test_a_missing_id(refused, tables):
    refused("nodes.csv, column 'account', row 5", "a node without an id", nodes=tables[0].replace("A-4,", ","))


def test_dangling_edges_are_listed_and_can_be_dropped(refused, tables, load):
    edges = tables[1] + "A-0,X-1,1\nX-2,A-0,1\n,A-0,1\n"
    text = refused("edges.csv: 3 of 9 edges refer to unknown nodes", "--set drop_dangling=true", edges=edges)
    assert "row 7, column 'to': 'X-1'" in text
    assert "row 8, column 'from': 'X-2'" in text
    assert "row 9, column 'from': no name at all" in text
    assert "'X-1'; row 8, " in " ".join(text.split())  # as the command line shows it
    assert "no name at all. Rows are counted" in " ".join(text.split())
    imported = load(edges=edges, drop_dangling=True)
    assert imported.summary.edges_dangling == 3
    assert any("3 of 9 edges" in warning for warning in imported.summary.warnings)
    assert imported.graph.num_edges == load().graph.num_edges


def test_many_dangling_edges_are_counted_and_the_first_ten_listed(refused, tables):
    text = refused("20 of 26 edges", "and 10 more rows", edges=tables[1] + "A-0,X,1\n" * 20)
    assert text.count("column 'to': 'X'") == 10


def test_edges_that_name_no_node_at_all_are_in_the_wrong_columns(refused):
    refused("no edge joins two nodes of", "column 'amount' holds names such as '5'", "called 'A-0'", source="amount")


def test_an_unparsable_number(refused, tables):
    nodes = tables[0].replace("312.50", "abc")
    refused("nodes.csv, column 'balance', row 3", "'abc' is not a finite number, 4 of the 5 values are", nodes=nodes)
    refused("'1e999' is not a finite number", nodes=tables[0].replace("312.50", "1e999"))


def test_an_unparsable_date(refused, tables):
    nodes = tables[0].replace("2020-03-05", "2020-02-30")
    refused("nodes.csv, column 'opened', row 3", "'2020-02-30' is not a date, 5 of the 6 values are", nodes=nodes)


def test_a_column_of_a_kind_that_was_asked_for(refused):
    refused("column 'country', row 1", "'DE' is not a finite number", kinds={"country": "number"})
    refused("must be one of number, boolean, category, date, text, got 'float'", kinds={"country": "float"})
    refused("has no column 'contry' (did you mean 'country'?)", kinds={"contry": "text"})
    refused("is the id, the label", kinds={"fraud": "text"})


def test_a_wrong_separator(refused, tables):
    refused("no column 'account'; it was read with the separator ';', ',' looks right", separator=";")
    refused("must be one character, got '::'", separator="::")


def test_a_row_with_too_many_values(refused, tables):
    nodes = tables[0].replace("99.99", "99,99")
    refused("nodes.csv, row 6 (the header not counted): 8 values where the header has 7", "(1 such row)", nodes=nodes)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"   "])
def test_an_empty_file(refused, content):
    refused("nodes.csv is empty", nodes=content)


def test_a_file_without_rows(refused, tables):
    refused("nodes.csv has no rows", nodes=tables[0].split("\n")[0] + "\n")
    refused("edges.csv has no rows", edges="from,to\n")


def test_mixed_types_in_a_data_frame_are_read_as_in_a_file():
    nodes = frame(age=[1, 2, "three", None])
    with pytest.raises(InputError, match=r"nodes, column 'age', row 3 .*'three' is not a finite number, 2 of the 3"):
        read_tables(nodes, EDGE_FRAME, **ROLES, kinds={"age": "number"})
    imported = read_tables(nodes, EDGE_FRAME, **ROLES)
    assert imported.graph.raw.row(2) == {"age": "three"}
    assert any("'age': 67% of the values are numbers, but not all" in text for text in imported.summary.warnings)


def test_types_that_are_no_attributes():
    nodes = pa.Table.from_pandas(frame()).append_column("tags", pa.array([["x"]] * 4))
    with pytest.raises(InputError, match=r"column 'tags' holds values of type list.* leave it out: ignore=\['tags'\]"):
        read_tables(nodes, EDGE_FRAME, **ROLES)
    with pytest.raises(InputError, match=r"nodes must be the path of a CSV or Parquet file, .* got list"):
        read_tables([1], EDGE_FRAME, **ROLES)


def test_an_infinite_number():
    with pytest.raises(InputError, match=r"nodes, column 'age', row 2 .*inf is not a finite number below"):
        read_tables(frame(age=[1.0, float("inf"), 2.0, 3.0]), EDGE_FRAME, **ROLES)


def test_a_label_with_one_class(refused, tables):
    nodes = tables[0].replace(",yes\n", ",no\n")
    refused("nodes.csv, column 'fraud' has one class, 'no', in all 5 labeled rows", nodes=nodes)


def test_a_label_without_any_class(refused, tables):
    refused("column 'fraud' has no label in any row", nodes=tables[0].replace(",yes\n", ",\n").replace(",no\n", ",\n"))


def test_a_label_that_is_no_class():
    nodes = pd.DataFrame({"account": range(50), "x": range(0, 100, 2), "fraud": [f"v{i}" for i in range(50)]})
    with pytest.raises(InputError, match=r"50 different values in 50 rows, .* this does not look like a class column"):
        read_tables(nodes, pd.DataFrame({"from": [1], "to": [2]}), **ROLES)


def test_a_split_that_says_something_else(refused, tables):
    refused("column 'country', row 1", "'DE' must be train, validation, test, calibration, or nothing", split="country")
    nodes = tables[0].replace("fraud\n", "fraud,part\n").replace("no\n", "no,train\n").replace("yes\n", "yes,val\n")
    refused("column 'part', row 6", "'test', but the node has no label", nodes=nodes.rstrip() + ",test\n", split="part")


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        ("jamais été", "latin-1", "cp1252"),  # the same bytes
        ("5 € “so”", "cp1252", "cp1252"),
        ("été \x81", "latin-1", "latin-1"),
        ("été Ł", "utf-16", "utf-16"),
        ("été Ł", "utf-16-le", "utf-16-le"),
    ],
)
def test_text_that_is_not_utf8_is_read_and_the_encoding_is_said(load, tables, text, written, found):
    imported = load(nodes=tables[0].replace("never", text).encode(written))
    assert text.strip() in imported.graph.raw.row(4)["note"]
    assert any(f"is not UTF-8 and was read as {found}" in told for told in imported.summary.warnings)
    named = load(nodes=tables[0].replace("never", text).encode(written), encoding=written)
    assert not any("UTF-8" in told for told in named.summary.warnings)


def test_other_encodings_are_found_beyond_the_first_rows(load):
    rows = "".join(f"A-{i},{i % 7},{'é' if i == 19_000 else 'e'},{i % 2}\n" for i in range(20_000))
    imported = load(nodes=f"account,x,note,fraud\n{rows}".encode("cp1252"), edges="from,to\nA-1,A-2\n")
    assert imported.graph.raw.row(19_000)["note"] == "é"


def test_damaged_utf8_names_the_row(refused, tables):
    nodes = tables[0].replace("never", "jamais été très").encode().replace(b"paid in time", b"pay\xe9")
    refused("nodes.csv, column 'note', row 1 (line 2) is not UTF-8: byte 0xe9", "--set encoding=cp1252", nodes=nodes)
    refused("encoding must be one that Python knows", nodes=nodes, encoding="klingon")


def test_a_file_that_is_not_what_its_name_says(refused, load, tables, tmp_path):
    pq.write_table(pa.table({"account": ["a"]}), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    refused("nodes.csv is not text, whatever its name says: it is a Parquet file", nodes=content)
    refused("it is a zip archive or an Excel file", nodes=b"PK\x03\x04 sheet")
    refused("it is compressed by gzip", edges=b"\x1f\x8b\x08")
    refused("it holds zero bytes", nodes=b"account,\0\n")
    (tmp_path / "text.parquet").write_text(tables[0])
    with pytest.raises(InputError, match=r"text.parquet is not a Parquet file, whatever its name says: it is text"):
        read_tables(tmp_path / "text.parquet", EDGE_FRAME, **ROLES)
    (tmp_path / "cut.parquet").write_bytes(content[:60])
    with pytest.raises(InputError, match=r"cut.parquet is damaged"):
        read_tables(tmp_path / "cut.parquet", EDGE_FRAME, **ROLES)
    with pytest.raises(InputError, match=r"nodes.xlsx does not exist"):
        read_tables(tmp_path / "nodes.xlsx", EDGE_FRAME, **ROLES)
    (tmp_path / "nodes.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"nodes.xlsx must end in .csv, .tsv, .txt, .parquet, .pq"):
        read_tables(tmp_path / "nodes.xlsx", EDGE_FRAME, **ROLES)


def test_a_column_that_is_not_there(refused):
    refused("nodes.csv has no column 'acount' (did you mean 'account'?); it has: 'account', 'country'", id="acount")
    refused("edges.csv has no column 'form' (did you mean 'from'?)", source="form")
    refused("nodes.csv has no column 'balanc'", ignore=["balanc"])


def test_columns_that_are_the_same(refused, tables):
    refused("nodes.csv has two columns named 'country'", nodes=tables[0].replace("balance", "country"))
    refused("id, label and split must be different columns", label="account")
    refused("source and target must be different columns", target="from")


def test_a_table_without_attributes_whose_nodes_all_have_the_same_edges():
    ring = pd.DataFrame({"from": list("abcd"), "to": list("bcda")})
    with pytest.raises(InputError, match=r"there is nothing to tell them apart by"):
        read_tables(frame(), ring, **ROLES)


def test_shares_and_decimals_outside_their_range(refused):
    refused("train_share must be above 0", train_share=0.9, val_share=0.2)
    refused("decimal must be '.' or ',', got ';'", decimal=";")


def test_strict_makes_warnings_errors(refused, tables):
    nodes = tables[0].replace("account,", "account,same,")
    nodes = "\n".join(
        line if i == 0 else line.replace(",", ",x,", 1) for i, line in enumerate(nodes.strip().split("\n"))
    )
    refused("strict:", "column 'same' is left out: the same value in all rows", nodes=nodes, strict=True)
