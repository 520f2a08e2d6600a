"""The map of the embeddings by its artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.plot import embedding_figure
from se_gnn.plot.style import class_style, figure_bytes


def named(figure, gid):
    return figure.findobj(lambda artist: artist.get_gid() == gid)


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_the_node_its_labeled_neighbors_and_all_others_are_on_the_map(hub, method):
    explanation = explain(hub, 45)[0]
    figure = embedding_figure(explanation, hub, method=method)
    assert len(named(figure, "target")) == 1
    assert len(named(figure, "case")) == len(explanation.votes)
    assert sum(len(nodes.get_offsets()) for nodes in named(figure, "nodes")) == 60
    graph = hub.graph
    colors = {to_hex(nodes.get_facecolor()[0]) for nodes in named(figure, "nodes")}
    assert colors == {class_style(int(label)).color.lower() for label in np.unique(graph.labels)}
    for kind in ("svg", "pdf", "png"):
        assert figure_bytes(figure, kind)


def test_lines_lead_from_the_node_to_its_labeled_neighbors_and_are_as_wide_as_they_count(hub):
    explanation = explain(hub, 45)[0]
    figure = embedding_figure(explanation, hub, method="pca")
    (start,) = named(figure, "target")[0].get_offsets()
    votes = named(figure, "vote")
    assert len(votes) == len(explanation.votes)
    for line, neighbor in zip(votes, named(figure, "case")):
        np.testing.assert_allclose(line.get_xydata(), [start, neighbor.get_offsets()[0]])
    widths = [line.get_linewidth() for line in votes]
    assert widths == sorted(widths, reverse=True)


def test_a_large_graph_is_sampled_and_the_map_says_so(hub):
    explanation = explain(hub, 45)[0]
    figure = embedding_figure(explanation, hub, method="pca", most_nodes=40)
    shown = sum(len(nodes.get_offsets()) for nodes in named(figure, "nodes"))
    assert shown == 40
    assert any("40 of 60 nodes" in text.get_text() for text in figure.texts)
    assert figure_bytes(figure, "svg") == figure_bytes(
        embedding_figure(explanation, hub, method="pca", most_nodes=40), "svg"
    )
    with pytest.raises(InputError, match="most_nodes must be at least 1"):
        embedding_figure(explanation, hub, most_nodes=0)
