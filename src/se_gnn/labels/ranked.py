"""All labeled nodes of many targets, nearest first. Shapes: T targets, L labeled nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.graph.arrays import IntArray
from se_gnn.model import TrainedModel
from se_gnn.model.flips import RankedVotes
from se_gnn.progress import tiles
from se_gnn.similarity import top
from se_gnn.similarity.memory import items_within, memory_budget

BYTES_PER_PAIR = 64  # similarities, order, labels and what is computed from them


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Some targets and all labeled nodes: ``positions`` among ``graph.train``, nearest first; a node itself is last.

    Shapes:
        - **nodes:** :math:`(T,)`, **positions**, **votes.overall:** :math:`(T, L)`
    """

    nodes: IntArray
    positions: torch.Tensor
    votes: RankedVotes

    @classmethod
    def of(cls, trained: TrainedModel, nodes: IntArray, *, count: int | None = None) -> Ranked:
        """Rank the ``count`` nearest labeled nodes (None: all) of some nodes."""
        voter, h = trained.voter, trained.embeddings
        overall = voter.similarities(h, voter.items(nodes))
        positions = top(overall, overall.shape[1] if count is None else min(count, overall.shape[1]))
        labels = torch.tensor(voter.labels, device=h.device)[positions]
        settings = trained.settings.vote
        return cls(
            nodes, positions, RankedVotes(overall.gather(1, positions), labels, settings, trained.graph.num_classes)
        )


def ranked_blocks(
    trained: TrainedModel, nodes: IntArray | None = None, *, count: int | None = None
) -> Iterator[Ranked]:
    """Some nodes, or all, as many at a time as fit the memory."""
    wanted = np.arange(trained.graph.num_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
    per_node = BYTES_PER_PAIR * max(1, len(trained.graph.train))
    step = items_within(
        memory_budget(trained.max_memory, trained.embeddings.device) // 2, per_node, max(1, len(wanted))
    )
    for part in tiles(len(wanted), step, unit="node"):
        yield Ranked.of(trained, wanted[part], count=count)
