"""Names of classes that look alike: `a` and `A`, `1` and `1.0` and `01`."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence


def look_alike(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ in capitals, spaces, marks that nobody sees, or the way a number is written.

    >>> look_alike(["a", "b", "A", "1", "01", "1.0"])
    [['a', 'A'], ['1', '01', '1.0']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def merged(counts: Mapping[str, int]) -> dict[str, str]:
    """What each name that looks like another is to be called: the one that most rows have, the first of equals.

    >>> merged({"a": 5, "A": 2, "b": 1})
    {'a': 'a', 'A': 'a'}
    """
    return {name: max(group, key=lambda each: counts[each]) for group in look_alike(list(counts)) for name in group}


def warning(group: Sequence[str]) -> str:
    """A line about classes that look alike and are kept apart."""
    listed = ", ".join(map(repr, group[:-1])) + f" and {group[-1]!r}"
    return f"classes {listed} look alike and are kept apart; if they are one class: --set merge_classes=true"


def _key(name: str) -> str:
    seen = "".join(character for character in name if unicodedata.category(character) != "Cf")  # marks without width
    text = " ".join(unicodedata.normalize("NFKC", seen).casefold().split())
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.17g}"
