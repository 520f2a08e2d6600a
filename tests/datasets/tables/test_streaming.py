"""Mapped graphs: the same graph as one built in memory, whatever the memory, and nothing believed that was changed."""

import errno
import io
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from mapped_graphs import in_memory, random_tables
from se_gnn.datasets.tables.read import read_table
from se_gnn.datasets.tables.streaming import StreamedTables, import_streaming
from se_gnn.datasets.tables.values import Reading, as_names
from se_gnn.encoder.blocks import embed_in_blocks
from se_gnn.errors import InputError
from se_gnn.files import locked
from se_gnn.graph.storage import array_file, graph_digest, holds_graph, is_graph_file, load_graph
from se_gnn.model import SEGNN, TrainedModel
from se_gnn.settings import Settings
from strategies import assert_same_graph

MEGABYTE = 1 << 20


def tables_in(folder, **changes):
    given = {"nodes": folder / "nodes.parquet", "edges": folder / "edges.parquet", "label": "label", "split": "part"}
    return StreamedTables(**{**given, **changes})


@pytest.fixture
def small(tmp_path):
    return random_tables(tmp_path, 60, 150)


@pytest.mark.parametrize("numbered", [True, False], ids=["ids from 0", "any ids"])
@pytest.mark.parametrize("budget", [8_000, 40_000, MEGABYTE], ids=["tight", "some", "plenty"])
def test_a_streamed_graph_is_the_one_built_in_memory_whatever_the_memory(tmp_path, numbered, budget):
    expected = in_memory(*random_tables(tmp_path, 60, 400, numbered=numbered))
    graph = import_streaming(tables_in(tmp_path), tmp_path / "graph", budget)
    assert not graph.fits_memory
    assert_same_graph(graph, expected)
    for part in ("indptr", "indices", "edge_ids"):
        assert np.array_equal(getattr(graph.neighbors(), part), getattr(expected.neighbors(), part)), part
    assert graph.merged.given == 400
    assert graph.merged.self_loops == expected.merged.self_loops
    assert graph.merged.duplicates == expected.merged.duplicates + expected.merged.reciprocal
    assert graph.node_id(expected.node_names[7]) == 7
    load_graph(tmp_path / "graph")


def test_nothing_is_copied_when_a_graph_is_opened(small, tmp_path):
    import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    graph = load_graph(tmp_path / "graph")
    assert not graph.fits_memory
    assert isinstance(graph.neighbors().indices, np.memmap)
    assert isinstance(graph.neighbors().edge_ids, np.memmap)
    assert holds_graph(tmp_path / "graph")
    assert len(graph_digest(tmp_path / "graph")) == 64


def test_half_precision_takes_half_the_bytes_and_rounds_to_nearest(small, tmp_path):
    graph = import_streaming(tables_in(tmp_path, kind="float16"), tmp_path / "graph", MEGABYTE)
    assert graph.nodes.features.dtype == np.float16
    assert np.array_equal(graph.nodes.features.read(), small[1].astype(np.float16))


@pytest.mark.parametrize("aggregation", ["pagerank", "steps", "gcn", "mean", "own"])
@pytest.mark.parametrize("members", [1, 3])
def test_blocks_embed_and_predict_as_the_whole_graph_does_up_to_rounding(tmp_path, aggregation, members):
    given = random_tables(tmp_path, 300, 900, numbered=False)
    expected, mapped = in_memory(*given), import_streaming(tables_in(tmp_path), tmp_path / "graph", 50_000)
    asked = Settings.of(
        "best", aggregation=aggregation, members=members, hidden_size=8, output_size=6, num_nearest=5, portfolio=False
    )
    model = SEGNN(4, asked.resolve(), generator=torch.Generator().manual_seed(1))
    whole, large = TrainedModel(model, expected), TrainedModel(model, mapped, max_memory=2 * MEGABYTE)
    assert np.allclose(large.mapped_embeddings, whole.embeddings.numpy(), atol=1e-5)
    nodes = np.array([0, 5, 77, 250, 299, 12])
    one, other = whole.predict(nodes), large.predict(nodes)
    assert np.allclose(one.overall, other.overall, atol=1e-5)
    assert np.allclose(one.probabilities, other.probabilities, atol=1e-3)
    assert np.mean(one.neighbors == other.neighbors) > 0.9  # neighbors that are equally similar may change places


