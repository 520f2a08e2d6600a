"""Metattack: edges flipped one by one so that a GNN trained on the graph afterwards does worse.

Zügner and Günnemann, "Adversarial Attacks on Graph Neural Networks via Meta Learning", ICLR 2019. After each flip a
surrogate is trained anew; the gradient of the attacker's loss with respect to the edges says what to flip next.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from lab.attack.config import MetattackConfig
from lab.attack.degrees import DegreeTest
from lab.attack.flip import best_flip, leaf_edges
from lab.attack.gradient import approximate_meta_gradient, meta_gradient
from lab.attack.journal import Journal
from lab.attack.noise import flip_pairs, num_changes
from lab.attack.surrogate import AttackerView, initial_weights
from se_gnn.device import resolve_device
from se_gnn.encoder import propagation
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray

SECONDS_BETWEEN_WRITES = 5.0


def metattack(
    graph: Graph,
    rate: float,
    config: MetattackConfig | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: bool = False,
    folder: str | Path | None = None,
) -> IntArray:
    """Pairs of nodes to flip, in the order they were chosen, [R, 2]; R = floor(rate * E).

    The attacker knows the graph, all attributes and the labels of the labeled nodes; no other label is read. No node
    loses its last edge, and no pair is flipped twice. Apply the flips with :func:`lab.attack.flip_pairs`; the first
    of them are the attack at a lower rate.

    Args:
        graph: the clean graph.
        rate: flips as a share of the edges.
        config: settings; Meta-Self where not given.
        seed: of the surrogate's weights.
        device: ``auto``: use CUDA if available.
        progress: show a bar.
        folder: where `attack.json` keeps the flips; an attack that it holds goes on.
    """
    attack = _Attack(graph, config or MetattackConfig(), seed=seed, device=resolve_device(device))
    count = num_changes(rate, graph.num_edges)
    journal = None if folder is None else Journal.of(folder, graph, attack.config, seed)
    known = np.empty((0, 2), np.int64) if journal is None else journal.read()[:count]
    return attack.run(count, known, journal=journal, progress=progress)


class _Attack:
    def __init__(self, graph: Graph, config: MetattackConfig, *, seed: int, device: torch.device) -> None:
        graph.check_trainable()
        if config.labeled_weight < 1 and len(graph.train) == graph.num_nodes:
            raise InputError("labeled_weight must be 1 where all nodes are labeled: no class is left to guess")
        self.graph, self.config, self.seed, self.device = graph, config, seed, device
        self.view = AttackerView.of(
            graph, labeled_weight=config.labeled_weight, hidden_size=config.hidden_size, seed=seed, device=device
        )
        self.test = DegreeTest(graph.degrees) if config.keep_degrees else None

    def run(self, count: int, known: IntArray, *, journal: Journal | None, progress: bool) -> IntArray:
        """Choose flips until there are ``count``; what was chosen is written down at times and on the way out."""
        flips = list(map(tuple, known.tolist()))
        written = time.monotonic()
        bar = tqdm(total=count, initial=len(flips), unit="flip", dynamic_ncols=True, disable=not progress)
        try:
            with bar:
                while len(flips) < count:
                    flips.append(self.choose(np.array(flips, dtype=np.int64).reshape(-1, 2)))
                    bar.update()
                    if journal is not None and time.monotonic() - written > SECONDS_BETWEEN_WRITES:
                        journal.write(np.array(flips))
                        written = time.monotonic()
        finally:
            chosen = np.array(flips, dtype=np.int64).reshape(-1, 2)
            if journal is not None and len(chosen) > len(known):
                journal.write(chosen)
        return chosen

    def choose(self, flips: IntArray) -> tuple[int, int]:
        """The next pair, given those flipped so far."""
        graph, config = self.graph, self.config
        edges = flip_pairs(graph.edges.ends, graph.num_nodes, flips)
        degrees = np.bincount(edges.ravel(), minlength=graph.num_nodes).astype(np.int64)
        adjacency = propagation(edges, graph.num_nodes, "gcn", self.device)
        start = initial_weights(
            graph.num_features, config.hidden_size, graph.num_classes, seed=self.seed, step=len(flips) + 1
        )
        take = approximate_meta_gradient if config.approximate else meta_gradient
        gradient = take(self.view, adjacency, (start[0].to(self.device), start[1].to(self.device)), config)
        if not (gradient.left.isfinite().all() and gradient.right.isfinite().all()):
            raise InputError(
                f"training the surrogate diverged with learning_rate {config.learning_rate:g}: "
                "scale the features down, or give a lower learning_rate"
            )
        forbidden = [flips, leaf_edges(edges, degrees)]
        allowed = None
        if self.test is not None:
            allowed = self.test.allowed(degrees, +1)
            removable = self.test.allowed(degrees, -1)
            forbidden.append(edges[~removable[degrees[edges[:, 0]], degrees[edges[:, 1]]]])
        pairs = np.concatenate(forbidden)
        score, pair = best_flip(
            gradient, adjacency, edges, degrees, pairs[np.argsort(pairs[:, 0], kind="stable")], allowed
        )
        if score == -np.inf:
            raise InputError(f"no pair of nodes is left to flip after {len(flips)} flips; give a lower rate")
        return pair
