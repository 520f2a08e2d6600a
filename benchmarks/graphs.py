"""The graphs that cases run on: data sets of the registry, and generated ones."""

from __future__ import annotations

import dataclasses

import numpy as np

from benchmarks.measure import Unavailable
from lab.datasets import load_dataset
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.rows import as_rows
from se_gnn.graph.split import split_by_class

NUM_CLASSES = 7  # of a generated graph
MEAN_DEGREE = 10
NUM_FEATURES = 32
HUBS_NODES, HUBS_EDGES = 25_000, 175_000


def load_graph(name: str, *, seed: int) -> Graph:
    """The graph of a case; :class:`Unavailable` where its data is missing."""
    if name == "tiny":
        return generated_graph(160, seed=seed, labeled_a_class=5)
    if name == "hubs":
        return graph_with_hubs(HUBS_NODES, HUBS_EDGES, seed=seed)
    try:
        return load_dataset(name, seed=seed)
    except InputError as error:
        raise Unavailable(str(error)) from error


def generated_graph(num_nodes: int, *, seed: int, labeled_a_class: int = 20) -> Graph:
    """A random graph of fixed mean degree in which 4 of 5 edges join nodes of one class.

    The labeled set does not grow with the graph: the same number of nodes per class, and local graphs of the same size.
    """
    generator = np.random.default_rng([seed, num_nodes])
    labels = np.arange(num_nodes) % NUM_CLASSES
    count = num_nodes * MEAN_DEGREE // 2
    first = generator.integers(num_nodes, size=count)
    any_node = generator.integers(num_nodes, size=count)
    own_class = (first % NUM_CLASSES) + NUM_CLASSES * generator.integers(num_nodes // NUM_CLASSES, size=count)
    second = np.where(generator.random(count) < 0.8, own_class, any_node)
    centers = generator.normal(size=(NUM_CLASSES, NUM_FEATURES))
    features = centers[labels] + generator.normal(size=(num_nodes, NUM_FEATURES))
    split = split_by_class(labels, train=labeled_a_class, validation=labeled_a_class, generator=generator)
    return Graph.build(
        name="generated",
        features=features,
        edges=np.stack([first, second], axis=1),
        labels=labels,
        train=split.train,
        validation=split.validation,
        test=split.test,
    )


def graph_with_hubs(num_nodes: int, num_edges: int, *, seed: int) -> Graph:
    """Degrees by a power law with exponent 2.5, the largest in the thousands; every second edge joins equals."""
    generator = np.random.default_rng([seed, num_nodes, num_edges])
    labels = generator.integers(NUM_CLASSES, size=num_nodes)
    weights = np.arange(1, num_nodes + 1) ** (-1 / 1.5)
    by_class = [np.flatnonzero(labels == label) for label in range(NUM_CLASSES)]
    found = np.empty((0, 2), np.int64)
    while len(found) < num_edges:
        first, second = generator.choice(num_nodes, (2, num_edges), p=weights / weights.sum())
        for label, members in enumerate(by_class):
            of_class = np.flatnonzero((labels[first] == label) & (generator.random(num_edges) < 0.5))
            shares = weights[members] / weights[members].sum()
            second[of_class] = generator.choice(members, len(of_class), p=shares)
        pairs = np.sort(np.stack([first, second], axis=1), axis=1)
        found = np.unique(np.concatenate([found, pairs[first != second]]), axis=0)
    edges = found[np.sort(generator.permutation(len(found))[:num_edges])]
    centers = generator.normal(size=(NUM_CLASSES, NUM_FEATURES))
    features = 0.5 * centers[labels] + generator.normal(size=(num_nodes, NUM_FEATURES))
    split = split_by_class(labels, train=20, validation=500 // NUM_CLASSES, generator=generator)
    return Graph.build(
        name="hubs",
        features=features,
        edges=edges,
        labels=labels,
        train=split.train,
        validation=split.validation,
        test=split.test,
    )


def smaller(graph: Graph, size: int, *, seed: int) -> Graph:
    """The graph among the labeled nodes, some validation nodes and enough others to make ``size``; for quick runs."""
    if graph.num_nodes <= size:
        return graph
    generator = np.random.default_rng(seed)
    kept = np.concatenate([graph.train, graph.validation[: size // 4]])
    others = generator.permutation(np.setdiff1d(np.arange(graph.num_nodes), kept))
    at_labeled = np.unique(graph.edges.ends[np.isin(graph.edges.ends, graph.train).any(axis=1)])
    others = others[np.argsort(~np.isin(others, at_labeled), kind="stable")]  # neighbors of labeled nodes first
    nodes = np.sort(np.concatenate([kept, others[: max(10, size - len(kept))]]))
    inside = np.isin(graph.edges.ends, nodes).all(axis=1)

    def renumbered(part: IntArray) -> IntArray:
        return np.searchsorted(nodes, np.intersect1d(part, nodes))

    return Graph.build(
        name=graph.name,
        features=graph.features[nodes],
        edges=np.searchsorted(nodes, graph.edges.ends[inside]),
        labels=graph.labels[nodes],
        class_names=graph.class_names,
        train=renumbered(graph.train),
        validation=renumbered(graph.validation),
        test=renumbered(graph.test),
    )


def with_dense_features(graph: Graph) -> Graph:
    """The same graph with its features as a plain matrix."""
    if isinstance(graph.features, np.ndarray):
        return graph
    return graph.replace(nodes=dataclasses.replace(graph.nodes, features=as_rows(graph.features.toarray())))
