"""Drawn tables: the same for the same seed, with as many flipped labels as asked for, and read without a complaint."""

from __future__ import annotations

import numpy as np
import pytest

from lab.datasets.table_sets import NAMES, PLANS, table_set
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN


@pytest.mark.parametrize("name", ["accounts", "papers"])
def test_flipping_labels_changes_nothing_else(name):
    clean, flipped = table_set(name), table_set(name, flipped=0.08)
    assert (clean.classes["truth"] == flipped.classes["truth"]).all()
    assert (flipped.classes["truth"] != flipped.classes["given"]).mean() == pytest.approx(0.08)
    one, other = clean.graph(), flipped.graph()
    np.testing.assert_array_equal(one.edges.ends, other.edges.ends)
    known = other.labels != UNKNOWN
    np.testing.assert_array_equal(other.labels[known], flipped.labels(other, "given")[known])
    assert other.num_nodes > PLANS[name].nodes if PLANS[name].through else other.num_nodes == PLANS[name].nodes


def test_there_are_ten_sets_and_others_are_refused():
    assert len(NAMES) == 10
    with pytest.raises(InputError, match="must be one of accounts, patients"):
        table_set("cats")
