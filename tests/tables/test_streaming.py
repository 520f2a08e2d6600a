"""Tables that do not fit into memory become the graph that they would become there, up to the rounding of sums."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from se_gnn.errors import InputError
from se_gnn.graph.storage import load_graph
from se_gnn.tables import EdgeTable, load_import, read_tables
from se_gnn.tables.edges import Ids

COLUMNS = {"id": "account", "label": "fraud", "source": "from", "target": "to", "caption": "holder"}
RICH = {"directed": True, "edge_weight": "amount", "edge_type": "means", "edge_time": "day"}
SMALL = 500_000  # bytes


def tables(count=2000, seed=0):
    """Accounts and payments with everything that a table can hold but free text."""
    draw = np.random.default_rng(seed)
    label = draw.integers(0, 2, count)
    nodes = pd.DataFrame(
        {
            "account": [f"Ä-{i}" for i in draw.permutation(count)],
            "fraud": np.where(draw.random(count) < 0.7, np.array(["no", "yes"])[label], None),
            "balance": np.exp(draw.normal(6 + label, 2)).round(2),
            "place": draw.choice(["Köln", "Gent", None], count),
            "opened": np.datetime64("2020-01-01") + draw.integers(0, 900, count).astype("timedelta64[D]"),
            "checked": draw.random(count) < 0.5,
            "holder": [f"Ann {i}" for i in range(count)],
        }
    )
    nodes.loc[draw.random(count) < 0.1, "balance"] = None
    ends = draw.integers(0, count, (3 * count, 2))
    edges = pd.DataFrame(
        {
            "from": nodes.account.to_numpy()[ends[:, 0]],
            "to": nodes.account.to_numpy()[ends[:, 1]],
            "amount": draw.integers(1, 4, 3 * count),
            "means": draw.choice(["cash", "card"], 3 * count),
            "day": np.datetime64("2021-01-01") + draw.integers(0, 9, 3 * count).astype("timedelta64[D]"),
            "fee": draw.normal(size=3 * count).round(2),
        }
    )
    return nodes, pd.concat([edges, edges[:50]])  # some are given again


def written(folder, nodes, edges, kind):
    paths = [folder / f"{name}.{kind}" for name in ("nodes", "edges")]
    for path, table in zip(paths, (nodes, edges)):
        table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path, index=False)
    return paths


def assert_alike(streamed, whole):
    """The same graph, but for the last bits of what was fitted on the edges, in another order."""
    dense = streamed.nodes.features.take(np.arange(streamed.num_nodes))
    dense = dense if isinstance(dense, np.ndarray) else dense.toarray()
    expected = whole.features if isinstance(whole.features, np.ndarray) else whole.features.toarray()
    assert np.allclose(dense, expected, rtol=1e-6)
    assert tuple(streamed.node_names) == tuple(whole.node_names)
    assert streamed.roles == whole.roles
    assert (whole.captions is None) == (streamed.captions is None)
    assert whole.captions is None or tuple(streamed.captions) == tuple(whole.captions)
    assert [column.name for column in streamed.columns] == [column.name for column in whole.columns]
    assert np.array_equal(streamed.edges.pairs.read(), whole.edges.ends)
    assert streamed.merged == whole.merged
    for part in ("train", "validation", "test", "calibration"):
        assert np.array_equal(getattr(streamed, part), getattr(whole, part)), part
    assert np.array_equal(streamed.target.array, whole.target.array, equal_nan=whole.predicts_numbers)
    one, other = streamed.edge_values, whole.edge_values
    assert (one is None) == (other is None)
    if other is not None:
        assert (one.edge_data, one.type_names, one.names) == (other.edge_data, other.type_names, other.names)
        for part in other.edge_data:
            assert np.allclose(np.asarray(getattr(one, part)[:]), getattr(other, part), atol=2e-2), part


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("rich", [{}, RICH, {"edge_weight": "amount"}], ids=["plain", "rich", "weighted"])
def test_streamed_tables_become_the_graph_that_they_become_in_memory(tmp_path, kind, rich):
    nodes, edges = tables()
    if not rich:
        edges = edges[["from", "to"]]
    paths = written(tmp_path, nodes, edges, kind)
    whole = read_tables(*paths, **COLUMNS, **rich)
    streamed = read_tables(*paths, **COLUMNS, **rich, out=tmp_path / "graph", max_memory=SMALL)
    assert not streamed.graph.fits_memory
    assert streamed.graph.columns == whole.graph.columns
    assert_alike(streamed.graph, whole.graph)
    assert streamed.summary.columns == whole.summary.columns
    assert streamed.summary.warnings == whole.summary.warnings
    again = load_import(tmp_path / "graph")
    assert (again.summary, again.settings) == (streamed.summary, streamed.settings)
    assert_alike(again.graph, whole.graph)


def test_an_encoding_goes_both_ways(tmp_path):
    nodes, edges = tables()
    paths = written(tmp_path, nodes, edges, "parquet")
    whole = read_tables(*paths, **COLUMNS, **RICH)
    streamed = read_tables(*paths, **COLUMNS, **RICH, out=tmp_path / "graph", max_memory=SMALL)
    later, more = tables(seed=1)
    (tmp_path / "later").mkdir()
    paths = written(tmp_path / "later", later, more, "parquet")
    known = read_tables(*paths, **COLUMNS, like=whole.graph)
    big = read_tables(*paths, **COLUMNS, like=whole.graph, out=tmp_path / "big", max_memory=SMALL)
    assert big.graph.columns == whole.graph.columns
    assert_alike(big.graph, known.graph)
    back = read_tables(*paths, **COLUMNS, like=streamed.graph)
    assert back.graph.fits_memory
    assert back.graph.columns == whole.graph.columns
    again = read_tables(*paths, **COLUMNS, like=streamed.graph, out=tmp_path / "again", max_memory=SMALL)
    assert_alike(again.graph, back.graph)
    assert (back.graph.num_edges, back.graph.merged) == (known.graph.num_edges, known.graph.merged)


def test_messy_files_are_streamed_as_they_are_read_in_memory(tmp_path):
    nodes, edges = tables()
    nodes["income"] = nodes.balance.fillna(0) / 7
    nodes.loc[::9, "income"] = None
    edges["amount"] = edges.amount.where(np.arange(len(edges)) % 5 > 0) / 4  # empty weights
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    for path, table in zip(paths, (nodes, edges)):
        table.to_csv(path, index=False, encoding="cp1252", sep=";", decimal=",")
    options = {"id": "account", "target_number": "income", "unit": "EUR", "source": "from", "target": "to"}
    options |= {"ignore": ["fraud"], "caption": "holder", **RICH, "until": "2021-01-05"}
    whole = read_tables(*paths, **options)
    streamed = read_tables(*paths, **options, out=tmp_path / "graph", max_memory=SMALL)
    assert whole.summary.edges_later == streamed.summary.edges_later > 0
    assert (streamed.graph.target.name, streamed.graph.target.unit) == ("income", "EUR")
    assert np.array_equal(streamed.graph.values, whole.graph.values, equal_nan=True)
    assert streamed.graph.node_names[0].startswith("Ä-")
    assert_alike(streamed.graph, whole.graph)
    told = "\n".join(streamed.summary.warnings)
    for words in ("nodes.csv is not UTF-8 and was read as cp1252", "read with a decimal comma", "have no weight"):
        assert words in told


@pytest.mark.parametrize("form", ["month first", "steps"])
def test_dates_of_a_block_are_read_as_those_of_the_whole_table(tmp_path, form):
    nodes, edges = tables()
    step = np.arange(len(edges)) // 300  # so that some blocks have no day after the 12th, or only 0 and 1
    edges["day"] = step if form == "steps" else pd.Series(pd.to_datetime(step, unit="D")).dt.strftime("%m/%d/%Y")
    paths = written(tmp_path, nodes, edges, "csv")
    options = {**COLUMNS, **RICH, "split_by_time": "edges"}
    whole = read_tables(*paths, **options)
    streamed = read_tables(*paths, **options, out=tmp_path / "graph", max_memory=SMALL)
    assert_alike(streamed.graph, whole.graph)
    assert np.array_equal(streamed.graph.edge_values.time[:], whole.graph.edge_values.time)
    assert streamed.summary.split == whole.summary.split == "by time, the latest test: first edge of each node"


@pytest.mark.parametrize("why", ["later", "dangling"])
def test_a_block_without_edges_is_not_a_table_without_edges(tmp_path, why):
    nodes, edges = tables()
    edges = edges.sort_values("day", ascending=False)  # the latest first
    edges.iloc[: 1000 * (why == "dangling"), 0] = "nobody"
    paths = written(tmp_path, nodes, edges, "parquet")
    options = {**COLUMNS, **RICH, "until": "2021-01-03" if why == "later" else None, "drop_dangling": True}
    streamed = read_tables(*paths, **options, out=tmp_path / "graph", max_memory=SMALL)
    whole = read_tables(*paths, **options)
    assert_alike(streamed.graph, whole.graph)
    assert (streamed.summary.edges_later, streamed.summary.edges_dangling) == (
        whole.summary.edges_later,
        whole.summary.edges_dangling,
    )
    written(tmp_path, nodes, edges.assign(to="nobody"), "parquet")
    with pytest.raises(InputError, match=r"no row becomes an edge: 6,050 refer to unknown nodes, 0 are after"):
        read_tables(*paths, **options, out=tmp_path / "graph", max_memory=SMALL)


def test_a_frame_is_streamed_beside_a_file(tmp_path):
    nodes, edges = tables(4000)
    edges = edges[:8000]
    path, _ = written(tmp_path, nodes, edges, "parquet")
    streamed = read_tables(path, edges, **COLUMNS, **RICH, out=tmp_path / "graph", max_memory=SMALL)
    assert not streamed.graph.fits_memory
    assert_alike(streamed.graph, read_tables(path, edges, **COLUMNS, **RICH).graph)


def test_several_types_are_streamed(tmp_path):
    draw = np.random.default_rng(0)
    papers = pd.DataFrame({"id": [f"p{i}" for i in range(2000)], "year": draw.integers(1990, 2020, 2000)})
    papers["topic"] = draw.choice(["db", "ml"], 2000)
    authors = pd.DataFrame({"id": [f"a{i}" for i in range(900)]})  # told apart by their names
    writes = pd.DataFrame({"source": draw.choice(authors.id, 5000), "target": draw.choice(papers.id, 5000)})
    writes["place"] = draw.integers(1, 6, 5000)
    cites = pd.DataFrame({"source": draw.choice(papers.id, 4000), "target": draw.choice(papers.id, 4000)})
    files = {}
    for name, table in {"papers": papers, "authors": authors, "writes": writes, "cites": cites}.items():
        files[name] = tmp_path / f"{name}.parquet"
        table.to_parquet(files[name], index=False)
    given = {"paper": files["papers"], "author": files["authors"]}
    edges = [EdgeTable(type=name, table=files[name]) for name in ("writes", "cites")]
    options = {"id": "id", "label": "topic", "max_train": None}
    whole = read_tables(given, edges, **options, directed=True)
    streamed = read_tables(given, edges, **options, directed=True, out=tmp_path / "graph", max_memory=1 << 18)
    assert streamed.graph.node_type_names == ("paper", "author")
    assert streamed.graph.target.node_type == "paper"
    assert_alike(streamed.graph, whole.graph)
    like = read_tables(given, edges, **options, like=whole.graph, out=tmp_path / "like", max_memory=1 << 18)
    assert_alike(like.graph, whole.graph)
    back = read_tables(given, edges, **options, like=streamed.graph)
    assert back.graph.fits_memory
    assert_alike(like.graph, back.graph)


def test_parallel_edges_whose_shown_cells_differ_are_kept(tmp_path):
    nodes, _ = tables(500)
    names = nodes.account.to_numpy()
    edges = pd.DataFrame({"from": names[[0, 0, 1] * 100], "to": names[[1, 1, 0] * 100], "fee": [1.0, 1.0, 2.0] * 100})
    edges["payment"] = [f"P-{i // 2}" for i in range(300)]  # left out as a key, but tells rows apart
    edges["at"] = pd.Timestamp("2021-01-01") + pd.to_timedelta(np.arange(300) % 2 * (np.arange(300) > 200), unit="h")
    edges = pd.concat([edges, edges[:6], edges[201:207]])  # the first block has no time of day, the last one has
    paths = written(tmp_path, nodes, edges, "parquet")
    whole = read_tables(*paths, **COLUMNS)
    streamed = read_tables(*paths, **COLUMNS, out=tmp_path / "graph", max_memory=1 << 17)
    assert streamed.graph.num_edges == whole.graph.num_edges
    assert streamed.graph.merged == whole.graph.merged


def test_what_needs_all_rows_at_once_is_refused_with_the_reason(tmp_path):
    nodes, edges = tables()
    nodes["note"] = [f"a long story of {i} words" for i in range(len(nodes))]
    paths = written(tmp_path, nodes, edges, "parquet")
    options = {**COLUMNS, "out": tmp_path / "graph", "max_memory": SMALL}
    with pytest.raises(InputError, match=r"column 'note' is text, whose words are counted in memory.*--column note=ig"):
        read_tables(*paths, **options)
    assert read_tables(*paths, **options, ignore=["note"]).graph.num_nodes == 2000
    bare = written(tmp_path, nodes[["account", "fraud", "holder"]], edges, "parquet")
    for like in (None, read_tables(*bare, **COLUMNS).graph):
        with pytest.raises(InputError, match="features from the edges around it need the tables in memory"):
            read_tables(*bare, **{**options, "out": tmp_path / "c", "max_memory": 1 << 18}, like=like)
    with pytest.raises(InputError, match="name a folder for the graph"):
        read_tables(*paths, **COLUMNS, max_memory=SMALL)
    with pytest.raises(InputError, match=r"max_memory must be at least \d+M for 2,000 rows"):
        read_tables(*paths, **{**options, "out": tmp_path / "d", "max_memory": 1 << 12})
    assert not (tmp_path / "c" / "graph.json").exists()


def test_errors_name_the_row_of_the_whole_table(tmp_path):
    nodes, edges = tables()
    edges.iloc[5000, 1] = "nobody"
    paths = written(tmp_path, nodes, edges, "csv")
    with pytest.raises(InputError, match=r"row 5001, column 'to': 'nobody'"):
        read_tables(*paths, **COLUMNS, out=tmp_path / "graph", max_memory=SMALL)
    dropped = read_tables(*paths, **COLUMNS, drop_dangling=True, out=tmp_path / "graph", max_memory=SMALL)
    assert dropped.summary.edges_dangling == 1


def test_features_can_be_stored_in_half_the_space(tmp_path):
    paths = written(tmp_path, *tables(), "parquet")
    options = {**COLUMNS, "feature_type": "float16"}
    graph = read_tables(*paths, **options, out=tmp_path / "graph", max_memory=SMALL).graph
    assert graph.nodes.features.dtype == np.float16
    with pytest.raises(InputError, match="feature_type is for tables that do not fit into memory"):
        read_tables(*paths, **options)


def test_an_import_replaces_an_earlier_one_and_nothing_else(tmp_path):
    paths = written(tmp_path, *tables(), "parquet")
    read_tables(*paths, **COLUMNS, out=tmp_path / "graph")
    assert load_graph(tmp_path / "graph").fits_memory
    read_tables(*paths, **COLUMNS, out=tmp_path / "graph", max_memory=SMALL)
    assert not load_graph(tmp_path / "graph").fits_memory
    assert not (tmp_path / "graph" / "nodes.parquet").exists()
    (tmp_path / "graph" / "mine.txt").write_text("of my own")
    read_tables(*paths, **COLUMNS, out=tmp_path / "graph", max_memory=SMALL)
    assert (tmp_path / "graph" / "mine.txt").read_text() == "of my own"


@pytest.mark.parametrize("names", [["7", "-3", "0", "12"], ["7", "07", "a", "ä"], ["x" * 40, "y"]])
def test_names_are_found_in_blocks_as_at_once(names):
    asked = pa.array([*names, None, "nobody", "7.0", "007", "99"], pa.string())
    known = pa.array(names, pa.string())
    assert Ids(known, in_blocks=True).positions(asked).tolist() == Ids(known).positions(asked).tolist()


def test_a_damaged_file_is_named(tmp_path):
    nodes, edges = written(tmp_path, *tables(), "parquet")
    pq.write_table(pa.table({"from": [1]}), edges)
    with pytest.raises(InputError, match="has no column 'to'"):
        read_tables(nodes, edges, **COLUMNS, out=tmp_path / "graph", max_memory=SMALL)
    edges.write_bytes(edges.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"edges.parquet is damaged"):
        read_tables(nodes, edges, **COLUMNS, out=tmp_path / "graph", max_memory=SMALL)
