"""One node of Citeseer with the nearest labeled node of every method: local graphs, matched edges, places."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.job import Job
from reproduce.measures.fitted import fit
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.graph.attributed import IntArray


def measure(job: Job, device: str) -> dict[str, Any]:
    """Train every method, and keep what a picture of the case needs."""
    from se_gnn.datasets import load_dataset

    settings = job.series.settings
    graph = load_dataset(job.series.dataset, seed=job.seed)
    node = case_node(graph, settings["hops"], settings["edges_between"])
    edges = local_edges(graph, node, settings["hops"])
    found = {}
    for method, its_settings in settings["methods"].items():
        fitted = fit(graph, method, its_settings, seed=job.seed, device=device)
        nearest = int(fitted.nearest(np.array([node]), 1)[0, 0])
        theirs = local_edges(graph, nearest, settings["hops"])
        matched = fitted.match_edges(edges, theirs)
        found[method] = {
            "node": nearest,
            "edges": theirs.tolist(),
            "matches": None if matched is None else matched.tolist(),  # of each edge of the node, one of these edges
        }
    shown = np.unique(np.concatenate([edges, *(np.array(one["edges"]).reshape(-1, 2) for one in found.values())]))
    return {
        "node": node,
        "edges": edges.tolist(),
        "nearest": found,
        "shown": shown.tolist(),
        "labels": graph.labels[shown].tolist(),
        "labeled": np.isin(shown, graph.train).tolist(),
        "places": places(graph, shown, job.seed).round(3).tolist(),
        "class_names": list(graph.class_names),
    }


def case_node(graph: AttributedGraph, hops: int, edges_between: tuple[int, int]) -> int:
    """The first test node whose local graph is neither too small to show anything nor too large to be read."""
    low, high = edges_between
    sizes = local_graphs(graph, graph.test, hops).sizes
    fitting = np.flatnonzero((sizes >= low) & (sizes <= high))
    if not len(fitting):
        raise InputError(f"edges_between must fit some test node, none has {low} to {high} edges in its local graph")
    return int(graph.test[fitting[0]])


def local_edges(graph: AttributedGraph, node: int, hops: int) -> IntArray:
    """The edges of the local graph of one node, [M, 2]."""
    edges: IntArray = graph.edges[local_graphs(graph, np.array([node]), hops).row(0)]
    return edges


def places(graph: AttributedGraph, nodes: IntArray, seed: int) -> np.ndarray:
    """t-SNE of the features of some nodes: the more alike, the nearer, [n, 2]."""
    from sklearn.manifold import TSNE

    rows = graph.features[nodes]
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    perplexity = min(15.0, (len(nodes) - 1) / 3)
    return np.asarray(TSNE(perplexity=perplexity, init="pca", metric="cosine", random_state=seed).fit_transform(dense))
