"""What an encoder is: ours, or someone else's. Shapes: N nodes, D dimensions, U nodes of a "what if", S variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray

Embeddings = Tensor | FloatArray  # [N, D]: a tensor, or the array of a mapped file
EdgeTerms = Callable[[Tensor], Tensor]  # ids of edges [n] to what is added to their vectors [n, D]


@runtime_checkable
class Encoder(Protocol):
    """Turns a graph into one embedding per node. The same graph always gets the same embeddings."""

    @property
    def width(self) -> int:
        """D."""

    @property
    def reads_target(self) -> bool:
        """Whether known labels are read: then an edit of labels changes embeddings, and they are computed again."""

    @property
    def device(self) -> torch.device:
        """Device on which nodes are compared."""

    def check(self, graph: Graph) -> None:
        """Refuse a graph that this encoder cannot read, with the reason."""

    def embed(self, graph: Graph, *, max_memory: int | str | None = None) -> Embeddings:
        """Embeddings of all nodes; those of a mapped graph are in a mapped file."""

    def edge_terms(self, graph: Graph) -> EdgeTerms | None:
        """What the edges of a graph add to their vectors; None: nothing."""

    def to_bytes(self) -> bytes:
        """The parameters, as they are stored; their digest tells one encoder from another."""


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """Attributes taken from some nodes: how the first layer's input changes in each of S variants.

    Shapes:
        - **nodes:** :math:`(U,)`, **features:** :math:`(f,)`, **had** and **taken:** :math:`(U, f)`, as the first layer
          reads them
        - **variant:** :math:`(f,)`, which variant each feature is taken in; **ratio:** :math:`(U, S)`, what the scaling
          of a row becomes, as a share of what it was
    """

    nodes: Tensor
    features: Tensor
    had: Tensor
    taken: Tensor
    variant: Tensor
    ratio: Tensor


@runtime_checkable
class AttributeEffects(Protocol):
    """An encoder that can say what becomes of an embedding when attributes are taken from some nodes."""

    def steps(self, graph: Graph) -> Any:
        """What is computed on the way to the embeddings of all nodes; :meth:`without` reads it."""

    def without(self, steps: Any, change: Change) -> Tensor:
        """Embeddings of the nodes of a change, in each of its variants, [U, S, D]; all else stays as it is."""

    def terms(self, edge_data: Tensor) -> Tensor:
        """What edges with such data [n, A] add to their vectors, [n, D]."""