@pytest.mark.parametrize("per_node", [64, 250, 2000], ids=["panels of 5", "of 16", "one panel"])
@pytest.mark.parametrize("aggregation", ["pagerank", "gcn"])
def test_embeddings_do_not_hang_on_how_many_dimensions_go_at_a_time(tmp_path, aggregation, per_node):
    given = random_tables(tmp_path, 300, 900)
    expected, mapped = in_memory(*given), import_streaming(tables_in(tmp_path), tmp_path / "graph", 50_000)
    asked = Settings.of("best", aggregation=aggregation, members=2, hidden_size=8, output_size=37)
    model = SEGNN(4, asked.resolve(), generator=torch.Generator().manual_seed(1))
    found = embed_in_blocks(model.encoder, mapped, per_node * 300)
    assert np.allclose(found, TrainedModel(model, expected).embeddings.numpy(), atol=1e-5)
    with pytest.raises(InputError, match=r"max_memory must be at least .* to embed 300 nodes"):
        embed_in_blocks(model.encoder, mapped, 63 * 300)


def test_local_graphs_of_a_mapped_graph_are_those_of_the_whole_graph(tmp_path):
    from se_gnn.graph import local_graphs

    expected = in_memory(*random_tables(tmp_path, 200, 600))
    mapped = import_streaming(tables_in(tmp_path), tmp_path / "graph", 50_000)
    nodes = np.arange(0, 200, 7)
    one, other = (local_graphs(graph, nodes, 2, 20) for graph in (expected, mapped))
    assert np.array_equal(one.edge_ids, other.edge_ids)
    assert np.array_equal(one.ptr, other.ptr)


def test_a_mapped_graph_is_not_trained_on(small, tmp_path):
    graph = import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    with pytest.raises(InputError, match="train on a part of it that fits in memory"):
        graph.check_trainable()


def test_a_pipe_in_place_of_an_array_is_not_waited_for(small, tmp_path):
    import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    path = tmp_path / "graph" / array_file("labels")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match=r"labels.npy must be a regular file"):
        load_graph(tmp_path / "graph")


def test_an_import_that_fails_leaves_no_graph_and_no_files(small, tmp_path):
    pq.write_table(pa.table({"source": [0, 1], "target": [1, 999]}), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=r"edge 1 of .* names node 999, which .* does not have"):
        import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    assert not list((tmp_path / "graph").iterdir())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"x0": [0.0, np.nan, 1.0]}, "column 'x0' of .* must hold finite numbers .*: row 1 does not"),
        ({"id": [1, 1, 2]}, "must have each id once, got 1 twice"),
        ({"id": ["a", "b", "c"]}, "column 'id' of .* must hold whole numbers, got string"),
        ({"note": ["a", "b", "c"]}, "column 'note' of .* is string: features of a mapped graph are numbers"),
        ({"part": ["train", "exam", ""]}, "must be train, validation, test, calibration or empty, got 'exam'"),
        ({"label": [None, None, None]}, "nodes of the split must have a class; node 0 has none"),
        ({"part": ["", "", ""]}, "at least one node must be labeled"),
        (
            {"id": np.array([0, 1, 2**63], np.uint64)},
            "column 'id' of .* whole numbers below 2.63, got 9223372036854775808",
        ),
        ({"label": [["a"], ["b"], None]}, "column 'label' holds values of type list.*, which are no names"),
        ({"part": [["train"], [], []]}, "column 'part' holds values of type list.*, which are no names"),
        ({"label": [0.5, 1.0, None]}, "column 'label' of .* must hold names, got 0.5: store such numbers as text"),
    ],
)
def test_tables_that_cannot_be_a_graph_are_refused(tmp_path, change, text):
    nodes = {"id": [0, 1, 2], "x0": [0.0, 1.0, 2.0], "label": ["a", "b", None], "part": ["train", "train", ""]}
    pq.write_table(pa.table({**nodes, **change}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": [0], "target": [1]}), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=text):
        import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)


@pytest.mark.parametrize(
    ("label", "classes", "labels"),
    [
        (["a", "", " b"], ("a", "b"), [0, -1, 1]),
        ([2.0, np.nan, 10.0], ("10", "2"), [1, -1, 0]),
        ([True, None, False], ("false", "true"), [1, -1, 0]),
        (pa.array(["b", None, "a"]).dictionary_encode(), ("a", "b"), [1, -1, 0]),
    ],
    ids=["text", "floats", "booleans", "dictionary"],
)
def test_classes_are_called_as_an_import_in_memory_calls_them_and_an_empty_one_is_none(
    tmp_path, label, classes, labels
):
    nodes = {"id": [0, 1, 2], "x0": [0.0, 1.0, 2.0], "label": label}
    pq.write_table(pa.table(nodes), tmp_path / "nodes.parquet", row_group_size=1)
    pq.write_table(pa.table({"source": [0], "target": [1]}), tmp_path / "edges.parquet")
    tables = tables_in(tmp_path, split=None)
    graph = import_streaming(tables, tmp_path / "graph", MEGABYTE)
    assert (graph.class_names, graph.labels.tolist()) == (classes, labels)
    whole = as_names(read_table(tables.nodes, what="nodes"), "label", Reading()).to_pylist()
    assert [None if code < 0 else classes[code] for code in labels] == whole


@pytest.mark.parametrize("table", ["nodes", "edges"])
def test_a_damaged_table_is_named_and_not_the_folder_that_is_written_to(small, tmp_path, table):
    path = tmp_path / f"{table}.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"^\S*{table}\.parquet is damaged"):
        import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)


