"""Accuracy, and whether the nearest labeled nodes are the right ones. Shapes: N nodes, T targets, K neighbors."""

from __future__ import annotations

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray


def accuracy(predicted: IntArray, labels: IntArray) -> float:
    """Share of the nodes whose predicted class is their label; both [T].

    >>> accuracy(np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2]))
    0.75
    """
    predicted, labels = np.asarray(predicted), np.asarray(labels)
    if predicted.shape != labels.shape or predicted.ndim != 1:
        raise InputError(f"predicted and labels must have one entry per node, got {predicted.shape} and {labels.shape}")
    if not len(labels):
        raise InputError("accuracy needs at least one node, got none")
    return float((predicted == labels).mean())


def precision_at_k(targets: IntArray, neighbors: IntArray, labels: IntArray, k: int) -> float:
    """Mean share of the k nearest labeled nodes that have the target's own label.

    Args:
        targets: node ids.
        neighbors: ids of the labeled nodes nearest to each target, nearest first.
        labels: class of every node of the graph.
        k: how many of them count.

    Shapes:
        - **targets:** :math:`(T,)`, **neighbors:** :math:`(T, K)`, **labels:** :math:`(N,)`

    >>> precision_at_k(np.array([0, 1]), np.array([[2, 3], [3, 2]]), np.array([0, 1, 0, 1]), k=1)
    1.0
    >>> precision_at_k(np.array([0, 1]), np.array([[2, 3], [3, 2]]), np.array([0, 1, 0, 1]), k=2)
    0.5
    """
    targets, neighbors, labels = np.asarray(targets), np.asarray(neighbors), np.asarray(labels)
    if neighbors.ndim != 2 or targets.shape != neighbors.shape[:1]:
        raise InputError(
            f"neighbors must have one row per target, got shape {neighbors.shape} for {len(targets)} targets"
        )
    if not len(targets):
        raise InputError("precision@k needs at least one target, got none")
    if not 1 <= k <= neighbors.shape[1]:
        raise InputError(f"k must be between 1 and the {neighbors.shape[1]} neighbors given, got {k}")
    same = labels[neighbors[:, :k]] == labels[targets][:, None]
    return float(same.mean())


def role_precision_at_k(targets: IntArray, neighbors: IntArray, roles: IntArray, k: int) -> float:
    """Mean share of the k nearest labeled nodes that have the target's own role in a motif.

    As :func:`precision_at_k` with roles for labels; 0 is no role, and a target has to have one.
    """
    without = np.asarray(targets)[np.asarray(roles)[targets] == 0]
    if len(without):
        raise InputError(f"targets must be nodes of a motif, node {without[0]} has role 0 ({len(without)} such nodes)")
    return precision_at_k(targets, neighbors, roles, k)


def node_matching_accuracy(targets: IntArray, neighbors: IntArray, roles: IntArray) -> float:
    """Share of the targets whose nearest labeled node has their role: :func:`role_precision_at_k` at k = 1."""
    return role_precision_at_k(targets, neighbors, roles, 1)
