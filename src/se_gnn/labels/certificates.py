"""What would change the answer, for all nodes: smallest sets of labeled nodes, and what they certify.

If the smallest set whose removal changes a prediction has m nodes, no removal of up to m - 1 labeled nodes changes it:
that is its certificate. Embeddings stay as they are; a training without those nodes is another matter. The searches are
exact; their proofs are in :mod:`se_gnn.model.flips`. Shapes: T nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.labels.ranked import ranked_blocks
from se_gnn.model import TrainedModel
from se_gnn.model.flips import NEVER, FlipSets, smallest_relabelings, smallest_removals

SIZES = (1, 2, 5, 10, 20, 50)  # of the table; as far as there are labeled nodes


@dataclass(frozen=True, slots=True, eq=False)
class SmallestSets:
    """For each of T nodes the fewest labeled nodes that change its prediction.

    Shapes:
        - **sizes**, **becomes:** :math:`(T,)`; -1 labeled nodes: no number of them changes it
        - **ptr:** :math:`(T + 1,)`, **labeled:** ids; set i is ``labeled[ptr[i]:ptr[i + 1]]``, nearest first
    """

    sizes: IntArray
    becomes: IntArray
    ptr: IntArray
    labeled: IntArray

    def nodes(self, i: int) -> IntArray:
        """The labeled nodes (ids) of the i-th set, nearest first; empty where there is none."""
        return self.labeled[self.ptr[i] : self.ptr[i + 1]]

    def share_certified(self, count: int) -> float:
        """Share of the nodes whose prediction no change of up to ``count`` labeled nodes changes; NaN without nodes."""
        safe = (self.sizes == NEVER) | (self.sizes > count)
        return float(safe.mean()) if len(safe) else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Certificates:
    """Smallest sets of T nodes, by removal and by relabeling.

    Shapes:
        - **nodes** (ids), **predicted:** :math:`(T,)`
    """

    nodes: IntArray
    predicted: IntArray
    removal: SmallestSets
    relabeling: SmallestSets
    graph: Graph

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of labeled nodes that a table shows: 1, 2, 5, ... as far as there are labeled nodes."""
        return tuple(size for size in SIZES if size < len(self.graph.train)) or (1,)

    def curve(self, sets: SmallestSets) -> Float64Array:
        """Share certified for every number of labeled nodes from 0 to the largest smallest set, [r + 1]."""
        most = int(max(1, sets.sizes.max(initial=0)))
        return np.array([sets.share_certified(count) for count in range(most + 1)])


def certify(trained: TrainedModel, nodes: IntArray | None = None) -> Certificates:
    """Smallest sets that change the prediction of some nodes, or of all.

    Args:
        trained: the model; its labeled nodes are the ones that are removed and relabeled.
        nodes: ids; None: all.
    """
    predicted, removals, relabelings, asked = [], [], [], []
    for ranked in ranked_blocks(trained, nodes):
        labeled = trained.graph.train[ranked.positions.cpu().numpy()]
        asked.append(ranked.nodes)
        predicted.append(ranked.votes.probabilities().argmax(dim=1).cpu().numpy())
        removals.append((smallest_removals(ranked.votes), labeled))
        relabelings.append((smallest_relabelings(ranked.votes), labeled))
    return Certificates(_joined(asked), _joined(predicted), _sets(removals), _sets(relabelings), trained.graph)


def _sets(blocks: Iterable[tuple[FlipSets, IntArray]]) -> SmallestSets:
    sizes, becomes, labeled = [], [], []
    for found, ids in blocks:
        sizes.append(found.sizes.cpu().numpy())
        becomes.append(found.becomes.cpu().numpy())
        labeled.append(ids[found.chosen.cpu().numpy()])  # row by row, nearest first
    counted = _joined(sizes)
    ptr = np.concatenate([[0], np.cumsum(np.maximum(counted, 0))])
    return SmallestSets(counted, _joined(becomes), ptr.astype(np.int64), _joined(labeled))


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
