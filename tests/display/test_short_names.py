"""Long names in little space."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from se_gnn.display import shorten


@given(st.text(st.characters(codec="ascii"), max_size=50), st.integers(1, 60))
def test_a_shortened_text_fits_and_a_short_one_stays(text, width):
    shown = shorten(text, width)
    assert len(shown) <= width
    assert shown == text or len(text) > width


def test_names_that_differ_at_their_end_stay_apart():
    names = [f"a-very-long-paper-identifier-of-40-chars-{i:04d}" for i in range(100)]
    assert len({shorten(name, 20) for name in names}) == 100
