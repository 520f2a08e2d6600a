"""The likelihood ratio test on the degrees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lab.attack import MetattackConfig, flip_pairs, metattack
from lab.attack.degrees import CUTOFF, DegreeTest


def log_likelihood(degrees):
    """By hand, of the degrees of at least 2."""
    counted = [d for d in degrees if d >= 2]
    exponent = 1 + len(counted) / sum(math.log(d / 1.5) for d in counted)
    return sum(math.log(exponent) + exponent * math.log(2) - (exponent + 1) * math.log(d) for d in counted)


def ratio(before, after):
    both = log_likelihood([*before, *after])
    return -2 * both + 2 * (log_likelihood(before) + log_likelihood(after))


@pytest.mark.parametrize("change", [1, -1])
def test_a_flip_is_allowed_where_the_ratio_by_hand_stays_below_the_cutoff(change):
    generator = np.random.default_rng(0)
    before = np.minimum(generator.zipf(1.7, 30), 20)
    now = before.copy()
    now[:2] += 1
    table = DegreeTest(before).allowed(now, change)
    seen = set()
    for u in range(30):
        for v in range(u):
            after = now.copy()
            after[[u, v]] += change
            expected = ratio(before, after) < CUTOFF
            assert table[now[u], now[v]] == expected
            seen.add(bool(expected))
    assert seen == {True, False}  # the test decides something


def test_nothing_changed_is_a_ratio_of_zero():
    degrees = np.array([1, 2, 2, 3, 5, 9])
    test = DegreeTest(degrees)
    assert test.ratio(test.count, test.logs) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("approximate", [False, True])
def test_an_attack_that_keeps_the_degrees_passes_the_test_and_another_fails_it(groups, approximate):
    ratios = []
    for keep in (True, False):
        config = MetattackConfig(steps=20, hidden_size=4, keep_degrees=keep, approximate=approximate)
        flips = metattack(groups, 0.2, config, device="cpu")
        degrees = groups.with_edges(flip_pairs(groups.edges.ends, 60, flips)).degrees
        ratios.append(ratio(groups.degrees, degrees))
    assert ratios[0] < CUTOFF < ratios[1]
