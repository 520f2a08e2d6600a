"""The reliability diagram as SVG; the colors come from the page."""

from __future__ import annotations

from xml.etree import ElementTree

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
