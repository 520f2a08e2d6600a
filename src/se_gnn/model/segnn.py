"""The SE-GNN module: encode, compare, vote. Shapes: N nodes, T targets, L labeled nodes, D dimensions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from se_gnn.config import Config
from se_gnn.encoder import Encoder, EncoderInputs
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph, local_graphs
from se_gnn.graph.attributed import IntArray
from se_gnn.graph.local import LocalGraphs
from se_gnn.model.prediction import Prediction
from se_gnn.similarity import ComparisonPlan, compare, nearest_labeled, vote, vote_weights


class SEGNN(nn.Module):
    """Self-explainable GNN: node embeddings, and a vote of the K most similar labeled nodes.

    Shapes:
        - **forward:** ``inputs`` of N nodes to embeddings :math:`(N, D)`
    """

    def __init__(self, num_features: int, config: Config, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(num_features, config.encoder, generator=generator or torch.Generator().manual_seed(0))

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """H, Eq. (1)."""
        h: Tensor = self.encoder(inputs)
        return h

    def inputs(self, graph: AttributedGraph) -> EncoderInputs:
        """A graph as this model reads it, on this model's device."""
        return EncoderInputs.from_graph(graph, self.config.encoder.aggregation, self.device)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    @torch.no_grad()
    def embed(self, graph: AttributedGraph) -> Tensor:
        """Embeddings of all nodes, [N, D]."""
        if graph.num_features != self.encoder.layers[0].in_features:
            raise InputError(
                f"the model reads {self.encoder.layers[0].in_features} features a node, {graph.name} has {graph.num_features}"
            )
        h: Tensor = self(self.inputs(graph))
        return h


class Voter:
    """Compares nodes of one graph with its labeled nodes; what does not depend on the embeddings is kept."""

    def __init__(self, graph: AttributedGraph, config: Config, device: torch.device | str = "cpu") -> None:
        check_num_nearest(graph, config)
        self.graph, self.config, self.device = graph, config, device
        self.labeled: LocalGraphs = local_graphs(graph, graph.train, config.similarity.hops)
        self.labels = torch.tensor(graph.labels[graph.train], device=device)  # [L]

    def plan(self, nodes: IntArray) -> ComparisonPlan:
        """Plan the comparison of ``nodes`` with the labeled nodes."""
        targets = local_graphs(self.graph, nodes, self.config.similarity.hops)
        return ComparisonPlan.build(self.graph.edges, targets, self.labeled, self.config.similarity, self.device)

    @torch.no_grad()
    def predict(self, h: Tensor, plan: ComparisonPlan) -> Prediction:
        """K nearest labeled nodes, weights and class probabilities of the targets of a plan, Eq. (8)-(9).

        A labeled node does not vote for itself: it is left out of its own neighbors.
        """
        settings = self.config.similarity
        similarities = compare(h, plan, settings)
        itself = torch.from_numpy(plan.targets[:, None] == plan.labeled[None, :]).to(h.device)
        overall = similarities.overall.masked_fill(itself, -torch.inf)
        nearest = nearest_labeled(overall, settings.num_nearest)  # [T, K]
        weights = vote_weights(overall, nearest, settings.temperature)
        probabilities = vote(weights, self.labels[nearest], self.graph.num_classes)

        def of_nearest(values: Tensor) -> Tensor:
            return values.gather(1, nearest)

        return Prediction.from_tensors(
            nodes=plan.targets,
            probabilities=probabilities,
            neighbors=torch.tensor(plan.labeled, device=h.device)[nearest],
            weights=weights,
            overall=of_nearest(overall),
            node=of_nearest(similarities.node),
            structure=of_nearest(similarities.structure),
        )


def check_num_nearest(graph: AttributedGraph, config: Config) -> None:
    """K labeled nodes must exist."""
    wanted, labeled = config.similarity.num_nearest, len(graph.train)
    if wanted > labeled:
        raise InputError(f"num_nearest must be between 1 and the {labeled} labeled nodes, got {wanted}")
