"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduce.store import Result

MISSING = "not run yet"
USUAL_SEEDS = 5  # as many as the paper has
NOT_APPLICABLE = "-"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first column to the left and the others to the right."""
    rule = [":---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def paragraphs(*parts: str) -> str:
    """Parts of a section, those that are empty left out."""
    return "\n\n".join(part for part in parts if part)


def percent(mean: float, deviation: float) -> str:
    """Mean and standard deviation, given in percent.

    >>> percent(80.44, 0.31)
    '80.4 ± 0.3'
    """
    return f"{mean:.1f} ± {deviation:.1f}"


def spread(results: Sequence[Result], measure: str, *, item: int | None = None, usual: int = USUAL_SEEDS) -> str:
    """A share over the seeds in percent, or one ``item`` of a list of shares; how many seeds, if not the usual number.

    Mean and standard deviation, of the seeds that were run.
    """
    if not results:
        return MISSING
    values = measured(results, measure)
    if not len(values):
        return NOT_APPLICABLE
    if item is not None:
        values = values[:, item]
    text = percent(100 * values.mean(), 100 * values.std())
    if len(values) == usual:
        return text
    return f"{text} ({len(values)} {'seed' if len(values) == 1 else 'seeds'})"


def one_seed(results: Sequence[Result], measure: str) -> str:
    """A share in percent, of the only seed."""
    return f"{100 * measured(results, measure)[0]:.1f}" if results else MISSING


def measured(results: Sequence[Result], measure: str) -> np.ndarray:
    """A measure, seed by seed, where it applies; a row a seed where it is a list."""
    values = [result.measures.get(measure) for result in results]
    return np.array([value for value in values if value is not None], dtype=float)
