"""The order in which raters see pairs: complete, balanced wherever a rater stops, the same on every run."""

from __future__ import annotations

from collections import Counter

import pytest

from lab.rating.schedule import order_of


def order(rater=0, items=8, methods=4, seed=0):
    return order_of(rater, num_items=items, num_methods=methods, seed=seed)


@pytest.mark.parametrize(("items", "methods"), [(8, 4), (7, 4), (1, 4), (5, 1), (2, 3)])
def test_every_pair_comes_once(items, methods):
    shown = order(items=items, methods=methods)
    assert sorted(shown) == [(item, method) for item in range(items) for method in range(methods)]


def test_the_methods_are_balanced_after_every_group():
    shown = order(rater=3)
    for end in range(4, len(shown) + 1, 4):
        assert set(Counter(method for _, method in shown[:end]).values()) == {end // 4}


def test_a_target_comes_back_only_after_all_others():
    shown = order(rater=5)
    for turn in range(4):
        assert len({item for item, _ in shown[turn * 8 : turn * 8 + 8]}) == 8


def test_raters_in_a_row_first_see_a_target_by_different_methods():
    first = [dict(order(rater)[:8]) for rater in range(4)]
    assert all(len({one[item] for one in first}) == 4 for item in range(8))


def test_the_seed_decides_and_raters_differ():
    assert order(1) == order_of.__wrapped__(1, num_items=8, num_methods=4, seed=0)
    assert order(1) != order(2)
    assert order(1) != order(1, seed=1)
