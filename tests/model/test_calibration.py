import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.model.metrics import calibrate


def test_expected_calibration_error_by_hand():
    # 0.9 twice, one of them wrong; 0.6 once, right: (2 * |0.5 - 0.9| + 1 * |1 - 0.6|) / 3
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], dtype=np.float32)
    found = calibrate(probabilities, np.array([0, 1, 1]))
    assert found.error == pytest.approx((2 * 0.4 + 0.4) / 3, abs=1e-6)
    assert [(one.nodes, one.accuracy) for one in found.bins] == [(1, 1.0), (2, 0.5)]


def test_a_bin_holds_its_upper_end_and_sums_above_one_count_as_one():
    sure = np.array([[0.5, 0.5], [1.0000001, 0.0], [0.51, 0.49]], dtype=np.float32)
    found = calibrate(sure, np.array([0, 0, 0]))
    assert [(one.low, one.high, one.nodes) for one in found.bins] == [(0.4, 0.5, 1), (0.5, 0.6, 1), (0.9, 1.0, 1)]
    assert found.bins[-1].probability == 1


def test_without_nodes_there_are_no_bins():
    found = calibrate(np.zeros((0, 3), np.float32), np.zeros(0, np.int64))
    assert found.bins == ()
    assert found.error == 0


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=40), st.integers(1, 20))
def test_bins_hold_every_node_and_the_error_is_a_share(cases, num_bins):
    sure = np.array([[p, 1 - p] for p, _ in cases], dtype=np.float32)
    truth = np.array([0 if right else 1 for _, right in cases])
    found = calibrate(sure, truth, num_bins)
    assert sum(one.nodes for one in found.bins) == len(cases)
    assert 0 <= found.error <= 1
    assert all(one.low - 1e-6 <= one.probability <= one.high + 1e-6 for one in found.bins)
