"""What a node's explanation should say, computed from the embeddings alone, by the equations, in float64.

Nothing of the library's code for local graphs, similarities and votes is used. What edges with attributes add to their
vectors comes from the encoder, as the embeddings do.
Shapes: M edges of the node, L labeled nodes, K nearest, C classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from scipy.spatial.distance import cdist

from se_gnn.graph.arrays import IntArray
from se_gnn.graph.local import MAX_NODES, TELEPORT
from se_gnn.model import Model

Double = npt.NDArray[np.float64]
TIES = 11  # digits of the logarithm of two shares of walks that are equal


def similarity(a: Double, b: Double, measure: str) -> Double:
    """Of each row of ``a`` with each of ``b``: cosine, 0 with a zero vector, or minus the Euclidean distance."""
    if measure == "distance":
        return -cdist(a, b)
    return _unit(a) @ _unit(b).T


def row_similarity(a: Double, b: Double, measure: str) -> Double:
    """Similarity of each row of ``a`` with the same row of ``b``."""
    if measure == "distance":
        distances: Double = np.linalg.norm(a - b, axis=1)
        return -distances
    cosines: Double = (_unit(a) * _unit(b)).sum(axis=1)
    return cosines


def opposite(a: Double, measure: str) -> Double:
    """Similarity of each row with its own opposite."""
    lengths: Double = np.linalg.norm(a, axis=1)
    return -2 * lengths if measure == "distance" else np.full(len(a), -1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """The edges of a local graph, ascending, and what they carry, [M] each.

    An edge matches edges of its own part alone. ``roles``: 0 no direction, 1 towards the center, 2 away, 3 between.
    """

    edges: IntArray
    roles: IntArray
    parts: IntArray
    weights: Double

    def best(self, pairs: Double, other: Local, unmatched: Double) -> Double:
        """Eq. (4): the highest of the similarities ``pairs`` with edges of the same part of another local graph."""
        may = self.parts[:, None] == other.parts
        return np.where(may.any(axis=1), np.where(may, pairs, -np.inf).max(axis=1), unmatched)

    def mean(self, best: Double) -> float:
        """Eq. (6)."""
        return float(best @ self.weights / self.weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class NodeTruth:
    """Similarities of one node with all labeled nodes.

    Shapes:
        - **best** similarity of each edge with its match in each labeled local graph (-inf: it has no edges): (M, L)
        - **node**, **structure** (-inf: not defined), **overall:** (L,); the node itself has overall -inf
    """

    node: Double
    structure: Double
    overall: Double
    best: Double
    local: Local

    @property
    def edges(self) -> IntArray:
        """Edges of the local graph, ascending, [M]."""
        return self.local.edges

    @property
    def ranked(self) -> list[int]:
        """Positions of the labeled nodes that can vote, nearest first; of equals the first comes first."""
        order = np.argsort(-self.overall, kind="stable")
        ranked: list[int] = order[np.isfinite(self.overall[order])].tolist()
        return ranked


class Recomputed:
    """A trained model, seen through its embeddings, its graph and its settings of similarity and vote."""

    def __init__(self, trained: Model) -> None:
        graph, every = trained.graph, np.arange(trained.graph.num_edges)
        self.graph, self.settings, self.voting = graph, trained.settings.similarity, trained.settings.vote
        self.ends: IntArray = graph.edges.pairs.take(every)
        self.values = None if graph.edge_values is None else graph.edge_values.take(every)
        with torch.no_grad():
            self.h = _double(trained.embedded.rows(np.arange(graph.num_nodes)))  # [N, D]
            terms = trained.encoder.edge_terms(graph)
            self.center = self.h.mean(axis=0)  # distances are computed about it: shorter vectors lose fewer digits
            self.terms = None if terms is None else _double(terms(torch.from_numpy(every)))  # [E, D]
        self.labeled: IntArray = graph.train
        self.answers = graph.values[self.labeled] if graph.predicts_numbers else graph.labels[self.labeled]
        self.local = [self.local_of(int(node)) for node in self.labeled]
        self.keys: IntArray = np.unique(np.concatenate([*(one.edges for one in self.local), np.empty(0, np.int64)]))
        self.columns = [np.searchsorted(self.keys, one.edges) for one in self.local]

    def local_of(self, node: int) -> Local:
        """The local graph of a node, the role, part and weight of each of its edges."""
        values, settings, hops = self.values, self.settings, self._hops(node)
        edges = np.flatnonzero((hops[self.ends] <= settings.hops).all(axis=1))
        if settings.max_edges is not None:
            edges = self._nearest_by_walks(node, settings.max_edges)
        roles, parts, weights = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64), np.ones(len(edges))
        if values is not None and values.direction is not None:
            away = np.diff(hops[self.ends[edges]], axis=1)[:, 0] * values.direction[edges]
            roles = np.where(values.direction[edges] == 0, 0, np.where(away < 0, 1, np.where(away > 0, 2, 3)))
            parts = roles * settings.match_direction
        if values is not None and values.type is not None and settings.match_types == "own":
            parts = parts + 4 * values.type[edges]
        if values is not None and values.weight is not None and settings.weighted_mean:
            weights = values.weight[edges].astype(np.float64)
        return Local(edges, roles, parts, weights)

    def _hops(self, node: int) -> IntArray:
        """Hops from a node to every other, as far as local graphs reach, [N]."""
        far = self.settings.hops + 1
        hops = np.full(self.graph.num_nodes, far)
        hops[node] = 0
        u, v = self.ends.T
        for step in range(1, far):
            for here, there in ((u, v), (v, u)):
                hops[there[(hops[here] < step) & (hops[there] == far)]] = step
        return hops

    def _nearest_by_walks(self, node: int, most: int) -> IntArray:
        """At most so many edges, among the nodes that walks from a node reach most often, ascending."""
        share = np.zeros(self.graph.num_nodes)
        share[node] = 1
        for _ in range(self.settings.hops):
            share = self._walk @ share * (1 - TELEPORT)
            share[node] += TELEPORT
        reached = np.flatnonzero(share)
        order = np.lexsort((reached, -np.round(np.log(share[reached]), TIES), reached != node))
        inside = np.zeros(self.graph.num_nodes, bool)
        edges = np.empty(0, np.int64)
        for one in reached[order][:MAX_NODES]:
            inside[one] = True
            now = np.flatnonzero(inside[self.ends].all(axis=1))
            if len(now) > most:
                break
            edges = now
        return edges

    @cached_property
    def _walk(self) -> sp.csr_array:
        """A step of a random walk: column i is where it leads from node i, [N, N]."""
        u, v = self.ends.T
        shape = (self.graph.num_nodes, self.graph.num_nodes)
        steps = sp.csr_array((np.ones(2 * len(u)), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=shape)
        degrees = np.asarray(steps.sum(axis=0)).ravel()
        return sp.csr_array(steps @ sp.diags_array(1 / np.maximum(degrees, 1)))

    def edge_vectors(self, ids: IntArray) -> Double:
        """e_ij, the mean of both ends, Eq. (3), and what the edge carries; lengths count if the measure says so."""
        if self.terms is None:
            plain: Double = self.h[self.ends[ids]].mean(axis=1)
            return plain
        h = self.h if self.settings.measure == "distance" else _unit(self.h)
        ends: Double = h[self.ends[ids]].mean(axis=1)
        return ends + self.terms[ids]

    @cached_property
    def key_vectors(self) -> Double:
        """Vectors of all edges in local graphs of labeled nodes, [Q, D]."""
        return self.edge_vectors(self.keys)

    def node_truth(self, node: int) -> NodeTruth:
        """Eq. (2)-(7) for one node and all labeled nodes."""
        settings, local = self.settings, self.local_of(node)
        own = similarity(self.h[[node]], self.h[self.labeled], settings.measure)[0]  # Eq. (2)
        vectors = self.edge_vectors(local.edges)
        pairs = similarity(vectors, self.key_vectors, settings.measure)  # Eq. (4), [M, Q]
        best = np.full((len(local.edges), len(self.labeled)), -np.inf)
        structure = np.full(len(self.labeled), -np.inf)
        unmatched = opposite(vectors, settings.measure), opposite(self.key_vectors, settings.measure)
        for i, (other, columns) in enumerate(zip(self.local, self.columns)):
            if not len(columns) or not len(local.edges):
                continue
            block = pairs[:, columns]
            best[:, i] = local.best(block, other, unmatched[0])  # Eq. (5)
            structure[i] = local.mean(best[:, i])  # Eq. (6)
            if settings.directions == "both":
                back = other.best(block.T, local, unmatched[1][columns])
                structure[i] = (structure[i] + other.mean(back)) / 2
        known = np.isfinite(structure)
        mixed = settings.node_weight * own + (1 - settings.node_weight) * np.where(known, structure, 0)
        overall = np.where(known, mixed, own)  # Eq. (7)
        return NodeTruth(own, structure, np.where(self.labeled == node, -np.inf, overall), best, local)

    def weights(self, overall: Double, answers: IntArray | Double) -> Double:
        """Weights of votes by their similarities, Eq. (8); each counts as often as its class says."""
        scores = np.exp((overall - overall.max()) / self.voting.temperature)
        if self.voting.class_factors is not None:
            scores = scores * self.factors[answers]
        weights: Double = (1 - self.voting.reserve) * scores / scores.sum()
        return weights

    @property
    def factors(self) -> Double:
        """How often a case of each class counts, [C]."""
        return np.array(self.voting.class_factors or [1.0] * self.graph.num_classes)

    def tally(self, labels: IntArray, weights: Double) -> Double:
        """Class probabilities by the classes and weights of votes, Eq. (9), [C]."""
        classes = self.graph.num_classes
        return np.bincount(labels, weights, minlength=classes) + self.voting.reserve / classes

    def vote(self, truth: NodeTruth, positions: Iterable[int]) -> Double:
        """What some labeled nodes answer together: class probabilities, [C], or a number, [1]."""
        chosen = np.fromiter(positions, dtype=np.int64)
        weights = self.weights(truth.overall[chosen], self.answers[chosen])
        if self.graph.predicts_numbers:
            return np.array([weights @ self.answers[chosen] / weights.sum()])
        return self.tally(self.answers[chosen], weights)


def _double(rows: torch.Tensor) -> Double:
    return rows.detach().cpu().numpy().astype(np.float64)


def _unit(rows: Any) -> Double:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
