r"""What a prediction would be without some cases, and the fewest whose removal or relabeling changes it. All is exact.

With :math:`w_i = \exp(s_i / \tau)` the score :math:`S_c` of a class is the sum of w over its cases among the K nearest,
Eq. (8)-(9); p is the predicted class. A class c *beats* p if its score is higher, or equal and c < p. The prediction
changes if and only if some class beats p. All this is about cases that vote for one class each. A reserve multiplies
all scores by the same number and adds the same to each: no class is ahead that was not before.

**Removal.** Let R be a smallest set that changes the prediction, m its size. None of it lies beyond the K nearest of
the rest (removing that case changes no vote), so the cases that vote are those among the K + m nearest that are not in
R: which places vote depends on m alone. Taking a case of the class that is to win lowers its score, taking one of a
third class changes neither score, and taking one of p lowers its score by w. So the best R of m cases are the m nearest
of p, for every class that is to win. One more of them never helps p: the place that is new adds at most the w that
goes, as that case is no nearer. So the smallest m is found by bisection. A ranking that is cut at depth d shows what
m <= d - K removals do; if none of these changes the prediction, the row is undecided, and the complete ranking of that
query decides.

**Relabeling.** The same K nearest vote. For a class c that is to win, giving c a case of p brings it 2w closer, giving
it a case of a third class w, and any other change less. So the best m cases have the m largest gains, more of them
never help p, and the smallest m over all c is the answer. Of the classes that take m, the one c with the most votes is
predicted then: a class d that were ahead of it would be ahead of p as well, with m cases at most, and would have had
fewer votes than c, which only gained.

Votes are counted by the model's own vote: a stated change has exactly the stated effect. Embeddings stay as they are.
Shapes: T queries, d ranks, K nearest, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.ranking.ranking import Ranking
from se_gnn.ranking.vote import ClassAnswers, NumberAnswers, tally, vote

NEVER = -1  # size if no set changes the prediction
AT_ONCE = 1 << 24  # pairs of cases that are looked at together
UNDECIDED = -2  # size if the ranking is cut too early to know

ONLY_CLASSES = (
    "smallest removals and relabelings are for classes: a number changes a little with every case; an explanation says "
    "by how much without each"
)


@dataclass(frozen=True, slots=True)
class SmallestSet:
    """The fewest cases (ids, nearest first) that change a prediction, and what is predicted then."""

    nodes: tuple[int, ...]
    predicted: int
    probabilities: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.nodes)


@dataclass(frozen=True, slots=True, eq=False)
class SmallestSets:
    """For each of T queries the fewest cases that change its prediction.

    Shapes:
        - **sizes:** :math:`(T,)`, -1: no number of cases changes it
        - **becomes**, **probabilities:** :math:`(T,)` the class that is predicted then, and :math:`(T, C)` all of them
        - **ptr:** :math:`(T + 1,)`, **labeled:** ids; set i is ``labeled[ptr[i]:ptr[i + 1]]``, nearest first
    """

    sizes: IntArray
    becomes: IntArray
    probabilities: FloatArray
    ptr: IntArray
    labeled: IntArray

    @classmethod
    def of(cls, ranking: Ranking, chosen: Tensor, sizes: Tensor, becomes: Tensor, shares: Tensor) -> SmallestSets:
        """The sets of the cases whose ranks are ``chosen``, [T, d]; ``shares`` are the class probabilities then."""
        marked, counted, classes, probabilities = (one.cpu().numpy() for one in (chosen, sizes, becomes, shares))
        ptr = np.concatenate([[0], np.cumsum(np.maximum(counted, 0))]).astype(np.int64)
        return cls(counted, classes, probabilities, ptr, ranking.nodes[:, : marked.shape[1]][marked])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, i: int) -> SmallestSet | None:
        """The i-th set; None: no number of cases changes that prediction."""
        if self.sizes[i] < 0:
            return None
        nodes, probabilities = tuple(self.nodes(i).tolist()), tuple(self.probabilities[i].tolist())
        return SmallestSet(nodes, int(self.becomes[i]), probabilities)

    def nodes(self, i: int) -> IntArray:
        """The cases (ids) of the i-th set, nearest first; empty if there is none."""
        return self.labeled[self.ptr[i] : self.ptr[i + 1]]

    def share_certified(self, count: int) -> float:
        """Share of the queries whose prediction no change of up to ``count`` cases changes; NaN without queries."""
        safe = (self.sizes == NEVER) | (self.sizes > count)
        return float(safe.mean()) if len(safe) else float("nan")

    @staticmethod
    def joined(parts: Sequence[SmallestSets], order: IntArray) -> SmallestSets:
        """The sets of several blocks of queries, one after the other, then taken in an order."""
        sizes, becomes, shares = (
            np.concatenate([getattr(part, name) for part in parts])[order]
            for name in ("sizes", "becomes", "probabilities")
        )
        sets = [part.nodes(i) for part in parts for i in range(len(part))]
        ptr = np.concatenate([[0], np.cumsum(np.maximum(sizes, 0))]).astype(np.int64)
        labeled = np.concatenate([np.empty(0, np.int64), *(sets[i] for i in order)])
        return SmallestSets(sizes, becomes, shares, ptr, labeled)


@torch.no_grad()
def without_each(ranking: Ranking) -> Tensor:
    """Class probabilities without each of the K nearest, one at a time, [T, K, C]; 0 if nobody is left.

    If the cases vote for numbers, the number without each, [T, K, 1]; NaN if nobody is left.

    The next nearest joins the vote, so the ranking needs a rank more than K.
    """
    k = ranking.num_nearest
    step = max(1, AT_ONCE // k**2)
    if len(ranking) > step:
        parts = [without_each(ranking.rows(slice(low, low + step))) for low in range(0, len(ranking), step)]
        return torch.cat(parts)
    others = torch.arange(min(k, ranking.num_cases - 1), device=ranking.overall.device)
    kept = others + (others >= torch.arange(k, device=others.device)[:, None])  # [K, K], ranks
    shape = (len(ranking), k, ranking.answers.width)
    numbers = isinstance(ranking.answers, NumberAnswers)
    if not len(others):
        nobody = torch.nan if numbers else 0.0
        return torch.full(shape, nobody, dtype=ranking.overall.dtype, device=others.device)
    overall, positions = (ranks[:, kept].flatten(0, 1) for ranks in (ranking.overall, ranking.positions))
    counted = tally(ranking.votes(overall, positions), positions, ranking.answers, ranking.settings.reserve)
    return counted.view(shape) if numbers else counted.view(shape).nan_to_num()


@torch.no_grad()
def smallest_removals(ranking: Ranking) -> SmallestSets:
    """The fewest cases of each query whose removal changes its prediction."""
    _check_classes(ranking)
    predicted = ranking.predicted  # [T]
    of_predicted = (ranking.classes == predicted[:, None]) & ranking.voting
    count = of_predicted.sum(dim=1)
    possible = count < ranking.voting.sum(dim=1)  # somebody of another class can vote
    if not ranking.complete:
        count = count.clamp(max=ranking.depth - ranking.num_nearest)
    low, high = torch.zeros_like(count), count  # low of them change nothing, high of them do
    while bool((high - low > 1).any()):
        middle = (low + high) // 2
        changed = _without_nearest(ranking, of_predicted, middle).argmax(dim=1) != predicted
        low, high = torch.where(changed, low, middle), torch.where(changed, middle, high)
    sizes = high.masked_fill(~possible, 0)
    probabilities = _without_nearest(ranking, of_predicted, sizes)
    becomes = probabilities.argmax(dim=1)
    same = becomes == predicted
    chosen = of_predicted & (of_predicted.cumsum(dim=1) <= sizes[:, None]) & ~same[:, None]
    sizes = sizes.masked_fill(same, NEVER if ranking.complete else UNDECIDED)
    return SmallestSets.of(ranking, chosen, sizes, becomes, probabilities)


def decided_removals(parts: Sequence[SmallestSets], complete: Callable[[IntArray], Iterable[Ranking]]) -> SmallestSets:
    """The removals of several blocks, one after the other; ``complete`` ranks all cases for the undecided rows."""
    sizes = np.concatenate([part.sizes for part in parts])
    undecided, order = np.flatnonzero(sizes == UNDECIDED), np.arange(len(sizes))
    order[undecided] = len(sizes) + np.arange(len(undecided))
    again = [smallest_removals(ranking) for ranking in complete(undecided)] if len(undecided) else []
    return SmallestSets.joined([*parts, *again], order)


@torch.no_grad()
def smallest_relabelings(ranking: Ranking) -> SmallestSets:
    """The fewest cases of each query that change its prediction if they are all given the class ``becomes``.

    Of several classes that take equally few the one with the most votes; ties go to the first.
    """
    _check_classes(ranking)
    k, weights, now, predicted = ranking.num_nearest, ranking.weights, ranking.probabilities, ranking.predicted
    labels, voting = ranking.classes[:, :k], ranking.voting[:, :k]
    of_predicted = labels == predicted[:, None]
    sizes, becomes, chosen = torch.full_like(predicted, k + 1), predicted.clone(), torch.zeros_like(voting)
    for label in range(ranking.class_answers.num_classes):
        usable = voting & (labels != label)
        given = _recounted(ranking, weights, torch.full_like(labels, label))
        gains = torch.where(of_predicted, given + weights, given).masked_fill(~usable, -1.0)
        ranks = torch.sort(gains, dim=1, descending=True, stable=True).indices.argsort(dim=1)  # 0: the largest gain
        low, high = torch.zeros_like(predicted), usable.sum(dim=1)
        while bool((high - low > 1).any()):
            middle = (low + high) // 2
            changed = labels.masked_fill(ranks < middle[:, None], label)
            beaten = _beats(_counted(ranking, weights, changed), label, predicted)
            low, high = torch.where(beaten, low, middle), torch.where(beaten, middle, high)
        likelier = now[:, label] > now.gather(1, becomes[:, None])[:, 0]
        fewer = (high > 0) & (predicted != label) & ((high < sizes) | ((high == sizes) & likelier))
        sizes, becomes = torch.where(fewer, high, sizes), becomes.masked_fill(fewer, label)
        chosen = torch.where(fewer[:, None], ranks < high[:, None], chosen)
    probabilities = _counted(ranking, weights, torch.where(chosen, becomes[:, None], labels))
    sizes = sizes.masked_fill(becomes == predicted, NEVER)
    return SmallestSets.of(ranking, chosen, sizes, becomes, probabilities)


def _check_classes(ranking: Ranking) -> None:
    if isinstance(ranking.answers, NumberAnswers):
        raise InputError(ONLY_CLASSES)


def _counted(ranking: Ranking, weights: Tensor, classes: Tensor) -> Tensor:
    """Class probabilities [T, C] if the cases that vote had these classes, [T, K]."""
    factors = ranking.class_answers.log_factors
    if factors is not None:
        settings, overall = ranking.settings, ranking.overall[:, : ranking.num_nearest]
        weights = vote(overall, settings.temperature, settings.reserve, factors[classes])
    themselves = ClassAnswers.themselves(ranking.class_answers.num_classes, classes.device)
    return tally(weights, classes, themselves, ranking.settings.reserve)


def _recounted(ranking: Ranking, weights: Tensor, classes: Tensor) -> Tensor:
    """The weights of the cases that vote if they had these classes, before they are divided by their sum, [T, K]."""
    factors = ranking.class_answers.log_factors
    if factors is None:
        return weights
    return weights * (factors[classes] - factors[ranking.classes[:, : ranking.num_nearest]]).exp()


def _without_nearest(ranking: Ranking, of_predicted: Tensor, count: Tensor) -> Tensor:
    """Class probabilities [T, C] without the ``count`` nearest [T] of the predicted class."""
    k = ranking.num_nearest
    passed = of_predicted.cumsum(dim=1)
    gone = of_predicted & (passed <= count[:, None])
    places = torch.arange(ranking.depth, device=passed.device) - torch.minimum(passed, count[:, None])
    places = places.masked_fill(gone | (places >= k), k)  # a last place that is cut off
    room = (len(places), k + 1)
    overall = torch.full(room, -torch.inf, dtype=ranking.overall.dtype, device=places.device)
    overall = overall.scatter(1, places, ranking.overall)[:, :k]
    positions = torch.zeros(room, dtype=torch.long, device=places.device).scatter(1, places, ranking.positions)[:, :k]
    weights = torch.zeros_like(overall)
    widths = (ranking.num_cases - count).clamp(max=k)
    for width in set(widths.tolist()):  # the vote is over as many columns as it would be without these cases
        rows = widths == width
        weights[rows, :width] = ranking.votes(overall[rows, :width], positions[rows, :width])
    return tally(weights, positions, ranking.answers, ranking.settings.reserve)


def _beats(probabilities: Tensor, label: int, predicted: Tensor) -> Tensor:
    """Whether a class is ahead of the predicted one; ties go to the first, [T]."""
    own = probabilities.gather(1, predicted[:, None])[:, 0]
    return (probabilities[:, label] > own) | ((probabilities[:, label] == own) & (label < predicted))
