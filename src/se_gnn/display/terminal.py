"""Text from data on its way to a terminal: what would move the cursor or change colors is shown, not done."""

from __future__ import annotations

import unicodedata

_KEPT = "\n\t"
# bidirectional controls reorder what stands around them: a name could rewrite the sentence it is in
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    r"""The text with control characters escaped; line breaks and tabs stay, because our own texts have them.

    >>> printable("a\x1b[31mred\x07")
    'a\\u001b[31mred\\u0007'
    """
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def printable_name(name: str) -> str:
    r"""The same for a name inside a line: a line break or a tab is escaped as well.

    >>> printable_name("two\nlines")
    'two\\nlines'
    """
    return printable(name).replace("\n", "\\n").replace("\t", "\\t")


def _is_harmless(character: str) -> bool:
    if character in _KEPT:
        return True
    return unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and character not in _REORDERING


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"  # which JSON knows as well, so that escaped JSON is the same JSON
