"""Edges that carry values: checked, kept one by one, and aligned with the edges of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph, RawTable, local_graphs, replace_edges
from se_gnn.graph.edge_values import NO_TIME


def payments(**changes: Any) -> EdgeValues:
    """Values of four edges with every part."""
    parts: dict[str, Any] = {
        "direction": np.array([1, 1, 1, -1], np.int8),
        "weight": np.array([1, 2, 3, 4], np.float32),
        "type": np.array([0, 1, 0, 1], np.int32),
        "type_names": ("owns", "pays"),
        "attributes": np.array([[0.5], [1.5], [2.5], [3.5]], np.float32),
        "attribute_names": ("amount",),
        "time": np.array([10, 20, NO_TIME, 40]),
        "raw": RawTable.from_columns({"note": ["a", "b", None, "d"]}),
    }
    return EdgeValues(**{**parts, **changes})


def graph_of(edges: Any, values: EdgeValues | None, num_nodes: int = 4) -> Graph:
    return Graph.build(features=np.eye(num_nodes), edges=edges, labels=[0, 1] * (num_nodes // 2), edge_values=values)


EDGES = [[2, 0], [0, 2], [0, 1], [1, 3]]


def test_parallel_edges_are_all_kept_and_a_turned_edge_turns_its_direction() -> None:
    graph = graph_of(EDGES, payments())
    values = graph.edge_values
    assert values is not None
    assert graph.edges.ends.tolist() == [[0, 1], [0, 2], [0, 2], [1, 3]]
    assert values.direction is not None
    assert values.weight is not None
    assert values.raw is not None
    assert values.direction.tolist() == [1, -1, 1, -1]  # 2 -> 0 is stored as (0, 2), the other way
    assert values.weight.tolist() == [3, 1, 2, 4]
    assert [values.raw.row(e)["note"] for e in range(4)] == [None, "a", "b", "d"]
    assert graph.degrees.tolist() == [3, 2, 2, 1]


def test_edges_that_agree_in_everything_are_merged_and_counted() -> None:
    values = EdgeValues(weight=np.array([1, 1, 1, 2], np.float32))
    graph = graph_of([[0, 1], [1, 0], [0, 1], [1, 0]], values)
    assert graph.edges.ends.tolist() == [[0, 1], [0, 1]]
    assert (graph.merged.reciprocal, graph.merged.duplicates) == (1, 1)


def test_edges_that_differ_only_in_the_cells_that_are_shown_are_two_edges() -> None:
    values = EdgeValues(weight=np.ones(2, np.float32), raw=RawTable.from_columns({"payment": ["17", "18"]}))
    assert graph_of([[0, 1], [0, 1]], values).num_edges == 2


def test_adjacency_holds_the_id_of_each_parallel_edge() -> None:
    adjacency = graph_of(EDGES, payments()).adjacency
    assert adjacency.indptr.tolist() == [0, 3, 5, 7, 8]
    assert adjacency.indices.tolist() == [1, 2, 2, 0, 3, 0, 0, 1]
    assert adjacency.data.tolist() == [0, 1, 2, 0, 3, 1, 2, 3]


@pytest.mark.parametrize("max_edges", [None, 10])
def test_a_local_graph_holds_all_parallel_edges(max_edges: int | None) -> None:
    local = local_graphs(graph_of(EDGES, payments()), np.arange(4), 1, max_edges)
    assert [local.row(i).tolist() for i in range(4)] == [[0, 1, 2], [0, 3], [1, 2], [3]]


def test_adjacency_with_values_is_that_without_where_no_edges_are_parallel() -> None:
    rng = np.random.default_rng(0)
    plain = graph_of(rng.integers(0, 20, (60, 2)), None, 20)
    valued = graph_of(plain.edges.ends, EdgeValues(weight=np.ones(plain.num_edges, np.float32)), 20)
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(plain.adjacency, part), getattr(valued.adjacency, part))


def test_other_edges_keep_the_values_of_pairs_that_stay() -> None:
    graph = graph_of(EDGES, payments())
    changed = graph.with_edges([[0, 2], [1, 3], [2, 3]])  # (0, 1) goes, (2, 3) comes
    assert changed.edges.ends.tolist() == [[0, 2], [0, 2], [1, 3], [2, 3]]
    values = changed.edge_values
    assert values is not None
    assert values.weight is not None
    assert values.direction is not None
    assert values.weight.tolist() == [1, 2, 4, 2.5]  # nothing is known of the new one: the median
    assert values.direction.tolist() == [-1, 1, -1, 0]
    assert values.time is not None
    assert values.time.tolist() == [10, 20, 40, NO_TIME]


def test_each_replaced_edge_hands_its_values_on() -> None:
    rng = np.random.default_rng(0)
    edges = np.sort(rng.integers(0, 30, (80, 2)), axis=1)
    graph = graph_of(edges, EdgeValues(weight=np.arange(1, 81, dtype=np.float32)), 30)
    assert len(np.unique(graph.edges.ends, axis=0)) < graph.num_edges  # some are parallel
    noisy = replace_edges(graph.edges.ends, 30, 0.3, generator=rng)
    assert len(noisy.edges) == graph.num_edges
    assert sorted(noisy.origin.tolist()) == list(range(graph.num_edges))
    stayed = np.isin(noisy.origin, noisy.kept)
    assert np.array_equal(noisy.edges[stayed], graph.edges.ends[noisy.origin[stayed]])
    before = set(map(tuple, graph.edges.ends.tolist()))
    assert not before & set(map(tuple, noisy.edges[~stayed].tolist()))


def test_take_and_join_give_the_values_back() -> None:
    values = payments()
    again = values.take([0, 1]).joined(values.take([2, 3]))
    for part in values.edge_data:
        assert np.array_equal(getattr(again, part), getattr(values, part))
    assert again.raw is not None
    assert again.raw.row(3) == {"note": "d"}


def test_what_the_edges_carry_is_told_by_name() -> None:
    values = payments(names=(("weight", "eur"), ("type", "what")))
    assert values.edge_data == ("direction", "weight", "type", "attributes", "time")
    assert values.edge_data_words["type"] == "type (column 'what')"
    assert values.edge_data_words["attributes"] == "attributes ('amount')"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": np.array([1, 2, -3, 4], np.float32)}, "edge weight must be .* above 0, got -3.0 for edge 2"),
        ({"weight": np.array([1, 2, np.nan, 4], np.float32)}, "finite number above 0, got nan"),
        ({"weight": np.ones(4)}, "edge weight must be float32, got float64"),
        ({"weight": np.ones(3, np.float32)}, r"one entry per edge \(4\)"),
        ({"direction": np.array([1, 2, 0, 0], np.int8)}, "must be 1, -1 or 0, got 2 for edge 1"),
        ({"type": np.array([0, 1, 2, 0], np.int32)}, "from 0 to 1, a position in type_names, got 2"),
        ({"type_names": ()}, "type and type_names must be given together"),
        ({"type_names": ("a", "a")}, "type_names must be unique"),
        ({"type_verbs": ("pays",)}, r"one entry per type \(2\), got 1"),
        ({"attributes": np.full((4, 1), np.inf, np.float32)}, "attributes must be finite, got inf for edge 0 .4 such"),
        ({"attribute_names": ("a", "b")}, r"attribute_names must have one entry per attribute \(1\), got 2"),
        ({"attributes": None}, "must come with attributes"),
        ({"raw": RawTable.from_columns({"a": ["b"]})}, r"one row per edge \(4\), got 1"),
    ],
)
def test_values_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        payments(**changes)


def test_values_of_other_edges_are_refused() -> None:
    with pytest.raises(InputError, match=r"edge_values must have one row per edge \(3\), got 4"):
        graph_of(EDGES[:3], payments())
    with pytest.raises(InputError, match="at least one of direction"):
        EdgeValues()


def test_kinds_of_nodes_are_checked() -> None:
    parts: dict[str, Any] = {"features": np.eye(2), "edges": [[0, 1]], "labels": [0, -1]}
    graph = Graph.build(**parts, node_types=[0, 1], node_type_names=["paper", "author"])
    assert graph.node_type_names == ("paper", "author")
    with pytest.raises(InputError, match="node_types must be int32 from 0 to 0"):
        Graph.build(**parts, node_types=[0, 1], node_type_names=["paper"])
    with pytest.raises(InputError, match="given together"):
        Graph.build(**parts, node_types=[0, 0])


def test_labeled_nodes_are_of_the_type_that_is_predicted() -> None:
    parts: dict[str, Any] = {"features": np.eye(2), "edges": [[0, 1]], "node_type_names": ["paper", "author"]}
    graph = Graph.build(**parts, labels=[0, -1], node_types=[0, 1])
    assert graph.target.node_type == "paper"
    assert graph.candidates.tolist() == [0]
    with pytest.raises(InputError, match="one type of nodes is predicted, but nodes of 'paper' and of 'author'"):
        Graph.build(**parts, labels=[0, 0], node_types=[0, 1])
    with pytest.raises(InputError, match="target_type must be one of paper, author, got 'firm'"):
        Graph.build(**parts, labels=[0, -1], node_types=[0, 1], target_type="firm")
