"""Cases as an algorithm of PyG's `Explainer`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation

from se_gnn.cases.explainer import CaseExplainer
from se_gnn.errors import InputError
from se_gnn.explain.pyg import edge_ids, mask_of_importance


class CaseAlgorithm(ExplainerAlgorithm):
    """Explains one node at a time by cases: ``Explainer(model, algorithm=CaseAlgorithm(data), ...)``.

    The explanation has an ``edge_mask``: for the edges of the local graph, the share of these edges that each is at
    least as important as, Eq. (10); 0 elsewhere. ``node_mask`` is the weight of each case that votes. ``cases`` is our
    own explanation, with its text, tables and pictures.

    Args:
        graph: the graph that the model is called with; its ``train_mask`` marks the cases.
        options: those of :class:`~se_gnn.cases.CaseExplainer`.
    """

    def __init__(self, graph: Any, **options: Any) -> None:
        super().__init__()
        self.graph, self.options = graph, options
        self._known: tuple[nn.Module, CaseExplainer] | None = None

    def supports(self) -> bool:
        """Whether cases can answer what PyG's explainer is asked for: classes of nodes."""
        asked = self.model_config
        return bool(asked.task_level.value == "node" and asked.mode.value != "regression")

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **kwargs: Any
    ) -> Explanation:
        """Explain the model's answer for the node at ``index``."""
        if index is None or torch.as_tensor(index).numel() != 1:
            raise InputError("index must be one node: cases explain one answer at a time")
        if not torch.equal(x, self.graph.x) or not torch.equal(edge_index, self.graph.edge_index):
            raise InputError("x and edge_index must be those of the graph that CaseAlgorithm was given")
        if self._known is None or self._known[0] is not model:
            self._known = model, CaseExplainer(model, self.graph, **self.options)
        explainer = self._known[1]
        found = explainer.explain(int(torch.as_tensor(index).reshape(-1)[0]))
        nodes = torch.zeros(len(x), 1)
        nodes[[one.node for one in found.votes], 0] = torch.tensor([one.weight for one in found.votes])
        local = np.zeros(explainer.graph_.num_edges, np.float32)
        local[found.edge_ids] = mask_of_importance(found.importance)
        ids = edge_ids(explainer.graph_, edge_index.cpu().numpy().T)  # of a self-loop, which we leave out, any
        edges = torch.from_numpy(local[ids.clip(max=len(local) - 1)])
        return Explanation(edge_mask=edges, node_mask=nodes, cases=found)
