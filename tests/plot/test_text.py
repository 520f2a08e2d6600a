from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.cbook import is_math_text

from se_gnn.plot.style import shorten, show


@given(st.text(max_size=80), st.integers(4, 40))
def test_any_name_is_one_line_within_its_width_and_never_mathematics(name, limit):
    shown = show(name, limit)
    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in shown.replace(r"\$", "$"))
    assert width <= limit
    assert not is_math_text(shown)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in shown)


def test_a_short_name_is_shown_as_it_is():
    assert show("Genetic_Algorithms <b> & co") == shorten("Genetic_Algorithms <b> & co", 24)
    assert show("_^{}\\") == "_^{}\\"


def test_both_ends_of_a_long_name_stay():
    assert shorten("prefix-0001-of-a-common-long-name", 12) == "prefix…-name"


def test_a_wide_character_counts_as_two():
    assert shorten("日本語の名前です", 9) == "日本…です"


def test_a_name_cannot_turn_the_direction_of_what_follows():
    assert show("a\u202eb\u2066c") == "abc"
