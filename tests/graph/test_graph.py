"""Attributed graphs: what is merged, what is refused and in which words."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Edges, Graph, Nodes
from strategies import changed, random_graph


def build(**changes):
    """A path of four nodes, two a class, with some arguments changed."""
    arguments = {
        "features": np.eye(4),
        "edges": [[0, 1], [1, 2], [2, 3]],
        "labels": [0, 0, 1, 1],
        "node_names": ["ann", "bob", "cat", "dan"],
        "train": [0, 2],
    }
    return Graph.build(**{**arguments, **changes})


def refused(text):
    return pytest.raises(InputError, match=re.escape(text))


def test_duplicates_and_self_loops_are_merged_and_counted():
    graph = build(edges=[[1, 0], [0, 1], [0, 1], [2, 2], [3, 2], [3, 2], [3, 3]])
    assert graph.edges.ends.tolist() == [[0, 1], [2, 3]]
    merged = graph.merged
    assert (merged.given, merged.self_loops, merged.reciprocal, merged.duplicates) == (7, 2, 1, 2)
    assert str(merged) == ("7 edges given, 2 kept: 1 reciprocal and 2 duplicate edges merged, 2 self-loops removed")


@given(pairs=hnp.arrays(np.int64, st.tuples(st.integers(0, 30), st.just(2)), elements=st.integers(0, 6)))
def test_edges_are_the_set_of_undirected_pairs_given_and_the_report_adds_up(pairs):
    graph = Graph.build(features=np.eye(7), edges=pairs, labels=np.zeros(7, int))
    assert list(map(tuple, graph.edges.ends.tolist())) == sorted(
        {(u, v) for u, v in np.sort(pairs, axis=1).tolist() if u != v}
    )
    merged = graph.merged
    assert merged.given == len(pairs)
    assert graph.num_edges == merged.given - merged.self_loops - merged.reciprocal - merged.duplicates


@given(
    pairs=hnp.arrays(np.int64, st.tuples(st.integers(0, 20), st.just(2)), elements=st.integers(0, 6)), data=st.data()
)
def test_order_and_direction_of_edges_do_not_matter(pairs, data):
    order = data.draw(st.permutations(range(len(pairs))))
    flip = data.draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    other = np.array([pairs[i][::-1] if flip[i] else pairs[i] for i in order], dtype=np.int64).reshape(-1, 2)
    one = Graph.build(features=np.eye(7), edges=pairs, labels=np.zeros(7, int))
    two = Graph.build(features=np.eye(7), edges=other, labels=np.zeros(7, int))
    np.testing.assert_array_equal(one.edges.ends, two.edges.ends)


def test_a_graph_may_have_no_edges():
    graph = build(edges=[])
    assert graph.num_edges == 0
    assert graph.degrees.tolist() == [0, 0, 0, 0]
    assert graph.adjacency.nnz == 0


def test_adjacency_is_symmetric_and_stores_edge_ids():
    graph = build(edges=[[0, 1], [1, 2], [0, 3]])
    rows = {
        node: dict(zip(graph.adjacency[[node]].tocoo().col.tolist(), graph.adjacency[[node]].data.tolist()))
        for node in range(4)
    }
    assert rows == {0: {1: 0, 3: 1}, 1: {0: 0, 2: 2}, 2: {1: 2}, 3: {0: 1}}
    assert graph.degrees.tolist() == [2, 2, 1, 1]


def test_without_train_every_node_with_a_known_label_is_labeled():
    assert build(labels=[0, UNKNOWN, 1, UNKNOWN], train=None).train.tolist() == [0, 2]


def test_a_split_may_be_given_as_masks():
    graph = build(train=np.array([True, False, False, True]), validation=np.array([False, True, False, False]))
    assert (graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()) == ([0, 3], [1], [])


def test_sparse_features_stay_sparse_without_stored_zeros():
    features = sp.csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([0, 1]))), shape=(4, 2))
    graph = build(features=features)
    assert sp.issparse(graph.features)
    assert (graph.features.nnz, graph.features.dtype) == (1, np.float32)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_graph_is_read_only_and_does_not_share_memory_with_what_was_given(sparse):
    given_features = sp.csr_array(np.eye(4)) if sparse else np.eye(4, dtype=np.float32)
    labels = np.array([0, 0, 1, 1])
    graph = build(features=given_features, labels=labels)
    for array in (graph.edges.ends, graph.labels, graph.train, graph.features.data if sparse else graph.features):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    labels[0] = 1  # the caller's array is still the caller's
    assert graph.labels[0] == 0
    (given_features.data if sparse else given_features)[0] = 7
    assert graph.features[[0], [0]][0] == 1


def test_with_edges_replaces_the_edges():
    graph = build().with_edges([[3, 0], [0, 3]])
    assert graph.edges.ends.tolist() == [[0, 3]]
    assert graph.degrees.tolist() == [1, 0, 0, 1]


def test_parts_that_stay_are_shared_and_not_checked_again(monkeypatch):
    graph = build()

    def check_again(self):
        raise AssertionError("features were checked again")

    monkeypatch.setattr(Nodes, "_check_values", check_again)
    monkeypatch.setattr(Edges, "__post_init__", check_again)
    other = graph.with_split(train=[1], test=[3])
    assert other.nodes is graph.nodes
    assert other.edges is graph.edges
    assert dataclasses.replace(graph, name="other").target is graph.target


def test_with_split_replaces_the_split():
    graph = build().with_split(train=[1], test=[3])
    assert (graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()) == ([1], [], [3])


def test_nodes_are_found_by_name_and_by_id():
    graph = build()
    assert (graph.node_id("cat"), graph.node_id(3), graph.node_id(np.int64(1))) == (2, 3, 1)


def test_an_integer_is_a_position_and_a_string_is_a_name():
    graph = build(node_names=["3", "2", "1", "0"])
    assert (graph.node_id(3), graph.node_id("3")) == (3, 0)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ([2, 0], [2, 0]),
        (["cat", "ann"], [2, 0]),
        (["cat", 0], [2, 0]),
        ([True, False, True, False], [0, 2]),
        (np.array([False] * 4), []),
        ([], []),
        ("bob", [1]),
        (3, [3]),
        (np.array(["cat", 1], dtype=object), [2, 1]),
        (range(2), [0, 1]),
    ],
)
def test_positions_names_and_masks_all_say_which_nodes(nodes, found):
    assert build().node_ids(nodes).tolist() == found


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ([-1], "unknown node -1: positions go from 0 to 3"),
        ([0, 4], "unknown node 4: positions go from 0 to 3"),
        ([10**30], "unknown node 1000"),
        ([0.5], "a node must be a position (a whole number) or a name (text), got 0.5"),
        ([1.0], "a node must be a position (a whole number) or a name (text), got 1.0"),
        ([None], "a node must be a position (a whole number) or a name (text), got None"),
        (["ann", True], "a node must be a position (a whole number) or a name (text), got True"),
        ([True, False], "a mask must have one entry per node (4), got 2"),
        ([[0, 1]], "nodes must be a list of positions or names, got shape (1, 2)"),
        (["4"], "unknown node '4'"),
    ],
)
def test_what_is_no_node_is_refused(nodes, text):
    with refused(text):
        build().node_ids(nodes)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"edges": [[0, 1], [1, 4]]},
            "edges must join nodes 0 to 3: edge 1 = (1, 4) names a missing node (1 such edges)",
        ),
        ({"edges": [[0, -1]]}, "edges must join nodes 0 to 3: edge 0 = (0, -1) names a missing node"),
        ({"edges": [[0, 1.5]]}, "edges must be whole numbers, got 1.5 (1 such values)"),
        (
            {"features": [[0.0]] * 3 + [[np.nan]]},
            "features must be finite: 1 values are not, the first is nan at node 3",
        ),
        (
            {"features": [[1, np.inf]] * 4},
            "features must be finite: 4 values are not, the first is inf at node 0, column 1",
        ),
        ({"features": sp.csr_array([[0.0], [0], [-np.inf], [0]])}, "the first is -inf at node 2, column 0"),
        ({"features": [0.0, 1.0]}, "features must have two dimensions (nodes, features), got shape (2,)"),
        ({"features": [["red"]] * 4}, "features must be numbers"),
        ({"labels": [0, 1, 0]}, "labels must have one entry per node: features has 4 rows, labels 3 entries"),
        ({"labels": [0, 1, 0, -2]}, "labels must be -1 (unknown) or a class below 2, got -2"),
        ({"class_names": ["red"]}, "labels must be -1 (unknown) or a class below 1, got 1"),
        ({"class_names": ["red", "red"]}, "class_names must be unique, got 'red' twice"),
        ({"train": [0, 1], "validation": [1]}, "train and validation must not share nodes, both hold node 1"),
        ({"train": [0, 1], "test": [2, 0]}, "train and test must not share nodes, both hold node 0"),
        ({"validation": [3], "test": [3]}, "validation and test must not share nodes, both hold node 3"),
        ({"train": [0, 4]}, "train must hold node ids from 0 to 3, got 4"),
        ({"test": [-1]}, "test must hold node ids of at least 0, got -1"),
        ({"train": [True, False]}, "train mask must have one entry per node (4), got shape (2,)"),
        ({"labels": [0, 1, -1, 0]}, "train must hold nodes with a known label; node 'cat' has none"),
        ({"node_names": ["ann", "bob", "cat", "ann"]}, "node_names must be unique, got 'ann' twice"),
        ({"node_names": ["ann"]}, "node_names must have one entry per node (4), got 1"),
        ({"feature_names": ("a",)}, "feature_names must have one entry per feature (4), got 1"),
        ({"image_shape": (2, 3)}, "image_shape must have 4 pixels, got (2, 3)"),
    ],
)
def test_a_mistake_is_refused_with_parameter_rule_and_value(changes, text):
    with refused(text):
        build(**changes)


def test_edges_that_are_not_pairs_are_refused():
    with refused("edges must be pairs of nodes, shape (E, 2), got shape (2, 3)"):
        build(edges=[[0, 1, 2], [1, 2, 3]])
    with refused("edges must be pairs of nodes, shape (E, 2), got shape (4,)"):
        build().with_edges([0, 1, 1, 2])


def test_an_unknown_node_is_refused_with_a_close_name():
    with refused("unknown node 'bobb' (did you mean 'bob'?); the graph has 4 nodes: ann, bob, cat, ..."):
        build().node_id("bobb")
    with refused("unknown node 4"):
        build().node_id(4)


def test_a_graph_without_labeled_nodes_cannot_be_trained_on():
    with refused("friends has no labeled node: train must name at least one node with a known label"):
        build(labels=[-1] * 4, class_names=["red", "blue"], train=None, name="friends").check_trainable()


def test_a_graph_with_one_labeled_class_cannot_be_trained_on():
    with refused("labeled nodes must come from at least two classes, all 2 are 'red'"):
        build(train=[0, 1], class_names=["red", "blue"]).check_trainable()


def test_a_graph_with_two_labeled_classes_can_be_trained_on():
    build().check_trainable()


def test_parts_that_do_not_fit_each_other_are_refused():
    with refused("edges must be those of a graph of 4 nodes, got edges among 5"):
        build().replace(edges=Edges.build([[0, 1]], 5))


def test_a_split_in_any_order_or_with_duplicates_is_the_same_set_of_nodes():
    graph = random_graph()
    for nodes in ([5, 0, 3], [0, 3, 5, 5, 0], [5.0, 3.0, 0.0]):
        assert changed(graph, train=np.array(nodes)).train.tolist() == [0, 3, 5]
    with pytest.raises(InputError, match=r"train must be whole numbers, got 0.5 \(1 such values\)"):
        changed(graph, train=np.array([0.5, 1.0]))
    with pytest.raises(InputError, match="train must hold node ids of at least 0, got -1"):
        changed(graph, train=np.array([-1, 1]))


@pytest.mark.parametrize("wrong", [np.inf, np.nan, 1e300, 2.0**60])
def test_positions_that_no_node_has_are_refused(wrong):
    with pytest.raises(InputError, match="edges must be whole numbers"):
        random_graph(edges=np.array([[0.0, wrong]]))
    with pytest.raises(InputError, match="labels must be whole numbers"):
        random_graph(labels=np.full(16, wrong))


def test_unsigned_numbers_do_not_wrap_around():
    with pytest.raises(InputError, match=r"labels must be whole numbers below 2\^63, got 18446744073709551615"):
        random_graph(labels=np.full(16, 2**64 - 1, np.uint64))


def test_labels_that_are_codes_make_only_the_classes_that_occur():
    labels = np.where(np.arange(16) % 2, 10**9, 7)
    graph = random_graph(labels=labels)
    assert graph.class_names == ("7", "1000000000")
    assert graph.labels.tolist() == [0, 1] * 8


def test_features_beyond_float32_are_refused_without_a_warning():
    with pytest.raises(InputError, match="features must be finite: 1 values are not"):
        random_graph(features=np.where(np.eye(16) * np.arange(16) == 3, 1e300, 1.0))
