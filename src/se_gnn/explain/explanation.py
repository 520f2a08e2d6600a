"""Why a node was predicted as it was: the votes, what they rest on, and what would have been without each.

An explanation is the computation itself, not a model of it. Shapes: M edges of the node's local graph, K neighbors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.explain import sentence, serialize
from se_gnn.explain.interop import networkx, notebook, pandas, pyg_explanation
from se_gnn.explain.shared_attributes import SharedAttributes
from se_gnn.graph import AttributedGraph
from se_gnn.graph.attributed import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatches:
    """Edges of one local graph, each with its best match in another, Eq. (5).

    ``well`` marks the edges that are matched at least as well as the K nearest labeled nodes match them on average; on
    the way back, at least as well as the edges of all labeled nodes are on average.

    Shapes:
        - **edges**, **matched:** :math:`(M, 2)` node ids; **similarity**, **well:** :math:`(M,)`
    """

    edges: IntArray
    matched: IntArray
    similarity: FloatArray
    well: BoolArray

    def __len__(self) -> int:
        return len(self.edges)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Neighbor:
    """One of the K nearest labeled nodes and its vote.

    ``weight`` is what it adds to the probability of its class, Eq. (8)-(9). ``similarity`` is the sum of
    ``node_term`` and ``structure_term``, Eq. (7). ``structure_similarity`` is None where one of the two nodes has no
    edges: then the two were compared by node similarity alone.
    """

    node: int
    name: str
    label: int
    label_name: str
    weight: float
    similarity: float
    node_similarity: float
    structure_similarity: float | None
    node_term: float  # lambda s^n
    structure_term: float  # (1 - lambda) s^e
    without: tuple[float, ...]  # class probabilities if this node were not labeled
    matches: EdgeMatches | None = None  # edges of the explained node, matched in this node's local graph
    matches_back: EdgeMatches | None = None  # edges of this node, matched in the explained node's local graph
    shared_attributes: SharedAttributes | None = None  # where the graph has names for its attributes


@dataclass(frozen=True, slots=True, eq=False)
class CrucialSubgraph:
    """The edges of a local graph that matter most, most important first.

    Shapes:
        - **nodes:** ids of their ends, ascending; **edges:** :math:`(S, 2)`; **importance:** :math:`(S,)`
    """

    nodes: IntArray
    edges: IntArray
    importance: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Explanation:
    """Prediction of one node and the evidence it is made of.

    Attributes:
        node, name: the node.
        label: its known class, or -1.
        left_out: the node is labeled itself and was explained by the others.
        predicted: the class with the highest probability.
        probabilities: one for each class; each is the sum of the weights of the neighbors of that class.
        neighbors: the K nearest labeled nodes, nearest first.
        edges: the edges of its n-hop local graph, :math:`(M, 2)`.
        importance: mean similarity of each edge with its matches, Eq. (10), :math:`(M,)`; NaN where no neighbor has
            edges.
        hops, node_weight, temperature, measure, directions: the settings n, lambda, tau, sim it was computed with.
        node_names: names of all nodes that are mentioned.
        graph: the graph it was explained on.
    """

    node: int
    name: str
    label: int
    left_out: bool
    predicted: int
    class_names: tuple[str, ...]
    probabilities: tuple[float, ...]
    neighbors: tuple[Neighbor, ...]
    edges: IntArray
    importance: FloatArray
    hops: int
    node_weight: float
    temperature: float
    measure: str
    directions: str
    node_names: dict[int, str]
    graph: AttributedGraph

    @property
    def predicted_name(self) -> str:
        """Name of the predicted class."""
        return self.class_names[self.predicted]

    @property
    def has_structure(self) -> bool:
        """Whether the node has edges; without, it was compared by node similarity alone."""
        return len(self.edges) > 0

    def crucial_subgraph(self, *, threshold: float | None = None, size: int | None = None) -> CrucialSubgraph:
        """Edges at or above an importance ``threshold``, or the ``size`` most important ones; equals by edge order."""
        if (threshold is None) == (size is None):
            raise InputError("crucial_subgraph needs either threshold or size, not both")
        if size is not None and size < 0:
            raise InputError(f"size must be at least 0, got {size}")
        known = np.flatnonzero(np.isfinite(self.importance))
        order = known[np.argsort(-self.importance[known], kind="stable")]
        order = order[:size] if threshold is None else order[self.importance[order] >= threshold]
        edges = self.edges[order]
        return CrucialSubgraph(np.unique(edges), edges, self.importance[order])

    def sentence(self) -> str:
        """The explanation in words."""
        return sentence.describe(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `explanation.schema.json` describes them."""
        return serialize.to_dict(self)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Versioned JSON."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    def to_pyg(self, *, features: bool = True) -> Any:
        """A ``torch_geometric.explain.Explanation`` on the whole graph; needs `pip install 'se-gnn[data]'`.

        ``edge_mask`` is the share of the edges of the local graph that an edge is at least as important as: 1 for the
        most important one, 0 outside. ``features=False`` leaves out ``x``, which is dense there.
        """
        return pyg_explanation.to_pyg(self, features=features)

    def to_networkx(self) -> Any:
        """The local graph and the neighbors as a ``networkx.Graph``; needs `pip install 'se-gnn[interop]'`."""
        return networkx.to_networkx(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each neighbor; needs `pip install 'se-gnn[interop]'`."""
        return pandas.to_pandas(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook.to_html(self)

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        share = self.probabilities[self.predicted]
        return (
            f"Explanation({self.name!r}: predicted {self.predicted_name!r} ({share:.1%}) by {len(self.neighbors)} "
            f"labeled nodes, {len(self.edges)} edges around it)"
        )
