"""Krippendorff's alpha on the examples he published ("Computing Krippendorff's Alpha-Reliability", 2011)."""

from __future__ import annotations

import pytest

from lab.rating.agreement import krippendorff_alpha

BINARY = ("0100000010", "1110010000")
NOMINAL = ("aabbdcccedda", "babbbcccedd" + "d")
WITH_MISSING = ("123321412***", "1233224125*3", "*333234225" + "1*", "1233244125" + "1*")


def units(*raters):
    return [[value for value in unit if value != "*"] for unit in zip(*raters)]


@pytest.mark.parametrize(("raters", "alpha"), [(BINARY, 0.095), (NOMINAL, 0.692), (WITH_MISSING, 0.743)])
def test_alpha_is_that_of_the_published_examples(raters, alpha):
    assert krippendorff_alpha(units(*raters)) == pytest.approx(alpha, abs=5e-4)


def test_perfect_agreement_is_one():
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1


@pytest.mark.parametrize("nothing", [[], [["a"], ["b"]], [["a", "a"], ["a", "a"]]])
def test_nothing_is_said_without_pairs_or_without_variation(nothing):
    assert krippendorff_alpha(nothing) is None


def test_the_order_of_raters_and_units_does_not_matter():
    given = units(*WITH_MISSING)
    assert krippendorff_alpha(given) == pytest.approx(krippendorff_alpha([one[::-1] for one in given[::-1]]))
