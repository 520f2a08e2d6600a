"""Names of nodes and classes as text that any picture can carry, whatever is in them."""

from __future__ import annotations

import unicodedata

from se_gnn.display.short_names import shorten as shorten

NAME_LENGTH = 24

# control, surrogate, private-use and unassigned characters; line and paragraph separators
_NOT_SHOWN = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def show(name: str, limit: int = NAME_LENGTH) -> str:
    r"""A name as a picture shows it: one line, shortened in the middle, no mathematics, no change of direction.

    >>> show("a_name_of_forty_characters_or_so_in_total")
    'a_name_of_fo…so_in_total'
    >>> print(show("cost: $5 $10"))
    cost: \$5 \$10
    """
    return shorten(readable(name), limit).replace("$", r"\$")  # matplotlib reads what is between two $ as mathematics


def readable(name: str) -> str:
    r"""A name as one line of text: what cannot be seen is taken out or marked, and no direction is changed.

    >>> readable("two\nlines"), readable("evil\u202exe.doc")
    ('two lines', 'evilxe.doc')
    """
    return "".join(_harmless(character) for character in unicodedata.normalize("NFC", name))


def isolated(name: str) -> str:
    """A readable name between the marks U+2068 and U+2069: its direction does not turn the text around it."""
    return f"\u2068{readable(name)}\u2069"


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf":  # joiners and marks that turn the direction of all that follows
        return ""
    if category in _NOT_SHOWN:
        return " " if character in "\t\n\r\u2028\u2029" else "\ufffd"
    return character
