"""What edges that carry something cost graphs whose edges carry nothing, as it was measured."""

from __future__ import annotations

import json

import pytest

from benchmarks.before import FIGURES, RESULTS


@pytest.mark.parametrize("figure", FIGURES)
def test_cora_is_not_more_than_3_percent_slower_or_larger_than_before(figure):
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))["figures"]
    assert measured[figure]["ratio"] <= 1.03
