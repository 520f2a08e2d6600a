"""The factored meta-gradient against autograd through everything."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.attack import MetattackConfig
from lab.attack.flip import best_flip
from lab.attack.gradient import approximate_meta_gradient, meta_gradient
from lab.attack.metattack import _Attack
from lab.attack.reference import pair_scores
from lab.attack.surrogate import initial_weights

CPU = torch.device("cpu")


def dense_scores(attack, edges, step):
    """Scores of all pairs by the reference, in double precision."""
    graph = attack.graph
    adjacency = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    u, v = torch.tensor(edges).T
    adjacency[u, v] = adjacency[v, u] = 1
    config = attack.config
    start = initial_weights(graph.num_features, config.hidden_size, graph.num_classes, seed=attack.seed, step=step)
    return pair_scores(
        adjacency,
        torch.tensor(graph.features, dtype=torch.float64),
        train=attack.view.train,
        classes=attack.view.classes.double(),
        weights=attack.view.weights.double(),
        start=(start[0].double(), start[1].double()),
        config=config,
    )


@pytest.mark.parametrize("labeled_weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("approximate", [False, True])
def test_flips_are_those_of_the_dense_reference(groups, approximate, labeled_weight):
    config = MetattackConfig(approximate=approximate, labeled_weight=labeled_weight, steps=30, hidden_size=4)
    attack = _Attack(groups, config, seed=1, device=CPU)
    flips = np.empty((0, 2), np.int64)
    edges = {tuple(edge) for edge in groups.edges.ends.tolist()}
    for step in range(1, 5):
        scores = dense_scores(attack, np.array(sorted(edges)), step)
        degrees = np.bincount(np.array(sorted(edges)).ravel(), minlength=groups.num_nodes)
        last = [(u, v) for u, v in edges if min(degrees[u], degrees[v]) == 1]
        for u, v in [*last, *map(tuple, flips.tolist())]:
            scores[u, v] = -torch.inf
        scores[torch.tril_indices(60, 60).unbind()] = -torch.inf
        expected = divmod(int(scores.argmax()), groups.num_nodes)
        pair = attack.choose(flips)
        assert pair == expected
        edges ^= {pair}
        flips = np.append(flips, [pair], axis=0)


@pytest.mark.parametrize("take", [meta_gradient, approximate_meta_gradient])
def test_every_pair_has_the_score_of_the_dense_reference(groups, take, monkeypatch):
    """Pair by pair: all others are forbidden, so the best score is that of the pair."""
    from lab.attack import flip
    from se_gnn.encoder import propagation

    monkeypatch.setattr(flip, "ROWS", 7)  # many blocks
    config = MetattackConfig(approximate=take is approximate_meta_gradient, steps=20, hidden_size=4)
    attack = _Attack(groups, config, seed=0, device=CPU)
    scores = dense_scores(attack, groups.edges.ends, 1)
    adjacency = propagation(groups.edges.ends, 60, "gcn")
    start = initial_weights(30, 4, 3, seed=0, step=1)
    gradient = take(attack.view, adjacency, start, config)
    pairs = np.stack(np.triu_indices(60, 1), axis=1)
    for chosen in range(0, len(pairs), 41):
        others = np.delete(pairs, chosen, axis=0)
        score, pair = best_flip(gradient, adjacency, groups.edges.ends, groups.degrees, others)
        assert pair == tuple(pairs[chosen])
        assert score == pytest.approx(float(scores[pair]), rel=1e-3, abs=1e-6)
