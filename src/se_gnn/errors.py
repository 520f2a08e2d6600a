"""What a user can do wrong, as one exception type: its text names the parameter, the rule and the value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A mistake in what the user gave; the command line prints its text and no traceback."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Close names for an error text, or nothing.

    >>> did_you_mean("coar", ["cora", "digits"])
    " (did you mean 'cora'?)"
    >>> did_you_mean("xyz", ["cora", "digits"])
    ''
    """
    close = difflib.get_close_matches(given, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def shortened(value: object, most: int = 60, *, quoted: bool = True) -> str:
    """A value as an error shows it: one line, and not a page of digits.

    >>> shortened("ten"), shortened(10**400, 12)
    ("'ten'", '100000000...')
    """
    try:
        text = repr(value) if quoted else " ".join(str(value).split())
    except ValueError:  # Python does not write numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= most else text[: most - 3] + "..."
