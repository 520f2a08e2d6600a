"""Figure 4: a case from Citeseer, the local graphs of a node and of the labeled nodes that each method finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduce import chart
from reproduce.job import Series
from reproduce.markdown import MISSING
from reproduce.methods import NAMES, baseline_settings, se_gnn_settings
from reproduce.paper import printed
from reproduce.store import Store
from se_gnn.plot.palette import EDGE_COLOR, INK, MATCH_COLORS, SMALL, class_style
from se_gnn.plot.settings import neutral

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Figure 4: a case from Citeseer"
DATASET = "citeseer"
METHODS = ("se-gnn", "gcn-k", "gin-k", "mlp-k")
NOTE = """\
The first test node with 5 to 8 edges in its 2-hop local graph, chosen before any method was run. To its right, the
nearest labeled node of each method. A node is placed by t-SNE of its features, in all pictures at the same place; its
color is its class, a dark rim marks the node that the local graph is of. An edge has the number of the edge of the
target that is matched with it. MLP-K matches no edges."""


def series() -> list[Series]:
    """One case, with all methods."""
    methods = {
        method: se_gnn_settings(DATASET) if method == "se-gnn" else baseline_settings(DATASET, method)
        for method in METHODS
    }
    settings = {"hops": 2, "edges_between": [5, 8], "methods": methods}
    return [Series(kind="case", dataset=DATASET, method="all", settings=settings, seeded=False)]


def render(store: Store, pictures: Path) -> str:
    """The pictures side by side."""
    paper = printed("figure_4")
    words = f"The paper says: {paper['text']} It does not print {paper['not_printed']}."
    results = store.of(series()[0])
    if not results:
        return f"{words}\n\n{MISSING.capitalize()}."
    draw_case(results[0].measures, pictures / "figure-4.svg")
    return f"{words}\n\n{NOTE}\n\n![a case from Citeseer](results/figure-4.svg)"


def draw_case(case: dict[str, Any], path: Path) -> None:
    """A picture of the target and one of each method's nearest labeled node."""
    label_of = dict(zip(case["shown"], case["labels"]))
    names = case["class_names"]
    titles = [f"target: {names[label_of[case['node']]]}"]
    titles += [f"{NAMES[method]}: {names[label_of[one['node']]]}" for method, one in case["nearest"].items()]
    figure, axes = chart.panels(titles, columns=len(titles), width=2.6, height=2.9)
    numbers = [[i + 1] for i in range(len(case["edges"]))]
    _draw(axes[0], case, case["node"], case["edges"], numbers)
    for panel, one in zip(axes[1:], case["nearest"].values()):
        numbers = [[i + 1 for i, edge in enumerate(one["matches"] or []) if edge == j] for j in range(len(one["edges"]))]
        _draw(panel, case, one["node"], one["edges"], numbers)
    for label in sorted(set(case["labels"])):
        style = class_style(label)
        axes[0].scatter([], [], color=style.color, marker=style.marker, label=names[label])
    chart.finish(figure, path)


def _draw(axes: Axes, case: dict[str, Any], center: int, edges: list[list[int]], numbers: list[list[int]]) -> None:
    place, label_of = dict(zip(case["shown"], case["places"])), dict(zip(case["shown"], case["labels"]))
    with neutral():
        for edge, found in zip(edges, numbers):
            ends = np.array([place[node] for node in edge])
            axes.plot(*ends.T, color=INK if found else EDGE_COLOR, linewidth=1.4 if found else 0.8, zorder=1)
            if found:
                axes.text(
                    *ends.mean(axis=0), ",".join(map(str, found)), ha="center", va="center", fontsize=SMALL, zorder=4,
                    color="white", bbox={"boxstyle": "round,pad=0.15", "fc": MATCH_COLORS[0], "ec": "white", "lw": 0.5},
                )  # fmt: skip
        for node in sorted({center, *(end for edge in edges for end in edge)}):
            style = class_style(label_of[node])
            axes.scatter(
                *place[node], color=style.color, marker=style.marker, s=110 if node == center else 45, zorder=3,
                edgecolors=INK if node == center else "white", linewidths=1.6 if node == center else 0.6,
            )  # fmt: skip
        all_places = np.array(case["places"])
        margin = 0.08 * np.ptp(all_places, axis=0)
        axes.set_xlim(all_places[:, 0].min() - margin[0], all_places[:, 0].max() + margin[0])
        axes.set_ylim(all_places[:, 1].min() - margin[1], all_places[:, 1].max() + margin[1])
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_color("#DDDDDD")
        axes.spines[["top", "right"]].set_visible(True)
