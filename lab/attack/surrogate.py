r"""What the attacker works with: a linear GCN in place of the victim's model, and a loss that the attack raises.

The surrogate is :math:`Z = \hat A \hat A X W_1 W_2`, a GCN without activations. Shapes: N nodes, F features, L
labeled nodes, D hidden, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from se_gnn.encoder import propagation
from se_gnn.graph import Graph
from se_gnn.graph.sparse import SparseMatrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackerView:
    """All that the attack reads beside the edges; the classes of unlabeled nodes are guesses, never the truth.

    Shapes:
        - **features:** :math:`(N, F)`
        - **train:** :math:`(L,)`, labeled nodes
        - **classes:** :math:`(N, C)`, one-hot: known of labeled nodes, guessed of the others
        - **weights:** :math:`(N,)`, of each node in the loss that the attack raises
    """

    features: SparseMatrix
    train: Tensor
    classes: Tensor
    weights: Tensor

    @classmethod
    def of(
        cls, graph: Graph, *, labeled_weight: float, hidden_size: int, seed: int, device: torch.device
    ) -> AttackerView:
        """Guess the classes of the unlabeled nodes and weigh them: ``labeled_weight`` is lambda."""
        num_unlabeled = graph.num_nodes - len(graph.train)
        weights = np.full(graph.num_nodes, (1 - labeled_weight) / max(1, num_unlabeled), dtype=np.float32)
        weights[graph.train] = labeled_weight / len(graph.train)
        features = SparseMatrix.from_scipy(sp.csr_array(graph.features), device)
        classes = guess_classes(graph, features, hidden_size=hidden_size, seed=seed)
        return cls(
            features=features,
            train=torch.tensor(graph.train, device=device),
            classes=one_hot(classes, graph.num_classes).float(),
            weights=torch.from_numpy(weights).to(device),
        )

    @property
    def targets(self) -> Tensor:
        """Classes of the labeled nodes, [L, C]."""
        return self.classes[self.train]


def initial_weights(
    num_features: int, hidden_size: int, num_classes: int, *, seed: int, step: int
) -> tuple[Tensor, Tensor]:
    """W_1 [F, D] and W_2 [D, C], uniform between -1/sqrt(width) and 1/sqrt(width); the same on every device."""
    generator = np.random.default_rng([seed, step])
    shapes = ((num_features, hidden_size), (hidden_size, num_classes))
    first, second = (
        torch.from_numpy((generator.uniform(-1, 1, shape) / np.sqrt(shape[1])).astype(np.float32)) for shape in shapes
    )
    return first, second


def guess_classes(
    graph: Graph,
    features: SparseMatrix,
    *,
    hidden_size: int,
    seed: int,
    epochs: int = 200,
    learning_rate: float = 0.01,
    weight_decay: float = 5e-4,
) -> Tensor:
    """Classes of all nodes as a surrogate trained on the clean graph says, [N]; labeled nodes keep their own."""
    device = features.values.device
    adjacency = propagation(graph.edges.ends, graph.num_nodes, "gcn", device)
    train = torch.tensor(graph.train, device=device)
    known = torch.tensor(graph.labels[graph.train], device=device)
    weights = initial_weights(graph.num_features, hidden_size, graph.num_classes, seed=seed, step=0)
    first, second = (weight.to(device).requires_grad_() for weight in weights)
    optimizer = torch.optim.Adam([first, second], lr=learning_rate, weight_decay=weight_decay)
    for _ in range(epochs):
        optimizer.zero_grad()
        logits = adjacency @ (adjacency @ (features @ (first @ second)))  # [N, C]
        cross_entropy(logits[train], known).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        classes = (adjacency @ (adjacency @ (features @ (first @ second)))).argmax(1)
    classes[train] = known
    return classes
