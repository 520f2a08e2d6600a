"""Nodes and edges share nothing in columns that are not theirs."""

from __future__ import annotations

import numpy as np

from se_gnn.explain.attributes import attributes_of, edge_info
from se_gnn.explain.text import agreeing_facts
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.columns import NumberColumn
from se_gnn.tables.node_types import NodesOfType, join_types, joined_columns


def library():
    year = NumberColumn(name="year", first=0, size=1, offset=2000, scale=10)
    papers = NodesOfType(names=["p", "q"], features=np.array([[0], [0]], np.float32))
    authors = NodesOfType(names=["a", "b"], features=np.array([[1], [1]], np.float32))
    joined = join_types({"paper": papers, "author": authors})
    columns = joined_columns({"paper": [year], "author": [year]}, marked=True)
    values = EdgeValues(
        type=np.array([0, 0, 1, 1], np.int32),
        type_names=("writes", "reads"),
        attributes=np.array([[1.0], [1.0], [0.0], [0.0]], np.float32),
        attribute_names=("writes: share",),
    )
    return Graph.build(
        features=joined.features.whole(),
        feature_names=[name for column in columns for name in column.feature_names],
        columns=columns,
        edges=[[0, 2], [1, 3], [0, 3], [1, 2]],
        edge_values=values,
        labels=[0, 1, -1, -1],
        node_types=joined.types,
        node_type_names=joined.type_names,
    )


def test_two_papers_share_no_column_of_authors_and_not_that_they_are_papers():
    graph = library()
    known = attributes_of(graph)
    assert [one.name for one in known.shared(graph.features[0], graph.features[1])] == ["paper: year"]
    assert [one.name for one in known.shared(graph.features[2], graph.features[3])] == ["author: year"]
    assert known.shared(graph.features[0], graph.features[2]) == []


def test_edges_are_not_alike_in_a_column_of_another_type():
    graph = library()
    writes, reads = (np.flatnonzero(graph.edge_values.type == kind).tolist() for kind in (0, 1))
    assert agreeing_facts(*(edge_info(graph, edge) for edge in writes)) == ("type", "writes: share")
    assert agreeing_facts(*(edge_info(graph, edge) for edge in reads)) == ("type",)
