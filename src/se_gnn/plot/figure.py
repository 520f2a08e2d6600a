"""One explanation on one page: the pictures, the matched local graphs, the vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from se_gnn.errors import InputError
from se_gnn.explain import CRUCIAL_EDGES, Explanation
from se_gnn.graph import UNKNOWN
from se_gnn.number_format import percent
from se_gnn.plot.local_graphs import MOST_NEIGHBORS, Arrangement, draw_local_graphs, graphs_height
from se_gnn.plot.node_attributes import attribute_lines, attributes_height, draw_attributes
from se_gnn.plot.node_pictures import draw_node_pictures
from se_gnn.plot.palette import INK, LARGE, NORMAL
from se_gnn.plot.settings import blank_figure, neutral
from se_gnn.plot.text import show
from se_gnn.plot.vote import draw_vote, vote_height

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 10.0  # inches
TITLE_HEIGHT, PICTURES_HEIGHT = 0.55, 1.4


def explanation_figure(
    explanation: Explanation,
    *,
    num_neighbors: int = MOST_NEIGHBORS,
    crucial_edges: int = CRUCIAL_EDGES,
    arrangement: Arrangement = "structure",
) -> Figure:
    """Why a node was predicted as it was, as a matplotlib figure that belongs to no window.

    From top to bottom: the node's picture and those of its nearest labeled nodes (where the
    graph says that nodes are pictures), the matched local graphs, shared attributes (where they have names), the vote.

    Args:
        explanation: what to show.
        num_neighbors: how many of the nearest labeled nodes are drawn with their local graphs.
        crucial_edges: how many of the most important edges are bold and numbered.
        arrangement: nodes of a local graph stand by ``structure``, or by ``features`` (t-SNE).
    """
    graph = explanation.graph
    heights = {"title": TITLE_HEIGHT}
    if graph.image_shape is not None:
        heights["pictures"] = PICTURES_HEIGHT
    for name, count, least in (("num_neighbors", num_neighbors, 1), ("crucial_edges", crucial_edges, 0)):
        if count < least:
            raise InputError(f"{name} must be at least {least}, got {count}")
    if arrangement not in get_args(Arrangement):
        raise InputError(f"arrangement must be structure or features, got {arrangement!r}")
    shown = min(num_neighbors, len(explanation.neighbors))
    heights["graphs"] = graphs_height(shown)
    if graph.image_shape is None and attribute_lines(explanation, shown):
        heights["attributes"] = attributes_height(explanation, shown)
    heights["vote"] = vote_height(explanation)
    with neutral():
        figure = blank_figure(WIDTH, sum(heights.values()))
        rows = figure.subfigures(len(heights), 1, height_ratios=list(heights.values()), hspace=0, squeeze=False)[:, 0]
        part = dict(zip(heights, rows))
        part["title"].text(0.015, 0.62, _title(explanation), fontsize=LARGE, fontweight="bold", color=INK, va="center")
        part["title"].text(0.015, 0.22, _known(explanation), fontsize=NORMAL, color=INK, va="center")
        if "pictures" in part:
            draw_node_pictures(part["pictures"], explanation)
        draw_local_graphs(
            part["graphs"],
            explanation,
            num_neighbors=num_neighbors,
            crucial_edges=crucial_edges,
            arrangement=arrangement,
        )
        if "attributes" in part:
            draw_attributes(part["attributes"], explanation, shown)
        draw_vote(part["vote"], explanation)
    return figure


def _title(explanation: Explanation) -> str:
    share = percent(explanation.probabilities[explanation.predicted])
    return (
        f"{show(explanation.caption(explanation.node), 32)} is predicted ‘{show(explanation.predicted_name)}’ ({share})"
    )


def _known(explanation: Explanation) -> str:
    if explanation.label == UNKNOWN:
        return "its label is not known"
    own = f"‘{show(explanation.class_names[explanation.label])}’"
    if explanation.left_out:
        return f"it is labeled {own} itself; its own label was left out of the vote"
    outcome = "right" if explanation.label == explanation.predicted else "wrong"
    return f"its label is {own}: the prediction is {outcome}"
