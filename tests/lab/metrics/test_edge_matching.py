"""Edge matching accuracy by hand, in both weightings."""

from __future__ import annotations

import numpy as np
import pytest

from lab.metrics import edge_matching_accuracy, values_of_edges
from se_gnn.errors import InputError

# target 0: 4 edges, 3 of a motif, 2 matched right; target 1: 2 edges, 1 of a motif, wrong; target 2: no motif edge
ROLES = [np.array([1, 2, 3, 0]), np.array([4, 0]), np.array([0, 0])]
MATCHED = [np.array([1, 2, 0, 0]), np.array([0, 0]), np.array([1, 0])]


def test_every_motif_edge_counts_once():
    assert edge_matching_accuracy(ROLES, MATCHED) == pytest.approx(2 / 4)


def test_the_authors_weigh_targets_by_all_their_edges_and_count_none_as_right():
    expected = (4 * (2 / 3) + 2 * 0 + 2 * 1) / (4 + 2 + 2)
    assert edge_matching_accuracy(ROLES, MATCHED, weighting="local") == pytest.approx(expected)


def test_edges_are_found_in_any_direction():
    edges = np.array([[0, 3], [1, 2], [1, 3]])
    assert values_of_edges(edges, np.array([10, 20, 30]), [[3, 1], [0, 3], [2, 1]]).tolist() == [30, 10, 20]
    assert values_of_edges(edges, np.array([10, 20, 30]), []).tolist() == []


@pytest.mark.parametrize("pair", [[0, 1], [2, 3], [3, 4]])
def test_a_pair_that_is_no_edge_is_refused(pair):
    edges = np.array([[0, 3], [1, 2], [1, 3]])
    with pytest.raises(InputError, match=rf"\({pair[0]}, {pair[1]}\) is not an edge"):
        values_of_edges(edges, np.arange(3), [[1, 2], pair])


def test_what_is_not_defined_is_refused():
    with pytest.raises(InputError, match="at least one motif edge"):
        edge_matching_accuracy(ROLES[2:], MATCHED[2:])
    with pytest.raises(InputError, match="every edge of target 0 needs its match, got 4 and 2 roles"):
        edge_matching_accuracy(ROLES[:1], MATCHED[1:2])
    with pytest.raises(InputError, match="weighting must be motif or local"):
        edge_matching_accuracy(ROLES, MATCHED, weighting="all")
