"""What every baseline offers: fit to a graph, then class probabilities of its nodes.

Shapes, here and in the other baselines: N nodes, C classes, D dimensions of a representation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray


class Baseline(ABC):
    """A classifier of the nodes of one graph, to compare with.

    The constructor stores the settings; :meth:`fit` learns from the labeled nodes and lets the validation nodes choose
    the epoch. The same seed gives the same bits on the CPU.
    """

    settings_type: ClassVar[type]

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.settings_type() if settings is None else settings

    @abstractmethod
    def fit(self, graph: Graph, *, seed: int, device: str = "cpu", progress: bool = False) -> Self:
        """Learn from ``graph.train``, choose the epoch on ``graph.validation``; ``graph.test`` is never looked at.

        Args:
            graph: the labeled graph.
            seed: of all that is drawn.
            device: ``cpu``, ``cuda`` or ``auto``.
            progress: shows a progress bar.
        """

    @abstractmethod
    def predict_proba(self) -> FloatArray:
        """Class probabilities of all nodes, [N, C]."""

    def predict(self) -> IntArray:
        """Most probable class of every node, the lowest where two are equally likely, [N]."""
        return np.asarray(self.predict_proba().argmax(axis=1), dtype=np.int64)

    def _check_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise InputError(f"{type(self).__name__} is not fitted: call fit(graph, seed=...) first")
