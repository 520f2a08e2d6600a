"""Pairs that are not links: drawn at random, or hard to tell from links by the rules of HeaRT.

HeaRT ("Evaluating Graph Neural Networks for Link Prediction", https://arxiv.org/abs/2306.10453) keeps one end of a link
and replaces the other. All nodes are ranked three times, by resource allocation (common neighbors, each weighted by
1 / its degree), by personalized PageRank from the end that is kept, and by the cosine of attributes; the best of its
three ranks decides. Nodes with a score of 0 share the rank after all others. Known links are left out; ties are drawn.
Shapes: N nodes, n links.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.links.pairs import Links
from se_gnn.progress import tiles

TELEPORT = 0.15  # of the personalized PageRank
STEPS = 10  # that it is summed over
NEGATIVES = 500  # tempting pairs for each link, or half as many as there are nodes
BLOCK = 256  # ends that are ranked at a time


def num_negatives(graph: Graph) -> int:
    """How many tempting pairs a link competes with."""
    return max(2, min(NEGATIVES, graph.num_nodes // 4 * 2))


def random_negatives(links: Links, positives: IntArray, generator: np.random.Generator) -> IntArray:
    """For each link a random pair of the same node types that is not a link, [n, 2]."""
    types, drawn = links.types, np.empty_like(positives)
    open_rows = np.arange(len(positives))
    for _ in range(100):
        for side in range(2):
            wanted = types[positives[open_rows, side]]
            for one in np.unique(wanted):
                pool, rows = np.flatnonzero(types == one), open_rows[wanted == one]
                drawn[rows, side] = pool[generator.integers(len(pool), size=len(rows))]
        wrong = links.exist(drawn[open_rows]) | (drawn[open_rows, 0] == drawn[open_rows, 1])
        open_rows = open_rows[wrong]
        if not len(open_rows):
            return drawn
    raise InputError("nearly all pairs of nodes are linked: there are no pairs to compare the links with")


def hard_negatives(
    links: Links, positives: IntArray, count: int, attributes: Any, generator: np.random.Generator
) -> IntArray:
    """Tempting pairs for each link, [n, count, 2]: the first half keeps its source, the second half its target.

    ``links`` are without the ``positives`` [n, 2], which must not influence the ranks. ``count`` is even, the
    ``attributes`` are sparse rows of length 1, [N, F], and the ``generator`` draws among ties.
    """
    each, graph = count // 2, links.graph
    found = np.empty((len(positives), count, 2), np.int64)
    ends, attributes = np.concatenate([graph.edges.ends, graph.edges.ends[:, ::-1]]), sp.csr_array(attributes)
    adjacency = sp.csr_array((np.ones(len(ends)), ends.T), shape=(graph.num_nodes, graph.num_nodes))
    adjacency.data[:] = 1.0
    shares = 1 / np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1)
    walk = (sp.diags_array(shares) @ adjacency).tocsr()
    backward = walk.T.tocsr().astype(np.float32)
    for side in range(2):
        columns = slice(side * each, (side + 1) * each)
        for part in tiles(len(positives), BLOCK, unit="link"):
            kept, replaced = positives[part, side], positives[part, 1 - side]
            common, alike = adjacency[kept] @ walk, attributes[kept] @ attributes.T
            scores = [common.toarray(), _page_rank(backward, kept), alike.toarray()]
            found[part, columns, side] = kept[:, None]
            for row, (node, end) in enumerate(zip(kept.tolist(), replaced.tolist())):
                allowed = links.open_ends(node, source=side == 0)
                allowed[end] = False
                of_node, name = [score[row] for score in scores], graph.node_names[node]
                found[part][row, columns, 1 - side] = _likeliest(name, allowed, of_node, each, generator)
    return found


def _likeliest(name: str, allowed: BoolArray, scores: list[Any], count: int, random: np.random.Generator) -> IntArray:
    """The allowed nodes that seem likeliest to be linked with a node by any of some scores, [N] each."""
    nodes = np.flatnonzero(allowed)
    if not len(nodes):
        raise InputError(f"node {name!r} is linked with every node that it may be linked with")
    best = np.min([_ranks(score[nodes], count) for score in scores], axis=0) + random.random(len(nodes)) / 2
    found = nodes[np.argpartition(best, count - 1)[:count]] if len(nodes) > count else nodes
    return found if len(found) == count else random.choice(found, count)


def _page_rank(backward: Any, kept: IntArray) -> FloatArray:
    """Personalized PageRank from each node that is kept, [B, N]."""
    spread = np.zeros((backward.shape[0], len(kept)), np.float32)
    spread[kept, np.arange(len(kept))] = TELEPORT
    total = spread.copy()
    for _ in range(STEPS):
        spread = np.float32(1 - TELEPORT) * (backward @ spread)
        total += spread
    return np.ascontiguousarray(total.T)


def _ranks(scores: FloatArray | Float64Array, depth: int) -> Float64Array:
    """Rank of each score, 1 for the highest, equals alike; inf behind the first ``depth``, and zeros share the last.

    >>> _ranks(np.array([0.5, 0.0, 0.7, 0.5, 0.0]), depth=9).tolist()
    [2.0, 4.0, 1.0, 2.0, 4.0]
    """
    ranks = np.full(len(scores), np.inf)
    above = np.flatnonzero(scores > 0)
    ranks[scores <= 0] = len(above) + 1
    if len(above) > depth:
        above = above[np.argpartition(-scores[above], depth - 1)[:depth]]
    ordered = np.sort(scores[above])
    ranks[above] = len(ordered) - np.searchsorted(ordered, scores[above], side="right") + 1
    return ranks
