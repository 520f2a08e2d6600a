"""Numbers as people read them, the same in sentences, tables, pictures and pages."""

from __future__ import annotations

import math


def percent(share: float) -> str:
    """A share with enough digits to tell small ones apart, and never 0% or 100% for what is neither.

    >>> [percent(share) for share in (0, 0.0004, 0.049, 0.81, 0.9996, 1)]
    ['0%', '<0.1%', '4.9%', '81%', '>99%', '100%']
    """
    return tenths(share) if share < 0.0995 else whole(share).replace("over ", ">")


def tenths(share: float) -> str:
    """A share in percent with one digit after the point, and never 0% or 100% for what is neither.

    >>> [tenths(share) for share in (0, 0.00004, 0.049, 0.8123, 0.9999, 1)]
    ['0%', '<0.1%', '4.9%', '81.2%', '>99.9%', '100%']
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.9995 <= share < 1 - 1e-6:  # weights add up to 1 but for their last bits
        return ">99.9%"
    return f"{share:.1%}" if 0 < share < 0.9995 else f"{share:.0%}"


def whole(share: float) -> str:
    """A share in whole percent, as a sentence says it, and never 0% or 100% for what is neither.

    >>> [whole(share) for share in (0, 0.004, 0.049, 0.81, 0.9996, 1)]
    ['0%', 'under 1%', '5%', '81%', 'over 99%', '100%']
    """
    if 0 < share < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= share < 1 - 1e-6 else f"{share:.0%}"


def number(value: float, digits: int = 3) -> str:
    """A number with this many digits after the point, in plain characters; 0 has no sign.

    >>> number(-1.2574), number(-0.0001), number(2, 1)
    ('-1.257', '0.000', '2.0')
    """
    return f"{round(float(value), digits) + 0.0:.{digits}f}"  # + 0.0: no "-0.000"


def decimal(value: float) -> str:
    """A number with two digits after the point and a proper minus sign; a dash if it is not finite.

    >>> [decimal(value) for value in (-1.257, 0.001, -0.001, float("nan"))]
    ['−1.26', '0.00', '0.00', '–']
    """
    return number(value, 2).replace("-", "−") if math.isfinite(value) else "–"


def effect(value: float) -> str:
    """Two digits that count, because effects differ by orders of magnitude.

    >>> [effect(value) for value in (0.4368, -0.01234, 0.0002)]
    ['0.44', '−0.012', '≈ 0']
    """
    return f"{value:.2g}".replace("-", "−") if abs(value) >= 0.001 else "≈ 0"


def known(value: float) -> float | None:
    """A figure for JSON, which has no NaN: None if there was nothing to measure."""
    return None if math.isnan(value) else value


def number_text(value: float, decimals: int, unit: str = "", *, signed: bool = False) -> str:
    """A number with a fixed number of digits after the point (below 0: in tens, hundreds), and its unit.

    >>> number_text(51_283.2, -2, "USD"), number_text(-212, -2, signed=True), number_text(float("inf"), 0)
    ('51,300 USD', '-200', 'unlimited')
    """
    if not math.isfinite(value):
        return "unlimited" if value > 0 else "-unlimited" if value < 0 else "unknown"
    rounded = round(value, decimals) + 0.0  # + 0.0: no "-0"
    shown = f"{rounded:{'+' if signed else ''},.{max(0, decimals)}f}"
    return f"{shown} {unit}" if unit else shown
