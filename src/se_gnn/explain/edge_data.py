"""Which of their own attributes make two matched edges similar: an exact "what if" for each that both have.

An edge is (h_i + h_j) / 2 + W a_ij: an attribute is taken from a_ij, all else stays. Shapes: A attributes.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.explain.attributes import attributes_of_edges
from se_gnn.explain.shared_attributes import SharedAttribute
from se_gnn.graph.arrays import FloatArray
from se_gnn.model import TrainedModel
from se_gnn.similarity import measure_named
from se_gnn.similarity.edges import edge_features, edge_vectors


@torch.no_grad()
def shared_edge_data(trained: TrainedModel, edge: int, matched: int, top: int = 10) -> tuple[SharedAttribute, ...]:
    """The attributes that two edges share, largest effect first.

    The effect is the similarity of the two edges that is lost when the attribute is taken from one of them (set to 0
    where it counts something, else to its mean over all edges), the mean of the two ways. It is 0 where the model does
    not read the attributes of edges (``match_attributes``).

    Args:
        trained: the model and its graph.
        edge: id of the one edge, a row of ``graph.edges.ends``.
        matched: id of the other.
        top: how many attributes are listed.
    """
    graph, settings = trained.graph, trained.settings.similarity
    values = graph.edge_values
    if values is None or values.attributes is None:
        raise InputError(f"edges must carry attributes to share some, those of {graph.name} carry none")
    for name, given in (("edge", edge), ("matched", matched)):
        if not 0 <= given < graph.num_edges:
            raise InputError(f"{name} must be between 0 and {graph.num_edges - 1}, got {given}")
    known, rows = attributes_of_edges(graph), values.attributes[[edge, matched]]  # [2, A]
    shared = known.shared(rows[0], rows[1])
    effects = np.zeros(len(shared), np.float32)
    carried = edge_features(values, settings)
    if carried is not None and settings.match_attributes:
        measure, points = measure_named(settings.measure), measure_named(settings.measure).points(trained.embeddings)
        middle = edge_vectors(
            points, torch.from_numpy(graph.edges.ends[[edge, matched]]).to(points.device)
        )  # [2, D of H]

        def vectors(rows: FloatArray) -> Tensor:
            """The two edges with other values."""
            return middle + trained.model.encoder.edge_terms(torch.from_numpy(rows).to(points.device))

        pair = carried[[edge, matched]]
        whole = vectors(pair)
        similarity = float(measure.aligned(whole[0], whole[1]))
        for i, one in enumerate(shared):
            less = pair.copy()
            less[:, list(one.features)] = known.without[list(one.features)]
            taken = vectors(less)
            ways = (measure.aligned(taken[0], whole[1]), measure.aligned(whole[0], taken[1]))
            effects[i] = similarity - float(sum(ways)) / 2
    found = []
    for i in np.argsort(-effects, kind="stable")[:top].tolist():
        ours, theirs = (shared[i].show(row[list(shared[i].features)]) for row in rows)
        found.append(SharedAttribute(shared[i].name, ours, theirs, float(effects[i])))
    return tuple(found)
