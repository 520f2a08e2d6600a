r"""Pro-GNN: "Graph Structure Learning for Robust Graph Neural Networks" (https://arxiv.org/abs/2005.10203).

A graph S is learned together with a GCN on it, so that S stays near A, is sparse and of low rank, and joins nodes with
similar attributes:

.. math:: \|S - A\|_F + \alpha \|S\|_1 + \beta \|S\|_* + \gamma\, L_{GCN}(\theta, S) + \lambda\, tr(X^\top \hat L_S X).

Each epoch takes a gradient step on S, shrinks its spectrum and its entries, puts it back to [0, 1], and then takes some
steps on the GCN. S is a dense [N, N] matrix. Shapes: N nodes, F features, D hidden, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from lab.baselines.base import Baseline
from lab.baselines.network import dense_features
from lab.baselines.proximal import shrink, shrink_spectrum
from lab.dense import dense_propagation
from se_gnn.device import resolve_device
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.graph.sparse import SparseMatrix
from se_gnn.settings.checks import above_zero, at_least, between, check_types


@dataclass(frozen=True, slots=True, kw_only=True)
class ProGNNSettings:
    """Settings of Pro-GNN; the defaults are those of its authors' script for the attacked Citeseer."""

    sparsity: float = 5e-4  # alpha, of the l1 norm
    low_rank: float = 1.5  # beta, of the nuclear norm
    classification: float = 1.0  # gamma, of the GCN's loss on labeled nodes
    smoothness: float = 1e-4  # lambda, of the difference of attributes along edges
    graph_learning_rate: float = 0.01  # of S: gradient descent with momentum, and the weight of both shrinkings
    graph_momentum: float = 0.9
    gcn_steps: int = 2  # of the GCN an epoch
    hidden_size: int = 16  # D
    dropout: float = 0.5
    learning_rate: float = 5e-4  # of the GCN: Adam
    weight_decay: float = 5e-4
    epochs: int = 1000

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 0, "sparsity", "low_rank", "classification", "smoothness", "weight_decay")
        above_zero(self, "graph_learning_rate")
        above_zero(self, "learning_rate")
        between(self, 0, 1, "graph_momentum", "dropout")
        at_least(self, 1, "gcn_steps", "hidden_size", "epochs")


# of the authors' scripts, by data set and noise
PUBLISHED = {
    ("citeseer", "metattack"): ProGNNSettings(),
    ("citeseer", "random"): ProGNNSettings(low_rank=1.0, classification=2.0, smoothness=5e-4),
    ("cora", "metattack"): ProGNNSettings(smoothness=1e-3, learning_rate=1e-3, epochs=400),
    ("pubmed", "metattack"): ProGNNSettings(
        sparsity=0.3, low_rank=2.5, smoothness=1e-3, learning_rate=1e-2, epochs=100, gcn_steps=30
    ),
}


class ProGNN(Baseline):
    """A GCN of two layers and the graph it is trained on, learned in turns.

    Where this differs from the authors' code: S is kept symmetric, and the epoch is chosen by validation accuracy, then
    validation loss, at its end.

    After :meth:`fit`, ``adjacency_`` [N, N] is the learned graph of the best epoch and ``history_`` the validation
    accuracy and loss of each epoch.
    """

    settings_type = ProGNNSettings
    settings: ProGNNSettings

    def fit(self, graph: Graph, *, seed: int, device: str = "cpu", progress: bool = False) -> Self:
        """Learn the graph and the GCN; the best epoch on the validation nodes is kept, without them the last one."""
        graph.check_trainable()
        run = _Run(graph, self.settings, seed, resolve_device(device))
        self.history_: list[tuple[float, float]] = []
        best = (-np.inf, -np.inf)
        for _ in tqdm(range(self.settings.epochs), disable=not progress, unit="epoch", dynamic_ncols=True):
            run.step_graph()
            for _ in range(self.settings.gcn_steps):
                run.step_gcn()
            accuracy, loss, probabilities = run.validate()
            self.history_.append((accuracy, loss))
            if not len(graph.validation) or (accuracy, -loss) > best:
                best = (accuracy, -loss)
                self.adjacency_, self._probabilities = run.learned, probabilities
        return self

    def predict_proba(self) -> FloatArray:
        """Class probabilities of all nodes, [N, C]."""
        self._check_fitted("_probabilities")
        out: FloatArray = self._probabilities.cpu().numpy()
        return out


