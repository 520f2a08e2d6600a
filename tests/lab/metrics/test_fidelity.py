"""Fidelity of masks on a network whose answers are known without computing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.metrics import fidelity
from se_gnn.errors import InputError

pytest.importorskip("torch_geometric.explain", exc_type=ImportError)

X = torch.tensor([[0.0], [1.0], [3.0]])
EDGE_INDEX = torch.tensor([[1, 2], [0, 0]])  # node 0 hears 1 and 2


def explained(edge_mask, *, bias=2.0, floor=0.0):
    """Node 0 hears the sum s of its neighbors; its scores are (bias, s), so that it is of class 1 where s > bias."""
    from torch_geometric.explain import DummyExplainer, Explainer, Explanation
    from torch_geometric.nn import SimpleConv

    class Hears(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = SimpleConv(aggr="sum")

        def forward(self, x, edge_index):
            heard = self.conv(x, edge_index)
            scores = torch.cat([torch.full_like(heard, bias), heard], dim=1)
            return scores.softmax(dim=1).clamp(min=floor) if floor else (scores > scores.flip(1)).float()

    explainer = Explainer(
        model=Hears(),
        algorithm=DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "probs"},
    )
    explanation = explainer(X, EDGE_INDEX, index=0)
    assert isinstance(explanation, Explanation)
    explanation.edge_mask = torch.tensor(edge_mask)
    return explainer, explanation


def test_the_edge_that_decides():
    explainer, explanation = explained([0.0, 1.0], floor=1e-8)
    scores = fidelity(explainer, [explanation])
    # alone it keeps class 1 (3 > 2), without it the node is of class 0 (1 < 2)
    assert (scores.positive, scores.negative, scores.characterization) == (1.0, 0.0, 1.0)
    # probabilities: whole softmax(2, 4), alone softmax(2, 3); KL of the second from the first
    whole, alone = (np.exp([2, s]) / np.exp([2, s]).sum() for s in (4.0, 3.0))
    assert scores.unfaithfulness == pytest.approx(1 - np.exp(-(alone * np.log(alone / whole)).sum()), rel=1e-4)


def test_means_over_nodes_come_before_the_characterization():
    explainer, right = explained([0.0, 1.0], floor=1e-8)
    _, wrong = explained([1.0, 0.0], floor=1e-8)
    # the other edge alone gives class 0, and without it the prediction stays
    scores = fidelity(explainer, [right, wrong, right, right])
    assert (scores.positive, scores.negative, scores.num_explanations) == (0.75, 0.25, 4)
    assert scores.characterization == pytest.approx(1 / (0.5 / 0.75 + 0.5 / 0.75))
    assert fidelity(explainer, [wrong]).characterization == 0.0


def test_what_is_not_defined_is_refused():
    explainer, explanation = explained([0.0, 1.0])
    with pytest.raises(InputError, match="gives a class probability 0"):
        fidelity(explainer, [explanation])
    with pytest.raises(InputError, match="at least one explanation"):
        fidelity(explainer, [])
