"""All that the data says of a node."""

from __future__ import annotations

from se_gnn.display.values import node_values
from se_gnn.graph import RawTable
from strategies import random_graph


def test_a_row_is_shown_as_the_table_had_it_where_it_was_kept():
    cells = [None, *(f"paid {i} times, never late" for i in range(1, 16))]
    graph = random_graph(raw=RawTable.from_columns({"note": cells}))
    assert node_values(graph, 0) == {"note": "(missing)"}
    assert node_values(graph, 2) == {"note": "paid 2 times, never late"}
