"""The share of predictions that no change of up to r labeled nodes changes, as SVG; the colors come from the page."""

from __future__ import annotations

from xml.etree import ElementTree

from se_gnn.graph.arrays import Float64Array
from se_gnn.number_format import percent

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 260, 150, 34, 30
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


def _text(root: ElementTree.Element, text: str, x: float, y: float, anchor: str) -> None:
    place = {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}
    ElementTree.SubElement(root, "text", place).text = text
