"""Text on its way to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display.text import printable, printable_name


@given(st.text())
def test_no_control_character_is_left(text):
    shown = printable_name(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert "\u202e" not in shown


@pytest.mark.parametrize("text", ["plain", "zwölf 中文 🙂", "two\nlines\tand a tab", "non\u00a0breaking"])
def test_what_harms_nothing_stays(text):
    assert printable(text) == text


def test_escape_sequences_are_shown():
    assert printable("\x1b]0;title\x07\r\x9b31m\u202eabc") == "\\u001b]0;title\\u0007\\u000d\\u009b31m\\u202eabc"
