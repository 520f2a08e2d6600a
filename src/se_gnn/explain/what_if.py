"""What a prediction would be without some labeled nodes: the vote is counted again, by the model's own vote.

Shapes: V labeled nodes that can vote, C classes, B removals, m nodes that vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.errors import InputError
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model.flips import NEVER, RankedVotes, smallest_relabelings, smallest_removals
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings import Resolved, VoteSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """Other settings of the vote: more or fewer neighbors, another lambda, some labeled nodes left out.

    Embeddings and similarities stay as they are: the model is not trained again. None: as the model has it.
    """

    num_nearest: int | None = None  # K
    node_weight: float | None = None  # lambda
    without: tuple[int, ...] = ()  # ids of labeled nodes that do not vote

    def settings(self, trained: Resolved, labeled: IntArray) -> Resolved:
        """The settings of a model with these in their place; ``labeled`` are the ids of its labeled nodes."""
        if self.num_nearest is not None and not 1 <= self.num_nearest <= len(labeled):
            raise InputError(
                f"num_nearest must be between 1 and the {len(labeled)} labeled nodes, got {self.num_nearest}"
            )
        unknown = np.setdiff1d(np.asarray(self.without, dtype=np.int64), labeled)
        if len(unknown):
            raise InputError(f"without must name labeled nodes, got node {unknown[0]}, which is not labeled")
        wanted = {"num_nearest": self.num_nearest, "node_weight": self.node_weight}
        return trained.changed(**{name: value for name, value in wanted.items() if value is not None})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ranking:
    """All labeled nodes that can vote on a node, nearest first, with the similarities that the prediction used.

    Shapes:
        - **nodes** (ids), **labels**, **overall**, **node**, **structure** (-inf: no edges): :math:`(V,)`
    """

    nodes: IntArray
    labels: IntArray
    overall: FloatArray
    node: FloatArray
    structure: FloatArray
    settings: VoteSettings
    num_classes: int
    left_out: bool = False  # the node itself is labeled: it is compared as well, but has no vote

    def __len__(self) -> int:
        return len(self.nodes)

    def without(self, removed: Sequence[int] | IntArray = ()) -> tuple[float, ...]:
        """Class probabilities if the labeled nodes at some ranks (0: the nearest) were not labeled; 0 if none is left.

        Embeddings stay as they are: the model is not trained again.
        """
        kept = np.delete(np.arange(len(self)), np.asarray(removed, dtype=np.int64))
        return tuple(self._counted(kept[None, : self.settings.num_nearest])[0].tolist())

    def without_each(self) -> list[tuple[float, ...]]:
        """Class probabilities without each of the K nearest, one at a time."""
        count = min(self.settings.num_nearest, len(self))
        others = np.arange(min(self.settings.num_nearest, len(self) - 1))
        removed = np.arange(count)[:, None]
        return [tuple(row) for row in self._counted(others + (others >= removed)).tolist()]

    def smallest_removal(self) -> Removal | None:
        """The fewest labeled nodes whose removal changes the predicted class; None where no removal does."""
        found = smallest_removals(self._votes())
        if int(found.sizes[0]) == NEVER:
            return None
        removed = np.flatnonzero(found.chosen[0].numpy())
        return Removal(self.nodes[removed], self.without(removed))

    def smallest_relabeling(self) -> Relabeling | None:
        """The fewest labeled nodes that change the predicted class if they get another one; None where none do."""
        found = smallest_relabelings(self._votes())
        if int(found.sizes[0]) == NEVER:
            return None
        ranks, label = np.flatnonzero(found.chosen[0].numpy()), int(found.becomes[0])
        labels = self.labels.copy()
        labels[ranks] = label
        others = np.arange(min(self.settings.num_nearest, len(self)))
        return Relabeling(self.nodes[ranks], label, tuple(self._counted(others[None], labels)[0].tolist()))

    def _votes(self) -> RankedVotes:
        overall, labels = torch.from_numpy(self.overall[None]), torch.from_numpy(self.labels[None])
        return RankedVotes(overall, labels, self.settings, self.num_classes)

    def _counted(self, ranks: IntArray, given: IntArray | None = None) -> FloatArray:
        """Class probabilities [B, C] from the nodes at ``ranks`` [B, m], with other labels [V] if they are given."""
        if not ranks.shape[1]:
            return np.zeros((len(ranks), self.num_classes), np.float32)
        overall, labels = self.overall[ranks], (self.labels if given is None else given)[ranks]
        if self.left_out and ranks.shape[1] < self.settings.num_nearest:
            # a place without a vote, as the prediction has it: a shorter softmax may round another way
            overall = np.pad(overall, ((0, 0), (0, 1)), constant_values=-np.inf)
            labels = np.pad(labels, ((0, 0), (0, 1)))
        weights = vote(torch.from_numpy(overall), self.settings.temperature)
        answers = ClassAnswers.themselves(self.num_classes)
        counted: FloatArray = tally(weights, torch.from_numpy(labels), answers).numpy()
        return counted


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """Labeled nodes (ids, nearest first) and the class probabilities [C] if they were not labeled."""

    nodes: IntArray
    probabilities: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def predicted(self) -> int:
        """The class that would be predicted."""
        return int(np.argmax(self.probabilities))


@dataclass(frozen=True, slots=True, eq=False)
class Relabeling:
    """Labeled nodes (ids, nearest first), the class they all get, and the class probabilities [C] then."""

    nodes: IntArray
    label: int
    probabilities: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def predicted(self) -> int:
        """The class that would be predicted."""
        return int(np.argmax(self.probabilities))