class _Run:
    """What is learned, on its device: S and its momentum, the weights of the GCN and their optimizer."""

    def __init__(self, graph: Graph, settings: ProGNNSettings, seed: int, device: torch.device) -> None:
        self.settings = settings
        self.generator = torch.Generator(device).manual_seed(seed)
        self.features = SparseMatrix.from_scipy(sp.csr_array(graph.features), device)
        attributes = dense_features(graph, "raw").to(device)
        self.gram = attributes @ attributes.T  # [N, N]
        self.labels = torch.tensor(graph.labels, device=device)
        self.train, self.val = (torch.tensor(part, device=device) for part in (graph.train, graph.validation))
        u, v = torch.tensor(graph.edges.ends.T, device=device)
        self.given = torch.zeros(graph.num_nodes, graph.num_nodes, device=device)  # A
        self.given[u, v] = self.given[v, u] = 1
        self.learned = self.given.clone()  # S
        self.velocity = torch.zeros_like(self.learned)
        sizes = (graph.num_features, settings.hidden_size, graph.num_classes)
        self.weights = [self._uniform(a, b) for a, b in pairwise(sizes)]
        self.biases = [self._uniform(1, b)[0] for b in sizes[1:]]
        parameters = [parameter.requires_grad_() for parameter in (*self.weights, *self.biases)]
        self.optimizer = torch.optim.Adam(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)

    def step_graph(self) -> None:
        """One step of S: along the gradient of what has one, then the proximal operators, then back to [0, 1]."""
        settings, rate = self.settings, self.settings.graph_learning_rate
        s = self.learned.detach().requires_grad_()
        loss = torch.linalg.matrix_norm(s - self.given)
        loss = loss + settings.classification * self._loss(self._logits(dense_propagation(s)), self.train)
        if settings.smoothness:
            loss = loss + settings.smoothness * feature_smoothness(s, self.gram)
        (slope,) = torch.autograd.grad(loss, s)
        with torch.no_grad():
            self.velocity = settings.graph_momentum * self.velocity + (slope + slope.T) / 2
            s = s - rate * self.velocity
            if settings.low_rank:
                s = shrink_spectrum(s, rate * settings.low_rank)
            self.learned = shrink(s, rate * settings.sparsity).clamp(0, 1)
            self.propagation = dense_propagation(self.learned)

    def step_gcn(self) -> None:
        """One step of the GCN on the learned graph."""
        self.optimizer.zero_grad()
        loss = self._loss(self._logits(self.propagation, dropout=self.settings.dropout), self.train)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    @torch.no_grad()
    def validate(self) -> tuple[float, float, Tensor]:
        """Validation accuracy and loss, NaN without validation nodes, and class probabilities [N, C]."""
        logits = self._logits(self.propagation)
        right = logits[self.val].argmax(1) == self.labels[self.val]
        return float(right.float().mean()), float(self._loss(logits, self.val)), logits.softmax(1)

    def _logits(self, propagation: Tensor, dropout: float = 0.0) -> Tensor:
        """The GCN's class scores, [N, C]."""
        hidden = (propagation @ (self.features @ self.weights[0]) + self.biases[0]).relu()  # [N, D]
        if dropout:
            kept = torch.rand(hidden.shape, generator=self.generator, device=hidden.device) >= dropout
            hidden = hidden * kept / (1 - dropout)
        return propagation @ (hidden @ self.weights[1]) + self.biases[1]

    def _loss(self, logits: Tensor, nodes: Tensor) -> Tensor:
        return functional.cross_entropy(logits[nodes], self.labels[nodes])

    def _uniform(self, rows: int, columns: int) -> Tensor:
        """Between -1/sqrt(columns) and 1/sqrt(columns)."""
        bound: float = columns**-0.5
        return torch.empty(rows, columns, device=self.generator.device).uniform_(
            -bound, bound, generator=self.generator
        )


def feature_smoothness(s: Tensor, gram: Tensor) -> Tensor:
    r"""How much attributes differ along edges, :math:`tr(X^\top \hat L X)` with :math:`\hat L = R (D - S) R`.

    :math:`D` holds the row sums of S and :math:`R = (D + 0.001)^{-1/2}`, so that a node without edges adds nothing.

    Shapes:
        - **s:** :math:`(N, N)`, symmetric
        - **gram:** :math:`(N, N)`, :math:`X X^\top`
    """
    degrees = s.sum(1)
    root = (degrees + 1e-3).rsqrt()
    own = (root.square() * degrees * gram.diagonal()).sum()
    return own - (root[:, None] * s * root[None, :] * gram).sum()
