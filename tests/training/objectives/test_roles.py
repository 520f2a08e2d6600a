"""Structural identity: the role of a node is told by nodes that are similar to it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from se_gnn.settings import Settings
from se_gnn.training import fit
from se_gnn.training.objectives.roles import role_loss, roles_of
from strategies import random_graph, small_settings

SETTINGS = Settings.of("best", temperature=0.4).resolve()


def test_roles_are_quantiles():
    roles = roles_of(random_graph(2, num_nodes=40, num_edges=80))
    assert roles.shape == (40, 8)
    assert roles.min() > -1
    assert roles.max() < 1
    assert np.allclose(roles.mean(dim=0), 0, atol=1e-6)


def test_the_loss_is_the_squared_error_of_the_vote_of_all_others():
    generator = torch.Generator().manual_seed(0)
    h, roles = torch.randn(6, 3, generator=generator), torch.randn(6, 2, generator=generator)
    found = role_loss(h, roles, SETTINGS)
    unit = torch.nn.functional.normalize(h, dim=1)
    expected = []
    for t in range(6):
        others = [i for i in range(6) if i != t]
        shares = torch.softmax(unit[others] @ unit[t] / 0.4, dim=0)
        expected.append(((shares[:, None] * roles[others]).sum(dim=0) - roles[t]).square().mean())
    assert found.item() == pytest.approx(torch.stack(expected).mean().item(), abs=1e-6)
    parts = [role_loss(h, roles, SETTINGS, part) for part in (slice(0, 2), slice(2, 6))]
    assert sum(parts).item() == pytest.approx(found.item(), abs=1e-6)


@pytest.mark.parametrize("asked", [small_settings(), Settings.of("best", epochs=3, portfolio=False, members=1)])
def test_both_objectives_learn_it_if_it_has_a_weight(asked):
    graph = random_graph(2, num_nodes=60, num_edges=120, num_labeled=50)
    without, learned = (fit(graph, asked.changed(role_weight=weight)) for weight in (0.0, 2.0))
    assert not torch.equal(without.embeddings, learned.embeddings)
    assert torch.equal(fit(graph, asked.changed(role_weight=2.0)).embeddings, learned.embeddings)
