"""One explanation on one page: pictures of nodes, matched local graphs, effects of attributes, the vote as bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from se_gnn.errors import InputError
from se_gnn.explain import CRUCIAL_EDGES, CaseVote, Explanation, NodeInfo
from se_gnn.explain.explanation import NumberAnswer
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.number_format import effect, percent
from se_gnn.optional import require
from se_gnn.plot.local_view import LocalView
from se_gnn.plot.style import (
    FAINT,
    INK,
    LARGE,
    NODE_TERM_COLOR,
    NORMAL,
    SMALL,
    STRUCTURE_TERM_COLOR,
    blank_figure,
    class_style,
    legend_marks,
    neutral,
    number_style,
    show,
)
from se_gnn.plot.svg import local_graph_pictures, node_styles, paint, shown_types, type_look
from se_gnn.similarity import measure_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase


MOST_VOTES = 20  # bars of single cases; the others are summed up by class
ROW_INCHES, MARGIN_INCHES = 0.19, 1.3


Part = tuple[float, Callable[["FigureBase"], None]]  # inches that it needs, and what fills them


class Bar(NamedTuple):
    """One bar of the vote: a case, or the sum of those of one class that are not shown one by one."""

    text: str
    label: int
    weight: float
    vote: CaseVote | None
    cases: int = 1  # 0: the reserve


def vote_bars(explanation: Explanation, most: int = MOST_VOTES) -> list[Bar]:
    """The cases, nearest first; beyond ``most`` they are summed up by class. The weights add up to 1."""
    votes = explanation.votes
    single = votes if len(votes) <= most + 1 else votes[:most]
    bars = []
    for one in single:
        caption = show(explanation.caption(one.node))
        shown = show(explanation.answer_of(one), max(16, 36 - len(caption)))  # the shorter the longer the caption is
        text = f"{caption}  {shown}" if explanation.answer.kind == "number" else f"{caption}  ‘{shown}’"
        bars.append(Bar(text, one.label, one.weight, one))
    rest = votes[len(single) :]
    for label in dict.fromkeys(one.label for one in rest):
        weights = [one.weight for one in rest if one.label == label]
        shown = "" if label == UNKNOWN else f"  ‘{show(explanation.class_names[label])}’"
        bars.append(Bar(f"and {len(weights)} more{shown}", label, sum(weights), None, len(weights)))
    if explanation.reserve:
        bars.append(Bar("reserved, spread evenly", UNKNOWN, explanation.reserve, None, 0))
    return bars


def _vote(explanation: Explanation) -> Part:
    """The sum of the vote, the weight of each case, and the terms of its similarity."""
    bars = vote_bars(explanation)
    height = MARGIN_INCHES + ROW_INCHES * len(bars)

    def draw(figure: FigureBase) -> None:
        bottom, top = 0.65 / height, 1 - 0.62 / height
        grid = figure.add_gridspec(
            1, 2, left=0.27, right=0.98, bottom=bottom, top=top, wspace=0.08, width_ratios=(3, 2)
        )
        weights, terms = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        _draw_weights(weights, bars, explanation)
        _draw_terms(terms, bars, explanation)
        figure.legend(
            *terms.get_legend_handles_labels(), loc="lower right", bbox_to_anchor=(0.985, 0.04 / height),
            fontsize=SMALL, ncols=2, frameon=False, borderpad=0,
        )  # fmt: skip
        if explanation.answer.abstained is not None:
            return
        strip = figure.add_axes((0.27, 1 - 0.32 / height, 0.71, 0.2 / height))
        if isinstance(explanation.answer, NumberAnswer):
            _draw_values(strip, explanation, explanation.answer)
        else:
            _draw_probabilities(strip, explanation)

    return height, draw


def _draw_values(axes: Axes, explanation: Explanation, answer: NumberAnswer) -> None:
    """The values that vote, each as a bar of its weight; the prediction as a line, its interval as a band."""
    values = [one.number for one in explanation.votes if one.number is not None]
    ends = [*values, *(end for end in (answer.low, answer.high) if end is not None)]
    room = 0.02 * ((max(ends) - min(ends)) or 1.0)
    if answer.low is not None and answer.high is not None:
        axes.axvspan(answer.low, answer.high, color=STRUCTURE_TERM_COLOR, alpha=0.4, linewidth=0)
    heaviest = max(one.weight for one in explanation.votes) or 1.0
    axes.vlines(values, 0, [one.weight / heaviest for one in explanation.votes], color=number_style(0.7).color)
    axes.axvline(answer.value, color=INK, linewidth=1.2)
    axes.set(xlim=(min(ends) - room, max(ends) + room), ylim=(0, 1.05), xticks=[], yticks=[0.5])
    low, high = (show(answer.text(end)) for end in (min(ends), max(ends)))
    axes.set_yticklabels([f"values that vote,\n{low} to {high}"], fontsize=SMALL, color=INK)
    _bare(axes)


def _draw_probabilities(axes: Axes, explanation: Explanation) -> None:
    """The probabilities, side by side: a class is as wide as the weights of its cases together."""
    start = 0.0
    for label, share in explanation.shares:
        style = class_style(label)
        axes.barh(0, share, left=start, height=1, color=style.color, edgecolor="white", linewidth=1)
        text = f"‘{show(explanation.class_names[label])}’ {percent(share)}"
        if share > 0.013 * len(text):
            axes.text(start + share / 2, 0, text, ha="center", va="center_baseline", fontsize=SMALL, color=style.ink)
        start += share
    axes.set(xlim=(0, 1), ylim=(-0.5, 0.5), xticks=[], yticks=[0])
    axes.set_yticklabels(["probability of each class"], fontsize=SMALL, color=INK)
    _bare(axes)


def _draw_weights(axes: Axes, bars: list[Bar], explanation: Explanation) -> None:
    rows = np.arange(len(bars))
    shares = [bar.weight for bar in bars]
    cases = node_styles(explanation, np.array([bar.vote.node for bar in bars if bar.vote is not None]))
    colors = [style.color for style in cases] + [class_style(bar.label).color for bar in bars[len(cases) :]]
    drawn = axes.barh(rows, shares, height=0.74, color=colors)
    for bar, patch in zip(bars, drawn):
        if bar.vote is None:
            patch.set_alpha(0.45)
    axes.bar_label(drawn, [percent(share) for share in shares], padding=3, fontsize=SMALL, color=INK)
    axes.set(xlim=(0, max(shares) * 1.15), ylim=(len(bars) - 0.4, -0.6), xticks=[], yticks=rows)
    axes.set_yticklabels([bar.text for bar in bars], fontsize=SMALL, color=INK)
    axes.set_title("weight in the vote", fontsize=NORMAL, color=INK, loc="left", pad=4)
    _bare(axes)


def _draw_terms(axes: Axes, bars: list[Bar], explanation: Explanation) -> None:
    """Node term and structure term of each similarity, stacked away from zero where they have one sign."""
    votes = {row: bar.vote for row, bar in enumerate(bars) if bar.vote is not None}
    rows = list(votes)
    node = np.array([one.node_term for one in votes.values()])
    structure = np.array([one.structure_term for one in votes.values()])
    start = np.where(np.sign(node) == np.sign(structure), node, 0.0)
    axes.barh(rows, node, height=0.74, color=NODE_TERM_COLOR, label="node term")
    axes.barh(rows, structure, left=start, height=0.74, color=STRUCTURE_TERM_COLOR, label="structure term")
    axes.axvline(0, color=FAINT, linewidth=0.8)
    low, high = axes.get_xlim()
    axes.set(ylim=(len(bars) - 0.4, -0.6), yticks=[], xlim=(low, high))
    axes.tick_params(axis="x", labelsize=SMALL, colors=FAINT)
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("similarity = node term + structure term", fontsize=NORMAL, color=INK, loc="left", pad=4)
    measure = measure_named(explanation.settings.measure)
    if not measure.unit:
        axes.set_xlabel(
            f"{measure.words}: {measure.of_equals:g} means equal", fontsize=SMALL, color=FAINT, labelpad=2, loc="right"
        )
    _bare(axes)


def _bare(axes: Axes) -> None:
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)


Arrangement = Literal["structure", "features"]

MOST_CASES = 3  # unless more are asked for
COLUMNS = 4
PANEL_INCHES, ABOVE_INCHES, BELOW_INCHES, BETWEEN_INCHES = 2.4, 0.45, 0.95, 0.72
MOST_TYPES = 6  # of the legend

READING = (
    "Same number and color: matched edges. Bold: the most important edges of the node to explain, and what they are "
    "matched with. Width: similarity."
)

BY_FEATURES = " Places: t-SNE of the attributes."

LEADS = " Arrows: where an edge leads."

WITHOUT_EDGES = "no edges: compared by\nits own attributes alone"
NOTHING_MATCHED = "Without edges to match, the nodes were compared by their own attributes alone."


def _local_graphs(explanation: Explanation, *, num_cases: int, crucial_edges: int, by_features: Graph | None) -> Part:
    """One panel per local graph, the node's own and those of the nearest cases: inches, and what fills them.

    Nodes stand on the ring of their hops; or, with a graph, where t-SNE puts their attributes (``by_features``): then
    the same node stands in the same place of every panel.
    """
    pictures = local_graph_pictures(
        explanation, num_cases=num_cases, crucial_edges=crucial_edges, by_features=by_features
    )
    views = [one.view for one in pictures]
    captions = [show(explanation.caption(int(view.nodes[0])), 18 if i == 0 else 24) for i, view in enumerate(views)]
    word = "known value" if isinstance(explanation.answer, NumberAnswer) else "label"
    titles = [f"to explain: {captions[0]}\n{word} {_known_text(explanation.query, explanation)}"] + [
        f"{caption}\n{_known_text(explanation.nodes[vote.node], explanation)}, weight {percent(vote.weight)}"
        for vote, caption in zip(explanation.full, captions[1:])
    ]
    rows = -(-len(views) // COLUMNS)
    height = ABOVE_INCHES + BELOW_INCHES + rows * PANEL_INCHES + (rows - 1) * BETWEEN_INCHES

    def fill(figure: FigureBase) -> None:
        grid = figure.add_gridspec(
            rows, COLUMNS, left=0.01, right=0.99, bottom=BELOW_INCHES / height, top=1 - ABOVE_INCHES / height,
            wspace=0.04, hspace=BETWEEN_INCHES / PANEL_INCHES,
        )  # fmt: skip
        for i, (picture, title) in enumerate(zip(pictures, titles)):
            axes = figure.add_subplot(grid[divmod(i, COLUMNS)])
            paint(axes, picture.root)
            axes.set_title(title, fontsize=NORMAL, color=INK, linespacing=1.3)
            below: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "top", "fontsize": SMALL}
            axes.text(
                0.5, -0.01, picture.view.drawn if len(picture.view.edges) else WITHOUT_EDGES, color=FAINT, **below
            )
        _legend(figure, views, explanation, BY_FEATURES if by_features is not None else "", height)

    return height, fill


def _known_text(node: NodeInfo, explanation: Explanation, limit: int = 20) -> str:
    """The known class or number of a node, in words."""
    known = show(explanation.answer_of(node), limit)
    return (known if explanation.answer.kind == "number" else f"‘{known}’") if known else "not known"


def _legend(figure: FigureBase, views: list[LocalView], explanation: Explanation, places: str, height: float) -> None:
    lines: Any = require("matplotlib.lines", extra="plot", feature="pictures")
    shown = [explanation.nodes[node] for view in views for node in view.nodes.tolist()]
    counts = Counter(node.label for node in shown)
    unknown = [(class_style(UNKNOWN), "gray: unknown", counts.pop(UNKNOWN))] if UNKNOWN in counts else []
    if isinstance(explanation.answer, NumberAnswer):
        unknown = [one for one in unknown if any(node.number is None for node in shown)]
        looks = [(number_style(0), "light: low", 1), (number_style(1), "dark: high", 1)]
    else:
        longest = 24 if len(counts) + len(unknown) <= 5 else 16
        looks = [
            (class_style(label), show(explanation.class_names[label], longest), counts[label])
            for label in sorted(counts)
        ]
    handles, names = legend_marks([*unknown, *looks])
    for number, name in list(shown_types(explanation, views).items())[:MOST_TYPES]:
        color, dash = type_look(number)
        handles.append(lines.Line2D([], [], color=color, linestyle=(0, dash) if dash else "solid", linewidth=1.6))
        names.append(show(name, 20))
    matched = any(numbers for view in views for numbers in view.numbers)
    reading = (READING if matched else NOTHING_MATCHED) + places
    if any(explanation.edges[edge].directed for view in views for edge in view.edge_ids.tolist()):
        reading += LEADS
    figure.text(0.5, 0.56 / height, reading, ha="center", fontsize=SMALL, color=INK)
    figure.legend(
        handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.54 / height), ncols=7 if len(names) <= 14 else 8,
        frameon=False, fontsize=SMALL, handletextpad=0.2, columnspacing=1.2, borderpad=0.2,
    )  # fmt: skip


MOST_ATTRIBUTES = 5
ATTRIBUTE_INCHES, ATTRIBUTES_MARGIN = 0.17, 0.42

NOTHING_MATTERS = "no single attribute"
ATTRIBUTES_HEADING = "what makes them similar"
ATTRIBUTES_READING = "its value, the case's value\nand what it does for\ntheir node similarity"


def _attributes(explanation: Explanation, num_cases: int) -> Part | None:
    """What each case in the first row of local graphs shares, with values and effect, below its local graph.

    None: no case shares anything that matters.
    """
    shared = [vote.attributes for vote in explanation.votes[: min(num_cases, COLUMNS - 1)]]
    listed = [
        [
            (show(one.name, 14), f"{show(one.value, 9)}, {show(one.other_value, 9)}  {effect(one.effect)}")
            for one in (some.that_matter[:MOST_ATTRIBUTES] if some is not None else ())
        ]
        for some in shared
    ]
    if not any(listed):
        return None
    height = ATTRIBUTES_MARGIN + ATTRIBUTE_INCHES * max(3, *map(len, listed))

    def draw(figure: FigureBase) -> None:
        width, top, step = 0.98 / COLUMNS, 1 - 0.1 / height, ATTRIBUTE_INCHES / height
        figure.text(0.01 + width / 2, top, ATTRIBUTES_HEADING, fontsize=NORMAL, color=INK, ha="center", va="top")
        below: dict[str, Any] = {"fontsize": SMALL, "color": FAINT, "ha": "center", "va": "top", "linespacing": 1.4}
        figure.text(0.01 + width / 2, top - step, ATTRIBUTES_READING, **below)
        for i, lines in enumerate(listed, start=1):
            left = 0.01 + i * width
            for row, (name, values) in enumerate(lines or [(NOTHING_MATTERS, "")]):
                look: dict[str, Any] = {"y": top - row * step, "fontsize": SMALL, "va": "top"}
                figure.text(left + 0.005, s=name, color=INK, gid="attribute", **look)
                figure.text(left + width - 0.01, s=values, color=FAINT, ha="right", **look)

    return height, draw


MOST_PICTURES = 10


def _draw_pictures(figure: FigureBase, explanation: Explanation) -> None:
    """The node's picture and those of the nearest cases, framed in their class color."""
    shown = [one for one in explanation.votes[:MOST_PICTURES] if explanation.nodes[one.node].image is not None]
    nodes = [explanation.query, *(explanation.nodes[one.node] for one in shown)]
    styles = node_styles(explanation, np.array([node.id for node in nodes]))
    pictures = [np.array(node.image, dtype=np.float32) for node in nodes]
    low, high = min(p.min() for p in pictures), max(p.max() for p in pictures)
    grid = figure.add_gridspec(
        1, 1 + MOST_PICTURES, left=0.015, right=0.985, bottom=0.2, top=0.8, wspace=0.18,
        width_ratios=(1.6,) + (1.0,) * MOST_PICTURES,
    )  # fmt: skip
    for i, (node, picture) in enumerate(zip(nodes, pictures)):
        axes = figure.add_subplot(grid[0, i])
        axes.imshow(picture, cmap="gray_r", vmin=low, vmax=high, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        _frame(axes, INK if i == 0 else styles[i].color)
        text = _known_text(node, explanation, 24 if i == 0 else 10)
        if i == 0:
            text = f"label {text}"
            axes.set_title("to explain", fontsize=NORMAL, color=INK, pad=4)
        else:
            text = f"{text}  {percent(shown[i - 1].weight)}"
        axes.set_xlabel(text, fontsize=NORMAL, color=INK, labelpad=3)
        if i == 1:
            axes.set_title("nearest cases, with their weights", fontsize=NORMAL, color=INK, loc="left", pad=4)
    hidden = len(explanation.votes) - len(shown)
    if hidden:
        figure.text(0.985, 0.02, f"and {hidden} more", ha="right", va="bottom", fontsize=SMALL, color=FAINT)


def _frame(axes: Axes, color: str) -> None:
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=2.5)


