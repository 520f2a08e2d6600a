"""Data sets whose edges carry values, or whose nodes are of several kinds."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.datasets import load_dataset
from se_gnn.datasets.kinds import NodesOfKind, join_kinds
from se_gnn.errors import InputError
from se_gnn.graph.columns import NumberColumn


def test_ratings_keep_their_direction_their_value_and_their_time(data_dir):
    graph = load_dataset("bitcoin-otc", data_dir=data_dir)
    values = graph.edge_values
    assert values.carried == ("direction", "attributes", "time")
    # the first row of the file: 6 rates 2 with 4, at 1289241911
    u, v = graph.node_id("6"), graph.node_id("2")
    (edge,) = np.flatnonzero((values.time == 1289241911) & (graph.edges == sorted((u, v))).all(axis=1))
    start = graph.edges[edge][0 if values.direction[edge] == 1 else 1]
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
        ends = kinds[graph.edges[graph.edge_values.type == type_]]
        assert {frozenset(pair) for pair in ends.tolist()} == {frozenset(type_name.split("-"))}


def test_each_kind_has_a_block_of_features_and_a_bias_of_its_own():
    year = NumberColumn(name="year", first=0, size=1, offset=2000, scale=10)
    joined = join_kinds(
        {
            "paper": NodesOfKind(names=["a", "b"], features=np.array([[1], [2]], np.float32), columns=[year]),
            "author": NodesOfKind(names=["a", "c"], features=np.array([[3, 4], [5, 6]], np.float32)),
        }
    )
    features = joined.features
    first, second = np.sqrt([(1 + 4) / 2, (9 + 16 + 25 + 36) / 2])  # marks as large as attributes are long
    rows = [[first, 1, 0, 0, 0], [first, 2, 0, 0, 0], [0, 0, second, 3, 4], [0, 0, second, 5, 6]]
    assert np.allclose(features, rows)
    assert joined.names == ("paper a", "paper b", "author a", "author c")  # two are called a
    assert joined.columns is None  # those of authors are not known
    assert joined.feature_names[:2] == ("paper", "paper: year")
    # one linear layer over the blocks is one layer per kind
    weight = np.random.default_rng(0).normal(size=(5, 3))
    paper, author = features[:2] @ weight, features[2:] @ weight
    np.testing.assert_allclose(paper, features[:2, 1:2] @ weight[1:2] + first * weight[0], rtol=1e-6)
    np.testing.assert_allclose(author, features[2:, 3:] @ weight[3:] + second * weight[2], rtol=1e-6)


def test_a_kind_without_attributes_is_known_by_its_names_where_they_are_few():
    joined = join_kinds({"subject": NodesOfKind(names=["x", "y"]), "paper": NodesOfKind(names=[])})
    assert joined.feature_names == ("subject", "subject: name = x", "subject: name = y", "paper")
    many = join_kinds({"author": NodesOfKind(names=[str(i) for i in range(1001)])})
    assert many.features.shape == (1001, 1)


def test_features_of_another_number_of_nodes_are_refused():
    with pytest.raises(InputError, match=r"features of paper must have one row per node \(2\), got 1"):
        join_kinds({"paper": NodesOfKind(names=["a", "b"], features=np.ones((1, 1), np.float32))})
