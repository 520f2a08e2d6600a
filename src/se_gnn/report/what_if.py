"""The smallest set of labeled nodes without which a prediction would be another one.

The score of a class is the sum of exp(s / tau) over those of its labeled nodes that are among the K nearest, s being
the overall similarity, Eq. (8)-(9). Taking m labeled nodes away moves the window of the K nearest m places on. Which to
take away? One of the class that is to win only loses score; one of a third class moves the window as one of the
predicted class does, but leaves that class its score. So all m come from the predicted class, and its m nearest have
the largest scores. A greater m never helps the predicted class, so the smallest m is found by halving.
Shapes: L labeled nodes, C classes.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.config import SimilarityConfig
from se_gnn.graph.attributed import FloatArray, IntArray
from se_gnn.similarity import nearest_labeled, vote, vote_weights


@dataclass(frozen=True, slots=True, eq=False)
class Removal:
    """Labeled nodes (positions among them, nearest first) and the class probabilities [C] without them."""

    positions: IntArray
    probabilities: FloatArray


def smallest_removal(overall: Tensor, labels: IntArray, num_classes: int, settings: SimilarityConfig) -> Removal | None:
    """The fewest labeled nodes whose removal changes the predicted class; None where no removal does.

    The vote is counted again for every answer; embeddings stay as they are.

    Args:
        overall: similarity with each labeled node, -inf for one that cannot vote, [L].
        labels: class of each labeled node, [L].
        num_classes: C.
        settings: K and tau.
    """
    ranked = nearest_labeled(overall[None], len(overall))[0]
    ranked = ranked[torch.isfinite(overall[ranked])]
    kinds = torch.tensor(labels, device=overall.device)

    def counted(remaining: Tensor) -> Tensor:
        nearest = remaining[: settings.num_nearest][None]
        return vote(vote_weights(overall[None], nearest, settings.temperature), kinds[nearest[0]][None], num_classes)[0]

    predicted = int(counted(ranked).argmax())
    of_predicted = torch.nonzero(kinds[ranked] == predicted)[:, 0]  # places in the ranking
    if len(of_predicted) == len(ranked):
        return None

    def without(count: int) -> Tensor:
        keep = torch.ones(len(ranked), dtype=torch.bool, device=overall.device)
        keep[of_predicted[:count]] = False
        return counted(ranked[keep])

    def changes(count: int) -> bool:
        return int(without(count).argmax()) != predicted

    smallest = bisect.bisect_left(range(len(of_predicted) + 1), True, key=changes)
    taken = ranked[of_predicted[:smallest]]
    return Removal(taken.cpu().numpy(), without(smallest).cpu().numpy())
