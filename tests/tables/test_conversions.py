"""Into other libraries and back nothing is lost."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.display.values import node_values
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Split
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.tables.arrays import from_scipy, load_npz, save_npz, to_scipy
from se_gnn.tables.networkx import from_networkx, to_networkx
from se_gnn.tables.pyg import from_pyg, to_hetero, to_pyg
from strategies import assert_same_graph, changed, graphs_with_names, random_graph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch_geometric.data", exc_type=ImportError)


def through_pyg(graph, nodes, _):
    return from_pyg(to_pyg(graph).subgraph(torch.tensor(nodes))), nodes


def through_hetero(graph, nodes, _):
    whole = to_hetero(graph)
    kept = {name: torch.from_numpy(np.isin(whole[name].node_id.numpy(), nodes)) for name in graph.node_type_names}
    return from_pyg(whole.subgraph(kept)), sorted(nodes)  # of each type, in the order of the graph


def through_networkx(graph, nodes, _):
    names, whole = [graph.node_names[node] for node in nodes], to_networkx(graph)
    part = type(whole)(**whole.graph)
    part.add_nodes_from((name, whole.nodes[name]) for name in names)
    part.add_edges_from(whole.subgraph(names).edges(data=True))
    return from_networkx(part), nodes


def through_scipy(graph, nodes, _):
    return from_scipy(**to_scipy(graph.subgraph(nodes))), nodes


def through_npz(graph, nodes, folder):
    save_npz(graph.subgraph(nodes), folder / "graph.npz")
    return load_npz(folder / "graph.npz"), nodes


def through_mapped_files(graph, nodes, folder):
    save_graph(graph, folder, mapped=True)
    return load_graph(folder).subgraph(nodes), nodes


WAYS = [through_pyg, through_hetero, through_networkx, through_scipy, through_npz, through_mapped_files]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25)
@given(graph=graphs_with_names(), data=st.data())
def test_no_field_is_lost_on_any_way_out_and_back_cut_and_reordered(tmp_path_factory, way, graph, data):
    if way is through_hetero and graph.node_types is None:
        graph = of_two_types(graph)
    order = data.draw(st.permutations(range(graph.num_nodes)))
    found, nodes = way(graph, order[: data.draw(st.integers(1, len(order)))], tmp_path_factory.mktemp("graph"))
    assert_same_graph(found, graph.subgraph(nodes))


@pytest.mark.parametrize("way", [way for way in WAYS if way is not through_mapped_files])
def test_a_mapped_graph_goes_out_in_parts_that_fit_into_memory(tmp_path, way):
    graph = of_two_types(random_graph())
    save_graph(graph, tmp_path, mapped=True)
    mapped = load_graph(tmp_path)
    with pytest.raises(InputError, match=r"are mapped from files, because they may not fit in memory.*Graph.subgraph"):
        to_pyg(mapped)
    found, nodes = way(mapped.subgraph(np.arange(9)), [3, 1, 8], tmp_path)
    assert_same_graph(found, graph.subgraph(nodes))


def of_two_types(graph):
    """The same graph with its nodes of two types in turn, of which the first is predicted."""
    types = np.arange(graph.num_nodes, dtype=np.int32) % 2
    split = {part: own[types[own] == 0] for part, own in graph.split.items()}
    unknown = np.nan if graph.predicts_numbers else UNKNOWN
    target = graph.target.with_array(np.where(types == 0, graph.target.array, unknown))
    return changed(graph.replace(target=target, split=Split(**split)), node_types=types, node_type_names=("a", "b"))


def test_networkx_graph_of_a_user_with_a_vector_a_node():
    graph = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    for i, node in enumerate("abc"):
        graph.nodes[node].update(x=[i, 1], kind=i % 2)
    ours = from_networkx(graph, label="kind")
    assert ours.node_names == ("a", "b", "c")
    assert ours.edges.ends.tolist() == [[0, 1], [1, 2]]
    assert (ours.class_names, ours.labels.tolist(), ours.train.tolist()) == (("0", "1"), [0, 1, 0], [0, 1, 2])


def test_networkx_graph_of_a_user_with_attributes_of_any_kind():
    graph = nx.cycle_graph(30)
    for i in graph:
        graph.nodes[i].update(country=["DE", "FR", None][i % 3], balance=i * 1.5, fraud=i % 2)
    ours = from_networkx(graph, label="fraud")
    assert {column.name: column.kind for column in ours.columns} == {"balance": "number", "country": "category"}
    assert node_values(ours, 4) == {"balance": "6", "country": "FR"}
    assert ours.num_edges == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.nodes[1].pop("x"), "attribute 'x' must have 1 numbers at every node; node 1 has none"),
        (lambda g: g.nodes[1].update(x=[1, 2]), "node 1 has 2 values"),
        (
            lambda g: g.nodes[1].update(split="maybe"),
            "must be train, validation, test, calibration or nothing, got 'maybe'",
        ),
        (lambda g: g.graph.update(class_names=("a",)), "label '0' is not one of the class_names"),
        (lambda g: g.clear(), "has no nodes"),
    ],
)
def test_networkx_graph_that_cannot_be_taken(change, message):
    graph = nx.path_graph(3)
    for i in graph:
        graph.nodes[i].update(x=[i], label=i % 2)
    change(graph)
    with pytest.raises(InputError, match=message):
        from_networkx(graph)


def test_an_asymmetric_or_weighted_matrix_is_undirected_and_zeros_are_no_edges():
    adjacency = sp.coo_array(([2.5, 1.0, 0.0, 1.0], ([0, 2, 1, 3], [1, 0, 2, 3])), shape=(4, 4))
    graph = from_scipy(adjacency, np.eye(4))
    assert graph.edges.ends.tolist() == [[0, 1], [0, 2]]
    assert graph.merged.self_loops == 1
    assert graph.labels.tolist() == [-1] * 4
    with pytest.raises(InputError, match="adjacency must be 3 x 3"):
        from_scipy(adjacency, np.eye(3))


def test_npz_files_of_others(tmp_path):
    adjacency, features = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3)), sp.csr_array(np.eye(3))
    pieces = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("adj", adjacency), ("attr", features))
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(tmp_path / "csr.npz", **pieces, labels=[0, 1, 0])
    np.savez(tmp_path / "pairs.npz", edge_index=[[0, 1], [1, 2]], x=np.eye(3), y=[0, 1, 0], test=[False, False, True])
    for name in ("csr", "pairs"):
        graph = load_npz(tmp_path / f"{name}.npz", train=[0, 1])
        assert graph.edges.ends.tolist() == [[0, 1], [1, 2]]
        assert (graph.name, graph.labels.tolist(), graph.train.tolist()) == (name, [0, 1, 0], [0, 1])


def test_npz_files_that_cannot_be_read(tmp_path):
    np.savez(tmp_path / "a.npz", edges=[[0, 1]])
    np.savez(tmp_path / "b.npz", x=np.array([{}], dtype=object))
    np.save(tmp_path / "c.npy", np.eye(2))
    np.savez(tmp_path / "d.npz", adj_data=[1.0], x=np.eye(2))
    (tmp_path / "e.npz").write_text("no zip")
    for file, message in [
        ("a.npz", "must hold an array named 'features' or 'x'"),
        ("b.npz", "cannot be read as an .npz file: Object arrays cannot be loaded"),
        ("c.npy", "holds one array, not a graph"),
        ("d.npz", "adj_data, .* must be the pieces of a CSR matrix"),
        ("e.npz", "cannot be read as an .npz file"),
        ("f.npz", "does not exist"),
    ]:
        with pytest.raises(InputError, match=message):
            load_npz(tmp_path / file)


def test_networkx_graph_of_a_user_without_attributes_is_described_by_its_edges():
    graph = nx.star_graph(5)
    for i in graph:
        graph.nodes[i].update(label=i % 2, caption=f"No. {i}")
    graph.nodes[3].pop("caption")
    ours = from_networkx(graph, caption="caption")
    assert node_values(ours, 0)["number of edges"] == "5"
    assert [ours.caption(node) for node in (1, 3)] == ["No. 1", "3"]