def test_two_columns_of_one_name_and_what_is_no_file_are_refused(small, tmp_path):
    twice = pa.Table.from_arrays([pa.array([0]), pa.array([1.0]), pa.array([2.0])], names=["id", "x", "x"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    os.mkfifo(tmp_path / "pipe.parquet")
    for name, text in (("twice", "two columns named 'x'"), ("pipe", "must be one Parquet file")):
        with pytest.raises(InputError, match=text):
            import_streaming(tables_in(tmp_path, nodes=tmp_path / f"{name}.parquet"), tmp_path / "graph", MEGABYTE)


def test_too_little_memory_for_the_nodes_is_said_before_anything_is_read(small, tmp_path):
    with pytest.raises(InputError, match=r"max_memory must be at least .* for 60 nodes"):
        import_streaming(tables_in(tmp_path), tmp_path / "graph", 1000)


def test_what_a_killed_import_left_is_no_graph_and_is_removed_by_the_next(small, tmp_path):
    left = tmp_path / "graph" / ".importing"
    left.mkdir(parents=True)
    (left / array_file("nodes.features")).write_bytes(b"x" * 1000)
    assert not holds_graph(tmp_path / "graph")
    import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    assert all(is_graph_file(path.name) for path in (tmp_path / "graph").iterdir())


def test_two_imports_into_one_folder_do_not_mix(small, tmp_path):
    (tmp_path / "graph").mkdir()
    with locked(tmp_path / "graph"), ThreadPoolExecutor() as pool:
        second = pool.submit(import_streaming, tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
        with pytest.raises(InputError, match="is being written by another se-gnn"):
            second.result()


def test_a_full_disk_for_temporary_files_is_said_of_their_folder(small, tmp_path, monkeypatch):
    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    graph = import_streaming(tables_in(tmp_path), tmp_path / "graph", MEGABYTE)
    model = SEGNN(4, Settings.of("best", hidden_size=8, portfolio=False).resolve(), generator=torch.Generator())
    monkeypatch.setattr("se_gnn.encoder.blocks.nameless_file", Full)
    with pytest.raises(InputError, match="the folder for temporary files: No space left on device; set TMPDIR"):
        embed_in_blocks(model.encoder, graph, MEGABYTE)


def test_a_folder_with_files_is_left_alone(small, tmp_path):
    with pytest.raises(InputError, match="is not empty"):
        import_streaming(tables_in(tmp_path), tmp_path, MEGABYTE)
    assert (tmp_path / "nodes.parquet").exists()
