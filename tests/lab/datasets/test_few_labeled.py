"""A number of labeled nodes in all: every class has one, and the larger ones have more."""

import numpy as np
import pytest

from lab.datasets.few_labeled import split_by_count
from se_gnn.errors import InputError

LABELS = np.repeat([0, 1, 2, -1], [900, 95, 5, 100])


def draw(seed=0, train=20):
    return split_by_count(LABELS, train=train, validation=50, test=100, generator=np.random.default_rng(seed))


def test_every_class_is_labeled_and_counts_follow_the_shares():
    split = draw()
    assert np.bincount(LABELS[split.train]).tolist() == [18, 1, 1]  # shares 18, 1.9 and 0.1
    assert [len(part) for part in (split.train, split.validation, split.test)] == [20, 50, 100]


def test_parts_are_apart_and_hold_no_unlabeled_node():
    split = draw()
    nodes = np.concatenate([split.train, split.validation, split.test])
    assert len(np.unique(nodes)) == 170
    assert (LABELS[nodes] >= 0).all()


def test_the_seed_decides():
    assert draw(1).train.tolist() == draw(1).train.tolist() != draw(2).train.tolist()


@pytest.mark.parametrize("train", [2, 900])
def test_counts_that_cannot_be_are_refused(train):
    with pytest.raises(InputError, match="got"):
        draw(train=train)
