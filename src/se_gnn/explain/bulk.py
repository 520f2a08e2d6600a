"""Explanations of many nodes in one pass: arrays that hold all of it, and an object for each node when asked for.

An edge is matched once per labeled node, whatever number of local graphs it lies in; the matched edges of a node and
one of its neighbors are a column of that matching. Shapes: T nodes, K neighbors, Q distinct edges, L labeled nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from se_gnn.explain.evidence import EdgeMatches
from se_gnn.explain.explanation import Explanation
from se_gnn.explain.interop import json_lines, pandas
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.model import Prediction
from se_gnn.similarity import EdgeMatching, Matches


@dataclass(frozen=True, slots=True, eq=False)
class Explanations:
    r"""Evidence of many predictions.

    ``local.row(i)`` are the ids of the edges of the i-th node, ``importance[local.ptr[i]:local.ptr[i + 1]]`` is their
    importance, Eq. (10); NaN where no neighbor has edges.

    Shapes:
        - **importance:** :math:`(\sum_i |E_i|,)`
    """

    prediction: Prediction
    local: LocalGraphs
    matched: Matches  # edges of the nodes, in the local graphs of those that vote
    importance: FloatArray
    graph: Graph
    node_weight: float  # lambda
    explain: Callable[[int], Explanation]

    def __len__(self) -> int:
        return len(self.prediction.nodes)

    def __getitem__(self, i: int) -> Explanation:
        """The explanation of the i-th node as one object."""
        return self.explain(int(self.prediction.nodes[i]))

    def __iter__(self) -> Iterator[Explanation]:
        return (self[i] for i in range(len(self)))

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each vote; needs `pip install 'se-gnn[interop]'`."""
        return pandas.bulk_to_pandas(self)

    def write_json_lines(self, path: str | Path, *, overwrite: bool = False, progress: bool = False) -> None:
        """One explanation per line, as ``Explanation.to_json`` has it."""
        json_lines.write_json_lines(self, path, overwrite=overwrite, progress=progress)

    def matches(self, i: int, rank: int) -> EdgeMatches:
        """Edges of the i-th node matched in the local graph of its neighbor of that rank (0: the nearest), Eq. (5)."""
        similarity, matched = self.matched.of(i)  # [M, K]
        edge_ids = self.local.row(i).astype(np.int64)
        if not np.isfinite(self.prediction.structure[i, rank]):
            edge_ids, similarity, matched = edge_ids[:0], similarity[:0], matched[:0]
        usual = usual_similarity(similarity[:, self.matched.positions[i] >= 0])
        values, ids = similarity[:, rank], matched[:, rank]
        return EdgeMatches(edge_ids, ids, values, (values >= usual) & (ids >= 0))


def usual_similarity(similarity: FloatArray) -> FloatArray:
    """How well the cases that have edges match each of some edges, on average, [M, K] to [M]."""
    similarity = np.ascontiguousarray(similarity)  # so that the order of the sum is the same for any layout
    known = np.isfinite(similarity)
    mean: FloatArray = np.where(known, similarity, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return mean


def edge_matches(
    matching: EdgeMatching, rows: Int32Array | IntArray, position: int, usual: FloatArray | np.float32
) -> EdgeMatches:
    """Some edges of a matching with their matches in the local graph at ``position``, measured by what is ``usual``."""
    values = matching.similarity[rows, position]
    matched = matching.matched(rows, position)
    return EdgeMatches(matching.edge_ids[rows], matched, values, (values >= usual) & (matched >= 0))