WIDTH = 10.0  # inches
TITLE_HEIGHT, PICTURES_HEIGHT = 0.55, 1.4


def explanation_figure(
    explanation: Explanation,
    *,
    num_cases: int = MOST_CASES,
    crucial_edges: int = CRUCIAL_EDGES,
    arrangement: Arrangement = "structure",
    graph: Graph | None = None,
) -> Figure:
    """Why a node was predicted as it was, as a matplotlib figure that belongs to no window.

    From top to bottom: the picture of the node and those of the nearest cases (if nodes are pictures), the matched
    local graphs, the effects of attributes (if they were computed), the vote.

    Args:
        explanation: what to show.
        num_cases: how many of the nearest cases are drawn with their local graphs.
        crucial_edges: how many of the most important edges are bold and numbered.
        arrangement: nodes of a local graph stand by ``structure``, or by ``features`` (t-SNE of their attributes).
        graph: the graph of the node, which ``features`` needs.
    """
    for name, count, least in (("num_cases", num_cases, 1), ("crucial_edges", crucial_edges, 0)):
        if count < least:
            raise InputError(f"{name} must be at least {least}, got {count}")
    if arrangement not in get_args(Arrangement):
        raise InputError(f"arrangement must be structure or features, got {arrangement!r}")
    if arrangement == "features" and graph is None:
        raise InputError('arrangement="features" places nodes by their attributes: give the graph with it')
    shown, drawn = min(num_cases, len(explanation.full)), explanation.query.image is not None
    by_features = graph if arrangement == "features" else None
    parts: list[Part | None] = [
        (TITLE_HEIGHT, partial(_draw_title, explanation=explanation)),
        (PICTURES_HEIGHT, partial(_draw_pictures, explanation=explanation)) if drawn else None,
        _local_graphs(explanation, num_cases=num_cases, crucial_edges=crucial_edges, by_features=by_features),
        None if drawn else _attributes(explanation, shown),
        _vote(explanation),
    ]
    heights, painters = zip(*(part for part in parts if part is not None))
    with neutral():
        figure = blank_figure(WIDTH, sum(heights))
        rows = figure.subfigures(len(heights), 1, height_ratios=list(heights), hspace=0, squeeze=False)[:, 0]
        for row, paint in zip(rows, painters):
            paint(row)
    return figure


