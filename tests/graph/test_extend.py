"""A graph with more nodes is the same graph, whether it is in memory or mapped, and can be stored."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.graph import RawTable
from se_gnn.graph.extend import NewNodes, extended_graph
from se_gnn.graph.storage import load_graph, save_graph
from strategies import assert_same_graph, graphs_with_names, random_graph


@st.composite
def arriving(draw, graph):
    """Nodes that join a graph, with edges to any node; of these something is known, or nothing."""
    count, total = draw(st.integers(0, 3)), graph.num_nodes
    ends = st.tuples(st.integers(0, total + count - 1), st.integers(0, total + count - 1))
    pairs = np.array(draw(st.lists(ends, max_size=8)), np.int64).reshape(-1, 2)
    values, known = None, graph.edge_values
    if known is not None and len(known) and draw(st.booleans()):
        values = known.take(np.array([draw(st.integers(0, len(known) - 1)) for _ in pairs], np.int64))
    raw = None if graph.raw is None or draw(st.booleans()) else RawTable.from_columns({"note": ["new"] * count})
    return NewNodes(
        names=tuple(f"(new {i})" for i in range(count)),
        features=np.ones((count, graph.num_features), np.float32),
        pairs=pairs,
        edge_values=values,
        captions=draw(st.sampled_from([None, tuple(f"No. {i}" for i in range(count))])),
        raw=raw,
        node_types=None if graph.node_types is None else np.zeros(count, np.int32),
    )


@settings(max_examples=40)
@given(graph=graphs_with_names(), data=st.data())
def test_a_mapped_graph_is_extended_and_stored_as_one_in_memory(tmp_path_factory, graph, data):
    new, folder = data.draw(arriving(graph)), tmp_path_factory.mktemp("graphs")
    save_graph(graph, folder / "mapped", mapped=True)
    larger = extended_graph(load_graph(folder / "mapped"), new)
    save_graph(larger, folder / "larger")
    everything = np.arange(graph.num_nodes + len(new.names))
    expected = extended_graph(graph, new).subgraph(everything)
    for found in (larger, load_graph(folder / "larger")):
        assert not found.fits_memory
        assert_same_graph(found.subgraph(everything), expected)


def test_known_nodes_keep_their_cells_when_nodes_without_any_join():
    graph = random_graph(raw=RawTable.from_columns({"note": [f"of {i}" for i in range(16)]}))
    new = NewNodes(names=("x",), features=np.ones((1, 5), np.float32), pairs=np.array([[16, 0]]))
    raw = extended_graph(graph, new).raw
    assert [raw.row(node)["note"] for node in (3, 16)] == ["of 3", None]
