"""The loss over all labeled nodes and the views' agreement, against their definitions in loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.settings import VoteObjective
from se_gnn.training.objectives.vote import consistency_loss, leave_one_out_loss, ramp


def plain_loss(logits, classes, voting, objective, num_classes):
    losses, weights = [], []
    counts = dict.fromkeys(range(num_classes), 0)
    for t, own in enumerate(classes):
        voters = [i for i in range(len(classes)) if i != t and voting[i]]
        if not any(classes[i] == own for i in voters):
            continue
        shares = torch.softmax(logits[t][voters], dim=0)
        votes = torch.zeros(num_classes, dtype=logits.dtype)
        for share, i in zip(shares, voters):
            votes[classes[i]] += share
        smoothed = votes.clamp_min(1e-8).log().mean()
        losses.append(-(1 - objective.label_smoothing) * votes[own].log() - objective.label_smoothing * smoothed)
        weights.append(own)
        counts[own] += 1
    if not losses:
        return torch.tensor(0.0)
    shares = [1 / counts[own] if objective.balance_classes else 1 for own in weights]
    return sum(loss * share for loss, share in zip(losses, shares)) / sum(shares)


@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 9),
    smoothing=st.sampled_from([0.0, 0.2]),
    balance=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_loss_is_the_log_of_the_vote_of_all_others(seed, size, smoothing, balance):
    generator = np.random.default_rng(seed)
    logits = torch.from_numpy(generator.normal(size=(size, size)).astype("f4")).requires_grad_()
    classes = generator.integers(0, 3, size)
    voting = torch.from_numpy(generator.random(size) < 0.7)
    objective = VoteObjective(label_smoothing=smoothing, balance_classes=balance)
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(classes), 3).float()
    silent = torch.eye(size, dtype=torch.bool) | ~voting[None, :]
    found = leave_one_out_loss(logits, silent, one_hot, one_hot, objective)
    expected = plain_loss(logits, classes.tolist(), voting.tolist(), objective, 3)
    assert found.item() == pytest.approx(expected.item(), abs=1e-4)
    (gradient,) = torch.autograd.grad(found, logits)
    assert torch.isfinite(gradient).all()
    if expected.requires_grad:
        assert torch.allclose(gradient, torch.autograd.grad(expected, logits)[0], atol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_what_hides_the_cases_of_other_classes_changes_no_bit(scale):
    generator = np.random.default_rng(3)
    logits = torch.from_numpy(scale * generator.normal(size=(60, 60)).astype("f4")).requires_grad_()
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(generator.integers(0, 3, 60)), 3).float()
    silent = torch.eye(60, dtype=torch.bool)
    found = leave_one_out_loss(logits, silent, one_hot, one_hot, VoteObjective())
    shares = torch.log_softmax(logits.masked_fill(silent, -1e9), dim=1)
    same = (one_hot @ one_hot.T > 0) & ~silent
    expected = -torch.logsumexp(shares.masked_fill(~same, -1e9), dim=1).sum() / 60
    assert torch.equal(found, expected)
    assert torch.equal(*(torch.autograd.grad(one, logits)[0] for one in (found, expected)))


def test_a_sample_of_queries_and_cases_has_the_loss_of_these_alone():
    generator = np.random.default_rng(4)
    logits = torch.from_numpy(generator.normal(size=(8, 8)))
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(generator.integers(0, 2, 8)), 2).double()
    queries, cases = torch.tensor([0, 3, 5]), torch.tensor([0, 1, 3, 6, 7])
    silent = queries[:, None] == cases[None, :]
    found = leave_one_out_loss(logits[queries][:, cases], silent, one_hot[queries], one_hot[cases], VoteObjective())
    losses = []
    for t in queries.tolist():
        others = [i for i in cases.tolist() if i != t]
        shares = torch.softmax(logits[t, others], dim=0)
        right = shares[(one_hot[others] == one_hot[t]).all(dim=1)].sum()
        losses += [-right.log()] if right > 0 else []
    assert found.item() == pytest.approx(torch.stack(losses).mean().item())


def test_labeled_node_does_not_vote_for_itself():
    logits = torch.tensor([[100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [0.0, 0.0, 100.0]])
    one_hot = torch.eye(2)[[0, 0, 1]]
    found = leave_one_out_loss(logits, torch.eye(3, dtype=torch.bool), one_hot, one_hot, VoteObjective())
    assert found.item() == pytest.approx(np.log(2))  # one of two others; the third node is alone in its class


def test_views_that_agree_and_are_sure_cost_nothing():
    sure = torch.eye(3)
    assert consistency_loss([sure, sure], 2.0).item() == 0


def test_views_are_pulled_to_their_sharpened_mean():
    one, other = torch.tensor([[0.8, 0.2]]), torch.tensor([[0.6, 0.4]])
    target = torch.tensor([[0.49, 0.09]]) / 0.58
    expected = ((one - target).square().sum() + (other - target).square().sum()) / 2
    assert consistency_loss([one, other], 2.0).item() == pytest.approx(expected.item())


def test_consistency_counts_more_from_epoch_to_epoch():
    objective = VoteObjective(consistency_weight=2.0, consistency_ramp=10)
    assert [ramp(objective, epoch) for epoch in (0, 5, 10, 50)] == [0.0, 1.0, 2.0, 2.0]
