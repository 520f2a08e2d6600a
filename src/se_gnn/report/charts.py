"""The charts of the pages as SVG, in the colors of the page. Shapes: T nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from se_gnn.display.text import shorten
from se_gnn.explain.explanation import Explanation, NodeInfo, NumberAnswer
from se_gnn.graph.arrays import Float64Array
from se_gnn.model.metrics import Calibration
from se_gnn.number_format import decimal, percent, tenths
from se_gnn.plot.style import readable
from se_gnn.plot.svg import Svg, add, as_text, picture

if TYPE_CHECKING:  # links are learned with scikit-learn, which takes a second to import
    from se_gnn.links import NeighborVote, PairExplanation
    from se_gnn.links.explain import End

_LEFT, _BOTTOM = 34, 30  # room for what stands beside the axes
_MOST_TICKS = 6


def _axes(kind: str, width: float, height: float, label: str, across: str, ticks: dict[float, str]) -> Svg:
    """An empty chart: shares from 0% to 100% upward, and ``ticks`` at their places across."""
    root = picture(kind, (-_LEFT, -8, width + _LEFT + 14, height + _BOTTOM + 14), label)
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = height * (1 - share)
        add(root, "line", class_="grid", x1=0, x2=width, y1=y, y2=y)
        add(root, "text", f"{share:.0%}", x=-5, y=y + 3, text_anchor="end")
    for x, text in ticks.items():
        add(root, "text", text, x=x, y=height + 13, text_anchor="middle")
    add(root, "text", across, x=width / 2, y=height + 28, text_anchor="middle")
    return root


def reliability_diagram(calibration: Calibration) -> str:
    """Bars: how often predictions of about this probability are right. Diagonal: where they should reach."""
    size = 200
    error = f"Reliability diagram, expected calibration error {percent(calibration.error)}"
    ticks = {size * share: f"{share:.0%}" for share in (0, 0.25, 0.5, 0.75, 1)}
    label = f"{error}; its numbers are in the table beside it."
    root = _axes("reliability", size, size, label, "probability of the predicted class", ticks)
    for one in calibration.bins:
        group, box = add(root, "g"), {"x": size * one.low + 1, "width": size * (one.high - one.low) - 2}
        low, high = sorted((one.accuracy, one.probability))
        add(group, "rect", class_="accuracy", y=size * (1 - one.accuracy), height=size * one.accuracy, **box)
        add(group, "rect", class_="gap", y=size * (1 - high), height=size * (high - low), **box)
        right = f"{one.nodes:,} nodes, {percent(one.accuracy)} right"
        title = f"{one.low:.0%} to {one.high:.0%}: {right} at a mean probability of {percent(one.probability)}"
        add(group, "title", title)
    add(root, "line", class_="diagonal", x1=0, y1=size, x2=size, y2=0)
    return as_text(root)


def certified_chart(removed: Float64Array, relabeled: Float64Array) -> str:
    """Steps from all predictions at r = 0 down; a curve that ends before the other stays at its last value."""
    width, height, most = 260, 150, max(len(removed), len(relabeled)) - 1
    curves = {
        kind: np.concatenate([curve, np.full(most + 1 - len(curve), curve[-1])])
        for kind, curve in (("relabeled", relabeled), ("removed", removed))
    }
    one = {kind: percent(float(curve[min(1, most)])) for kind, curve in curves.items()}
    label = (
        f"Share of predictions that no change of up to r labeled nodes changes: for r = 1, {one['removed']} if they "
        f"are removed and {one['relabeled']} if they are relabeled; more numbers are in the table beside it."
    )
    ticks = {width * r / most: str(r) for r in range(0, most + 1, max(1, -(-most // _MOST_TICKS)))}
    across = "r, labeled nodes removed (solid) or relabeled (dashed)"
    root = _axes("certified", width, height, label, across, ticks)
    for kind, curve in curves.items():
        (_, top), *rest = ((width * r / most, height * (1 - share)) for r, share in enumerate(curve.tolist()))
        path = f"M0 {top:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)
        add(add(root, "path", class_=kind, d=path), "title", f"labeled nodes are {kind}")
    return as_text(root)


_WIDE, _TALL, _EDGE = 420, 90, 10  # of a distribution


def distribution(explanation: Explanation) -> str:
    """The values that vote, each as a bar of its weight; the prediction as a line, its interval as a band.

    If the model abstains, the prediction is not drawn.
    """
    answer, known = explanation.answer, explanation.query.number
    assert isinstance(answer, NumberAnswer)
    votes = [(one, one.number) for one in explanation.votes if one.number is not None]
    values, marks = [value for _, value in votes], {} if known is None else {"known": known}
    interval = None if answer.low is None or answer.high is None else (answer.low, answer.high)
    if answer.abstained is None:
        marks["predicted"] = answer.value
    else:
        interval = None
    ends = [*values, *marks.values(), *(interval or ())]
    low, high, floor = float(min(ends)), float(max(ends)), _TALL - 24
    heaviest = max(one.weight for one in explanation.votes) or 1.0

    def place(value: float) -> float:
        return _EDGE + (_WIDE - 2 * _EDGE) * (value - low) / ((high - low) or 1)

    label = f"{len(values)} values that vote, from {answer.text(min(values))} to {answer.text(max(values))}"
    root, ink = picture("distribution", (0, 0, _WIDE, _TALL), label), {"fill": "currentColor"}
    if interval is not None:
        left, right = map(place, interval)
        box = {"x": left, "width": right - left, "y": 4, "height": floor - 4}
        add(root, "rect", class_="interval", **box, **ink, fill_opacity="0.1")
    for one, value in votes:
        tall = (floor - 10) * one.weight / heaviest
        box = {"x": place(value) - 2, "width": 4, "y": floor - tall, "height": tall}
        title = f"{explanation.caption(one.node)}: {answer.text(value)}, weight {tenths(one.weight)}"
        add(add(root, "rect", **box, **ink, fill_opacity="0.55"), "title", title)
    for name, value in marks.items():
        x, dash = place(value), {"stroke_dasharray": "4 3"} if name == "known" else {}
        line = add(root, "line", class_=name, x1=x, x2=x, y1=0, y2=floor, stroke="currentColor", stroke_width=2, **dash)
        add(line, "title", name)
    for value, anchor in ((low, "start"), (high, "end")):
        add(root, "text", answer.text(value), x=place(value), y=_TALL - 8, text_anchor=anchor, font_size=12)
    return as_text(root)


def known_and_predicted(known: Float64Array, predicted: Float64Array, name: str) -> str:
    """Nodes by their known and their predicted number, [T] each; on the diagonal both are the same."""
    side = 260
    label = f"Known (across) and predicted (up) {name} of {len(known):,} nodes"
    root = picture("scatter", (0, 0, side, side), label)
    root.set("width", str(side))
    low, high = min(known.min(), predicted.min()), max(known.max(), predicted.max())
    across, up = ((side - 8) * (values - low) / ((high - low) or 1) + 4 for values in (known, predicted))
    add(root, "line", class_="diagonal", x1=4, y1=side - 4, x2=side - 4, y2=4, stroke="currentColor")
    for x, y in zip(across.tolist(), up.tolist()):
        add(root, "circle", cx=x, cy=side - y, r=2, fill="currentColor", fill_opacity="0.4")
    return as_text(root)


_PAIR_WIDE, _STEP, _TOP, _LONGEST = 720, 26, 24, 18
ENDS: dict[End, int] = {"source": 290, "target": _PAIR_WIDE - 290}  # where the two nodes stand


def pair_picture(explanation: PairExplanation) -> str:
    """A pair of nodes in the middle, and their neighbors at both sides, those that vote first.

    A neighbor that votes is joined by a dashed line with the end that it is similar to.
    """
    listed: dict[End, list[tuple[NodeInfo, NeighborVote | None]]] = {
        end: [
            *((vote.node, vote) for vote in explanation.votes_of(end)),
            *((node, None) for node in explanation.others[end]),
        ]
        for end in ENDS
    }
    height = 2 * _TOP + _STEP * max(0, *(len(some) - 1 for some in listed.values()))
    label = "Neighbors of both nodes; dashed lines join neighbors that vote with the node they are similar to"
    root = picture("pair-picture", (0, 0, _PAIR_WIDE, height), label)
    root.attrib |= {"fill": "currentColor", "stroke": "none", "font-size": "12"}
    lines, marks = add(root, "g"), add(root, "g")
    for end, middle in ENDS.items():
        side, anchor = (-1, "end") if end == "source" else (1, "start")
        x = middle + 140 * side
        for i, (node, vote) in enumerate(listed[end]):
            y, shown = _TOP + _STEP * i, readable(shorten(node.caption, _LONGEST))
            from_here: dict[str, float | str] = {"x1": x, "y1": y, "y2": height / 2}
            add(lines, "line", **from_here, x2=middle, stroke="var(--edge)", stroke_width=1 if vote is None else 2)
            if vote is not None:
                other: dict[str, float | str] = {"stroke": "var(--accent)", "stroke_dasharray": "4 4"}
                add(lines, "line", **from_here, x2=_PAIR_WIDE - middle, stroke_width=1.5, **other)
                shown += f" ({decimal(vote.similarity)})"
            radius, color = (4, "var(--field)") if vote is None else (6, "var(--accent)")
            add(marks, "circle", cx=x, cy=y, r=radius, fill=color)
            add(marks, "text", shown, x=x + 11 * side, y=y + 4, text_anchor=anchor)
        own = explanation.query.source if end == "source" else explanation.query.target
        ring = {"fill": "var(--paper)", "stroke": "currentColor", "stroke_width": "2.5"}
        add(marks, "circle", cx=middle, cy=height / 2, r=9, **ring)
        name = readable(shorten(own.caption, _LONGEST))
        add(marks, "text", name, x=middle, y=height / 2 + 24, text_anchor="middle", font_weight="bold")
    return as_text(root)
