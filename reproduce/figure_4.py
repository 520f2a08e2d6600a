"""Figure 4: a case from Citeseer, the local graphs of a node and of the labeled nodes that each method finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import paragraphs
from reproduce.methods import NAMES, baseline_settings, se_gnn_settings
from reproduce.paper import words
from reproduce.store import Store
from se_gnn.explain import ClassAnswer, CompareSettings, EdgeInfo, Explanation, NodeInfo, RankRows
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.style import class_style, neutral
from se_gnn.plot.svg import draw, paint

TITLE = "Figure 4: a case from Citeseer"
DATASET = "citeseer"
METHODS = ("se-gnn", "gcn-k", "gin-k", "mlp-k")
NUM_EDGES = 5
MOST_EDGES = 14
NOTE = f"""\
The picture shows the first test node with {NUM_EDGES} edges in its 2-hop local graph that all four methods classify
correctly, and the nearest labeled node of each method, with at most {MOST_EDGES} edges of its local graph. Nodes are
placed by t-SNE of their features, and each picture is enlarged; colors are classes. The numbers at an edge are those
of the target's edges that are matched with it. MLP-K does not match edges."""


def series() -> list[Series]:
    """One case, with all methods."""
    methods = {
        method: se_gnn_settings(DATASET) if method == "se-gnn" else baseline_settings(DATASET, method)
        for method in METHODS
    }
    settings = {"num_edges": NUM_EDGES, "most_edges": MOST_EDGES, "methods": methods}
    return [Series(kind="case", dataset=DATASET, method="all", settings=settings, seeded=False)]


def render(store: Store, pictures: Path) -> str:
    """The pictures side by side."""
    results = store.of(series()[0])
    if not results:
        return words("figure_4")
    return paragraphs(words("figure_4"), NOTE, draw_case(results[0].measures, pictures / "figure-4.svg"))


def draw_case(case: dict[str, Any], path: Path) -> str:
    """A picture of the target and one of each method's nearest labeled node."""
    mentioned = _mentioned(case)
    views = {name: _view(view, mentioned) for name, view in case["views"].items()}
    titles = []
    for name, view in views.items():
        label = mentioned.class_names[mentioned.nodes[int(view.nodes[0])].label]
        titles.append(f"{NAMES.get(name, name)}: class {label}")
    figure, axes = chart.panels(titles, columns=len(titles), width=2.8, height=3.1)
    for panel, view, points in zip(axes, views.values(), case["places"]):
        with neutral():
            paint(panel, draw(view, np.array(points), mentioned))
    for label in sorted(set(case["labels"])):
        style = class_style(label)
        axes[0].scatter([], [], color=style.color, marker=style.marker, label=mentioned.class_names[label])
    return chart.finish(figure, path, alt="a node of Citeseer and the nearest labeled nodes of each method")


def _mentioned(case: dict[str, Any]) -> Explanation:
    """What the pictures show of an explanation: the case keeps neither it nor the graph."""
    labeled = set(case["labeled"])
    nodes = {
        node: NodeInfo(id=node, name=str(node), caption=str(node), label=label, case=node in labeled)
        for node, label in zip(case["nodes"], case["labels"])
    }
    pairs = sorted({(min(u, v), max(u, v)) for view in case["views"].values() for u, v in view["edges"]})
    edges = {number: EdgeInfo(id=number, start=u, end=v) for number, (u, v) in enumerate(pairs)}
    classes, none = tuple(case["class_names"]), np.empty(0, np.int64)
    return Explanation(
        query=nodes[case["nodes"][0]],
        answer=ClassAnswer(classes, (0.0,) * len(classes), 0),
        votes=(),
        ranks=RankRows(none, none, none.astype(np.float32)),
        edge_ids=none,
        importance=none.astype(np.float32),
        nodes=nodes,
        edges=edges,
        settings=CompareSettings(
            num_nearest=1, temperature=1.0, node_weight=0.5, hops=2, max_edges=None, measure="cosine", directions="one"
        ),
    )


def _view(view: dict[str, Any], mentioned: Explanation) -> LocalView:
    ids = {edge.ends: edge.id for edge in mentioned.edges.values()}
    return LocalView(
        nodes=np.array(view["nodes"]),
        hops=np.array(view["hops"]),
        edge_ids=np.array([ids[min(u, v), max(u, v)] for u, v in view["edges"]], dtype=np.int64),
        edges=np.array(view["edges"], dtype=np.int64).reshape(-1, 2),
        similarity=np.array([0 if numbers else np.nan for numbers in view["numbers"]], dtype=np.float32),
        numbers=tuple(tuple(numbers) for numbers in view["numbers"]),
        hidden=view["hidden"],
    )
