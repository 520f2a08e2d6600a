r"""After training, the validation nodes choose K, lambda, tau, the reserve and the attribute share.

The validation nodes are divided into folds. Besides its best epoch by all validation nodes, a training run keeps its
best epoch by the nodes outside each fold, and the recipe is chosen outside the fold as well. So the nodes of each fold
are compared by a model that they did not choose, and nothing is retrained. The vote is chosen on these comparisons. The
model's figures are *cross-fitted* too: each fold is answered by the vote that the other folds choose.

With n such nodes no class gets more than 1 - 3 / (n + 2): if n answers are all correct, up to 3 in n may still be wrong
(the rule of three, 95% confidence). Nor does any class get 99%, however many nodes there are. At least this share of
the vote is held in reserve. For each K and lambda, tau and the reserve have the lowest log loss, to which the gap
between the mean claim and the share of correct answers is added: the log loss alone prefers claims that are too low.
The claims are those of the model itself, as new nodes get them: the models outside the folds may be surer or less sure.
Of these votes, the one with the lowest log loss is taken. It also decides between attribute shares. At last, cases of
some classes count more often than others if that is how frequent the classes are (:mod:`.class_factors`). Settings that
the user gave are not changed. Shapes: T validation nodes, L labeled nodes, C classes, V votes that are tried.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, Float64Array, FloatArray, IntArray
from se_gnn.model import SEGNN, Model
from se_gnn.model.metrics import classification_metrics
from se_gnn.model.prediction import log_loss
from se_gnn.ranking import Answers, ClassAnswers, tally, vote
from se_gnn.settings import Decision, Resolved
from se_gnn.settings.settings import RANKINGS, Origin
from se_gnn.similarity import Similarities, top
from se_gnn.training.class_factors import asked_nodes, class_factors, why_factors
from se_gnn.training.portfolio import standard_error

NUM_NEAREST = (10, 20, 40, 100, 200, 500)  # K; all labeled nodes, if they are fewer
NODE_WEIGHTS = (0.5, 0.7, 0.9)  # lambda: structure always has a share
SMALLEST_TAU, LARGEST_TAU = 0.005, 2.0
TAUS = tuple(float(tau) for tau in np.geomspace(SMALLEST_TAU, LARGEST_TAU, 16))
NODES_PER_FACTOR = 10  # validation nodes for each factor by which tau may differ from that of training
ATTRIBUTE_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8)  # of the similarity
RESERVES = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
LEAST = 0.011  # what the likeliest class never gets: claims stay below 99%, also after rounding
FEW = 20  # fewer validation nodes are too few to choose by
NUM_FOLDS = 5
MOST_PAIRS = 50_000_000  # validation and labeled nodes that are compared; of more, some validation nodes are left out
GAP = 12.0  # weight of the gap between claims and correct answers; 1 is its own share of a log-likelihood
CLOSE = 0.5  # standard errors by which a figure that is as good may be lower
CLOSE_RANKING = 0.002
CHOSEN_BY_LOSS = ("accuracy", "loss")  # with these as best_by the log loss chooses the vote
SURE = 0.99

ModelOf = Callable[[Resolved, int], SEGNN]  # with some settings, chosen outside a fold; the fold -1: by all nodes


def folds_of(labels: IntArray) -> IntArray:
    """The fold of each validation node, [T]: the nodes of each class are dealt out in turn.

    >>> folds_of(np.array([0, 1, 0, 0, 1, 0, 0, 0])).tolist()
    [0, 0, 1, 2, 1, 3, 4, 0]
    """
    folds = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        nodes = np.flatnonzero(labels == label)
        folds[nodes] = np.arange(len(nodes)) % NUM_FOLDS
    return folds


@dataclass(frozen=True, slots=True)
class VoteChoice:
    """K, lambda, tau and the reserve as they were chosen, and why."""

    num_nearest: int
    node_weight: float
    temperature: float
    reserve: float
    reason: str
    score: float = 0.0  # what the vote was chosen by, higher is better: a figure, or the log loss below 0

    def applied(self, settings: Resolved, origin: Origin = "validation") -> Resolved:
        """The settings with this vote; of one that no validation node chose, K alone was decided."""
        words = {
            "num_nearest": f"K = {self.num_nearest}",
            "node_weight": f"lambda = {self.node_weight:g}",
            "temperature": f"tau = {self.temperature:.3g}",
            "reserve": f"reserve = {self.reserve:.2g}",
        }
        shown = [name for name in words if name != "reserve" or self.reserve]
        what = ", ".join(words[name] + (" (given)" if settings.is_given(name) else "") for name in shown)
        values = {name: getattr(self, name) for name in (words if origin == "validation" else ["num_nearest"])}
        return settings.decided(origin, values, Decision(what, self.reason))


def with_chosen_vote(
    graph: Graph, settings: Resolved, model_of: ModelOf, max_memory: int | str | None
) -> tuple[SEGNN, dict[str, Any] | None]:
    """The model with the vote that validation nodes choose, and its cross-fitted figures; None: too few nodes.

    The attribute share is chosen with the vote.

    Args:
        graph: the graph that it was trained on.
        settings: those of the chosen recipe.
        model_of: builds the trained model with some settings, as it would be without a fold.
        max_memory: memory limit of a comparison.
    """
    if len(graph.validation) < FEW or graph.predicts_numbers:
        model = model_of(settings, -1)
        if len(graph.validation) < FEW:
            model.settings = _too_few(graph, settings).applied(model.settings, "graph")
        else:
            model.settings = _best_for_numbers(model, graph, max_memory).applied(model.settings)
        return model, None
    usual = settings.encoder.attribute_share
    varied = usual > 0 and not settings.is_given("attribute_share")
    scores: dict[float, float] = {}
    best: tuple[Resolved, Votes, VoteChoice] | None = None
    for share in ATTRIBUTE_SHARES if varied else (usual,):
        offered = settings.decided("validation", {"attribute_share": share}) if varied else settings
        votes = Votes.compared(graph, offered, model_of, max_memory)
        found = votes.chosen()
        scores[share] = found.score
        if best is None or found.score > best[2].score:
            best = offered, votes, found
    assert best is not None
    settings, tried, choice = best
    decisions = [_why_share(scores, settings)] if varied else []
    model = model_of(settings, -1)
    model.settings = choice.applied(model.settings.decided("validation", {}, *decisions))
    factors = _factors(model, graph, tried, max_memory)
    if factors is not None:
        model.settings = model.settings.decided("validation", {"class_factors": factors}, why_factors(factors, graph))
    figures_of = tried.cross_fitted(factors)
    reason = (
        f"{figures_of['calibration_error']:.1%} on {len(tried.labels):,} validation nodes, cross-fitted (accuracy "
        f"{figures_of['accuracy']:.1%}, log loss {figures_of['loss']:.3f})"
    )
    model.settings = model.settings.decided("validation", {}, Decision("calibration error", reason))
    return model, figures_of


@torch.no_grad()
def _factors(model: SEGNN, graph: Graph, votes: Votes, max_memory: int | str | None) -> tuple[float, ...] | None:
    """How often a case of each class counts; None: once, or as often as the user says."""
    settings = model.settings
    balanced = settings.selection.best_by not in CHOSEN_BY_LOSS or settings.values().get("balance_classes")
    if settings.is_given("class_factors") or balanced:
        return None
    chosen = (settings.vote.num_nearest, settings.similarity.node_weight, settings.vote.temperature)
    of_validation = votes.with_reserve(answered(votes.final, votes.answers, [chosen])[0], settings.vote.reserve)
    others = Model(model, graph, settings, max_memory=max_memory).predict(asked_nodes(graph)).probabilities
    return class_factors(graph.labels[graph.train], votes.labels, of_validation, others)


def _why_share(scores: dict[float, float], settings: Resolved) -> Decision:
    """The attribute share that was chosen, and how it compares with the others."""
    by = settings.selection.best_by
    what, sign = ("lowest log loss", -1) if by in CHOSEN_BY_LOSS else (f"highest {by.replace('_', ' ')}", 1)
    figures = ", ".join(f"{share:g}: {sign * score:.3f}" for share, score in scores.items())
    return Decision(
        f"attribute_share = {settings.encoder.attribute_share:g}",
        f"{what} on validation nodes ({figures})",
    )


@torch.no_grad()
def _best_for_numbers(model: SEGNN, graph: Graph, max_memory: int | str | None) -> VoteChoice:
    """K, lambda and tau by the squared error on the validation nodes; numbers have no probabilities to calibrate."""
    trained = Model(model, graph, model.settings, max_memory=max_memory)
    similarities = trained.similarity.compare(trained.similarity.items(graph.validation), trained.cases.items)
    truth = graph.values[graph.validation]
    names = _tried(model.settings, len(graph.train), len(truth))
    found = answered(similarities, trained.cases.answers_on(model.device), names)[:, :, 0]  # [V, T]
    losses = np.square(found - truth).sum(axis=1) / np.square(truth - truth.mean()).sum()
    size, weight, tau = names[int(losses.argmin())]
    reason = f"highest R2 on validation nodes ({1 - losses.min():.3f}) of {len(names)} settings"
    return VoteChoice(size, weight, float(f"{tau:.3g}"), model.settings.vote.reserve, reason)


def _too_few(graph: Graph, settings: Resolved) -> VoteChoice:
    count, labeled, size = len(graph.validation), len(graph.train), settings.vote.num_nearest
    few = f"only {count} validation nodes, too few" if count else "there are no validation nodes"
    sizes = [k for k in NUM_NEAREST if k <= labeled] or [labeled]
    fitting = size if settings.is_given("num_nearest") else min(size, max(sizes[-1], 1))
    reason = f"{few} to choose by; probabilities are not calibrated"
    return VoteChoice(fitting, settings.similarity.node_weight, settings.vote.temperature, 0.0, reason)


@dataclass(frozen=True, eq=False)
class Votes:
    """All votes that are tried, on validation nodes that had no part in choosing the model they are compared by."""

    settings: Resolved
    similarities: Similarities  # [T, L]
    final: Similarities  # by the model that all validation nodes chose, [T, L]
    answers: ClassAnswers
    labels: IntArray  # [T]
    folds: IntArray  # [T]
    names: list[tuple[int, float, float]]  # K, lambda and tau of each vote
    probabilities: FloatArray  # without a reserve, [V, T, C]
    claims: FloatArray  # by the model that all validation nodes chose: the highest probability, [V, T]

    @classmethod
    @torch.no_grad()
    def compared(cls, graph: Graph, settings: Resolved, model_of: ModelOf, max_memory: int | str | None) -> Votes:
        """Compare each fold by the model that it did not choose, and try all votes."""
        folds, every = folds_of(graph.labels[graph.validation]), np.arange(len(graph.validation))
        most = max(FEW * NUM_FOLDS, MOST_PAIRS // len(graph.train))
        if len(every) > most:
            every = np.linspace(0, len(every) - 1, most).astype(np.int64)
        folds, nodes = folds[every], graph.validation[every]
        parts, places = [], []
        for fold in (*np.unique(folds).tolist(), -1):
            model, rows = model_of(settings, fold), np.flatnonzero((folds == fold) | (fold < 0))
            trained = Model(model, graph, settings, max_memory=max_memory)
            parts.append(trained.similarity.compare(trained.similarity.items(nodes[rows]), trained.cases.items))
            places.append(rows)
        final, _ = parts.pop(), places.pop()
        back = torch.from_numpy(np.argsort(np.concatenate(places), kind="stable")).to(model.device)
        similarities = Similarities(
            torch.cat([part.node for part in parts])[back],
            torch.cat([part.structure for part in parts])[back],
            settings.similarity.node_weight,
        )
        answers = trained.cases.answers_on(model.device)
        assert isinstance(answers, ClassAnswers)
        names = _tried(settings, len(graph.train), len(graph.validation))
        found, claims = answered(similarities, answers, names), answered(final, answers, names).max(axis=2)
        return cls(settings, similarities, final, answers, graph.labels[nodes], folds, names, found, claims)

    def chosen(self) -> VoteChoice:
        """The best vote by all of these nodes, with a finer tau."""
        rows = np.ones(len(self.labels), bool)
        best, reserve = self._best(rows)
        size, weight, tau = self.names[best]
        by = self.settings.selection.best_by
        if not self.settings.is_given("temperature") and by in CHOSEN_BY_LOSS:
            tau = self._finer(size, weight, tau, reserve)
        probabilities = answered(self.similarities, self.answers, [(size, weight, tau)])
        claims = answered(self.final, self.answers, [(size, weight, tau)]).max(axis=2)
        reserve = float(f"{self._losses(probabilities, claims, rows)[2][0]:.3g}")
        found = self.with_reserve(probabilities[0], reserve)
        loss = log_loss(found, self.labels)
        right = int((probabilities[0].argmax(axis=1) == self.labels).sum())
        count = len({name[:2] for name in self.names}) if by in CHOSEN_BY_LOSS else len(self.names)
        among = "" if by in CHOSEN_BY_LOSS else f"among the best by {by.replace('_', ' ')} "
        correct = f"{right} of {len(self.labels):,} validation nodes correct"
        reason = f"best log loss ({loss:.3f}) {among}of {count} settings ({correct})"
        score = -loss if by in CHOSEN_BY_LOSS else _figure(found, self.labels, by)
        return VoteChoice(size, weight, tau, reserve, reason, score)

    def with_reserve(self, votes: FloatArray, reserve: float) -> FloatArray:
        """Class probabilities, of which each class has its part of a reserve."""
        return (1 - reserve) * votes + reserve / self.answers.num_classes

    def cross_fitted(self, factors: tuple[float, ...] | None = None) -> dict[str, Any]:
        """Figures of all answers, where each fold is answered by the vote that the other folds choose.

        In each vote the cases of a class count as often as its factor says.
        """
        found = np.empty((len(self.labels), self.answers.num_classes))
        for fold in np.unique(self.folds).tolist():
            best, reserve = self._best(self.folds != fold)
            rows = self.folds == fold
            votes = self.probabilities[best, rows]
            if factors is not None:
                votes = votes * np.array(factors)
                votes /= votes.sum(axis=1, keepdims=True)
            found[rows] = self.with_reserve(votes, reserve)
        figures = classification_metrics(found.astype(np.float32), self.labels)
        wrong = found.argmax(axis=1) != self.labels
        sure = float((found[wrong].max(axis=1) > SURE).mean()) if wrong.any() else None
        kept = ("nodes", "accuracy", "balanced_accuracy", "loss", "calibration_error", "roc_auc", "average_precision")
        return {**{name: figures[name] for name in kept}, "wrong_above_99": sure}

    def _finer(self, size: int, weight: float, tau: float, reserve: float) -> float:
        """The tau with the lowest loss between the two neighbors of one in the list."""
        step = np.log(TAUS[1] / TAUS[0])
        low, high = max(np.log(tau) - step, np.log(SMALLEST_TAU)), min(np.log(tau) + step, np.log(LARGEST_TAU))
        rows = np.ones(len(self.labels), bool)

        def loss(log_tau: float) -> float:
            name = [(size, weight, float(np.exp(log_tau)))]
            tried, claims = (answered(one, self.answers, name) for one in (self.similarities, self.final))
            return float(self._losses(tried, claims.max(axis=2), rows)[0][0])

        found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 0.01})
        return float(f"{np.exp(found.x):.3g}")  # so that what is saved is what is printed

    def _losses(
        self, probabilities: FloatArray, claims: FloatArray, rows: BoolArray
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """The loss of each vote on some nodes with the best reserve, its log loss, and this reserve, [V] each.

        Beside the log loss, the loss counts how far the mean claim is from the share of correct answers. Two more that
        are correct and two that are wrong are assumed, so that a share of 100% is never claimed.
        """
        truth = np.flatnonzero(rows)
        count, labels, num_classes = len(truth), self.labels[truth], probabilities.shape[2]
        every = probabilities[:, truth].astype(np.float64)  # [V, ., C]
        own, claimed = every[:, np.arange(count), labels], claims[:, truth].astype(np.float64).mean(axis=1)
        right = ((every.argmax(axis=2) == labels).sum(axis=1) + 2) / (count + 4)  # [V]
        least = max(LEAST, 3 / (count + 2)) / (1 - 1 / max(2, num_classes))  # the likeliest class gets 1 / C of it
        reserves = [least, *(reserve for reserve in RESERVES if reserve > least)]
        if self.settings.is_given("reserve"):
            reserves = [self.settings.vote.reserve]

        def both(reserve: float) -> tuple[Float64Array, Float64Array]:
            log_loss = -np.log(np.clip((1 - reserve) * own + reserve / num_classes, 1e-8, 1)).mean(axis=1)
            gap = (1 - reserve) * claimed + reserve / num_classes - right
            return log_loss + GAP * np.square(gap) / (2 * right * (1 - right)), log_loss

        losses, log_losses = np.stack([both(reserve) for reserve in reserves], axis=1)  # [R, V] each
        best, votes = losses.argmin(axis=0), np.arange(len(own))
        return losses[best, votes], log_losses[best, votes], np.array(reserves)[best]

    def _best(self, rows: BoolArray) -> tuple[int, float]:
        """The best vote by some nodes, and its reserve.

        Each K and lambda gets the tau with the lowest loss; of these votes, the one with the lowest log loss is taken.
        Other figures than accuracy and the loss, given as ``best_by``, choose K, lambda and tau themselves.
        """
        by = self.settings.selection.best_by
        losses, log_losses, reserves = self._losses(self.probabilities, self.claims, rows)
        if by in CHOSEN_BY_LOSS:
            groups: dict[tuple[int, float], list[int]] = {}
            for i, (size, weight, _) in enumerate(self.names):
                groups.setdefault((size, weight), []).append(i)
            calibrated = [min(group, key=lambda i: losses[i]) for group in groups.values()]
            best = min(calibrated, key=lambda i: log_losses[i])
        else:
            best = int(min(self._close(rows, by), key=lambda i: losses[i]))
        return best, float(reserves[best])

    def _close(self, rows: BoolArray, by: str) -> IntArray:
        """The votes whose figure is as good as the best one."""
        labels = self.labels[rows]
        figures = np.array([_figure(found[rows], labels, by) for found in self.probabilities])
        margin = CLOSE_RANKING if by in RANKINGS else CLOSE * standard_error(figures.max(), by, len(labels))
        return np.flatnonzero(figures >= figures.max() - margin)


def _figure(probabilities: FloatArray, labels: IntArray, by: str) -> float:
    """A figure of some answers; -inf if it is not defined. Balanced accuracy is written out for speed."""
    if by == "balanced_accuracy":
        right = probabilities.argmax(axis=1) == labels
        return float(np.mean([right[labels == label].mean() for label in np.unique(labels)]))
    value = classification_metrics(probabilities, labels)[by]
    return -np.inf if value is None else float(value)


def _tried(settings: Resolved, labeled: int, validated: int) -> list[tuple[int, float, float]]:
    """K, lambda and tau of all votes that are tried; settings that the user gave are not varied.

    With few validation nodes tau stays near that of training: 21 nodes cannot tell a tau of 0.005 from one of 2.
    """
    size = settings.vote.num_nearest
    sizes = [size] if settings.is_given("num_nearest") else sorted({min(k, labeled) for k in (*NUM_NEAREST, size)})
    weights = (settings.similarity.node_weight,) if settings.is_given("node_weight") else NODE_WEIGHTS
    tau, most = settings.vote.temperature, max(2.0, validated / NODES_PER_FACTOR)
    near = tuple(one for one in TAUS if tau / most <= one <= tau * most)
    taus = (tau,) if settings.is_given("temperature") else near
    return [(k, weight, tau) for weight, k, tau in itertools.product(weights, sizes, taus)]


def answered(similarities: Similarities, answers: Answers, names: list[tuple[int, float, float]]) -> FloatArray:
    """Class probabilities by some votes, without a reserve, [V, T, C]; or numbers, [V, T, 1]."""
    found: list[Tensor] = []
    for weight, group in itertools.groupby(names, key=lambda name: name[1]):
        overall = similarities.weighted(weight).overall
        several = list(group)
        nearest = top(overall, max(name[0] for name in several))
        values = overall.gather(1, nearest)
        for size, _, tau in several:
            weights = vote(values[:, :size], tau, offsets=answers.offsets(nearest[:, :size]))
            found.append(tally(weights, nearest[:, :size], answers))
    return torch.stack(found).cpu().numpy()


MANY = 100  # fewer validation nodes say too little to warn by
FEW_OF_CLASS = 5  # validation nodes of a class, of which one should be found


def warn_of_single_nodes(graph: Graph) -> None:
    """Warn of classes that training leaves out; once, however many runs there are."""
    if graph.predicts_numbers:
        return
    counts = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    alone = [graph.class_names[c] for c in np.flatnonzero(counts == 1)]
    if alone:
        warnings.warn(
            "classes with one labeled node have nothing to be similar to and are left out of the loss: "
            + ", ".join(alone),
            stacklevel=3,
        )


def warn_of_optimism(plain: Mapping[str, Any], cross_fitted: Mapping[str, Any] | None) -> None:
    """Warn if the validation nodes that chose a model are predicted much better than nodes that chose nothing."""
    if cross_fitted is None or cross_fitted["nodes"] < MANY:
        return
    honest = cross_fitted["accuracy"]
    error = math.sqrt(max(honest * (1 - honest), 1 / cross_fitted["nodes"]) / cross_fitted["nodes"])
    if plain["accuracy"] - honest > 2 * error:
        warnings.warn(
            f"the validation accuracy of {plain['accuracy']:.1%} is optimistic: cross-fitted, it is {honest:.1%}. "
            "Expect the latter on new nodes, or label more validation nodes",
            stacklevel=3,
        )


def warn_of_lost_classes(validation: Mapping[str, Any], graph: Graph) -> None:
    """Warn if no validation node of some class is predicted correctly."""
    if graph.predicts_numbers or validation["nodes"] < MANY:
        return
    confusion = np.asarray(validation["confusion"])
    lost = np.flatnonzero((confusion.sum(axis=1) >= FEW_OF_CLASS) & (confusion.diagonal() == 0))
    if len(lost):
        names = ", ".join(f"{graph.class_names[label]!r} ({confusion[label].sum()} nodes)" for label in lost.tolist())
        warnings.warn(
            f"no validation node of these classes is predicted correctly: {names}. If they matter, set best_by to "
            "balanced_accuracy, or balance_classes to true",
            stacklevel=3,
        )
