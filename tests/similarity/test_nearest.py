"""The K nearest labeled nodes and their vote, Eq. (8)-(9)."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.similarity import top
from se_gnn.similarity.backend import largest_by_keys

tied = hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.integers(-2, 2).map(float))


@given(overall=tied, data=st.data())
def test_of_equally_similar_nodes_the_first_is_nearer(overall, data):
    k = data.draw(st.integers(1, overall.shape[1]))
    found = top(torch.from_numpy(overall), k)
    for row, positions in zip(overall, found.tolist()):
        assert positions == sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]


@given(
    overall=hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 4), st.integers(1, 40)),
        elements=st.sampled_from([-np.inf, -2.5, -1e-30, -0.0, 0.0, 1e-30, 1.0, 2.5, np.inf]),
    ),
    data=st.data(),
)
def test_keys_find_what_sorting_finds(overall, data):
    k = data.draw(st.integers(1, overall.shape[1] + 1))
    values = torch.from_numpy(overall)
    expected = torch.sort(values, dim=1, descending=True, stable=True).indices[:, :k]
    assert torch.equal(largest_by_keys(values, k), expected)


@given(overall=tied, temperature=st.sampled_from([0.05, 0.5, 1.0, 10.0]), data=st.data())
def test_weights_are_the_softmax_over_the_nearest(overall, temperature, data):
    k = data.draw(st.integers(1, overall.shape[1]))
    values = torch.from_numpy(overall)
    nearest = top(values, k)
    weights = vote(values.gather(1, nearest), temperature)
    for row, positions, found in zip(overall.astype(np.float64), nearest.tolist(), weights.numpy()):
        shares = np.exp((row[positions] - row.max()) / temperature)
        np.testing.assert_allclose(found, shares / shares.sum(), atol=1e-6)


@given(overall=tied, num_classes=st.integers(1, 5), data=st.data())
def test_a_class_has_the_weights_of_its_voters_and_all_classes_add_up_to_one(overall, num_classes, data):
    values = torch.from_numpy(overall)
    nearest = top(values, overall.shape[1])
    weights = vote(values.gather(1, nearest), 1.0)
    drawn = data.draw(hnp.arrays(np.int64, overall.shape, elements=st.integers(0, num_classes - 1)))
    probabilities = tally(weights, torch.from_numpy(drawn), ClassAnswers.themselves(num_classes))
    for row, labels, found in zip(weights.double().numpy(), drawn, probabilities.numpy()):
        np.testing.assert_allclose(found, [row[labels == c].sum() for c in range(num_classes)], atol=1e-6)
    np.testing.assert_allclose(probabilities.sum(dim=1), 1, atol=1e-6)


def test_a_voter_that_is_ruled_out_has_no_weight():
    overall = torch.tensor([[0.3, -torch.inf, 0.3]])
    nearest = top(overall, 3)
    assert nearest.tolist() == [[0, 2, 1]]
    assert vote(overall.gather(1, nearest), 0.1).tolist() == [[0.5, 0.5, 0.0]]
