"""A graph with more nodes: those it has keep their positions, new ones come after them. Shapes: N nodes, M new ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, Int32Array, IntArray
from se_gnn.graph.edge_list import EdgeReport, canonical_edges, check_edge_ends
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.graph import Graph
from se_gnn.graph.labels import UNKNOWN
from se_gnn.graph.parallel_edges import canonical_valued_edges
from se_gnn.graph.raw import RawTable


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewNodes:
    """Nodes without a label that join a graph, and edges to known nodes and to each other.

    Args:
        names: what each is called, no name of a known node.
        features: attributes, encoded as those of the graph are.
        pairs: edges as positions in the graph with the new nodes, which are N, N + 1, and so on.
        known_features: attributes of the known nodes where new edges change them; None: they stay.
        captions: what people see for each; None: none has one.
        raw: rows of the table as it was given; None: there is none.
        edge_values: what each of ``pairs`` carries, in the layout of the graph's; None: nothing is known of them.
        node_types: kind of each new node where the graph has several, positions in its ``node_type_names``.
        notes: what people should know, such as categories that the model has not seen.

    Shapes:
        - **features:** :math:`(M, F)`, **pairs:** :math:`(E', 2)`, **known_features:** :math:`(N, F)`
    """

    names: tuple[str, ...]
    features: Features
    pairs: IntArray
    known_features: Features | None = None
    captions: tuple[str, ...] | None = None
    raw: RawTable | None = None
    edge_values: EdgeValues | None = None
    node_types: Int32Array | None = None
    notes: tuple[str, ...] = ()


def extended_graph(graph: Graph, new: NewNodes) -> Graph:
    """The graph with new nodes after its own; labels and split stay, ground truth on edges and roles does not survive.

    An edge that is there already, or given twice, is merged as everywhere. Where edges carry values, new edges come
    beside those that are there, and an edge of which nothing is known gets :meth:`EdgeValues.neutral` values.
    """
    total = graph.num_nodes + len(new.names)
    if new.features.shape != (len(new.names), graph.num_features):
        raise InputError(
            f"new nodes must have {graph.num_features} features each, as {graph.name} has, got shape "
            f"{tuple(new.features.shape)} for {len(new.names)} names"
        )
    known = set(graph.node_names)
    twice = next((name for name in new.names if name in known), None)
    if twice is not None:
        raise InputError(f"node {twice!r} is in {graph.name} already: new nodes have new names")
    check_edge_ends(new.pairs, total)
    edges, values, merged = _edges(graph, new, total)
    labels = np.concatenate([graph.labels, np.full(len(new.names), UNKNOWN, np.int64)])
    return dataclasses.replace(
        graph,
        features=_stacked(graph.features if new.known_features is None else new.known_features, new.features),
        edges=edges,
        edge_values=values,
        node_types=_kinds(graph, new),
        labels=labels,
        node_names=(*graph.node_names, *new.names),
        captions=_captions(graph, new),
        raw=None if graph.raw is None or new.raw is None else graph.raw.joined(new.raw),
        motif_edges=None,
        node_roles=None,
        edge_roles=None,
        merged=merged,
    )


def _edges(graph: Graph, new: NewNodes, total: int) -> tuple[IntArray, EdgeValues | None, EdgeReport]:
    pairs, known = np.concatenate([graph.edges, new.pairs]), graph.edge_values
    if known is None:
        if new.edge_values is not None:
            raise InputError(f"new edges carry {', '.join(new.edge_values.carried)}, but those of {graph.name} do not")
        edges, _, merged = canonical_edges(pairs, total)
        return edges, None, merged
    values = known.joined(known.neutral(len(new.pairs)) if new.edge_values is None else new.edge_values)
    edges, _, values, merged = canonical_valued_edges(pairs, values, total)
    return edges, values, merged


def _kinds(graph: Graph, new: NewNodes) -> Int32Array | None:
    if graph.node_types is None:
        return None
    if new.node_types is None or len(new.node_types) != len(new.names):
        raise InputError(
            f"{graph.name} has several kinds of nodes ({', '.join(graph.node_type_names)}): node_types must say what "
            "each new node is"
        )
    return np.concatenate([graph.node_types, new.node_types]).astype(np.int32)


def _stacked(known: Features, new: Features) -> Features:
    """One above the other, sparse or dense as the known ones are."""
    if isinstance(known, np.ndarray):
        return np.concatenate([known, new if isinstance(new, np.ndarray) else new.toarray()]).astype(np.float32)
    return sp.csr_array(sp.vstack([known, sp.csr_array(new)], format="csr"), dtype=np.float32)


def _captions(graph: Graph, new: NewNodes) -> tuple[str, ...] | None:
    if graph.captions is None and new.captions is None:
        return None
    return (*_or_empty(graph.captions, graph.num_nodes), *_or_empty(new.captions, len(new.names)))


def _or_empty(captions: Sequence[str] | None, count: int) -> Sequence[str]:
    return captions if captions is not None else ("",) * count
