"""What every labeled node is worth to the predictions: each is counted again without it, exactly.

Only predictions that have it among their K nearest change: the next nearest steps in. Shapes: T targets, K nearest,
L labeled nodes, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.graph.arrays import Float64Array, FloatArray, IntArray
from se_gnn.labels.ranked import Ranked, ranked_blocks
from se_gnn.model import TrainedModel
from se_gnn.model.metrics import SMALLEST

BLOCK = 1024  # targets at a time: T x K x K votes
NOBODY_LEFT = -1  # in place of a class, where it was the only one that could vote: no answer, and so never right


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """Effects of removing each labeled node alone.

    Shapes, all :math:`(L,)`:
        - **used:** predictions that it has a vote in; **weight:** sum of its weights in them
        - **decides:** predictions that would be of another class without it
        - **accuracy**, **loss:** validation accuracy and log loss without it; NaN without validation nodes
    """

    used: IntArray
    weight: Float64Array
    decides: IntArray
    accuracy: Float64Array
    loss: Float64Array
    accuracy_now: float
    loss_now: float


def leave_one_out(trained: TrainedModel) -> LeaveOneOut:
    """Remove each labeled node in turn and count the votes of all nodes again."""
    graph, k = trained.graph, trained.settings.vote.num_nearest
    num_labeled, truth = len(graph.train), graph.labels
    judged = np.zeros(graph.num_nodes, dtype=bool)
    judged[graph.validation] = True
    used, decides = np.zeros(num_labeled, np.int64), np.zeros(num_labeled, np.int64)
    weight, right, loss = np.zeros(num_labeled), np.zeros(num_labeled), np.zeros(num_labeled)
    right_now = loss_now = 0.0
    for block in ranked_blocks(trained, count=k + 1):
        for low in range(0, len(block.nodes), BLOCK):
            ranked = _part(block, low, low + BLOCK)
            now, weights, each = _counted_without_each(ranked, k)
            positions = ranked.positions[:, : weights.shape[1]].numpy()
            votes = weights > 0
            np.add.at(used, positions[votes], 1)
            np.add.at(weight, positions[votes], weights[votes])
            predicted = now.argmax(axis=1)
            classes = np.where(each.any(axis=2), each.argmax(axis=2), NOBODY_LEFT)  # [T, k]
            other = (classes != predicted[:, None]) & (classes != NOBODY_LEFT)
            np.add.at(decides, positions[votes & other], 1)
            rows = np.flatnonzero(judged[ranked.nodes])
            if not len(rows):
                continue
            labels = truth[ranked.nodes[rows]]
            was_right = (predicted[rows] == labels).astype(np.float64)
            was_loss = _loss(now[rows], labels)
            right_now, loss_now = right_now + was_right.sum(), loss_now + was_loss.sum()
            gained = (classes[rows] == labels[:, None]) - was_right[:, None]
            more = _loss(each[rows], labels) - was_loss[:, None]
            voted = votes[rows]
            np.add.at(right, positions[rows][voted], gained[voted])
            np.add.at(loss, positions[rows][voted], more[voted])
    count = len(graph.validation)
    share = 1 / count if count else float("nan")
    return LeaveOneOut(
        used, weight, decides, (right_now + right) * share, (loss_now + loss) * share,
        right_now * share, loss_now * share,
    )  # fmt: skip


def _part(ranked: Ranked, low: int, high: int) -> Ranked:
    votes = ranked.votes
    part = type(votes)(votes.overall[low:high].cpu(), votes.labels[low:high].cpu(), votes.settings, votes.num_classes)
    return Ranked(ranked.nodes[low:high], ranked.positions[low:high].cpu(), part)


def _counted_without_each(ranked: Ranked, k: int) -> tuple[FloatArray, Float64Array, FloatArray]:
    """Probabilities [T, C], weights [T, k], and the probabilities without each of the k nearest, [T, k, C]."""
    votes, available = ranked.votes, ranked.votes.overall.shape[1]
    k = min(k, available)
    others = torch.arange(min(k, available - 1))
    kept = others + (others >= torch.arange(k)[:, None])  # [k, k], ranks
    overall, labels = votes.overall[:, kept], votes.labels[:, kept]  # [T, k, k]
    if not len(others):  # nobody is left
        each = torch.zeros(len(ranked.nodes), k, votes.num_classes)
    else:
        each = votes.counted(overall.flatten(0, 1), labels.flatten(0, 1)).view(len(ranked.nodes), k, -1)
    weights = votes.weights(votes.overall[:, :k])
    return votes.probabilities().numpy(), weights.numpy().astype(np.float64), np.nan_to_num(each.numpy())


def _loss(probabilities: FloatArray, labels: IntArray) -> Float64Array:
    """Negative logarithm of the probability [T, ..., C] of the labels [T]."""
    places = labels.reshape(-1, *[1] * (probabilities.ndim - 1))
    own = np.take_along_axis(probabilities, places, axis=-1)[..., 0].astype(np.float64)
    losses: Float64Array = -np.log(np.clip(own, SMALLEST, 1))
    return losses
