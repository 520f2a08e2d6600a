r"""Which labels are probably wrong: what everything else says of a node, its own label left out.

Two witnesses, or three, judge every label of known class (of labeled and validation nodes, never of test nodes).

**columns and edges**: ridge regression on similarities G of nodes, which are not trained. A node is described by blocks
of columns: its attributes, their mean over its neighbors, the attributes smoothed over the graph (unless it is very
large), and what it reads of its own edges (how many of each type and direction, their weights and attributes). More
blocks hold the known classes of its neighbors, by direction, and of their neighbors: where classes deal with other
classes, these show it. Blocks are centered, and scaled: attributes to rows of length 1, counts and amounts to rows of
mean squared length 1. Then

.. math:: G_{ij} = \exp(-d_{ij} / m), \qquad d_{ij} = \sum_b w_b |x^b_i - x^b_j|^2, \qquad m = \text{median of } d.

The ridge is never trained with the label in question, because its leave-one-out answers have a closed form. With
:math:`Y` one column per class and :math:`v_i` the weight of a label,

.. math:: Q = (G + \mu \, diag(1 / v))^{-1}, \qquad f_i = y_i - \frac{(Q Y)_i}{Q_{ii}},

and f_i is exactly what the ridge without node i says of it. Whether the known classes around a node are read, and mu,
have the smallest leave-one-out error. All blocks that are read count alike, w = 1, unless another weight of a block
lowers this error by more than half of its standard error. The weights of labels give all classes the same influence;
in a second pass a label that the others contradict counts less.

**vote**: the vote of the other labeled nodes. It reads what training found, but its encoder has learned from the label.

**retrained**: the same vote by models that were trained without the label. It is asked only on request.

A witness's answers become probabilities p by a temperature, no lower than the number of labels supports: sharper ones
would make all suspicious labels equally certain. With a share :math:`\rho` of labels replaced by another
class at random, label y is observed with probability :math:`(1 - \rho) p_y + \rho (1 - p_y) / (C - 1)`. Temperature and
:math:`\rho` maximize the likelihood: of the vote, that of the validation labels, on which no encoder was trained; else
that of all labels.

All are multiplied, votes to a power: 1/3, 1 or 3, by the likelihood of the same labels beside the ridge; the vote also
to its share. The share is 1 if the vote explains the labels it was trained on no better than those it was not, compared
with the ridge, which was trained on neither; an encoder that has memorized its labels defends them, and gets less:
:math:`(\ell^{vote}_{train} / \ell^{vote}_{val} \cdot \ell^{ridge}_{val} / \ell^{ridge}_{train})^2`, at most 1, of log
losses. The score of a label is the probability that it was replaced, given that it is y.

A rehearsal flips some validation labels and counts how many are found. Shapes: N
nodes, M of known class, R neighbors of these, C classes, L labeled nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from se_gnn.encoder.columns import own_edges
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.labels.smoothing import COLUMNS, attribute_columns, smoothable, unit_rows, without_itself

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # mu
MOST_EDGES = 10_000  # of a neighbor whose other neighbors are looked at: a hub says nothing about one of them
MOST = 4000  # nodes of known class at a time: time grows with the third power
LEAST_WEIGHT = 0.05  # of a label in the second pass
MOST_COMPARED = 500  # nodes on which the weights of blocks are chosen
STEP, MOST_STEPS = 3.0, 10  # from one weight of a block to the next, and how often
CLEARLY = 0.5  # standard errors by which another weight must lower the error

POWERS = (1 / 3, 1.0, 3.0)  # of the vote, beside the ridge
CLOSE = 1.0  # a log-likelihood that is this much lower is as good
PROBABLY = 0.5  # probability of being wrong from which a label is named
SHARPNESS = 41  # temperatures that are tried: the usual log-odds of two classes are from 0.05 to 2 log(M + 2)
RATES = np.concatenate([[0.001], np.arange(0.005, 0.1, 0.005), np.arange(0.1, 0.41, 0.02)])  # rho
PLANTINGS, PLANTED = 3, 0.08  # rehearsals, and the share of labels that each of them flips
SMALLEST = 1e-6  # probability
FEWEST_PLANTED, MOST_PLANTED = 5, 50


class Rehearsal(NamedTuple):
    """How many labels that were flipped on purpose are found among the most suspicious ones."""

    planted: int
    found: int
    among: int
    average_precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Suspicion:
    """How suspicious the labels of the labeled nodes are.

    Shapes:
        - **score:** :math:`(L,)`, the probability that the label is wrong
        - **says:** :math:`(L,)`, the class that everything else suggests
        - **vote_share:** how much the vote counts beside the columns and edges, between 0 and 1
        - **rate:** estimated share of wrong labels
        - **rehearsal:** None if too few validation labels can be flipped
    """

    score: Float64Array
    says: IntArray
    vote_share: float
    rate: float
    rehearsal: Rehearsal | None

    @property
    def wrong(self) -> BoolArray:
        """Labels that are probably wrong, [L]."""
        return self.score > PROBABLY


class _Judged(NamedTuple):
    """Probabilities of the classes of all nodes of known class, [M, C], and the estimated share of wrong labels."""

    probabilities: Float64Array
    rate: float
    likelihood: float  # logarithm, of the labels that these were fitted to

    def of(self, labels: IntArray) -> Float64Array:
        """The probability of each label, [M]."""
        return self.probabilities[np.arange(len(labels)), labels]

    def observed(self, labels: IntArray) -> Float64Array:
        """The probability that each label is seen, right or replaced, [M]."""
        return (1 - self.rate) * self.of(labels) + self.replaced(labels)

    def replaced(self, labels: IntArray) -> Float64Array:
        """The probability that each label is seen in place of another one, [M]."""
        replaced: Float64Array = self.rate / max(1, self.probabilities.shape[1] - 1) * (1 - self.of(labels))
        return replaced

    def wrong(self, labels: IntArray) -> Float64Array:
        """The probability that each label is wrong, [M]."""
        wrong: Float64Array = self.replaced(labels) / np.maximum(self.observed(labels), 1e-300)
        return wrong


def suspicion(
    graph: Graph,
    votes: FloatArray | None = None,
    retrained: FloatArray | None = None,
    *,
    generator: np.random.Generator,
) -> Suspicion:
    """Score the labels of all labeled nodes.

    Args:
        graph: attributes, edges, labels and split.
        votes: what the other labeled nodes say of the labeled and then of the validation nodes, [M, C]; None: this
            witness is not asked.
        retrained: the same by models that were trained without the label in question, [M, C].
        generator: draws the labels to flip, and shares out the nodes if there are more than :data:`MOST`.
    """
    known, count = np.concatenate([graph.train, graph.validation]), len(graph.train)
    labels, validates = graph.labels[known], np.arange(len(known)) >= count
    every = np.ones(len(known), bool)
    groups = -(-len(known) // MOST)
    group = np.zeros(len(known), np.int64) if groups == 1 else generator.permutation(len(known)) % groups
    columns, classes = descriptions(graph, known)
    ridges = []
    for rows in (np.flatnonzero(group == g) for g in range(groups)):
        here, around = ([block[rows] for block in blocks] for blocks in (columns, classes))
        ridges.append((rows, _ridge(here, around, labels[rows], graph.num_classes, generator)))

    def by_columns(labels: IntArray) -> _Judged:
        answers = np.zeros((len(known), graph.num_classes))
        for rows, regression in ridges:
            answers[rows] = regression(labels[rows])
        return _fitted(answers, labels, every)

    def power_of(answers: FloatArray, unseen: BoolArray) -> tuple[_Judged, Float64Array]:
        """A vote as a witness, and the logarithms of its probabilities to its power; the encoder saw no such label."""
        vote = _fitted(np.log(np.clip(answers.astype(np.float64), SMALLEST, None)), labels, unseen)
        return vote, _power(vote, ridge, labels, unseen) * np.log(vote.probabilities + SMALLEST)

    ridge, share = by_columns(labels), 0.0
    logs = np.zeros((len(known), graph.num_classes))
    if votes is not None and validates.any():
        vote, powered = power_of(votes, validates)
        share = _vote_share(vote, ridge, labels, validates)
        logs += share * powered
    if retrained is not None:
        logs += power_of(retrained, every)[1]

    def judged(labels: IntArray, ridge: _Judged) -> _Judged:
        return _fitted(logs + np.log(ridge.probabilities + SMALLEST), labels, every)

    found = judged(labels, ridge)
    rehearsal = None
    if validates.any():
        rehearsal = _rehearsed(
            lambda flipped: judged(flipped, by_columns(flipped)), found, labels, validates, generator
        )
    says = found.probabilities.argmax(axis=1)[:count]
    return Suspicion(found.wrong(labels)[:count], says, share, found.rate, rehearsal)


def _vote_share(vote: _Judged, ridge: _Judged, labels: IntArray, validates: BoolArray) -> float:
    """How much the vote counts: less if it explains labels that its encoder was trained on better than others."""
    ratio = 1.0
    for witness, power in ((vote, 1), (ridge, -1)):
        loss = -np.log(np.maximum(witness.observed(labels), SMALLEST))
        ratio *= float(loss[~validates].mean() / max(loss[validates].mean(), SMALLEST)) ** power
    return min(1.0, ratio) ** 2


def _power(vote: _Judged, ridge: _Judged, labels: IntArray, unseen: BoolArray) -> float:
    """The power of a vote with which it and the ridge explain unseen labels best; the lowest that is as good."""
    logs = [np.log(witness.probabilities + SMALLEST) for witness in (ridge, vote)]
    found = [_fitted(logs[0] + power * logs[1], labels, unseen).likelihood for power in POWERS]
    return next(power for power, likelihood in zip(POWERS, found) if likelihood >= max(found) - CLOSE)


def _fitted(answers: Float64Array, labels: IntArray, held: BoolArray) -> _Judged:
    """Answers as probabilities, with the temperature and the share of wrong labels that explain some labels best."""
    classes = answers.shape[1]
    best, fit = -np.inf, (1.0, float(RATES[0]))
    second, first = np.sort(answers, axis=1)[:, -2:].T if classes > 1 else (answers[:, 0] * 0, answers[:, 0])
    usual = float(np.median(first - second)) or 1.0
    for temperature in usual / np.geomspace(0.05, 2 * np.log(len(labels) + 2), SHARPNESS):  # M labels show no more
        right = softmax(answers[held] / temperature, axis=1)[np.arange(int(held.sum())), labels[held]]  # [m]
        observed = np.outer(1 - RATES, right) + np.outer(RATES / max(1, classes - 1), 1 - right)  # [rates, m]
        likelihood = np.log(np.maximum(observed, SMALLEST)).sum(axis=1)
        if likelihood.max(initial=-np.inf) > best:
            best, fit = float(likelihood.max()), (float(temperature), float(RATES[likelihood.argmax()]))
    return _Judged(softmax(answers / fit[0], axis=1), fit[1], best)


def _rehearsed(
    judged: Callable[[IntArray], _Judged],
    found: _Judged,
    labels: IntArray,
    validates: BoolArray,
    generator: np.random.Generator,
) -> Rehearsal | None:
    """Flip validation labels that are probably right, and look for them among all that are not probably wrong."""
    from sklearn.metrics import average_precision_score  # only an audit needs it, and it takes a second to load

    classes = found.probabilities.shape[1]
    looked_at = np.flatnonzero(validates & (found.wrong(labels) <= PROBABLY))
    good = looked_at[found.probabilities[looked_at].argmax(axis=1) == labels[looked_at]]
    size = min(MOST_PLANTED, round(PLANTED * len(looked_at)), len(good))
    if size < FEWEST_PLANTED or classes < 2:
        return None
    among, first, precision = min(len(looked_at), -(-12 * size // 10)), [], []
    for _ in range(PLANTINGS):
        flipped, nodes = labels.copy(), generator.choice(good, size, replace=False)
        flipped[nodes] = (labels[nodes] + generator.integers(1, classes, size)) % classes
        score, planted = judged(flipped).wrong(flipped)[looked_at], np.isin(looked_at, nodes)
        first.append(planted[np.argsort(-score, kind="stable")[:among]].sum())
        precision.append(average_precision_score(planted, score))
    return Rehearsal(size, round(float(np.mean(first))), among, float(np.mean(precision)))


def _ridge(
    columns: list[Float64Array],
    classes: list[Float64Array],
    labels: IntArray,
    num_classes: int,
    generator: np.random.Generator,
) -> Callable[[IntArray], Float64Array]:
    """The regression on blocks of columns, and on the classes around the nodes if they help, [M, .] each.

    It says what the other nodes say of each under some labels, [M, C], in two passes.
    """
    compared = generator.permutation(len(labels))[:MOST_COMPARED]
    distances = [_distances(block[compared]) for block in columns + classes]
    weights = _block_weights(distances, len(columns), labels[compared], num_classes)
    gram = _similarities(weight * _distances(block) for weight, block in zip(weights, columns + classes) if weight)
    balanced = _balanced(labels)
    _, ridge = _errors(gram, labels, num_classes)
    inverse = _inverse(gram, ridge / balanced)

    def answers(labels: IntArray) -> Float64Array:
        targets = _targets(labels, num_classes)
        first = _margins(without_itself(inverse, targets), labels)  # no label changes the inverse of the first pass
        usual = float(np.median(np.abs(first))) or 1.0
        trusted = np.clip(1 / (1 + np.exp(-np.clip(2 * first / usual, -50, 50))), LEAST_WEIGHT, 1)
        return leave_one_out(gram, targets, ridge / (balanced * trusted))

    return answers


def _block_weights(distances: list[Float64Array], num_columns: int, labels: IntArray, num_classes: int) -> Float64Array:
    """How much each block counts, of distances [m, m]; those after the first ``num_columns`` hold known classes."""

    def tried(weights: Float64Array) -> tuple[Float64Array, Float64Array]:
        gram = _similarities(weight * block for weight, block in zip(weights, distances) if weight)
        return _errors(gram, labels, num_classes)[0], weights

    alike = np.ones(len(distances))
    starts = [np.where(np.arange(len(distances)) < num_columns, 1.0, 0.0), alike]
    errors, weights = min(map(tried, starts), key=lambda one: one[0].sum())
    for _ in range(MOST_STEPS):
        others = [
            np.where(np.arange(len(weights)) == b, weight, weights)
            for b in range(len(weights))
            for weight in ((0.0, STEP * weights[b]) if weights[b] else (1.0,))
        ]
        fewer, other = min(map(tried, filter(np.any, others)), key=lambda one: one[0].sum())
        if fewer.sum() + CLEARLY * fewer.std() * np.sqrt(len(fewer)) >= errors.sum():
            break
        errors, weights = fewer, other
    return weights


def _errors(gram: Float64Array, labels: IntArray, num_classes: int) -> tuple[Float64Array, float]:
    """Squared leave-one-out errors, [M], with the mu of the smallest sum; and this mu."""
    targets, balanced, found = _targets(labels, num_classes), _balanced(labels), []
    for ridge in RIDGES:
        answers = without_itself(_inverse(gram, ridge / balanced), targets)
        found.append((balanced * ((answers - targets) ** 2).sum(axis=1), ridge))
    return min(found, key=lambda one: one[0].sum())


def leave_one_out(gram: Float64Array, targets: Float64Array, ridges: Float64Array) -> Float64Array:
    """What ridge regression without each row says of that row, [M, C].

    Shapes:
        - **gram:** :math:`(M, M)`, **targets:** :math:`(M, C)`, **ridges:** :math:`(M,)`, mu / v of each row
    """
    return without_itself(_inverse(gram, ridges), targets)


def _inverse(gram: Float64Array, ridges: Float64Array) -> Float64Array:
    """Q, [M, M]."""
    inverse: Any = np.linalg.inv(gram + np.diag(ridges))
    return np.asarray(inverse, dtype=np.float64)


def _balanced(labels: IntArray) -> Float64Array:
    """Weights that give all classes the same influence, [M]."""
    from sklearn.utils.class_weight import compute_sample_weight  # only an audit needs it

    weights: Float64Array = compute_sample_weight("balanced", labels)
    return weights


def _targets(labels: IntArray, num_classes: int) -> Float64Array:
    targets: Float64Array = np.eye(num_classes)[labels] - 1 / num_classes
    return targets


def _margins(answers: Float64Array, labels: IntArray) -> Float64Array:
    rows = np.arange(len(labels))
    others = answers.copy()
    others[rows, labels] = -np.inf
    ahead: Float64Array = answers[rows, labels] - others.max(axis=1)
    return ahead


def descriptions(graph: Graph, known: IntArray) -> tuple[list[Float64Array], list[Float64Array]]:
    """Blocks of columns of some nodes, [M, .] each: those that hold no class, and the known classes around each node.

    The nodes ``known`` [M] are those of known class; no other label is looked at.
    """
    nodes, neighbors = np.sort(known), graph.neighbors()
    ptr, others, ids = neighbors.rows(nodes)
    owners = np.repeat(np.arange(len(nodes)), np.diff(ptr))
    reached, places = np.unique(others, return_inverse=True)
    near = _means(owners, places, (len(nodes), len(reached)))
    own, theirs = (sp.csc_array(unit_rows(graph.features[ids])) for ids in (nodes, reached.astype(np.int64)))
    spans = [slice(low, low + COLUMNS) for low in range(0, graph.num_features, COLUMNS)]
    attributes = [own.toarray(), np.concatenate([near @ theirs[:, span].toarray() for span in spans], axis=1)]
    if smoothable(graph):
        attributes.append(np.concatenate([block[nodes] for block in attribute_columns(graph, smoothed=True)], axis=1))
    carried: list[Float64Array] = []
    ones = np.ones(len(known))
    classes = sp.csr_array((ones, (known, graph.labels[known])), shape=(graph.num_nodes, graph.num_classes))
    around = [near @ classes[reached]]
    if graph.edge_values is not None:
        carried = [own_edges(graph, nodes).astype(np.float64)]
        direction = graph.edge_values.take(ids).direction
        if direction is not None:
            carried = np.hsplit(carried[0], 2)  # outgoing, incoming
            outgoing = direction * np.where(nodes[owners] < others, 1, -1)  # direction 1: to the higher id
            sides = (outgoing >= 0, outgoing <= 0)
            around += [_means(owners[side], places[side], near.shape) @ classes[reached] for side in sides]
    passed = np.flatnonzero(graph.degrees[reached] <= MOST_EDGES)
    ptr, beyond, _ = neighbors.rows(reached[passed].astype(np.int64))
    further = _means(np.repeat(passed, np.diff(ptr)), beyond.astype(np.int64), (len(reached), graph.num_nodes))
    returned = near.multiply(further[:, nodes].T).sum(axis=1)  # a path that leads back brings a node its own label
    around.append(near @ (further @ classes) - sp.diags_array(returned) @ classes[nodes])
    order = np.searchsorted(nodes, known)
    columns = [_unit(block[order]) for block in attributes] + [_unit_mean(block[order]) for block in carried]
    return columns, [_unit_mean(block.toarray()[order]) for block in around]


def _similarities(distances: Iterable[Float64Array]) -> Float64Array:
    """G, [M, M]."""
    total = sum(distances)
    assert isinstance(total, np.ndarray)
    found: Float64Array = np.exp(-total / (np.median(total) or 1.0))
    return found


def _means(rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> sp.csr_array:
    """The matrix that takes the mean over the columns that belong to each row."""
    counts = np.bincount(rows, minlength=shape[0])
    return sp.csr_array((1 / counts[rows], (rows, columns)), shape=shape)


def _unit(block: Float64Array) -> Float64Array:
    """Centered, rows of length 1."""
    centered = block - block.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    scaled: Float64Array = centered / np.where(lengths > 1e-12, lengths, 1)
    return scaled


def _unit_mean(block: Float64Array) -> Float64Array:
    """Centered, rows of mean squared length 1."""
    centered = block - block.mean(axis=0)
    length = np.sqrt((centered**2).sum(axis=1).mean())
    scaled: Float64Array = centered / (length if length > 1e-12 else 1)
    return scaled


def _distances(block: Float64Array) -> Float64Array:
    """Squared distances of the rows, [M, M]."""
    squares = (block**2).sum(axis=1)
    distances: Float64Array = np.maximum(0, squares[:, None] + squares - 2 * block @ block.T)
    return distances
