"""The charts of the pages as SVG, in the colors of the page. Shapes: T nodes."""

from __future__ import annotations

from xml.etree import ElementTree

from se_gnn.explain.explanation import Explanation, NumberAnswer
from se_gnn.graph.arrays import Float64Array
from se_gnn.model.metrics import Calibration
from se_gnn.number_format import percent

_SIZE, _LEFT, _BOTTOM = 200, 34, 30


def reliability_diagram(calibration: Calibration) -> str:
    """Bars: how often predictions of about this probability are right. Diagonal: where they should reach."""
    root = ElementTree.Element(
        "svg",
        {
            "class": "reliability",
            "viewBox": f"{-_LEFT} -8 {_SIZE + _LEFT + 14} {_SIZE + _BOTTOM + 14}",
            "role": "img",
            "aria-label": f"Reliability diagram, expected calibration error {percent(calibration.error)}; "
            "its numbers are in the table beside it.",
        },
    )
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = f"{_SIZE * (1 - tick):g}"
        ElementTree.SubElement(root, "line", {"class": "grid", "x1": "0", "x2": str(_SIZE), "y1": y, "y2": y})
        _text(root, f"{tick:.0%}", -5, _SIZE * (1 - tick) + 3, "end")
        _text(root, f"{tick:.0%}", _SIZE * tick, _SIZE + 13, "middle")
    for one in calibration.bins:
        x, width = _SIZE * one.low + 1, _SIZE * (one.high - one.low) - 2
        box = {"x": f"{x:g}", "width": f"{width:g}"}
        bar = {"y": f"{_SIZE * (1 - one.accuracy):.1f}", "height": f"{_SIZE * one.accuracy:.1f}", **box}
        group = ElementTree.SubElement(root, "g")
        ElementTree.SubElement(group, "rect", {"class": "accuracy", **bar})
        top, bottom = max(one.accuracy, one.probability), min(one.accuracy, one.probability)
        gap = {"y": f"{_SIZE * (1 - top):.1f}", "height": f"{_SIZE * (top - bottom):.1f}", **box}
        ElementTree.SubElement(group, "rect", {"class": "gap", **gap})
        ElementTree.SubElement(group, "title").text = (
            f"{one.low:.0%} to {one.high:.0%}: {one.nodes:,} nodes, {percent(one.accuracy)} right "
            f"at a mean probability of {percent(one.probability)}"
        )
    ends = {"x1": "0", "y1": str(_SIZE), "x2": str(_SIZE), "y2": "0"}
    ElementTree.SubElement(root, "line", {"class": "diagonal", **ends})
    _text(root, "probability of the predicted class", _SIZE / 2, _SIZE + 28, "middle")
    return ElementTree.tostring(root, encoding="unicode")


def _text(root: ElementTree.Element, text: str, x: float, y: float, anchor: str) -> None:
    place = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}
    ElementTree.SubElement(root, "text", place).text = text


_WIDTH, _HEIGHT = 260, 150
_MOST_TICKS = 6


