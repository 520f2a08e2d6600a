"""The nearest labeled node of each class. Shapes: T nodes asked about, C classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.model import TrainedModel

NO_CASE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """For each node and class the most similar labeled node of that class; a labeled node is not its own case.

    Shapes:
        - **nodes:** :math:`(T,)`
        - **labeled:** :math:`(T, C)` ids, -1 where a class has no labeled node besides the node itself
        - **similarity:** :math:`(T, C)` overall similarity, -inf there
    """

    nodes: IntArray
    labeled: IntArray
    similarity: FloatArray


@torch.no_grad()
def nearest_cases(trained: TrainedModel, nodes: IntArray) -> Cases:
    """Find the case of each class for some nodes; of equally similar ones the first, as in the vote."""
    graph, h = trained.graph, trained.embeddings
    best = torch.full((len(nodes), graph.num_classes), -torch.inf, device=h.device)
    found = torch.full(best.shape, NO_CASE, dtype=torch.long, device=h.device)
    if not len(nodes):
        return Cases(nodes, found.cpu().numpy(), best.cpu().numpy())
    similarity, cases = trained.similarity, trained.voter.cases
    queries = similarity.items(nodes)
    targets, labeled = (side.nodes_on(h.device) for side in (queries, cases))
    labels = torch.tensor(graph.labels[graph.train], device=h.device)
    for positions, similarities in similarity.compare_blocks(queries, cases):
        overall = similarities.overall.masked_fill(targets[:, None] == labeled[positions], -torch.inf)
        for label in range(graph.num_classes):
            columns = torch.nonzero(labels[positions] == label)[:, 0]
            if not len(columns):
                continue
            here = overall[:, columns]
            value, place = here.max(dim=1).values, _first_of_largest(here)
            nearer = value > best[:, label]
            best[:, label] = torch.where(nearer, value, best[:, label])
            found[:, label] = torch.where(nearer, labeled[positions[columns[place]]], found[:, label])
    return Cases(np.asarray(nodes, np.int64), found.cpu().numpy(), best.cpu().numpy())


def _first_of_largest(values: torch.Tensor) -> torch.Tensor:
    """Column of the largest of each row, the first of equals, [T]."""
    count = values.shape[1]
    columns = torch.arange(count, device=values.device).expand_as(values)
    return columns.masked_fill(values < values.max(dim=1, keepdim=True).values, count).min(dim=1).values
