"""Data sets whose edges carry values, or whose nodes are of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from lab.datasets import load_dataset


def test_ratings_keep_their_direction_their_value_and_their_time(data_dir):
    graph = load_dataset("bitcoin-otc", data_dir=data_dir)
    values = graph.edge_values
    assert values.edge_data == ("direction", "attributes", "time")
    # the first row of the file: 6 rates 2 with 4, at 1289241911
    u, v = graph.node_id("6"), graph.node_id("2")
    (edge,) = np.flatnonzero((values.time == 1289241911) & (graph.edges.ends == sorted((u, v))).all(axis=1))
    start = graph.edges.ends[edge][0 if values.direction[edge] == 1 else 1]
    assert graph.node_names[start] == "6"
    assert values.raw.row(int(edge))["rating"] == "4"
    assert np.bincount(graph.labels[graph.train]).tolist() == [10, 10]
    other = load_dataset("bitcoin-otc", data_dir=data_dir, seed=1)
    assert not np.array_equal(graph.train, other.train)


def test_one_percent_of_each_class_is_labeled(data_dir):
    graph = load_dataset("amazon-fraud-1", data_dir=data_dir)
    assert np.bincount(graph.labels[graph.train]).tolist() == [7, 95]
    assert graph.class_names == ("fraud", "honest")
    assert len(graph.columns) == 25


@pytest.mark.parametrize(("name", "labeled"), [("acm", "paper"), ("dblp", "author")])
def test_only_one_kind_is_labeled_and_edges_join_the_kinds_of_their_type(name, labeled, data_dir):
    graph = load_dataset(name, data_dir=data_dir)
    kinds = np.array(graph.node_type_names)[graph.node_types]
    assert set(kinds[graph.labels >= 0]) == {labeled}
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * graph.num_classes
    for type_, type_name in enumerate(graph.edge_values.type_names):
        ends = kinds[graph.edges.ends[graph.edge_values.type == type_]]
        assert {frozenset(pair) for pair in ends.tolist()} == {frozenset(type_name.split("-"))}