def _draw_title(figure: FigureBase, explanation: Explanation) -> None:
    figure.text(0.015, 0.62, title_of(explanation), fontsize=LARGE, fontweight="bold", color=INK, va="center")
    figure.text(0.015, 0.22, _known(explanation), fontsize=NORMAL, color=INK, va="center")


def title_of(explanation: Explanation) -> str:
    """What is predicted of the node, in a line."""
    answer, caption = explanation.answer, show(explanation.caption(explanation.node), 32)
    if answer.abstained is not None:
        return f"{caption} is too unlike anything known to be predicted"
    if isinstance(answer, NumberAnswer):
        shown = f"{show(answer.name)} of {caption}: {show(answer.text(answer.value))}"
        ends = [answer.text(end) for end in (answer.low, answer.high) if end is not None]
        return shown + (f" ({answer.coverage:.0%} interval {show(' to '.join(ends), 60)})" if ends else "")
    share = percent(explanation.probabilities[explanation.predicted])
    return f"{caption} is predicted ‘{show(explanation.predicted_name)}’ ({share})"


def _known(explanation: Explanation) -> str:
    known = show(explanation.answer_of(explanation.query))
    if explanation.answer.kind == "number":
        left_out = "; it was left out of the vote" if explanation.left_out else ""
        return f"its own value is {known or 'not known'}{left_out}"
    if not known:
        return "its label is not known"
    if explanation.left_out:
        return f"it is labeled ‘{known}’ itself; its own label was left out of the vote"
    outcome = "right" if explanation.label == explanation.predicted else "wrong"
    return f"its label is ‘{known}’" + (
        f": the prediction is {outcome}" if explanation.answer.abstained is None else ""
    )