def certified_chart(removed: Float64Array, relabeled: Float64Array) -> str:
    """Steps from all predictions at r = 0 down; a curve that ends before the other stays at its last value."""
    most = max(len(removed), len(relabeled)) - 1
    root = ElementTree.Element(
        "svg",
        {
            "class": "certified",
            "viewBox": f"{-_LEFT} -8 {_WIDTH + _LEFT + 14} {_HEIGHT + _BOTTOM + 14}",
            "role": "img",
            "aria-label": f"Share of predictions that no change of up to r labeled nodes changes: for r = 1, "
            f"{percent(_at(removed, 1))} if they are removed and {percent(_at(relabeled, 1))} if they are relabeled; "
            "more numbers are in the table beside it.",
        },
    )
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = _HEIGHT * (1 - tick)
        ElementTree.SubElement(
            root, "line", {"class": "grid", "x1": "0", "x2": str(_WIDTH), "y1": f"{y:g}", "y2": f"{y:g}"}
        )
        _text(root, f"{tick:.0%}", -5, y + 3, "end")
    step = max(1, -(-most // _MOST_TICKS))
    for r in range(0, most + 1, step):
        _text(root, str(r), _WIDTH * r / most, _HEIGHT + 13, "middle")
    for kind, curve in (("relabeled", relabeled), ("removed", removed)):
        path = _steps([_at(curve, r) for r in range(most + 1)], most)
        line = ElementTree.SubElement(root, "path", {"class": kind, "d": path})
        ElementTree.SubElement(line, "title").text = f"labeled nodes are {kind}"
    _text(root, "r, labeled nodes removed (solid) or relabeled (dashed)", _WIDTH / 2, _HEIGHT + 28, "middle")
    return ElementTree.tostring(root, encoding="unicode")


def _at(curve: Float64Array, r: int) -> float:
    return float(curve[min(r, len(curve) - 1)])


def _steps(shares: list[float], most: int) -> str:
    """A line that keeps its height up to the next r, and falls there."""
    places = [(_WIDTH * r / most, _HEIGHT * (1 - share)) for r, share in enumerate(shares)]
    (_, top), *rest = places
    return f"M0 {top:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest)


_WIDE, _TALL, _EDGE = 420, 90, 10  # of a distribution
_SQUARE = 260  # side of the picture of known and predicted numbers


def distribution(explanation: Explanation) -> str:
    """The values that vote, each as a bar of its weight; the prediction as a line, its interval as a band."""
    answer = explanation.answer
    assert isinstance(answer, NumberAnswer)
    values = [one.number for one in explanation.votes if one.number is not None]
    known = explanation.query.number
    ends = [*values, answer.value, *(end for end in (answer.low, answer.high, known) if end is not None)]
    low, high = min(ends), max(ends)
    heaviest = max(one.weight for one in explanation.votes) or 1.0

    def place(value: float) -> float:
        return _EDGE + (_WIDE - 2 * _EDGE) * (value - low) / ((high - low) or 1)

    said = f"{len(values)} values that vote, from {answer.text(min(values))} to {answer.text(max(values))}"
    root = ElementTree.Element(
        "svg", {"class": "distribution", "viewBox": f"0 0 {_WIDE} {_TALL}", "role": "img", "aria-label": said}
    )
    floor = _TALL - 24
    if answer.low is not None and answer.high is not None:
        box = {"x": f"{place(answer.low):.1f}", "width": f"{place(answer.high) - place(answer.low):.1f}"}
        band = {"class": "interval", "y": "4", "height": f"{floor - 4}", "fill": "currentColor", "fill-opacity": "0.1"}
        ElementTree.SubElement(root, "rect", {**band, **box})
    for one in explanation.votes:
        if one.number is None:
            continue
        tall = (floor - 10) * one.weight / heaviest
        bar = {"x": f"{place(one.number) - 2:.1f}", "width": "4", "y": f"{floor - tall:.1f}", "height": f"{tall:.1f}"}
        shape = ElementTree.SubElement(root, "rect", {**bar, "fill": "currentColor", "fill-opacity": "0.55"})
        title = f"{explanation.caption(one.node)}: {answer.text(one.number)}, weight {one.weight:.1%}"
        ElementTree.SubElement(shape, "title").text = title
    _line(root, place(answer.value), floor, "predicted", dashed=False)
    if known is not None:
        _line(root, place(known), floor, "known", dashed=True)
    for value, anchor in ((low, "start"), (high, "end")):
        place_of = {"x": f"{place(value):.1f}", "y": str(_TALL - 8), "text-anchor": anchor}
        ElementTree.SubElement(root, "text", {**place_of, "font-size": "12"}).text = answer.text(value)
    return ElementTree.tostring(root, encoding="unicode")


def _line(root: ElementTree.Element, x: float, floor: int, name: str, *, dashed: bool) -> None:
    ends = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": "0", "y2": str(floor)}
    style = {"stroke": "currentColor", "stroke-width": "2", **({"stroke-dasharray": "4 3"} if dashed else {})}
    shape = ElementTree.SubElement(root, "line", {"class": name, **ends, **style})
    ElementTree.SubElement(shape, "title").text = name


def known_and_predicted(known: Float64Array, predicted: Float64Array, name: str) -> str:
    """Nodes by their known and their predicted number, [T] each; on the diagonal both are the same."""
    said = f"Known (across) and predicted (up) {name} of {len(known):,} nodes"
    box = {"viewBox": f"0 0 {_SQUARE} {_SQUARE}", "width": str(_SQUARE)}
    root = ElementTree.Element("svg", {"class": "scatter", **box, "role": "img", "aria-label": said})
    low, high = min(known.min(), predicted.min()), max(known.max(), predicted.max())
    across, up = ((_SQUARE - 8) * (values - low) / ((high - low) or 1) + 4 for values in (known, predicted))
    ends = {"x1": "4", "y1": str(_SQUARE - 4), "x2": str(_SQUARE - 4), "y2": "4"}
    ElementTree.SubElement(root, "line", {"class": "diagonal", **ends, "stroke": "currentColor"})
    for x, y in zip(across.tolist(), up.tolist()):
        dot = {"cx": f"{x:.1f}", "cy": f"{_SQUARE - y:.1f}", "r": "2", "fill": "currentColor", "fill-opacity": "0.4"}
        ElementTree.SubElement(root, "circle", dot)
    return ElementTree.tostring(root, encoding="unicode")
