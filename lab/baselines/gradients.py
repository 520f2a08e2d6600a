"""Gradients as an explanation: how much the score of the predicted class changes with the weight of each edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks

from lab.baselines.post_hoc import PostHocExplainer


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsSettings:
    """There is nothing to set."""


class EdgeGradients(ExplainerAlgorithm):
    """The size of the gradient of the explained class's score by the weight of each edge, as an ``edge_mask``."""

    def supports(self) -> bool:
        """Every network whose layers weigh messages has such a gradient."""
        return True

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **kwargs: Any
    ) -> Explanation:
        """Explain the scores of the nodes at ``index``."""
        weights = nn.Parameter(torch.ones(edge_index.shape[1]))
        set_masks(model, weights, edge_index, apply_sigmoid=False)
        scores = model(x, edge_index, **kwargs)
        (gradient,) = torch.autograd.grad(scores[index, target[index]].sum(), weights)
        clear_masks(model)
        return Explanation(edge_mask=gradient.abs())


class Gradients(PostHocExplainer):
    """Explains a fitted network by :class:`EdgeGradients`; attributes are left alone."""

    settings_type = GradientsSettings
    settings: GradientsSettings
    explanation_type = "model"

    def _algorithm(self) -> Any:
        return EdgeGradients()
