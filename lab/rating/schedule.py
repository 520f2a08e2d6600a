"""In which order a rater sees the pairs: at random, and balanced wherever the rater stops.

Targets form groups of as many as there are methods. In a group every method comes once, on another target; after one
pass over all targets the methods move on by one (a Latin square), and so do they from rater to rater. So the first
answers of a rater are spread evenly over methods, a target comes back only after all others, and of M raters in a row
each sees a target first by another one of M methods.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=256)
def order_of(rater: int, *, num_items: int, num_methods: int, seed: int) -> tuple[tuple[int, int], ...]:
    """The pairs (item, method) in the order of a rater, who is known by a number from 0 up.

    >>> shown = order_of(0, num_items=4, num_methods=2, seed=0)
    >>> sorted(method for _, method in shown[:2]), len(set(shown))
    ([0, 1], 8)
    """
    ranks = np.random.default_rng(seed).permutation(num_items)  # the same groups for all raters
    groups = [ranks[start : start + num_methods] for start in range(0, num_items, num_methods)]
    generator = np.random.default_rng([seed, rater])
    order: list[tuple[int, int]] = []
    for turn in range(num_methods):
        for which in generator.permutation(len(groups)):
            group = groups[which]
            order += [
                (int(group[place]), int((place + which + turn + rater) % num_methods))
                for place in generator.permutation(len(group))
            ]
    return tuple(order)
