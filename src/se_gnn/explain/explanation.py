"""Why a node was predicted as it was: the votes, what they rest on, and what would have been without each.

An explanation is the computation itself, not a model of it. It carries its graph, the local graphs and the ranking that
was used, so that pictures and reports need nothing else and compute nothing again. Shapes: M edges of the node's local
graph, K neighbors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.explain import serialize
from se_gnn.explain.evidence import CRUCIAL_EDGES, CrucialSubgraph, Neighbor
from se_gnn.explain.interop import networkx, notebook, pandas, pyg_explanation
from se_gnn.explain.sentence import Word, words_of
from se_gnn.explain.shared_attributes import SharedAttributes, shared_attributes
from se_gnn.graph import Graph, LocalGraphs
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.graph.local import ROLE_WORDS, edge_roles
from se_gnn.model import TrainedModel
from se_gnn.ranking import Ranking, SmallestSet, smallest_relabelings, smallest_removals
from se_gnn.settings import Resolved


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Explanation:
    """Prediction of one node and the evidence it is made of.

    Attributes:
        node: id of the node.
        left_out: the node is labeled itself and was explained by the others.
        predicted: the class with the highest probability.
        probabilities: one per class; each is the sum of the weights of the neighbors of that class.
        neighbors: the K nearest labeled nodes, nearest first.
        edge_ids: the edges of its local graph, rows of ``graph.edges.ends``, ascending, :math:`(M,)`.
        importance: mean similarity of each edge with its matches, Eq. (10), :math:`(M,)`; NaN where no neighbor has
            edges.
        ranking: all labeled nodes, nearest first, with their similarities; the first K vote.
        settings: the settings of similarity and vote it was computed with: n, lambda, tau, sim, K.
        trained: the model that predicts, with its graph.
    """

    node: int
    left_out: bool
    predicted: int
    probabilities: tuple[float, ...]
    neighbors: tuple[Neighbor, ...]
    edge_ids: IntArray
    importance: FloatArray
    ranking: Ranking
    settings: Resolved
    trained: TrainedModel

    @property
    def graph(self) -> Graph:
        """The graph it was explained on."""
        return self.trained.graph

    @property
    def name(self) -> str:
        """Name of the node."""
        return self.graph.node_names[self.node]

    @property
    def label(self) -> int:
        """Known class of the node, or -1."""
        return int(self.graph.labels[self.node])

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of ``probabilities``."""
        return self.graph.class_names

    @property
    def predicted_name(self) -> str:
        """Name of the predicted class."""
        return self.class_names[self.predicted]

    @property
    def has_structure(self) -> bool:
        """Whether the node has edges; without, it was compared by node similarity alone."""
        return len(self.edge_ids) > 0

    @property
    def edges(self) -> IntArray:
        """Node ids of the ends of the edges of its local graph, [M, 2]."""
        ends: IntArray = self.graph.edges.ends[self.edge_ids]
        return ends

    @cached_property
    def roles(self) -> tuple[str | None, ...]:
        """Where each edge of the local graph leads, seen from the node, in words; None: it has no direction."""
        local = LocalGraphs(
            np.array([self.node]),
            np.array([0, len(self.edge_ids)]),
            self.edge_ids.astype(np.int32),
            self.graph.num_edges,
        )
        found = edge_roles(self.graph, local, self.settings.similarity.hops).tolist()
        return tuple(ROLE_WORDS[role] if role else None for role in found)

    def caption(self, node: int) -> str:
        """What people see for a node of the graph: its caption, or its name where it has none."""
        return self.graph.caption(node)

    @cached_property
    def deciding(self) -> tuple[Neighbor, ...]:
        """The neighbors each of which decides the prediction alone: without it, another class would be predicted."""
        return tuple(
            one for one in self.neighbors if any(one.without) and int(np.argmax(one.without)) != self.predicted
        )

    @cached_property
    def weightiest(self) -> Neighbor:
        """The neighbor without which the predicted class would be least probable."""
        return min(self.neighbors, key=lambda one: one.without[self.predicted])

    @cached_property
    def smallest_removal(self) -> SmallestSet | None:
        """The fewest labeled nodes whose removal changes the prediction; None where no removal does."""
        return smallest_removals(self.ranking)[0]

    @cached_property
    def smallest_relabeling(self) -> SmallestSet | None:
        """The fewest labeled nodes that change the prediction if they get another class; None where none do."""
        return smallest_relabelings(self.ranking)[0]

    @cached_property
    def shared_attributes(self) -> tuple[SharedAttributes, ...]:
        """What the node has in common with each of the neighbors that were explained in full, nearest first."""
        full = (one for one in self.neighbors if one.explained)
        return tuple(one.shared_attributes or shared_attributes(self.trained, self.node, one.node) for one in full)

    def crucial_subgraph(self, *, size: int | None = None, threshold: float | None = None) -> CrucialSubgraph:
        """The ``size`` most important edges, Eq. (10), or those at or above a ``threshold``; equals by edge order.

        Without either there are five.
        """
        if threshold is not None and size is not None:
            raise InputError("crucial_subgraph takes threshold or size, not both")
        if size is not None and size < 0:
            raise InputError(f"size must be at least 0, got {size}")
        known = np.flatnonzero(np.isfinite(self.importance))
        order = known[np.argsort(-self.importance[known], kind="stable")]
        if threshold is not None:
            order = order[self.importance[order] >= threshold]
        else:
            order = order[: CRUCIAL_EDGES if size is None else size]
        ids = self.edge_ids[order]
        edges = self.graph.edges.ends[ids]
        return CrucialSubgraph(np.unique(edges), ids, edges, self.importance[order])

    def sentence(self) -> str:
        """The explanation in words."""
        return "".join(word.text for word in self.words())

    def words(self) -> list[Word]:
        """The sentence in pieces: names of nodes and classes apart, so that a page can color and link them."""
        return words_of(self)

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

    def matches_to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each matched edge; needs `pip install 'se-gnn[interop]'`."""
        return pandas.matches_to_pandas(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return notebook.to_html(self)

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        share = self.probabilities[self.predicted]
        return (
            f"Explanation({self.name!r}: predicted {self.predicted_name!r} ({share:.1%}) by {len(self.neighbors)} "
            f"labeled nodes, {len(self.edge_ids)} edges in its local graph)"
        )
