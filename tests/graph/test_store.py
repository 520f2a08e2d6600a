import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.numpy import load, save

from se_gnn.errors import InputError
from se_gnn.files import sha256
from se_gnn.graph import Graph
from se_gnn.graph.storage import graph_files, graph_from_files, holds_graph, load_graph, save_graph
from strategies import edge_values

finite = st.floats(-1e6, 1e6, width=32)


@st.composite
def graphs(draw):
    n, f = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    dense = draw(arrays.arrays(np.float32, (n, f), elements=finite))
    dense = np.asfortranarray(dense) if draw(st.booleans()) else dense
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=20))
    class_names = draw(st.lists(st.text(max_size=5), min_size=1, max_size=4, unique=True))
    labels = np.array(draw(st.lists(st.integers(-1, len(class_names) - 1), min_size=n, max_size=n)))
    part = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    known = labels >= 0
    details = {}
    if draw(st.booleans()):
        details["feature_names"] = tuple(draw(st.lists(st.text(max_size=5), min_size=f, max_size=f)))
    if draw(st.booleans()):
        details["image_shape"] = (1, f)
    if draw(st.booleans()):
        details["motif_edges"] = draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    if draw(st.booleans()):
        details["edge_roles"] = draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges)))
        details["node_roles"] = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    if draw(st.booleans()):
        details["edge_values"] = draw(edge_values(len(edges)))
        details["node_types"], details["node_type_names"] = np.arange(n) % 2, ("person", "firm")
    return Graph.build(
        features=sp.csr_array(dense) if draw(st.booleans()) else dense,
        edges=edges,
        labels=labels,
        class_names=class_names,
        node_names=draw(st.lists(st.text(max_size=5), min_size=n, max_size=n, unique=True)),
        train=known & (part == 0),
        validation=known & (part == 1),
        test=known & (part == 2),
        name=draw(st.text(max_size=10)),
        **details,
    )


def assert_same(one, other):
    for field in dataclasses.fields(Graph):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if sp.issparse(a):
            assert sp.issparse(b)
            assert a.shape == b.shape
            for part in ("data", "indices", "indptr"):
                assert_same_array(getattr(a, part), getattr(b, part))
        elif isinstance(a, np.ndarray):
            assert_same_array(a, b)
        else:
            assert type(a) is type(b)
            assert a == b, field.name


def assert_same_array(a, b):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


@pytest.fixture
def graph():
    return Graph.build(features=np.eye(4), edges=[[0, 1], [1, 0], [2, 2], [1, 3]], labels=[0, 1, -1, 1], name="four")


@given(graphs())
def test_a_graph_comes_back_exactly_as_it_was_stored(graph):
    files = graph_files(graph)
    assert_same(graph, graph_from_files(files, where=Path()))
    assert graph_files(graph) == files  # the same graph, the same bytes


def test_a_stored_graph_is_two_files_and_leaves_no_temporary_ones(graph, tmp_path):
    save_graph(graph, tmp_path / "new" / "folder")
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == ["graph.json", "graph.safetensors"]
    assert holds_graph(tmp_path / "new" / "folder")
    assert_same(graph, load_graph(tmp_path / "new" / "folder"))


def test_what_was_merged_away_is_still_known_after_loading(graph, tmp_path):
    save_graph(graph, tmp_path)
    assert str(load_graph(tmp_path).merged) == str(graph.merged)
    assert load_graph(tmp_path).merged.self_loops == 1


def test_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"graph folder .*nowhere does not exist"):
        load_graph(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["graph.json", "graph.safetensors"])
def test_missing_file_is_named(graph, tmp_path, name):
    save_graph(graph, tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing"):
        load_graph(tmp_path)


@pytest.mark.parametrize("name", ["graph.json", "graph.safetensors"])
def test_truncated_file_is_named(graph, tmp_path, name):
    save_graph(graph, tmp_path)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=rf"{name} is truncated or"):
        load_graph(tmp_path)


def test_one_changed_byte_of_the_arrays_is_noticed(graph, tmp_path):
    save_graph(graph, tmp_path)
    content = bytearray((tmp_path / "graph.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "graph.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"graph.safetensors is truncated or was changed"):
        load_graph(tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 3}, r"graph.json was written by a newer version \(3\), this one reads up to 2"),
        ({"version": "x"}, "has no version that can be read"),
        ({"format": "other"}, "was not written by se-gnn: format must be 'se-gnn-graph', got 'other'"),
        ({"node_names": ["a", "a", "b", "c"]}, "is not valid: node_names must be unique"),
        ({"class_names": 7}, "cannot be read"),
        ({"merged": {"unknown": 1}}, "cannot be read"),
    ],
)
def test_names_that_do_not_fit_are_refused(graph, tmp_path, change, text):
    save_graph(graph, tmp_path)
    about = json.loads((tmp_path / "graph.json").read_text())
    (tmp_path / "graph.json").write_text(json.dumps({**about, **change}))
    with pytest.raises(InputError, match=text):
        load_graph(tmp_path)


def test_names_that_are_not_an_object_are_refused(graph, tmp_path):
    save_graph(graph, tmp_path)
    (tmp_path / "graph.json").write_text("[]")
    with pytest.raises(InputError, match=r"graph.json must hold a JSON object, got list"):
        load_graph(tmp_path)


def test_writing_below_a_file_names_the_folder_and_the_reason(graph, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write to .*file/folder: Not a directory"):
        save_graph(graph, tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("features", lambda array: array.astype(np.float64)),
        ("edges", lambda array: array.astype(np.int32)),
        ("edges", lambda array: array.astype(np.float64)),
        ("labels", lambda array: array.astype(np.float32)),
        ("train", lambda array: array[None]),
        ("train", lambda array: array.astype(np.uint8)),
    ],
)
def test_arrays_of_another_type_or_shape_are_refused_although_the_digest_fits(graph, tmp_path, name, change):
    save_graph(graph, tmp_path)
    arrays = load((tmp_path / "graph.safetensors").read_bytes())
    content = save({**arrays, name: np.ascontiguousarray(change(arrays[name]))})
    about = json.loads((tmp_path / "graph.json").read_text())
    (tmp_path / "graph.safetensors").write_bytes(content)
    (tmp_path / "graph.json").write_text(json.dumps({**about, "arrays_sha256": sha256(content)}))
    with pytest.raises(InputError, match=f"{name} must be "):
        load_graph(tmp_path)
