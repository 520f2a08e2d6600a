"""The page on what works together, from the declaration that the tests run."""

from __future__ import annotations

from docs.generate.blocks import ROOT, replaced
from tests.combinations.declaration import DATA, FEATURES, NO_SENSE, NoSense

PAGE = ROOT / "docs" / "reference" / "what-works-together.md"
AT_ONCE = 7  # columns of a table that a page is wide enough for


def tables() -> str:
    """What the rows and columns are, the matrix in parts, and the reason of every cell that makes no sense."""
    rows = [f"| {one.name} | {one.how} |" for one in FEATURES]
    columns = [f"| {one.name} | {one.about} |" for one in DATA]
    parts = ["## Features", "\n".join(["| feature | how |", "| --- | --- |", *rows])]
    parts += ["## Data", "\n".join(["| data | what it is |", "| --- | --- |", *columns])]
    parts += ["## Which work together"]
    notes = {cell: number for number, cell in enumerate(dict.fromkeys(NO_SENSE.values()), 1)}
    for low in range(0, len(DATA), AT_ONCE):
        some = DATA[low : low + AT_ONCE]
        lines = [f"| | {' | '.join(one.name for one in some)} |", f"| --- |{' :-: |' * len(some)}"]
        for feature in FEATURES:
            cells = [_cell(feature.name, one.name, notes) for one in some]
            lines.append(f"| {feature.name} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    parts += ["## Combinations that are refused, and why", "\n".join(_reasons(notes))]
    return "\n\n".join(parts)


def _cell(feature: str, data: str, notes: dict[NoSense, int]) -> str:
    found = NO_SENSE.get((feature, data))
    return "yes" if found is None else f"({notes[found]})"


def _reasons(notes: dict[NoSense, int]) -> list[str]:
    lines = []
    for cell, number in notes.items():
        where = [(feature, data) for (feature, data), one in NO_SENSE.items() if one == cell]
        features = ", ".join(feature for feature, _ in where)
        lines.append(f"{number}. **{features}** with **{where[0][1]}**: {cell.because}.")
    return lines


def write_combinations() -> None:
    """Put the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, "combinations", tables()), encoding="utf-8")
