"""How the cases of someone else's model are compared: chosen so that their vote agrees with that model.

Nothing is trained. The nodes that choose are set aside for that; agreement is then measured on other nodes. Shapes: T
nodes that choose, L cases, C classes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from se_gnn.encoder.outputs import OutputEncoder, Outputs
from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import Split
from se_gnn.model import Model
from se_gnn.model.facts import versions
from se_gnn.model.metrics import evaluate_nodes
from se_gnn.settings import Decision, Resolved
from se_gnn.training.choice import answered

OFFERED: dict[str, tuple[Any, ...]] = {
    "probability_share": (0.25, 0.5, 0.75, 1.0),
    "sharpness": (1.0, 2.0, 4.0, 10.0),
    "node_weight": (0.5, 0.7, 0.9),  # lambda: structure always has a share
    "num_nearest": (10, 20, 40),  # K
    "temperature": (0.01, 0.02, 0.05, 0.1, 0.2),  # tau
}
SMALLEST = 1e-4  # probability below which a wrong answer costs no more
WITHIN = 0.005  # how much less agreement may be for the sake of a similarity that rests less on the probabilities
MOST = 500  # nodes that choose, and at most as many that measure if there are no test nodes


def explained_graph(graph: Graph, outputs: Outputs, references: IntArray | None, seed: int) -> Graph:
    """The graph with the model's answers as its classes: references are its cases, other nodes choose and measure.

    Validation nodes choose; without them, a sample of the nodes that are neither cases nor test nodes. Test nodes
    measure; without them, another sample. A third sample calibrates prediction sets: answers of a model cost nothing.
    """
    answers = outputs.classes.numpy().astype(np.int64)
    cases = graph.train if references is None else np.unique(references)
    if len(cases) < 2:
        raise InputError(f"references must name at least two nodes, got {len(cases)}: they are the cases that vote")
    silent = cases[answers[cases] == UNKNOWN]
    if len(silent):
        raise InputError(f"references must be nodes that the model predicts, got node {graph.node_names[silent[0]]!r}")
    free = np.setdiff1d(np.flatnonzero(answers != UNKNOWN), cases)
    test = np.setdiff1d(graph.test, cases)
    chooses = np.setdiff1d(graph.validation, cases)
    drawn = np.random.default_rng([seed, 0xA64EE]).permutation(np.setdiff1d(free, np.concatenate([test, chooses])))
    if not len(chooses):
        chooses, drawn = drawn[:MOST], drawn[MOST:]
    if not len(test):
        test, drawn = drawn[:MOST], drawn[MOST:]
    if not len(chooses) or not len(test):
        raise InputError(
            f"{graph.name} has too few nodes besides the {len(cases)} cases: some must choose how cases are compared, "
            "and others measure how often the vote agrees with the model; name fewer references"
        )
    if not len(drawn):
        chooses, drawn = chooses[::2], chooses[1::2]
    parts = {"validation": chooses[:MOST], "test": test, "calibration": drawn[:MOST]}
    split = Split(train=cases, **{part: np.sort(nodes) for part, nodes in parts.items()})
    return graph.replace(target=graph.classes.with_labels(answers), split=split)


@dataclass(frozen=True, slots=True)
class _Trial:
    values: dict[str, Any]
    agreement: float
    loss: float  # cross-entropy of the vote with the model's probabilities

    @property
    def reliance(self) -> tuple[float, float, float]:
        """How much the similarity rests on the probabilities; then the loss."""
        return self.values["probability_share"], self.values["sharpness"], self.loss


@torch.no_grad()
def agreeing_model(outputs: Outputs, graph: Graph, settings: Resolved, max_memory: int | str | None = None) -> Model:
    """The model whose vote agrees with the outputs on the validation nodes; what the user gave stays as it is.

    Of the settings whose agreement is within half a percent of the best, those are taken that rest least on the
    probabilities: a case should be like the node, not only be answered like it. Then the lowest cross-entropy decides.
    """
    if not outputs.embeddings.shape[1]:
        only = Decision("probability_share = 1", "the model's embeddings are not read")
        settings = settings.decided("graph", {"probability_share": 1.0}, only)
    offered = {name: _offered(settings, name, values, graph) for name, values in OFFERED.items()}
    trials = []
    for share, power in itertools.product(offered["probability_share"], offered["sharpness"]):
        tried = settings.decided("validation", {"probability_share": share, "sharpness": power})
        trials += _trials(Model(OutputEncoder(outputs, tried), graph, tried, max_memory=max_memory), offered)
    most = max(trial.agreement for trial in trials)
    best = min((one for one in trials if one.agreement >= most - WITHIN), key=lambda one: one.reliance)
    what = ", ".join(f"{name} = {value:g}" for name, value in best.values.items())
    reason = (
        f"the vote agrees with the model on {best.agreement:.1%} of {len(graph.validation)} validation nodes; among "
        f"the settings within {WITHIN:.1%} of the best of {len(trials)}, it relies least on the probabilities"
    )
    chosen = settings.decided("validation", best.values, Decision(what, reason))
    model = Model(OutputEncoder(outputs, chosen), graph, chosen, max_memory=max_memory)
    figures = {part: evaluate_nodes(model, getattr(graph, part)) for part in ("validation", "test")}
    return model.with_facts(**figures, versions=versions())


def _offered(settings: Resolved, name: str, values: tuple[Any, ...], graph: Graph) -> tuple[Any, ...]:
    """The values between which nodes choose; one that the user gave, or that the graph decided, holds."""
    if settings.origin[name] in ("given", "graph"):
        return (settings.values()[name],)
    if name == "num_nearest":
        return tuple(k for k in values if k <= len(graph.train)) or (len(graph.train),)
    return values


def _trials(model: Model, offered: dict[str, tuple[Any, ...]]) -> list[_Trial]:
    """Every lambda, K and tau with one similarity: nothing is compared twice."""
    graph, similarity, cases = model.graph, model.similarity, model.cases
    assert isinstance(model.encoder, OutputEncoder)
    wanted = model.encoder.outputs.probabilities[torch.tensor(graph.validation)]
    truth = torch.tensor(graph.labels[graph.validation])
    found = similarity.compare(similarity.items(graph.validation), cases.items)
    values = {name: model.settings.values()[name] for name in ("probability_share", "sharpness")}
    trials = []
    votes = itertools.product(offered["node_weight"], offered["num_nearest"], offered["temperature"])
    names = [(k, weight, tau) for weight, k, tau in votes]
    for (k, weight, tau), counted in zip(names, torch.from_numpy(answered(found, cases.answers, names))):
        loss = -(wanted * counted.clamp_min(SMALLEST).log()).sum(dim=1).double().mean()
        agreement = float((counted.argmax(dim=1) == truth).double().mean())
        chosen = {**values, "num_nearest": k, "node_weight": weight, "temperature": tau}
        trials.append(_Trial(chosen, agreement, float(loss)))
    return trials
