r"""The fewest labeled nodes whose removal, or relabeling, changes a prediction: exact, for many nodes at once.

With :math:`w_i = \exp(s_i / \tau)` the score :math:`S_c` of a class is the sum of w over its labeled nodes among the K
nearest, Eq. (8)-(9); p is the predicted class. A class c *beats* p where its score is higher, or equal and c < p. The
prediction changes if and only if some class beats p.

**Removal.** Let R be a smallest set that changes the prediction, m its size. None of it lies beyond the K nearest of
the rest (removing that node changes no vote), so the nodes that vote are those among the K + m nearest that are not in
R: which places vote depends on m alone. Taking a node of the class that is to win lowers its score, taking one of a
third class changes neither score, and taking one of p lowers its score by w. So the best R of m nodes are the m nearest
of p, for every class that is to win. One more of them never helps p: the place that is new adds at most the w that
goes, as that node is no nearer. So the smallest m is found by bisection.

**Relabeling.** The same K nearest vote. For a class c that is to win, giving c a node of p brings it 2w closer, giving
it a node of a third class w, and any other change less. So the best m nodes have the m largest gains, more of them
never help p, and the smallest m over all c is the answer. Of the classes that take m, the one c with the most votes is
predicted then: a class d that were ahead of it would be ahead of p as well, with m nodes at most, and would have had
fewer votes than c, which only gained.

Votes are counted by the model's own vote: what is said to change a prediction changes it. Shapes: T targets, V labeled
nodes that can vote, K nearest, C classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings import VoteSettings

NEVER = -1  # size where no set changes the prediction


@dataclass(frozen=True, slots=True, eq=False)
class RankedVotes:
    """All labeled nodes of each target, nearest first: their similarities and classes; -inf: does not vote.

    Shapes:
        - **overall**, **labels:** :math:`(T, V)`
    """

    overall: Tensor
    labels: Tensor
    settings: VoteSettings
    num_classes: int

    def probabilities(self) -> Tensor:
        """Class probabilities, [T, C]."""
        k = self.settings.num_nearest
        return self.counted(self.overall[:, :k], self.labels[:, :k])

    def counted(self, overall: Tensor, labels: Tensor) -> Tensor:
        """Class probabilities [T, C] if these were the nearest, [T, m]."""
        return self.tally(self.weights(overall), labels)

    def weights(self, overall: Tensor) -> Tensor:
        """What each of some labeled nodes counts if these are the nearest, [T, m]."""
        return vote(overall, self.settings.temperature)

    def tally(self, weights: Tensor, labels: Tensor) -> Tensor:
        """Class probabilities [T, C] by weights and classes of those that vote, [T, m]."""
        return tally(weights, labels, ClassAnswers.themselves(self.num_classes, labels.device))


@dataclass(frozen=True, slots=True, eq=False)
class FlipSets:
    """For each target the smallest set of labeled nodes that changes its prediction if it is changed.

    Shapes:
        - **sizes:** :math:`(T,)`, :data:`NEVER` where there is none
        - **chosen:** :math:`(T, V)`, whether the labeled node of that rank is in the set
        - **becomes:** :math:`(T,)`, the class that is predicted then; as predicted now where there is no set
    """

    sizes: Tensor
    chosen: Tensor
    becomes: Tensor


@torch.no_grad()
def smallest_removals(votes: RankedVotes) -> FlipSets:
    """The fewest labeled nodes of each target whose removal changes its prediction."""
    predicted = votes.probabilities().argmax(dim=1)  # [T]
    voting = torch.isfinite(votes.overall)
    of_predicted = (votes.labels == predicted[:, None]) & voting
    count = of_predicted.sum(dim=1)
    possible = count < voting.sum(dim=1)  # somebody of another class can vote
    low, high = torch.zeros_like(count), count  # low of them change nothing, high of them do
    while bool((high - low > 1).any()):
        middle = (low + high) // 2
        changed = _without_nearest(votes, of_predicted, middle).argmax(dim=1) != predicted
        low, high = torch.where(changed, low, middle), torch.where(changed, middle, high)
    sizes = torch.where(possible, high, torch.zeros_like(high))
    becomes = _without_nearest(votes, of_predicted, sizes).argmax(dim=1)
    return FlipSets(
        sizes=torch.where(possible, sizes, torch.full_like(sizes, NEVER)),
        chosen=of_predicted & (of_predicted.cumsum(dim=1) <= sizes[:, None]),
        becomes=torch.where(possible, becomes, predicted),
    )


@torch.no_grad()
def smallest_relabelings(votes: RankedVotes) -> FlipSets:
    """The fewest labeled nodes of each target that change its prediction if they are all given the class ``becomes``.

    Of several classes that take equally few the one with the most votes, of equals the first.
    """
    k = votes.settings.num_nearest
    overall, labels = votes.overall[:, :k], votes.labels[:, :k]
    weights = votes.weights(overall)  # [T, K]
    now = votes.tally(weights, labels)  # [T, C]
    predicted = now.argmax(dim=1)
    voting, of_predicted = torch.isfinite(overall), labels == predicted[:, None]
    sizes = torch.full_like(predicted, k + 1)
    becomes, chosen = predicted.clone(), torch.zeros_like(votes.overall, dtype=torch.bool)
    for label in range(votes.num_classes):
        usable = voting & (labels != label)
        gains = torch.where(of_predicted, 2 * weights, weights).masked_fill(~usable, -1.0)
        ranks = torch.sort(gains, dim=1, descending=True, stable=True).indices.argsort(dim=1)  # 0: the largest gain
        low, high = torch.zeros_like(predicted), usable.sum(dim=1)
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            given = labels.masked_fill(ranks < middle[:, None], label)
            beaten = _beats(votes.tally(weights, given), label, predicted)
            low, high = torch.where(beaten, low, middle), torch.where(beaten, middle, high)
        likelier = now[:, label] > now.gather(1, becomes[:, None])[:, 0]
        fewer = (high > 0) & (predicted != label) & ((high < sizes) | ((high == sizes) & likelier))
        sizes, becomes = torch.where(fewer, high, sizes), becomes.masked_fill(fewer, label)
        chosen[:, : labels.shape[1]] = torch.where(fewer[:, None], ranks < high[:, None], chosen[:, : labels.shape[1]])
    return FlipSets(sizes.masked_fill(becomes == predicted, NEVER), chosen, becomes)


def _without_nearest(votes: RankedVotes, of_predicted: Tensor, count: Tensor) -> Tensor:
    """Class probabilities [T, C] without the ``count`` nearest [T] of the predicted class."""
    k = votes.settings.num_nearest
    passed = of_predicted.cumsum(dim=1)
    gone = of_predicted & (passed <= count[:, None])
    places = torch.arange(votes.overall.shape[1], device=passed.device) - torch.minimum(passed, count[:, None])
    places = places.masked_fill(gone | (places >= k), k)  # a last place that is cut off
    room = (len(places), k + 1)
    overall = torch.full(room, -torch.inf, dtype=votes.overall.dtype, device=places.device)
    overall = overall.scatter(1, places, votes.overall)[:, :k]
    labels = torch.zeros(room, dtype=torch.long, device=places.device).scatter(1, places, votes.labels)[:, :k]
    return votes.counted(overall, labels)


def _beats(probabilities: Tensor, label: int, predicted: Tensor) -> Tensor:
    """Whether a class is ahead of the predicted one; of equals the first one is, [T]."""
    own = probabilities.gather(1, predicted[:, None])[:, 0]
    return (probabilities[:, label] > own) | ((probabilities[:, label] == own) & (label < predicted))
