"""Explanations as pandas tables: a row for each vote, or for each matched edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.optional import require

if TYPE_CHECKING:
    from se_gnn.explain.bulk import Explanations
    from se_gnn.explain.explanation import Explanation

COLUMNS = (
    "node", "rank", "neighbor", "label", "weight", "similarity", "node_similarity", "structure_similarity",
    "node_term", "structure_term",
)  # fmt: skip
MATCH_COLUMNS = ("node", "rank", "neighbor", "edge", "matched", "similarity", "above_average")


def to_pandas(explanation: Explanation) -> Any:
    """A ``pandas.DataFrame`` with a row for each neighbor, nearest first; NaN where there is no structure."""
    pandas: Any = require("pandas", extra="interop", feature="tables")
    rows = [
        (
            explanation.name,
            rank,
            one.name,
            one.label_name,
            one.weight,
            one.similarity,
            one.node_similarity,
            np.nan if one.structure_similarity is None else one.structure_similarity,
            one.node_term,
            one.structure_term,
        )
        for rank, one in enumerate(explanation.neighbors, start=1)
    ]
    return pandas.DataFrame(rows, columns=list(COLUMNS))


def matches_to_pandas(explanation: Explanation) -> Any:
    """A ``pandas.DataFrame`` with a row for each edge of the node and each neighbor that comes with matches.

    ``edge`` and ``matched`` are edge ids, rows of ``graph.edges.ends``; ``matched`` is -1 where the neighbor has no
    edge of that direction and type. ``above_average``: at least as close as average.
    """
    pandas: Any = require("pandas", extra="interop", feature="tables")
    rows = [
        (explanation.name, rank, one.name, edge, matched, similarity, well)
        for rank, one in enumerate(explanation.neighbors, start=1)
        if one.matches is not None
        for edge, matched, similarity, well in zip(
            one.matches.edge_ids,
            one.matches.matched_ids,
            one.matches.similarity.astype(np.float64),
            one.matches.above_average,
        )
    ]
    return pandas.DataFrame(rows, columns=list(MATCH_COLUMNS))


def bulk_to_pandas(explanations: Explanations) -> Any:
    """As :func:`to_pandas` for many nodes, from the arrays; the rows of a node follow one another."""
    pandas: Any = require("pandas", extra="interop", feature="tables")
    prediction, graph = explanations.prediction, explanations.graph
    i, k = np.nonzero(prediction.voting)
    names, labels = np.array(graph.node_names, dtype=object), np.array(graph.class_names, dtype=object)
    neighbors, structure = prediction.neighbors[i, k], prediction.structure[i, k].astype(np.float64)
    compared = np.isfinite(structure)
    share = np.where(compared, explanations.node_weight, 1.0)
    columns = (
        names[prediction.nodes[i]],
        k + 1,
        names[neighbors],
        labels[graph.labels[neighbors]],
        prediction.weights[i, k].astype(np.float64),
        prediction.overall[i, k].astype(np.float64),
        prediction.node[i, k].astype(np.float64),
        np.where(compared, structure, np.nan),
        share * prediction.node[i, k],
        np.where(compared, (1 - share) * np.where(compared, structure, 0), 0.0),
    )
    return pandas.DataFrame(dict(zip(COLUMNS, columns)))
