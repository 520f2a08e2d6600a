"""Long names in little space."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display.text import cut, shorten, shorten_pair, width


@given(st.text(st.characters(codec="ascii"), max_size=50), st.integers(1, 60))
def test_a_shortened_text_fits_and_a_short_one_stays(text, width):
    shown = shorten(text, width)
    assert len(shown) <= width
    assert shown == text or len(text) > width


def test_names_that_differ_at_their_end_stay_apart():
    names = [f"a-very-long-paper-identifier-of-40-chars-{i:04d}" for i in range(100)]
    assert len({shorten(name, 20) for name in names}) == 100


@given(st.text(max_size=50), st.integers(2, 60))
def test_a_text_of_any_script_is_shortened_to_the_columns_that_it_takes(text, limit):
    assert width(shorten(text, limit)) <= limit
    assert width(cut(text, limit)) <= limit
    assert shorten(text, width(text)) == cut(text, width(text)) == text


@given(st.text(max_size=40), st.text(max_size=40), st.integers(4, 60))
def test_two_names_share_their_room_and_neither_is_lost(first, second, limit):
    shown = shorten_pair(first, second, limit)
    assert sum(map(width, shown)) <= limit
    if width(first) + width(second) <= limit:
        assert shown == (first, second)
    assert all(bool(short) == bool(name) for short, name in zip(shown, (first, second)))
