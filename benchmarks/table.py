"""Results and cases as plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.cases import Case, Figure

QUICK_WARNING = "A quick run only shows that every case runs; these are not measurements."


def results_table(results: dict[str, Any]) -> str:
    """One line a figure."""
    rows = [("case", "figure", "median", "min - max", "target", "aim", "")]
    for case in results["cases"]:
        if case["status"] != "measured":
            rows.append((case["name"], f"{case['status']}: {case['reason']}", "", "", "", "", ""))
        for figure in case.get("figures", []):
            rows.append(
                (
                    case["name"],
                    figure["name"],
                    f"{number(figure['median'])} {figure['unit']}",
                    f"{number(figure['low'])} - {number(figure['high'])}",
                    f"{figure['bound']} {number(figure['target'])}",
                    "" if figure["aim"] is None else number(figure["aim"]),
                    "" if results["quick"] else verdict(figure),
                )
            )
    # a reason is as long as it is: it widens no column
    widths = [max(len(row[i]) for row in rows if row[2] or i == 0) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, "", QUICK_WARNING] if results["quick"] else lines)


def describe_cases(cases: Sequence[Case]) -> str:
    """Names, titles and targets."""
    width = max(len(case.name) for case in cases)
    return "\n".join(
        f"{case.name.ljust(width)}  {case.title}; {', '.join(target_text(figure) for figure in case.figures)}"
        for case in cases
    )


def target_text(figure: Figure) -> str:
    """A target in words.

    >>> target_text(Figure(name="speedup", unit="x faster", bound="at least", target=60, aim=100))
    'speedup at least 60 x faster (aim 100)'
    """
    aim = "" if figure.aim is None else f" (aim {number(figure.aim)})"
    return f"{figure.name} {figure.bound} {number(figure.target)} {figure.unit}{aim}"


def verdict(figure: dict[str, Any]) -> str:
    """Whether a measured figure keeps its target and its aim."""
    if not figure["met"]:
        return "falls short"
    if figure["aim_met"]:
        return "met, aim met"
    return "met" if figure["aim_met"] is None else "met, aim not"


def number(value: float) -> str:
    """Three digits, or all of a larger whole number.

    >>> number(0.01234), number(7.0), number(61.23), number(20123.4)
    ('0.0123', '7', '61.2', '20,123')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def seconds(value: float) -> str:
    """Seconds in the unit that suits them.

    >>> seconds(0.0123), seconds(0.0000021), seconds(75)
    ('12.3 ms', '2.1 µs', '75 s')
    """
    if value >= 1:
        return f"{number(value)} s"
    return f"{number(value * 1e3)} ms" if value >= 1e-3 else f"{number(value * 1e6)} µs"
