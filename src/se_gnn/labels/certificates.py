"""What would change the answer, for all nodes: smallest sets of labeled nodes, and what they certify.

If the smallest set whose removal changes a prediction has m nodes, no removal of up to m - 1 labeled nodes changes it:
that is its certificate. Embeddings stay as they are; retraining without those nodes could give other results. The
searches are exact; their proofs are in :mod:`se_gnn.ranking.removals`. Shapes: T nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.labels.audit import named
from se_gnn.model import Model
from se_gnn.ranking import ONLY_CLASSES, SmallestSets, decided_removals, smallest_relabelings, smallest_removals

SIZES = (1, 2, 5, 10, 20, 50)  # of the table; as far as there are labeled nodes


@dataclass(frozen=True, slots=True, eq=False)
class Certificates:
    """The smallest sets that change the predictions of T nodes, by removal and by relabeling.

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

    def to_record(self, i: int) -> dict[str, Any]:
        """The i-th node as a row of a file; sizes are None if no set changes the prediction."""
        graph, node = self.graph, int(self.nodes[i])
        record = {**named(graph, node), "class": graph.class_names[self.predicted[i]]}
        for name, sets in (("removal", self.removal), ("relabeling", self.relabeling)):
            never = sets.sizes[i] < 0
            record[f"{name}_size"] = None if never else int(sets.sizes[i])
            record[f"{name}_becomes"] = None if never else graph.class_names[sets.becomes[i]]
            record[f"{name}_nodes"] = [graph.node_names[case] for case in sets.nodes(i)]
        return record

    def curve(self, sets: SmallestSets) -> Float64Array:
        """Share certified for every number of labeled nodes from 0 to the largest smallest set, [r + 1]."""
        most = int(max(1, sets.sizes.max(initial=0)))
        return np.array([sets.share_certified(count) for count in range(most + 1)])


def certify(trained: Model, nodes: IntArray | None = None) -> Certificates:
    """Smallest sets that change the prediction of some nodes, or of all that are predicted."""
    if trained.graph.predicts_numbers:
        raise InputError(ONLY_CLASSES)
    queries = trained.graph.candidates if nodes is None else np.asarray(nodes, dtype=np.int64)
    kept = trained.ranker.kept(queries)
    predicted, removals, relabelings = [], [], []
    for ranking in trained.rank(queries) if kept is None else [kept]:
        predicted.append(ranking.predicted.cpu().numpy())
        relabelings.append(smallest_relabelings(ranking))
        removals.append(smallest_removals(ranking))
    return Certificates(
        queries,
        np.concatenate(predicted),
        decided_removals(removals, lambda undecided: trained.rank(queries[undecided])),
        SmallestSets.joined(relabelings, np.arange(len(queries))),
        trained.graph,
    )
