"""K, lambda and tau chosen on validation nodes once the encoder is trained: nothing is trained again.

Shapes: T validation nodes, L labeled nodes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from se_gnn.config import Config
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.model import SEGNN, Voter
from se_gnn.ranking import ClassAnswers, tally, vote
from se_gnn.similarity import Similarities, top

NUM_NEAREST = (10, 20, 40)  # K
NODE_WEIGHTS = (0.5, 0.7, 0.9)  # lambda: structure always has a share
SMALLEST_TAU, LARGEST_TAU = 0.005, 2.0
FEW = 20  # fewer validation nodes say too little to choose by
SMALLEST = 1e-4  # probability below which a wrong answer costs no more


@dataclass(frozen=True, slots=True)
class VoteChoice:
    """What was chosen, and why, in a sentence."""

    num_nearest: int
    node_weight: float
    temperature: float
    why: str
    right: int | None = None  # validation nodes; None where they were too few to choose by

    def applied(self, config: Config) -> Config:
        """The settings with this vote."""
        similarity = dataclasses.replace(
            config.similarity,
            num_nearest=self.num_nearest,
            node_weight=self.node_weight,
            temperature=self.temperature,
        )
        return dataclasses.replace(config, similarity=similarity, why=(*config.why, self.why))


@dataclass(frozen=True, slots=True)
class _Trial:
    num_nearest: int
    node_weight: float
    temperature: float
    right: int
    loss: float


@torch.no_grad()
def choose_vote(model: SEGNN, graph: Graph, voter: Voter, fixed: frozenset[str] = frozenset()) -> VoteChoice:
    """Choose K and lambda by the number of right validation nodes, tau by their log loss.

    Of all combinations those are left that are right on at most one node in a hundred fewer than the best; of them the
    one with the lowest log loss is taken. For each combination tau is the one with the lowest log loss: the
    probabilities are calibrated, and they are the vote's own. Settings named in ``fixed`` stay as they are.
    """
    settings, num_labeled = model.config.similarity, len(graph.train)
    sizes = [k for k in NUM_NEAREST if k <= num_labeled] or [num_labeled]
    if settings.num_nearest > NUM_NEAREST[-1]:
        sizes.append(settings.num_nearest)
    if "num_nearest" in fixed:
        sizes = [settings.num_nearest]
    weights = (settings.node_weight,) if "node_weight" in fixed else NODE_WEIGHTS
    temperature = settings.temperature if "temperature" in fixed else None
    if len(graph.validation) < FEW:
        few = "no validation node" if not len(graph.validation) else f"only {len(graph.validation)} validation nodes"
        size = min(settings.num_nearest, sizes[-1])
        vote_set = f"K = {size}, lambda = {settings.node_weight:g} and tau = {settings.temperature:g}"
        why = f"{vote_set} as set: {few} to choose by"
        return VoteChoice(size, settings.node_weight, settings.temperature, why)
    similarities = voter.similarity(model.embed(graph)).compare(voter.items(graph.validation), voter.cases)
    labels = graph.labels[graph.validation]
    answers = voter.answers(model.device)
    trials = [_try(similarities, answers, labels, size, weight, temperature) for weight in weights for size in sizes]
    most = max(trial.right for trial in trials)
    close = [trial for trial in trials if trial.right >= most - len(labels) // 100]
    best = min(close, key=lambda trial: trial.loss)
    loss = max(0.0, best.loss)  # a sum of weights may be a rounding above 1
    why = (
        f"K = {best.num_nearest}, lambda = {best.node_weight:g} and tau = {best.temperature:.3g}: of {len(trials)} "
        f"votes tried on {len(labels)} validation nodes the one with the lowest log loss ({loss:.3f}) among those "
        f"with the most right answers ({best.right}, at most {most})"
    )
    return VoteChoice(best.num_nearest, best.node_weight, best.temperature, why, best.right)


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
        temperature = float(f"{np.exp(found.x):.3g}")  # so that what is saved is what is said
    right = int((probabilities(temperature).argmax(dim=1) == truth).sum())
    return _Trial(size, weight, temperature, right, loss(np.log(temperature)))
