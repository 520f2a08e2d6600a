"""Explainers from outside a trained network, by PyG: which edges mattered for the prediction of a node.

Shapes: E edges of the graph, M edges of the node's local graph.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
import torch

from lab.baselines.network import NetworkBaseline
from lab.baselines.pyg import pyg
from se_gnn.errors import InputError
from se_gnn.graph import local_graphs
from se_gnn.graph.arrays import FloatArray, IntArray


class PostHocExplainer(ABC):
    """Explains the predictions of a fitted network with message passing; the same seed gives the same bits on the CPU.

    Args:
        fitted: the network.
        settings: of the explainer; None: its defaults.
        seed: of all that the explainer draws; what it says of a node does not depend on the nodes before.

    Attributes:
        explainer: PyG's ``Explainer``, which the fidelity metrics ask for.
    """

    settings_type: ClassVar[type]
    explanation_type: ClassVar[str]
    node_mask_type: ClassVar[str | None] = None

    def __init__(self, fitted: NetworkBaseline, settings: Any = None, *, seed: int = 0) -> None:
        if not hasattr(fitted, "network_"):
            raise InputError(f"fitted must be a fitted network, this {type(fitted).__name__} is not fitted")
        self.fitted, self.graph, self.seed = fitted, fitted.graph_, seed
        self.settings = self.settings_type() if settings is None else settings
        # a copy: PyG leaves traces in a model, and after GNNExplainer PGExplainer would learn nothing on the same one
        self.network = copy.deepcopy(fitted.network_)
        with self._seeded():
            self.explainer = pyg("explain").Explainer(
                model=self.network,
                algorithm=self._algorithm(),
                explanation_type=self.explanation_type,
                node_mask_type=self.node_mask_type,
                edge_mask_type="object",
                model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
            )

    @abstractmethod
    def _algorithm(self) -> Any:
        """PyG's algorithm, an ``ExplainerAlgorithm``."""

    def fit(self, nodes: IntArray, *, progress: bool = False) -> Self:
        """Learn from the predictions of some nodes what an explainer has to know beforehand; most know nothing."""
        return self

    def explain(self, node: int) -> Any:
        """PyG's ``Explanation`` of a node: masks over all edges of the graph, in both directions."""
        if not 0 <= node < self.graph.num_nodes:
            raise InputError(f"node must be between 0 and {self.graph.num_nodes - 1}, got {node}")
        with self._seeded(node):
            return self.explainer(self.fitted.x_, self.fitted.edge_index_, index=int(node), target=self._target())

    def edge_importance(self, node: int, *, directed: bool = False) -> tuple[IntArray, FloatArray]:
        """Edges of the node's local graph, as far as the network sees, and the importance of each.

        Returns:
            Edges and importance of each, the mean of both directions; with ``directed`` an edge comes once in each
            direction with an importance of its own.

        Shapes:
            - **output:** :math:`(M, 2)` and :math:`(M,)`; with ``directed`` twice as long
        """
        mask = self.explain(node).edge_mask.detach().numpy().reshape(2, -1)  # [2, E]
        ids = local_graphs(self.graph, np.array([node]), self.fitted.settings.num_layers).row(0)
        edges = self.graph.edges.ends[ids]
        if directed:
            return np.concatenate([edges, edges[:, ::-1]]), mask[:, ids].ravel()
        return edges, mask[:, ids].mean(axis=0)

    def _target(self) -> Any:
        """The class that PyG explains: the model's own prediction, unless the explainer needs it as an input."""
        return None

    @contextmanager
    def _seeded(self, *more: int) -> Iterator[None]:
        """PyG draws from the global generator, which is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(np.random.SeedSequence([self.seed, *more]).generate_state(1)[0]))
            yield
