"""Explanation ROC AUC on BA-Shapes, in the four protocols that published figures follow.

All four ask the same: does the importance of an edge tell whether it belongs to a house? All pool the edges of the
local graphs of many nodes into one AUC, an edge once for each local graph it lies in. They differ in the local graph,
in which house counts, and in what is done with the two directions of an edge:

=====================================  =====  ===============  =========================
protocol                               hops   positive edges   the two directions
=====================================  =====  ===============  =========================
:func:`se_gnn_one_hop_auc`             1      of any house     mean
:func:`pyg_three_hop_auc`              3      of any house     each counts on its own
:func:`gnn_explainer_own_house_auc`    3      of its own house mean
:func:`pg_explainer_auc`               3      of any house     mean (their sum, say the authors: the same order)
=====================================  =====  ===============  =========================

`lab.datasets.load_with_truth` says which edges are of houses. An explanation is a pair ``(edges, importance)``: node
ids [M, 2] and numbers [M], higher is more important. An edge that is given in one direction stands for both. Edges
beyond the local graph of the protocol are left out; each edge within it has to be there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from lab.metrics.edge_matching import values_of_edges
from se_gnn.errors import InputError
from se_gnn.graph import Graph, local_graphs
from se_gnn.graph.arrays import BoolArray, IntArray

Explained = Mapping[int, tuple[Any, Any]]  # node -> (edges [M, 2], importance [M])

BA_SHAPES_NODES: IntArray = np.arange(400, 700, 5)  # the nodes all four explain: the first of houses 20 to 79


def se_gnn_one_hop_auc(graph: Graph, motif_edges: BoolArray, explained: Explained) -> float:
    """SE-GNN's protocol: edges of 1-hop local graphs, those of any house are positive, each edge once."""
    return _pooled_auc(graph, motif_edges, explained, hops=1)


def pyg_three_hop_auc(graph: Graph, motif_edges: BoolArray, explained: Explained) -> float:
    """The protocol of PyG's example: 3-hop local graphs, any house; each direction of an edge counts on its own."""
    return _pooled_auc(graph, motif_edges, explained, hops=3, each_direction=True)


def gnn_explainer_own_house_auc(graph: Graph, motif_edges: BoolArray, explained: Explained) -> float:
    """GNNExplainer's protocol: 3-hop local graphs; only the house that the explained node is part of is positive."""
    return _pooled_auc(graph, motif_edges, explained, hops=3, own_motif=True)


def pg_explainer_auc(graph: Graph, motif_edges: BoolArray, explained: Explained) -> float:
    """PGExplainer's protocol: 3-hop local graphs, any house, the importance of the two directions added up."""
    return _pooled_auc(graph, motif_edges, explained, hops=3)


AUC_PROTOCOLS: dict[str, Callable[[Graph, BoolArray, Explained], float]] = {
    "SE-GNN, 1 hop": se_gnn_one_hop_auc,
    "PyG, 3 hops": pyg_three_hop_auc,
    "GNNExplainer, own house": gnn_explainer_own_house_auc,
    "PGExplainer, 3 hops": pg_explainer_auc,
}


def _pooled_auc(
    graph: Graph,
    motif_edges: BoolArray,
    explained: Explained,
    *,
    hops: int,
    own_motif: bool = False,
    each_direction: bool = False,
) -> float:
    if motif_edges.shape != (graph.num_edges,):
        raise InputError(f"motif_edges must have one entry per edge ({graph.num_edges}), got shape {motif_edges.shape}")
    motif_of = _motifs(graph.edges.ends[motif_edges], graph.num_nodes)
    local = local_graphs(graph, np.array(list(explained), dtype=np.int64), hops)
    truths, scores = [], []
    for i, (node, (edges, importance)) in enumerate(explained.items()):
        ids = local.row(i)
        positive = motif_edges[ids]
        if own_motif:
            if motif_of[node] < 0:
                raise InputError(f"node {graph.node_names[node]!r} is in no motif: it has no edges of its own to find")
            positive = positive & (motif_of[graph.edges.ends[ids, 0]] == motif_of[node])
        both = _both_directions(graph, node, edges, importance)[ids]  # [M, 2]
        truths.append(np.repeat(positive, 2) if each_direction else positive)
        scores.append(both.ravel() if each_direction else both.mean(axis=1))
    truth = np.concatenate([*truths, np.empty(0, bool)])
    score = np.concatenate([*scores, np.empty(0)])
    if truth.all() or not truth.any():
        raise InputError(f"ROC AUC needs edges in and outside of motifs, got {truth.sum()} in {len(truth)}")
    missing = np.isnan(score)
    if missing.any():
        raise InputError(
            f"an explanation must give every edge of the {hops}-hop local graph a number, {missing.sum()} have none"
        )
    return float(roc_auc_score(truth, score))


def _both_directions(graph: Graph, node: int, edges: Any, importance: Any) -> np.ndarray:
    """Importance of every edge of the graph as (u, v) and as (v, u), [E, 2]; NaN where none is given."""
    pairs, given = np.asarray(edges, dtype=np.int64).reshape(-1, 2), np.asarray(importance, dtype=np.float64)
    if given.shape != (len(pairs),):
        raise InputError(f"importance of node {node} must have one entry per edge ({len(pairs)}), got {given.shape}")
    ids = values_of_edges(graph.edges.ends, np.arange(graph.num_edges), pairs)
    slots = 2 * ids + (pairs[:, 0] > pairs[:, 1])
    if len(np.unique(slots)) != len(slots):
        raise InputError(f"the explanation of node {node} names an edge twice")
    out = np.full((graph.num_edges, 2), np.nan)
    out.ravel()[slots] = given
    return np.where(np.isnan(out), out[:, ::-1], out)


def _motifs(edges: IntArray, num_nodes: int) -> IntArray:
    """Number of the motif each node is in, -1 for none, [N]: motifs are the connected parts of the motif edges."""
    u, v = edges[:, 0], edges[:, 1]
    adjacency = sp.csr_array((np.ones(len(edges), dtype=bool), (u, v)), shape=(num_nodes, num_nodes))
    _, part = sp.csgraph.connected_components(adjacency, directed=False)
    inside: BoolArray = np.isin(np.arange(num_nodes), edges)
    return np.where(inside, part.astype(np.int64), -1)
