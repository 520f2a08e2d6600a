"""Agreement between raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable


def krippendorff_alpha(units: Iterable[Iterable[Hashable]]) -> float | None:
    r"""Krippendorff's alpha for nominal data, where raters may have left any unit out.

    :math:`\alpha = 1 - D_o / D_e`: observed over expected disagreement. Within a unit of m values each ordered pair of
    them counts :math:`1 / (m - 1)`; expected are the pairs of all values that were paired. 1 is perfect agreement,
    0 what chance gives. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).

    Args:
        units: the values that each unit got; a unit with fewer than two says nothing.

    Returns:
        None where nothing can be said: no unit has two values, or all values are the same.

    >>> krippendorff_alpha([["yes", "yes"], ["no", "no"], ["yes", "no"], ["no"]])
    0.4444444444444444
    """
    totals: Counter[Hashable] = Counter()
    observed = 0.0
    for unit in units:
        counts = Counter(unit)
        paired = counts.total()
        if paired < 2:
            continue
        totals += counts
        observed += (paired**2 - sum(count**2 for count in counts.values())) / (paired - 1)
    n = totals.total()
    expected = n**2 - sum(count**2 for count in totals.values())
    return None if not expected else 1 - (n - 1) * observed / expected
