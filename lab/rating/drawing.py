"""The two pictures of a pair, drawn like the paper's Figure 4, and alike for every method.

Nodes stand about where one t-SNE of the attributes of both local graphs puts them. The color is the class; the two
nodes in question have none, because equal colors would answer for the rater. Edges of the same number are matched.
Which edges of the target are numbered does not depend on the method: those nearest to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from se_gnn.explain import Explanation
from se_gnn.explain.attributes import mentioning
from se_gnn.graph import UNKNOWN, Graph, local_graphs
from se_gnn.graph.arrays import IntArray
from se_gnn.plot.local_view import by_distance, plain_view
from se_gnn.plot.projection import apart, placed_by_features
from se_gnn.plot.style import INK, class_style
from se_gnn.plot.svg import Svg, as_text, draw, shape

MOST_EDGES = 16  # of one picture
LEAST = 0.45  # between two nodes of a picture, which reaches from -1 to 1: so much keeps numbers and nodes apart
NUMBERED = 5  # as many as there are colors of numbers


@dataclass(frozen=True, slots=True)
class PairPictures:
    """What a rater sees."""

    target: str
    neighbor: str
    notes: tuple[str, str]  # how much of each local graph is drawn
    classes: tuple[int, ...]  # that the nodes drawn have


def local_edges(explanation: Explanation, graph: Graph, node: int) -> IntArray:
    """The edges of a node's local graph, as the model that explains takes it."""
    settings = explanation.settings
    rows = local_graphs(graph, np.array([node]), settings.hops, settings.max_edges)
    return rows.row(0).astype(np.int64)


def numbered_edges(explanation: Explanation) -> IntArray:
    """The edges of the target that are numbered: those nearest to it."""
    ranked = by_distance(explanation, explanation.node, explanation.edge_ids)
    return np.array(ranked[:NUMBERED], dtype=np.int64)


def draw_pair(
    explanation: Explanation, graph: Graph, neighbor: int, others: IntArray, matched: IntArray
) -> PairPictures:
    """The target beside a labeled node.

    Args:
        explanation: of the target.
        graph: of both nodes.
        neighbor: the labeled node.
        others: edges of its local graph.
        matched: those that the numbered edges of the target are matched with; empty: there are none to match with.
    """
    explanation, edges = mentioning(explanation, graph, others, [neighbor]), numbered_edges(explanation)
    centers = (explanation.node, neighbor)  # drawn without their classes, which would give the answer away
    hidden = {node: replace(explanation.nodes[node], label=UNKNOWN) for node in centers}
    explanation = replace(explanation, nodes={**explanation.nodes, **hidden})
    own = {edge: (number,) for number, edge in enumerate(edges.tolist(), start=1)} if len(matched) else {}
    theirs: dict[int, tuple[int, ...]] = {}
    for number, edge in enumerate(matched.tolist(), start=1):
        theirs[edge] = (*theirs.get(edge, ()), number)
    views = [
        plain_view(explanation, explanation.node, explanation.edge_ids, own, most_edges=MOST_EDGES),
        plain_view(explanation, neighbor, others, theirs, most_edges=MOST_EDGES),
    ]
    places = [apart(points, min(LEAST, 1.7 / len(points) ** 0.5)) for points in placed_by_features(views, graph)]
    drawn = [as_text(draw(view, points, explanation, names=False)) for view, points in zip(views, places)]
    nodes = np.unique(np.concatenate([view.nodes for view in views]))
    shown = np.unique(np.append(graph.labels[nodes[~np.isin(nodes, centers)]], UNKNOWN))
    notes = [view.drawn for view in views]
    return PairPictures(drawn[0], drawn[1], (notes[0], notes[1]), tuple(shown.tolist()))


def class_mark(label: int) -> str:
    """The mark of a class, for legends."""
    root = Svg("svg", {"class": "class-mark", "viewBox": "-12 -12 24 24", "aria-hidden": "true"})
    style = class_style(label)
    shape(root, style.marker, 0, 0, 8, fill=style.color, stroke=INK, stroke_width=0.8)
    return as_text(root)
