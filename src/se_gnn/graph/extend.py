"""A graph with more nodes: those it has keep their positions, new ones come after them. Shapes: N nodes, M new ones.

In memory the result is a graph like any other. Where the graph is mapped, its files stay as they are: rows of new nodes
come after theirs, and new edges lie beside theirs with higher ids.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, Int32Array, IntArray, dense
from se_gnn.graph.columns import RawTable
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.edges import Csr, Edges, canonical_edges, check_edge_ends
from se_gnn.graph.graph import Graph
from se_gnn.graph.nodes import Nodes
from se_gnn.graph.rows import as_rows, features_like, stack


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewNodes:
    """Nodes without a label that join a graph, and edges to known nodes and to each other."""

    names: tuple[str, ...]  # what each is called, no name of a known node
    features: Features  # attributes, encoded as those of the graph are, [M, F]
    pairs: IntArray  # edges as positions in the graph with the new nodes, which are N, N + 1, and so on, [n, 2]
    known_features: Features | None = None  # of the known nodes where new edges change them, [N, F]; None: they stay
    captions: tuple[str, ...] | None = None  # what people see for each; None: none has one
    raw: RawTable | None = None  # rows of the table as it was given; None: there is none
    # what each of `pairs` carries, in the layout of the graph's; None: nothing is known of them
    edge_values: EdgeValues | None = None
    # type of each new node where the graph has several, positions in its `node_type_names`
    node_types: Int32Array | None = None
    notes: tuple[str, ...] = ()  # what people should know, such as categories that the model has not seen


def extended_graph(graph: Graph, new: NewNodes) -> Graph:
    """The graph with new nodes after its own; labels and split stay.

    An edge that is there already, or given twice, is merged as everywhere. Where edges carry values, new edges come
    beside those that are there, and an edge of which nothing is known gets :meth:`EdgeValues.neutral` values.
    """
    nodes, count = _nodes(graph, new), len(new.names)
    check_edge_ends(new.pairs, len(nodes))
    return dataclasses.replace(
        graph,
        nodes=nodes,
        edges=_edges(graph, new, len(nodes)),
        target=graph.target.followed_by_unknown(count),
    )


def _nodes(graph: Graph, new: NewNodes) -> Nodes:
    known = graph.nodes
    if new.features.shape != (len(new.names), graph.num_features):
        raise InputError(
            f"new nodes must have {graph.num_features} features each, as {graph.name} has, got shape "
            f"{tuple(new.features.shape)} for {len(new.names)} names"
        )
    twice = known.known(new.names)
    if twice:
        raise InputError(f"node {twice[0]!r} is in {graph.name} already: new nodes have new names")
    if known.types is not None and (new.node_types is None or len(new.node_types) != len(new.names)):
        raise InputError(
            f"{graph.name} has several types of nodes ({', '.join(known.type_names)}): node_types must say what each "
            "new node is"
        )
    if not len(new.names):
        return known
    fresh = dataclasses.replace(
        known,
        features=features_like(known.features, new.features),
        names=new.names,
        captions=new.captions,
        raw=new.raw,
        types=None if known.types is None else new.node_types,
    )
    _check_blocks(graph, fresh)
    if new.known_features is not None:
        known = dataclasses.replace(known, features=as_rows(new.known_features))
    return known.joined(fresh)


def _check_blocks(graph: Graph, fresh: Nodes) -> None:
    """Where each type of nodes has features of its own, a new node has those of its type and no others."""
    blocks, types = graph.nodes.blocks_by_type(), fresh.types
    if blocks is None or types is None:
        return
    given, names = dense(fresh.features.whole()), graph.feature_names or ()
    for number, type_name in enumerate(fresh.type_names):
        own = np.flatnonzero(types == number)
        others = np.setdiff1d(np.arange(given.shape[1]), blocks[type_name])
        wrong = np.argwhere(given[np.ix_(own, others)] != 0)
        if len(wrong):
            node, feature = int(own[wrong[0, 0]]), int(others[wrong[0, 1]])
            raise InputError(
                f"new node {fresh.names[node]!r} is of type {type_name!r}, but has a value in {names[feature]!r}, a "
                "feature of another type: give 0 there, or another type"
            )
        mark = next((i for i in blocks[type_name].tolist() if names[i] == type_name), None)
        known = np.flatnonzero(graph.node_types == number)[:1]
        if mark is None or not len(known) or not len(own):
            continue
        value = float(dense(graph.nodes.features.take(known))[0, mark])
        off = own[~np.isclose(given[own, mark], value, rtol=1e-5)]
        if len(off):
            raise InputError(
                f"new node {fresh.names[int(off[0])]!r} is of type {type_name!r}: its feature {type_name!r} must be "
                f"{value:.6g}, as it is for all nodes of that type, got {given[off[0], mark]:.6g}"
            )


def _edges(graph: Graph, new: NewNodes, total: int) -> Edges:
    known, values = graph.edges, new.edge_values
    if known.values is None and values is not None:
        raise InputError(f"new edges have {', '.join(values.edge_data)}, but those of {graph.name} do not")
    if known.values is not None and values is None:
        values = known.values.neutral(len(new.pairs))
    if known.pairs.in_memory:
        both = None if known.values is None or values is None else known.values.joined(values)
        return Edges.build(np.concatenate([known.ends, new.pairs]), total, both)
    return _beside(known, Edges.build(new.pairs, total, values))


def _beside(known: Edges, added: Edges) -> Edges:
    """Mapped edges, and others beside them that are not there yet."""
    new = _not_there(known, added)
    ends = added.ends[new]
    csr = Csr.of(ends, added.num_nodes)
    later = dataclasses.replace(csr, edge_ids=csr.edge_ids + np.int32(len(known)))
    values = None if known.values is None or added.values is None else known.values.joined(added.values.take(new))
    return Edges(
        pairs=as_rows(stack(known.pairs, ends)),
        num_nodes=added.num_nodes,
        values=values,
        merged=added.merged,
        csr=known.neighbors.followed_by(later),
    )


def _not_there(known: Edges, added: Edges) -> IntArray:
    """Which of some edges are none of the known ones, ids."""
    lower = np.unique(added.ends[:, 0])
    lower = lower[lower < known.num_nodes]
    ptr, others, edges = known.neighbors.rows(lower)
    keys = np.repeat(lower, np.diff(ptr)) * added.num_nodes + others
    ids = edges[np.isin(keys, added.keys())].astype(np.int64)
    pairs = np.concatenate([known.pairs.take(ids).reshape(-1, 2), added.ends])
    both = None if known.values is None or added.values is None else known.values.take(ids).joined(added.values)
    first = canonical_edges(pairs, added.num_nodes, both)[1]
    return np.sort(first[first >= len(ids)]) - len(ids)
