"""K, lambda, tau and the attribute share, chosen on validation nodes once the encoder is trained.

Nothing is trained again: the vote is cheap. Settings that the user gave stay as they are. Shapes: T validation nodes, L
labeled nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import SEGNN, TrainedModel
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.settings import Decision, Resolved
from se_gnn.similarity import Similarities, top

NUM_NEAREST = (10, 20, 40)  # K
NODE_WEIGHTS = (0.5, 0.7, 0.9)  # lambda: structure always has a share
SMALLEST_TAU, LARGEST_TAU = 0.005, 2.0
FEW = 20  # fewer validation nodes are too few to choose by
SMALLEST = 1e-4  # probability below which a wrong answer costs no more


@dataclass(frozen=True, slots=True)
class VoteChoice:
    """K, lambda and tau as they were chosen, and why."""

    num_nearest: int
    node_weight: float
    temperature: float
    reason: str
    right: int | None = None  # correct validation nodes; None: there were too few to choose by

    def applied(self, settings: Resolved) -> Resolved:
        """The settings with this vote."""
        values = {name: getattr(self, name) for name in ("num_nearest", "node_weight", "temperature")}
        words = {
            "num_nearest": f"K = {self.num_nearest}",
            "node_weight": f"lambda = {self.node_weight:g}",
            "temperature": f"tau = {self.temperature:.3g}",
        }
        k, weight, tau = (f"{text} (given)" if settings.is_given(name) else text for name, text in words.items())
        decision = Decision(f"{k}, {weight}, {tau}", self.reason)
        if self.right is None:
            return settings.decided("graph", {"num_nearest": self.num_nearest}, decision)
        return settings.decided("validation", values, decision)


@dataclass(frozen=True, slots=True)
class _Trial:
    num_nearest: int
    node_weight: float
    temperature: float
    right: int
    loss: float


def with_chosen_vote(
    graph: Graph, settings: Resolved, assembled: Callable[[Resolved], SEGNN], max_memory: int | str | None
) -> SEGNN:
    """The model with the vote that validation nodes choose; the attributes keep their share if that costs little.

    Args:
        graph: the graph that it was trained on.
        settings: those of the chosen recipe.
        assembled: builds the trained model with some settings.
        max_memory: memory limit of a comparison.
    """
    model, share = assembled(settings), settings.encoder.attribute_share
    choice = choose_vote(model, graph, max_memory)
    decisions = []
    if share and choice.right is not None and not settings.is_given("attribute_share"):
        without = assembled(settings.decided("validation", {"attribute_share": 0.0}))
        other = choose_vote(without, graph, max_memory)
        assert other.right is not None
        figures = f"({choice.right} of {len(graph.validation)} validation nodes correct with it, {other.right} without)"
        if other.right - choice.right <= len(graph.validation) // 100:
            decisions = [Decision(f"attribute_share = {share:g}", f"costs at most 1% of validation accuracy {figures}")]
        else:
            reason = f"a share of {share:g} costs more than 1% of validation accuracy {figures}"
            decisions, model, choice = [Decision("attribute_share = 0", reason)], without, other
    model.settings = choice.applied(model.settings.decided("validation", {}, *decisions))
    return model


@torch.no_grad()
def choose_vote(model: SEGNN, graph: Graph, max_memory: int | str | None = None) -> VoteChoice:
    """Choose K and lambda by the number of correct validation nodes, and tau by their log loss.

    Candidates are all combinations with at most one correct node in a hundred fewer than the best one; the one with the
    lowest log loss is taken. For each combination tau is the one with the lowest log loss: the probabilities are
    calibrated, and they are the vote's own.
    """
    settings, num_labeled = model.settings, len(graph.train)
    size, weight, tau = settings.vote.num_nearest, settings.similarity.node_weight, settings.vote.temperature
    sizes = [k for k in NUM_NEAREST if k <= num_labeled] or [num_labeled]
    if size > NUM_NEAREST[-1]:
        sizes.append(size)
    if settings.is_given("num_nearest"):
        sizes = [size]
    if len(graph.validation) < FEW:
        count = len(graph.validation)
        few = f"only {count} validation nodes, too few" if count else "there are no validation nodes"
        return VoteChoice(min(size, sizes[-1]), weight, tau, f"{few} to choose by")
    weights = (weight,) if settings.is_given("node_weight") else NODE_WEIGHTS
    trained = TrainedModel(model, graph, max_memory=max_memory)
    similarity, answers = trained.similarity, trained.cases.answers_on(model.device)
    similarities = similarity.compare(similarity.items(graph.validation), trained.cases.items)
    labels = graph.labels[graph.validation]
    fixed = tau if settings.is_given("temperature") else None
    trials = [_try(similarities, answers, labels, k, share, fixed) for share in weights for k in sizes]
    most = max(trial.right for trial in trials)
    close = [trial for trial in trials if trial.right >= most - len(labels) // 100]
    best = min(close, key=lambda trial: trial.loss)
    loss = max(0.0, best.loss)  # a sum of weights may be a rounding error above 1
    correct = f"{best.right} of {len(labels)} validation nodes correct"
    at_most = "" if best.right == most else f", at most {most}"
    reason = f"best log loss ({loss:.3f}) among the most accurate of {len(trials)} settings ({correct}{at_most})"
    return VoteChoice(best.num_nearest, best.node_weight, best.temperature, reason, best.right)


def _try(
    similarities: Similarities,
    answers: ClassAnswers,
    labels: IntArray,
    size: int,
    weight: float,
    temperature: float | None,
) -> _Trial:
    overall = similarities.weighted(weight).overall
    nearest = top(overall, size)
    values = overall.gather(1, nearest)
    truth = torch.tensor(labels, device=overall.device)

    def probabilities(temperature: float) -> Tensor:
        return tally(vote(values, temperature), nearest, answers)

    def loss(log_temperature: float) -> float:
        own = probabilities(float(np.exp(log_temperature))).gather(1, truth[:, None])
        return float(-own.clamp_min(SMALLEST).double().log().mean())

    if temperature is None:
        bounds = (np.log(SMALLEST_TAU), np.log(LARGEST_TAU))
        found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
        temperature = float(f"{np.exp(found.x):.3g}")  # so that what is saved is what is printed
    right = int((probabilities(temperature).argmax(dim=1) == truth).sum())
    return _Trial(size, weight, temperature, right, loss(np.log(temperature)))
