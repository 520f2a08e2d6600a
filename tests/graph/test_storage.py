"""A stored graph comes back as it was, in memory or mapped; a damaged one is refused by name."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.files import sha256
from se_gnn.graph import Graph, RawTable
from se_gnn.graph.storage import (
    HEADER,
    array_file,
    digest_of,
    graph_digest,
    graph_files,
    holds_graph,
    load_graph,
    save_graph,
)
from se_gnn.tables.arrays import load_npz, save_npz
from strategies import assert_same_graph, changed, graphs_with_names

LABELS = array_file("labels")


@pytest.fixture
def graph():
    return Graph.build(features=np.eye(4), edges=[[0, 1], [1, 0], [2, 2], [1, 3]], labels=[0, 1, -1, 1], name="four")


def change_header(folder, **changes):
    """Another header, with the digest that belongs to it."""
    about = {**json.loads((folder / HEADER).read_text()), **changes}
    about.pop("sha256")
    seal = sha256(json.dumps(about, sort_keys=True).encode())
    (folder / HEADER).write_text(json.dumps({**about, "sha256": seal}))


@given(graph=graphs_with_names(), mapped=st.booleans())
def test_a_graph_comes_back_exactly_as_it_was_stored(tmp_path_factory, graph, mapped):
    folder = tmp_path_factory.mktemp("graph")
    save_graph(graph, folder, mapped=mapped)
    loaded = load_graph(folder)
    assert loaded.fits_memory is not mapped
    assert_same_graph(graph, loaded)
    assert loaded.merged == graph.merged
    assert graph_digest(folder) == sha256(graph_files(loaded)[HEADER])  # the same graph, the same bytes


def test_a_mapped_graph_shows_the_rows_of_a_table_that_has_no_columns(graph, tmp_path):
    nothing = RawTable(columns=(), codes=np.empty((4, 0), np.int32), texts=())
    save_graph(changed(graph, raw=nothing), tmp_path, mapped=True)
    assert load_graph(tmp_path).raw.row(2) == {}


@given(graphs_with_names())
def test_a_graph_comes_back_from_one_file(tmp_path_factory, graph):
    file = tmp_path_factory.getbasetemp() / "graph.npz"
    save_npz(graph, file)
    loaded = load_npz(file)
    assert_same_graph(graph, loaded)
    assert digest_of(loaded) == digest_of(graph)


def test_a_stored_graph_is_a_header_and_its_arrays_and_leaves_no_temporary_files(graph, tmp_path):
    folder = tmp_path / "new" / "folder"
    save_graph(graph, folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(
        [HEADER, *(array_file(name) for name in json.loads((folder / HEADER).read_text())["arrays"])]
    )
    assert holds_graph(folder)


def test_a_graph_that_replaces_another_leaves_none_of_its_arrays(graph, tmp_path):
    save_graph(graph, tmp_path, mapped=True)
    save_graph(graph, tmp_path, mapped=False)
    assert not list(tmp_path.glob("graph.neighbors.*"))


def test_what_was_merged_away_is_still_known_after_loading(graph, tmp_path):
    save_graph(graph, tmp_path)
    assert str(load_graph(tmp_path).merged) == str(graph.merged)
    assert load_graph(tmp_path).merged.self_loops == 1


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"graph folder .*nowhere does not exist"):
        load_graph(tmp_path / "nowhere")


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", [HEADER, LABELS, array_file("edges.ends")])
def test_missing_file_is_named(graph, tmp_path, name, mapped):
    save_graph(graph, tmp_path, mapped=mapped)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        load_graph(tmp_path)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", [HEADER, LABELS, array_file("edges.ends")])
def test_truncated_file_is_named(graph, tmp_path, name, mapped):
    save_graph(graph, tmp_path, mapped=mapped)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=rf"{name} is truncated or"):
        load_graph(tmp_path)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", ["labels", "edges.ends", "nodes.features", "nodes.names.text"])
def test_one_changed_byte_of_an_array_is_noticed(graph, tmp_path, name, mapped):
    save_graph(graph, tmp_path, mapped=mapped)
    content = bytearray((tmp_path / array_file(name)).read_bytes())
    content[-1] ^= 1
    (tmp_path / array_file(name)).write_bytes(content)
    with pytest.raises(InputError, match=rf"{array_file(name)} .*was changed"):
        load_graph(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, r"graph.json was written by a newer version \(2\), this one reads up to 1"),
        ({"version": "x"}, "has no version that can be read"),
        ({"format": "other"}, "was not written by se-gnn: format must be 'se-gnn-graph', got 'other'"),
        ({"class_names": ["a", "a"]}, "is not valid: class_names must be unique"),
        ({"feature_names": ["a"]}, r"is not valid: feature_names must have one entry per feature \(4\), got 1"),
        ({"class_names": 7}, "cannot be read"),
        ({"merged": {"unknown": 1}}, "cannot be read"),
        ({"arrays": {}}, "cannot be read"),
        ({"arrays": {"secrets": {"dtype": "<i8", "shape": [1], "sha256": ""}}}, "secrets is not an array of a graph"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(graph, tmp_path, change, text):
    save_graph(graph, tmp_path)
    change_header(tmp_path, **change)
    with pytest.raises(InputError, match=text):
        load_graph(tmp_path)


def test_a_header_that_was_changed_is_refused(graph, tmp_path):
    save_graph(graph, tmp_path)
    about = json.loads((tmp_path / HEADER).read_text())
    (tmp_path / HEADER).write_text(json.dumps({**about, "class_names": ["a", "b"]}))
    with pytest.raises(InputError, match=r"graph.json was changed: it does not have its digest"):
        load_graph(tmp_path)


def test_a_header_that_is_not_an_object_is_refused(graph, tmp_path):
    save_graph(graph, tmp_path)
    (tmp_path / HEADER).write_text("[]")
    with pytest.raises(InputError, match=r"graph.json must hold a JSON object, got list"):
        load_graph(tmp_path)


def test_writing_below_a_file_names_the_folder_and_the_reason(graph, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write to .*file/folder: Not a directory"):
        save_graph(graph, tmp_path / "file" / "folder")


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nodes.features", lambda array: array.astype(np.float64)),
        ("edges.ends", lambda array: array.astype(np.int32)),
        ("labels", lambda array: array.astype(np.float32)),
        ("split.train", lambda array: array[None]),
        ("split.train", lambda array: array.astype(np.uint8)),
    ],
)
def test_arrays_of_another_type_or_shape_are_refused_although_the_digest_fits(graph, tmp_path, name, change, mapped):
    save_graph(graph, tmp_path, mapped=mapped)
    path = tmp_path / array_file(name)
    array = np.ascontiguousarray(change(np.load(path)))
    np.save(path, array)
    arrays = json.loads((tmp_path / HEADER).read_text())["arrays"]
    arrays[name] = {"dtype": array.dtype.str, "shape": array.shape, "sha256": sha256(array.tobytes())}
    change_header(tmp_path, arrays=arrays)
    with pytest.raises(InputError, match=f"{name} must be "):
        load_graph(tmp_path)


@pytest.mark.parametrize("mapped", [False, True])
def test_edges_with_more_than_two_ends_are_refused_also_if_there_are_none(tmp_path, mapped):
    save_graph(Graph.build(features=np.ones((3, 1)), edges=[], labels=[0, 1, 0]), tmp_path, mapped=mapped)
    path, name = tmp_path / array_file("edges.ends"), "edges.ends"
    np.save(path, np.empty((0, 16), np.int64))
    arrays = json.loads((tmp_path / HEADER).read_text())["arrays"]
    change_header(tmp_path, arrays={**arrays, name: {**arrays[name], "shape": (0, 16)}})
    with pytest.raises(InputError, match="edges must have two ends each"):
        load_graph(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("edges.ends", 9, "between 0 and 3"),
        ("nodes.features", np.nan, "finite"),
        ("neighbors.indices", -1, "between 0 and 3"),
        ("neighbors.edge_ids", 2**30, "between 0 and 1"),
        ("neighbors.indptr", 3, "ascend from 0 to 4"),
        ("nodes.names.offsets", 3, "ascend from 0 to 4"),
    ],
)
def test_mapped_numbers_that_break_their_rule_are_refused_although_the_digest_fits(graph, tmp_path, name, value, rule):
    save_graph(graph, tmp_path, mapped=True)
    path = tmp_path / array_file(name)
    array = np.load(path)
    array.flat[0] = value
    np.save(path, array)
    arrays = json.loads((tmp_path / HEADER).read_text())["arrays"]
    arrays[name]["sha256"] = sha256(array.tobytes())
    change_header(tmp_path, arrays=arrays)
    with pytest.raises(InputError, match=f"{array_file(name)} is damaged: .*{rule}"):
        load_graph(tmp_path)
