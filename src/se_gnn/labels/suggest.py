r"""Which nodes to label next: uncertain, unlike what is labeled, and representative of many others.

One measure has all three. Let :math:`k(i, j) = \exp(-(1 - \cos(z_i, z_j)) / \sigma)` be how much a label of node i
would say about node j, with attributes z smoothed over the graph (`se_gnn.labels.novelty`): if labels are few, these
are a better map than embeddings that learned from the labels. Let :math:`w_j` be the uncertainty of node j. The labeled
nodes L say as much about j as the nearest of them does, and a choice S is worth

.. math:: F(S) = \sum_j w_j \max_{i \in L \cup S} k(i, j).

A node adds much where many nodes are near it (representative), none of which is near a labeled node or one chosen
before (unlike what is known), and whose predictions are uncertain. F is submodular, so that taking the node that adds
most, again and again, reaches at least 1 - 1/e of what the best choice would. The scale sigma is the median of 1 - cos
between a node and its nearest labeled node. Only labels of training nodes are read. Shapes: P candidates, J nodes that
are to be represented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.labels.audit import check_count, named
from se_gnn.labels.edits import shown_answers
from se_gnn.labels.novelty import similarities
from se_gnn.labels.sets import Scores
from se_gnn.labels.smoothing import smoothable
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import predict

COUNT = 20
FLOOR = 0.1  # weight of a node that the model is certain of
MOST = 4000  # nodes of each side of k; more are drawn
NEAR = 0.5  # k above which a node counts as represented


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A node to label, and why."""

    node: int
    name: str
    predicted: str
    uncertainty: float  # 1 - probability of the predicted class
    nearest: str  # the labeled node whose smoothed attributes are most similar
    similarity: float  # cosine of the two
    represents: int  # nodes near it, and nearer to it than to anything labeled or suggested before
    worth: float  # what it adds to F, as a share of all that could still be added

    def to_record(self, graph: Graph) -> dict[str, Any]:
        """The suggestion as a row of a file."""
        values = {name: getattr(self, name) for name in self.__slots__ if name not in ("node", "name")}
        return {**named(graph, self.node), **values}


def suggest(
    trained: Model, count: int | None = None, *, candidates: IntArray | None = None, seed: int = 0
) -> list[Suggestion]:
    """The nodes whose labels would help most, most helpful first; each is chosen as if those before were labeled.

    ``count`` is how many; None: 20, or all that are left.
    Without ``candidates`` (ids), nodes outside the split whose label is not known may be chosen (if all labels are
    known: all nodes outside the split). ``seed`` draws the nodes that are considered if there are more than 4,000.
    """
    graph = trained.graph
    if isinstance(trained.encoder, OutputEncoder):
        raise InputError(
            "suggestions are for models that learn from labels: here cases vote for the answers of the explained "
            "model, and every node has one"
        )
    pool = _candidates(graph) if candidates is None else np.unique(np.asarray(candidates, dtype=np.int64))
    count = _check(count, pool, graph)
    generator = np.random.default_rng(seed)
    chosen_from = _drawn(pool, max(MOST, count), generator)
    represented = _drawn(graph.candidates[~np.isin(graph.candidates, graph.train)], MOST, generator)
    certain, predicted = _answers(trained, np.union1d(chosen_from, represented))
    weights = FLOOR + 1 - certain[represented].astype(np.float64)
    found = _greedy(graph, chosen_from, represented, weights, count)
    return [
        Suggestion(
            node=node,
            name=graph.node_names[node],
            predicted=predicted[node],
            uncertainty=float(1 - certain[node]),
            **reasons,
        )
        for node, reasons in found
    ]


def _answers(trained: Model, nodes: IntArray) -> tuple[FloatArray, dict[int, str]]:
    """How certain the answer for each node is, [N], and the answers for some nodes in words.

    The certainty of a class is its probability. That of a number is 1 less the spread of the voting cases' numbers, as
    a share of the largest spread.
    """
    graph, certain = trained.graph, np.ones(trained.graph.num_nodes, np.float32)
    found = predict(trained, nodes)
    if isinstance(found, Prediction):
        certain[nodes] = np.minimum(found.probabilities.max(axis=1), 1)
    else:
        certain[nodes] = 1 - found.spread / max(float(found.spread.max(initial=0.0)), 1e-300)
    return certain, dict(zip(nodes.tolist(), shown_answers(graph, found)))


def _greedy(
    graph: Graph, candidates: IntArray, represented: IntArray, weights: Scores, count: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each chosen candidate, its nearest labeled node and cosine, how many it represents, and its worth."""
    rows, columns = np.union1d(candidates, represented), np.concatenate([represented, graph.train])
    cosines, _ = similarities(graph, rows, columns, smoothed=smoothable(graph))
    asked, served = np.searchsorted(rows, candidates), np.searchsorted(rows, represented)
    to_labeled = cosines[:, len(represented) :]
    known = to_labeled[served].max(axis=1)  # [J]
    scale = max(float(np.median(1 - known)), 1e-6)
    kernel = np.exp(-(1 - cosines[asked, : len(represented)]) / scale)  # [P, J]
    cover = np.exp(-(1 - known) / scale)
    nearest = to_labeled[asked].argmax(axis=1)
    free = np.ones(len(candidates), dtype=bool)
    for _ in range(count):
        gains = np.maximum(kernel - cover, 0) @ weights  # [P]
        place = int(np.where(free, gains, -1.0).argmax())
        free[place] = False
        left = float(weights @ np.maximum(1 - cover, 0))
        represents = int(((kernel[place] > cover) & (kernel[place] > NEAR)).sum())
        worth = float(gains[place]) / left if left > 0 else 0.0
        cosine = float(np.clip(to_labeled[asked[place], nearest[place]], -1, 1))
        labeled = graph.node_names[graph.train[nearest[place]]]
        reasons = {"nearest": labeled, "similarity": cosine, "represents": represents, "worth": worth}
        yield int(candidates[place]), reasons
        cover = np.maximum(cover, kernel[place])


def _candidates(graph: Graph) -> IntArray:
    free = np.zeros(graph.num_nodes, bool)
    free[graph.candidates] = True
    free[graph.split.nodes] = False
    unknown = np.flatnonzero(free & ~graph.target.known)
    return unknown if len(unknown) else np.flatnonzero(free)


def _check(count: int | None, pool: IntArray, graph: Graph) -> int:
    """How many nodes to suggest; refuses a number or a choice that is not possible."""
    if count is not None:
        check_count("count", count)
    others = np.ones(graph.num_nodes, bool)
    others[graph.candidates] = False
    if len(foreign := pool[others[pool]]):
        raise InputError(
            f"candidates must be nodes of type {graph.target.node_type!r}, the one that is predicted; "
            f"{graph.node_names[foreign[0]]!r} is not"
        )
    if len(labeled := pool[np.isin(pool, graph.train)]):
        raise InputError(f"candidates must be nodes without a label, {graph.node_names[labeled[0]]!r} is labeled")
    if not len(pool):
        raise InputError(f"{graph.name} has no node left to label: the split uses all of them")
    if count is not None and count > len(pool):
        raise InputError(f"count must be at most the {len(pool):,} nodes without a label, got {count:,}")
    return min(COUNT, len(pool)) if count is None else count


def _drawn(nodes: IntArray, most: int, generator: np.random.Generator) -> IntArray:
    return nodes if len(nodes) <= most else np.sort(generator.choice(nodes, most, replace=False))
