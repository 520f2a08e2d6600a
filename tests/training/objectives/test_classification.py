"""Classification loss, Eq. (11), by loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from se_gnn.settings import PaperObjective, Settings, VoteSettings
from se_gnn.training.objectives.paper import classification_loss
from strategies import continuous, seeds


def loss_of(overall, labels, chosen, seed=0):
    draw = torch.from_numpy(np.random.default_rng(seed).random(overall.shape))
    return classification_loss(overall, torch.from_numpy(labels), draw, *chosen)


def settings_of(references="support", num_nearest=2, num_negatives=3, support_size=4, temperature=1.0, floor=0.0):
    return VoteSettings(num_nearest=num_nearest, temperature=temperature), PaperObjective(
        references=references, num_negatives=num_negatives, support_size=support_size, probability_floor=floor
    )


def by_loops(overall, labels, vote, objective, draw):
    """Eq. (11) node by node; of those allowed, the ones with the smallest draws are sampled."""
    scores = overall.double().numpy()
    k, tau = vote.num_nearest, vote.temperature
    losses = []
    for t in range(len(labels)):
        others = [i for i in range(len(labels)) if i != t]
        same = [i for i in others if labels[i] == labels[t]]
        if not same:
            continue
        by_draw, by_score = (lambda i: draw[t, i]), (lambda i: (-scores[t, i], i))  # noqa: B023 (used in this turn)
        if objective.references == "support":
            support = sorted(same, key=by_draw)[: objective.support_size]
            positives = sorted(support, key=by_score)[:k]
            unlike = [i for i in others if labels[i] != labels[t]]
            negatives = sorted(unlike, key=by_draw)[: objective.num_negatives]
        else:
            near = sorted(others, key=by_score)[: k - 1]
            rest = sorted(set(others) - set(near), key=by_draw)[: objective.num_negatives]
            positives = [i for i in near + rest if labels[i] == labels[t]]
            negatives = [i for i in near + rest if labels[i] != labels[t]]
            if not positives and not objective.probability_floor:
                positives = sorted(same, key=by_score)[:1]
        share = np.exp(scores[t] / tau)
        found = share[positives].sum() / share[positives + negatives].sum()
        losses.append(-np.log(max(found, objective.probability_floor)))
    return np.mean(losses)


@settings(max_examples=80)
@given(
    seed=seeds, num_labeled=st.integers(4, 9), num_classes=st.integers(2, 3), k=st.integers(1, 6), q=st.integers(1, 9),
    n=st.integers(1, 5), references=st.sampled_from(["support", "nearest"]), tau=st.sampled_from([0.3, 1.0, 2.0]),
    floor=st.sampled_from([0.0, 1e-8, 0.3]),
)  # fmt: skip
def test_it_is_the_log_share_of_the_positives_among_positives_and_negatives(
    seed, num_labeled, num_classes, k, q, n, references, tau, floor
):
    labels = np.sort(np.arange(num_labeled) % num_classes)
    overall = continuous(seed, num_labeled, num_labeled)
    chosen = settings_of(references, k, q, n, tau, floor)
    draw = np.random.default_rng(seed).random((num_labeled, num_labeled))
    found = loss_of(overall, labels, chosen, seed)
    assert float(found) == pytest.approx(by_loops(overall, labels, *chosen, draw), rel=1e-4, abs=1e-6)


def test_with_everyone_sampled_chance_plays_no_part():
    labels, overall = np.array([0, 0, 0, 1, 1, 1]), continuous(1, 6, 6)
    chosen = settings_of("support", num_nearest=2, num_negatives=3, support_size=2)

    def values(chosen):
        return {float(loss_of(overall, labels, chosen, seed)) for seed in range(5)}

    assert len(values(chosen)) == 1
    assert len(values(settings_of("support", num_nearest=1, num_negatives=1, support_size=1))) > 1


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_a_node_alone_in_its_class_is_skipped(references):
    labels, overall = np.array([0, 0, 1, 1, 2]), continuous(1, 5, 5).requires_grad_()
    chosen = settings_of(references, num_nearest=2, num_negatives=4)
    loss = loss_of(overall, labels, chosen)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(overall.grad).all()
    assert not overall.grad[4].any()
    assert overall.grad[0].any()


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_where_every_node_is_alone_in_its_class_the_loss_is_zero(references):
    overall = continuous(1, 3, 3).requires_grad_()
    loss = loss_of(overall, np.array([0, 1, 2]), settings_of(references, num_nearest=1))
    loss.backward()
    assert float(loss.detach()) == 0
    assert not overall.grad.any()


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_no_node_is_its_own_reference(references):
    labels = np.array([0, 0, 1, 1])
    overall = continuous(1, 4, 4)
    chosen = settings_of(references, num_nearest=4, num_negatives=9, support_size=9)
    raised = overall + 50 * torch.eye(4)
    plain, same = (loss_of(values, labels, chosen) for values in (overall, raised))
    assert float(plain) == float(same)


def test_its_gradient_makes_same_class_nodes_more_similar_and_others_less():
    labels, overall = np.array([0, 0, 0, 1, 1, 1]), continuous(1, 6, 6).requires_grad_()
    chosen = settings_of(num_nearest=2, num_negatives=9, support_size=9)
    loss_of(overall, labels, chosen).backward()
    same = (labels[:, None] == labels[None]) & ~np.eye(6, dtype=bool)
    assert (overall.grad[torch.from_numpy(same)] <= 0).all()
    assert (overall.grad[torch.from_numpy(labels[:, None] != labels[None])] >= 0).all()


FAR = torch.tensor([[0.0, -90, 0, 0], [-90, 0, 0, 0], [0, 0, 0, -90], [0, 0, -90, 0]])  # alike by no class


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_the_gradient_is_as_large_as_it_gets_where_the_model_is_most_wrong(references):
    overall, labels = FAR.clone().requires_grad_(), np.array([0, 0, 1, 1])
    loss = loss_of(overall, labels, settings_of(references, num_nearest=2, num_negatives=1))
    loss.backward()
    assert float(loss.detach()) > 80  # -log of a share that float32 cannot hold
    assert overall.grad[0, 1].item() == pytest.approx(-1 / 4)


@pytest.mark.parametrize("references", ["support", "nearest"])
def test_with_a_floor_the_loss_is_flat_there_as_the_authors_have_it(references):
    overall, labels = FAR.clone().requires_grad_(), np.array([0, 0, 1, 1])
    loss = loss_of(overall, labels, settings_of(references, num_nearest=2, num_negatives=1, floor=1e-8))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(-np.log(1e-8))
    assert not overall.grad.any()


def test_only_the_authors_keep_a_floor():
    floors = {name: Settings.of(name).resolve().objective.probability_floor for name in ("paper", "authors")}
    assert floors == {"paper": 0.0, "authors": 1e-8}


@given(seed=seeds, references=st.sampled_from(["support", "nearest"]))
def test_its_gradient_is_that_of_finite_differences(seed, references):
    labels, overall = np.array([0, 0, 0, 1, 1, 1]), continuous(seed, 6, 6).double().requires_grad_()
    chosen = settings_of(references, num_nearest=2, num_negatives=2, support_size=2)
    assert torch.autograd.gradcheck(lambda values: loss_of(values, labels, chosen), overall, eps=1e-7, atol=1e-5)
