"""How much of a prediction an explanation holds, by the metrics of PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from se_gnn.errors import InputError
from se_gnn.optional import require


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """Means over the explanations of some nodes.

    Attributes:
        positive: fidelity+, how often the prediction changes without the explanation; high is good.
        negative: fidelity-, how often it changes with the explanation alone; low is good.
        characterization: harmonic mean of fidelity+ and 1 - fidelity-, both halves alike; 0 where fidelity+ is 0.
        unfaithfulness: mean of 1 - exp(-KL) between the prediction and that with the explanation alone; low is good.
        num_explanations: how many there were.
    """

    positive: float
    negative: float
    characterization: float
    unfaithfulness: float
    num_explanations: int


def fidelity(explainer: Any, explanations: Iterable[Any]) -> Fidelity:
    """Fidelity of explanations by the ``torch_geometric.explain.Explainer`` that made them, or that has their model.

    Args:
        explainer: has the model, what it returns, and what was explained (the model, or the phenomenon).
        explanations: each a ``torch_geometric.explain.Explanation``; its masks are used as they are, soft or hard.

    The model must not return a probability of exactly 0, for which the KL divergence is not defined.
    """
    metric = require("torch_geometric.explain.metric", extra="lab", feature="fidelity metrics")
    rows = []
    for explanation in explanations:
        positive, negative = metric.fidelity(explainer, explanation)
        rows.append((positive, negative, metric.unfaithfulness(explainer, explanation)))
    if not rows:
        raise InputError("fidelity needs at least one explanation, got none")
    positive, negative, unfaithfulness = np.array(rows).mean(axis=0)
    if np.isnan(unfaithfulness):
        raise InputError("unfaithfulness is not defined where the model gives a class probability 0: bound it from 0")
    score = metric.characterization_score(torch.tensor(positive), torch.tensor(negative))
    return Fidelity(
        positive=float(positive),
        negative=float(negative),
        characterization=float(score),
        unfaithfulness=float(unfaithfulness),
        num_explanations=len(rows),
    )
