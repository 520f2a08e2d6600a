"""Nodes of several types become one matrix of features."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.errors import InputError
from se_gnn.tables.node_types import NodesOfType, join_types


def test_each_kind_has_a_block_of_features_and_a_bias_of_its_own():
    joined = join_types(
        {
            "paper": NodesOfType(names=["a", "b"], features=np.array([[1], [2]], np.float32), feature_names=["year"]),
            "author": NodesOfType(names=["a", "c"], features=np.array([[3, 4], [5, 6]], np.float32)),
        }
    )
    features = joined.features.whole()
    first, second = np.sqrt([(1 + 4) / 2, (9 + 16 + 25 + 36) / 2])  # marks as large as attributes are long
    rows = [[first, 1, 0, 0, 0], [first, 2, 0, 0, 0], [0, 0, second, 3, 4], [0, 0, second, 5, 6]]
    assert np.allclose(features, rows)
    assert joined.names == ("paper a", "paper b", "author a", "author c")  # two are called a
    assert joined.feature_names[:2] == ("paper", "paper: year")
    # one linear layer over the blocks is one layer per kind
    weight = np.random.default_rng(0).normal(size=(5, 3))
    paper, author = features[:2] @ weight, features[2:] @ weight
    np.testing.assert_allclose(paper, features[:2, 1:2] @ weight[1:2] + first * weight[0], rtol=1e-6)
    np.testing.assert_allclose(author, features[2:, 3:] @ weight[3:] + second * weight[2], rtol=1e-6)


def test_a_kind_without_attributes_is_known_by_its_names_where_they_are_few():
    joined = join_types({"subject": NodesOfType(names=["x", "y"]), "paper": NodesOfType(names=[])})
    assert joined.feature_names == ("subject", "subject: name = x", "subject: name = y", "paper")
    many = join_types({"author": NodesOfType(names=[str(i) for i in range(10_001)])})
    assert many.features.shape == (10_001, 1)


def test_features_of_another_number_of_nodes_are_refused():
    with pytest.raises(InputError, match=r"features of paper must have one row per node \(2\), got 1"):
        join_types({"paper": NodesOfType(names=["a", "b"], features=np.ones((1, 1), np.float32))})
