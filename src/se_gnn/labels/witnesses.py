r"""What everything but its own label says of a node, as similarities of nodes; nothing here is trained.

A node is described by blocks of columns: its attributes, their mean over its neighbors, the attributes smoothed over
the graph (unless it is very large), and what it reads of its own edges (how many of each type and direction, their
weights and attributes). More blocks hold the known classes of its neighbors, by direction, and of their neighbors:
where classes deal with other classes, these show it. With rows of each block centered and of length 1, all blocks count
alike, and

.. math:: G_{ij} = \exp(-d_{ij} / m), \qquad d_{ij} = \sum_b |x^b_i - x^b_j|^2, \qquad m = \text{median of } d.

Shapes: N nodes, M of known class, R neighbors of these, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from se_gnn.encoder.columns import own_edges
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.labels.smoothing import COLUMNS, attribute_columns, unit_rows

MOST_EDGES = 10_000  # of a neighbor whose other neighbors are looked at: a hub says nothing about one of them
MOST_SMOOTHED = 3 * 10**9  # edges times attributes: smoothing more of them takes minutes


def descriptions(graph: Graph, known: IntArray) -> tuple[list[Float64Array], list[Float64Array]]:
    """Blocks of columns of some nodes, [M, .] each: those that hold no class, and the known classes around each node.

    Args:
        graph: attributes, edges and labels.
        known: the nodes of known class, [M]; no other label is looked at.
    """
    nodes, neighbors = np.sort(known), graph.neighbors()
    ptr, others, ids = neighbors.rows(nodes)
    owners = np.repeat(np.arange(len(nodes)), np.diff(ptr))
    reached, places = np.unique(others, return_inverse=True)
    near = _means(owners, places, (len(nodes), len(reached)))
    own, theirs = (sp.csc_array(unit_rows(graph.features[ids])) for ids in (nodes, reached.astype(np.int64)))
    spans = [slice(low, low + COLUMNS) for low in range(0, graph.num_features, COLUMNS)]
    blocks = [own.toarray(), np.concatenate([near @ theirs[:, span].toarray() for span in spans], axis=1)]
    if graph.num_edges * graph.num_features <= MOST_SMOOTHED:
        blocks.append(np.concatenate([block[nodes] for block in attribute_columns(graph, smoothed=True)], axis=1))
    ones = np.ones(len(known))
    classes = sp.csr_array((ones, (known, graph.labels[known])), shape=(graph.num_nodes, graph.num_classes))
    around = [near @ classes[reached]]
    if graph.edge_values is not None:
        blocks.append(own_edges(graph, nodes).astype(np.float64))
        direction = graph.edge_values.take(ids).direction
        if direction is not None:
            outgoing = direction * np.where(nodes[owners] < others, 1, -1)  # direction 1: to the higher id
            sides = (outgoing >= 0, outgoing <= 0)
            around += [_means(owners[side], places[side], near.shape) @ classes[reached] for side in sides]
    passed = np.flatnonzero(graph.degrees[reached] <= MOST_EDGES)
    ptr, beyond, _ = neighbors.rows(reached[passed].astype(np.int64))
    further = _means(np.repeat(passed, np.diff(ptr)), beyond.astype(np.int64), (len(reached), graph.num_nodes))
    returned = near.multiply(further[:, nodes].T).sum(axis=1)  # a path that leads back brings a node its own label
    around.append(near @ (further @ classes) - sp.diags_array(returned) @ classes[nodes])
    order = np.searchsorted(nodes, known)
    return [block[order] for block in blocks], [block.toarray()[order] for block in around]


def similarities(blocks: Sequence[Float64Array]) -> Float64Array:
    """G, [M, M]."""
    distances = sum(_distances(block) for block in blocks)
    assert isinstance(distances, np.ndarray)
    found: Float64Array = np.exp(-distances / (np.median(distances) or 1.0))
    return found


def _means(rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> sp.csr_array:
    """The matrix that takes the mean over the columns that belong to each row."""
    counts = np.bincount(rows, minlength=shape[0])
    return sp.csr_array((1 / counts[rows], (rows, columns)), shape=shape)


def _distances(block: Float64Array) -> Float64Array:
    """Squared distances of the rows, after they are centered and of length 1, [M, M]."""
    centered = block - block.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    centered /= np.where(lengths > 1e-12, lengths, 1)
    squares = (centered**2).sum(axis=1)
    distances: Float64Array = np.maximum(0, squares[:, None] + squares - 2 * centered @ centered.T)
    return distances
