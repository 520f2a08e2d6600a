"""Graphs of several kinds of nodes: macro-F1 on validation and test nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lab.datasets import load_dataset
from reproduce.job import Job
from reproduce.measures.rgcn import rgcn_probabilities
from reproduce.methods import asked
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model.metrics import classification_metrics
from se_gnn.training import fit

MOST_NEIGHBORS = 32  # of a node by one kind of path


def measure(job: Job, device: str) -> dict[str, Any]:
    """Macro-F1 of the labeled kind."""
    graph, settings = load_dataset(job.series.dataset, seed=job.seed), job.series.settings
    if job.series.variant.startswith("paths"):
        graph = joined_by_paths(graph)
    if job.series.method == "rgcn":
        found = rgcn_probabilities(graph, settings, seed=job.seed, device=device)
    else:
        trained = fit(graph, asked(settings["config"]), seed=job.seed, device=device)
        found = np.zeros((graph.num_nodes, graph.num_classes), np.float32)
        for nodes in (graph.validation, graph.test):
            found[nodes] = trained.predict(nodes).probabilities
    return {
        f"{part}_macro_f1": classification_metrics(found[nodes], graph.labels[nodes])["macro_f1"]
        for part, nodes in (("val", graph.validation), ("test", graph.test))
    }


def joined_by_paths(graph: Graph) -> Graph:
    """The labeled kind alone; two nodes are joined that share a neighbor, or a neighbor of a neighbor.

    A path leads through one type of edge and back, or through two types and back, such as author, paper, conference,
    paper, author. Each kind of path is a type of edge.
    """
    assert graph.node_types is not None
    kind = int(graph.node_types[graph.train[0]])
    nodes = np.flatnonzero(graph.node_types == kind)
    features: Any = graph.features[nodes]
    filled = np.flatnonzero(np.asarray(abs(features).sum(axis=0)).ravel())
    edges, kinds, names = [], [], []
    for name, steps in _paths(graph, kind).items():
        pairs = _strongest(steps[nodes])
        edges.append(pairs)
        kinds.append(np.full(len(pairs), len(names), np.int32))
        names.append(name)
    place = np.full(graph.num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    values = EdgeValues(type=np.concatenate(kinds), type_names=tuple(names))
    return Graph.build(
        name=f"{graph.name} by paths",
        features=features[:, filled],
        edges=np.concatenate(edges),
        edge_values=values,
        labels=graph.labels[nodes],
        class_names=graph.class_names,
        train=place[graph.train],
        validation=place[graph.validation],
        test=place[graph.test],
    )


def _paths(graph: Graph, kind: int) -> dict[str, sp.csr_array]:
    """From all nodes to where half a path ends: one step by a type of edge at that kind, or two."""
    values = graph.edge_values
    assert values is not None
    assert values.type is not None
    assert graph.node_types is not None
    steps = {}
    for number, name in enumerate(values.type_names):
        u, v = graph.edges.ends[values.type == number].T
        ones = np.ones(2 * len(u), np.float32)
        ends = (np.concatenate([u, v]), np.concatenate([v, u]))
        steps[name] = sp.csr_array((ones, ends), shape=(graph.num_nodes, graph.num_nodes))
    own = sp.diags_array((graph.node_types == kind).astype(np.float32), format="csr")
    found = {}
    for name, step in steps.items():
        if (own @ step).nnz:
            found[name] = sp.csr_array(own @ step)
    for first in list(found):
        for second, step in steps.items():
            if second not in found:  # reached through the other kind only
                found[f"{first}, {second}"] = sp.csr_array(found[first] @ step)
    return {name: matrix for name, matrix in found.items() if matrix.nnz}


def _strongest(half: sp.csr_array) -> IntArray:
    """Pairs of rows with the most paths between them, at most 32 for each row; u < v, [E, 2]."""
    pairs = []
    for row in range(half.shape[0]):
        counts = (half[[row]] @ half.T).toarray()[0]
        counts[row] = 0
        others = np.flatnonzero(counts)
        others = others[np.lexsort((others, -counts[others]))[:MOST_NEIGHBORS]]
        pairs.append(np.stack([np.full(len(others), row), others], axis=1))
    both = np.sort(np.concatenate(pairs), axis=1)
    return np.unique(both, axis=0)
