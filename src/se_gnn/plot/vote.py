"""The vote as bars: what each nearest labeled node counts, and what its similarity is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from se_gnn.explain import Explanation, Neighbor
from se_gnn.number_format import percent
from se_gnn.plot.palette import FAINT, INK, NODE_TERM_COLOR, NORMAL, SMALL, STRUCTURE_TERM_COLOR, class_style
from se_gnn.plot.text import show
from se_gnn.similarity import measure_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

MOST_VOTES = 20  # bars of single neighbors; the others are summed up by class
ROW_INCHES, MARGIN_INCHES = 0.19, 1.3


class Bar(NamedTuple):
    """One bar of the vote: a neighbor, or the sum of those of one class that are not shown one by one."""

    text: str
    label: int
    weight: float
    neighbor: Neighbor | None


def vote_bars(explanation: Explanation, most: int = MOST_VOTES) -> list[Bar]:
    """The neighbors, nearest first; beyond ``most`` they are summed up by class. The weights add up to 1."""
    neighbors = explanation.neighbors
    single = neighbors if len(neighbors) <= most + 1 else neighbors[:most]
    captions = [show(explanation.caption(one.node)) for one in single]
    bars = [
        Bar(f"{caption}  ‘{_class_beside(one, caption)}’", one.label, one.weight, one)
        for one, caption in zip(single, captions)
    ]
    rest = neighbors[len(single) :]
    for label in dict.fromkeys(one.label for one in rest):
        weights = [one.weight for one in rest if one.label == label]
        text = f"and {len(weights)} more  ‘{show(explanation.class_names[label])}’"
        bars.append(Bar(text, label, sum(weights), None))
    return bars


def _class_beside(neighbor: Neighbor, caption: str) -> str:
    """The class of a neighbor, the shorter the longer its caption is."""
    return show(neighbor.label_name, max(16, 36 - len(caption)))


def vote_height(explanation: Explanation) -> float:
    """Inches that :func:`draw_vote` needs."""
    return MARGIN_INCHES + ROW_INCHES * len(vote_bars(explanation))


def draw_vote(figure: FigureBase, explanation: Explanation) -> None:
    """Fill ``figure`` with the sum of the vote, the weight of each neighbor, and the terms of its similarity."""
    bars = vote_bars(explanation)
    height = vote_height(explanation)
    bottom, top = 0.65 / height, 1 - 0.62 / height
    grid = figure.add_gridspec(1, 2, left=0.27, right=0.98, bottom=bottom, top=top, wspace=0.08, width_ratios=(3, 2))
    weights, terms = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
    _draw_weights(weights, bars)
    _draw_terms(terms, bars, explanation)
    figure.legend(
        *terms.get_legend_handles_labels(), loc="lower right", bbox_to_anchor=(0.985, 0.04 / height), fontsize=SMALL,
        ncols=2, frameon=False, borderpad=0,
    )  # fmt: skip
    strip = figure.add_axes((0.27, 1 - 0.32 / height, 0.71, 0.2 / height))
    _draw_probabilities(strip, explanation)


def _draw_probabilities(axes: Axes, explanation: Explanation) -> None:
    """The probabilities, side by side: a class is as wide as the weights of its neighbors together."""
    start = 0.0
    for label in np.argsort(-np.array(explanation.probabilities), kind="stable").tolist():
        share = explanation.probabilities[label]
        if share <= 0:
            continue
        style = class_style(label)
        axes.barh(0, share, left=start, height=1, color=style.color, edgecolor="white", linewidth=1)
        text = f"‘{show(explanation.class_names[label])}’ {percent(share)}"
        if share > 0.013 * len(text):
            axes.text(start + share / 2, 0, text, ha="center", va="center_baseline", fontsize=SMALL, color=style.ink)
        start += share
    axes.set(xlim=(0, 1), ylim=(-0.5, 0.5), xticks=[], yticks=[0])
    axes.set_yticklabels(["probability of each class"], fontsize=SMALL, color=INK)
    _bare(axes)


def _draw_weights(axes: Axes, bars: list[Bar]) -> None:
    rows = np.arange(len(bars))
    shares = [bar.weight for bar in bars]
    drawn = axes.barh(rows, shares, height=0.74, color=[class_style(bar.label).color for bar in bars])
    for bar, patch in zip(bars, drawn):
        if bar.neighbor is None:
            patch.set_alpha(0.45)
    axes.bar_label(drawn, [percent(share) for share in shares], padding=3, fontsize=SMALL, color=INK)
    axes.set(xlim=(0, max(shares) * 1.15), ylim=(len(bars) - 0.4, -0.6), xticks=[], yticks=rows)
    axes.set_yticklabels([bar.text for bar in bars], fontsize=SMALL, color=INK)
    axes.set_title("weight in the vote", fontsize=NORMAL, color=INK, loc="left", pad=4)
    _bare(axes)


def _draw_terms(axes: Axes, bars: list[Bar], explanation: Explanation) -> None:
    """Node term and structure term of each similarity, stacked away from zero where they have one sign."""
    neighbors = {row: bar.neighbor for row, bar in enumerate(bars) if bar.neighbor is not None}
    rows = list(neighbors)
    node = np.array([one.node_term for one in neighbors.values()])
    structure = np.array([one.structure_term for one in neighbors.values()])
    start = np.where(np.sign(node) == np.sign(structure), node, 0.0)
    axes.barh(rows, node, height=0.74, color=NODE_TERM_COLOR, label="node term")
    axes.barh(rows, structure, left=start, height=0.74, color=STRUCTURE_TERM_COLOR, label="structure term")
    axes.axvline(0, color=FAINT, linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set(ylim=(len(bars) - 0.4, -0.6), yticks=[], xlim=(low, high))
    axes.tick_params(axis="x", labelsize=SMALL, colors=FAINT)
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("similarity = node term + structure term", fontsize=NORMAL, color=INK, loc="left", pad=4)
    measure = measure_named(explanation.settings.similarity.measure)
    if not measure.unit:
        axes.set_xlabel(
            f"{measure.words}: {measure.of_equals:g} means equal", fontsize=SMALL, color=FAINT, labelpad=2, loc="right"
        )
    _bare(axes)


def _bare(axes: Axes) -> None:
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
