"""PGExplainer (https://arxiv.org/abs/2011.04573), PyG's: one network tells the importance of any edge."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from tqdm import tqdm

from lab.baselines.post_hoc import PostHocExplainer
from lab.baselines.pyg import pyg
from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray
from se_gnn.settings.checks import above_zero, at_least, check_types


@dataclass(frozen=True, slots=True, kw_only=True)
class PGExplainerSettings:
    """Settings of PGExplainer; the defaults are PyG's, as are the weights of the authors of PGExplainer."""

    epochs: int = 30
    learning_rate: float = 0.003
    edge_size: float = 0.05  # weight of the number of edges that are kept
    edge_entropy: float = 1.0  # weight of their undecidedness
    first_temperature: float = 5.0  # of the sampled masks
    last_temperature: float = 2.0

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "epochs")
        for name in ("learning_rate", "first_temperature", "last_temperature"):
            above_zero(self, name)
        at_least(self, 0, "edge_size", "edge_entropy")


class PGExplainer(PostHocExplainer):
    """A network over the representations of an edge's ends and of the explained node; :meth:`fit` trains it."""

    settings_type = PGExplainerSettings
    settings: PGExplainerSettings
    explanation_type = "phenomenon"

    def _algorithm(self) -> Any:
        settings = self.settings
        algorithm = pyg("explain").PGExplainer(epochs=settings.epochs, lr=settings.learning_rate)
        # an attribute of its own: PyG's constructor would change the one that all of them share
        algorithm.coeffs = {
            **algorithm.coeffs,
            "edge_size": settings.edge_size,
            "edge_ent": settings.edge_entropy,
            "temp": [settings.first_temperature, settings.last_temperature],
        }
        return algorithm

    def fit(self, nodes: IntArray, *, progress: bool = False) -> Self:
        """Train on the predictions of some nodes, one step of Adam for each node and epoch."""
        if not len(nodes):
            raise InputError("nodes must name at least one node to learn from, got none")
        fitted, target = self.fitted, self._target()
        epochs = tqdm(range(self.settings.epochs), disable=not progress, unit="epoch", dynamic_ncols=True)
        with self._seeded(self.graph.num_nodes), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad")  # PyG does it
            for epoch in epochs:
                for node in nodes:
                    self.explainer.algorithm.train(
                        epoch, self.network, fitted.x_, fitted.edge_index_, target=target, index=int(node)
                    )
        self.fitted_ = True
        return self

    def explain(self, node: int) -> Any:
        """PyG's ``Explanation`` of a node."""
        if not hasattr(self, "fitted_"):
            raise InputError("PGExplainer is not fitted: call fit(nodes) first")
        return super().explain(node)

    def _target(self) -> Tensor:
        """The predicted classes, [N]: PyG's version explains what it is given."""
        return torch.from_numpy(self.fitted.predict())
