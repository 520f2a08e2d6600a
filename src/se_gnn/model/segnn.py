"""The SE-GNN module: what is learned. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from se_gnn.config import Config
from se_gnn.encoder import Committee, Encoder, EncoderInputs
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph


class SEGNN(nn.Module):
    """Self-explainable GNN: node embeddings, and a vote of the K most similar labeled nodes.

    Shapes:
        - **forward:** ``inputs`` of N nodes to embeddings :math:`(N, D)`
    """

    def __init__(self, num_features: int, config: Config, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        kind = Encoder if config.encoder.members == 1 else Committee
        self.encoder: Encoder | Committee = kind(
            num_features, config.encoder, generator=generator or torch.Generator().manual_seed(0)
        )

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """H, Eq. (1)."""
        h: Tensor = self.encoder(inputs)
        return h

    def inputs(self, graph: AttributedGraph) -> EncoderInputs:
        """A graph as this model reads it, on this model's device."""
        return EncoderInputs.from_graph(graph, self.config.encoder, self.device)

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    @torch.no_grad()
    def embed(self, graph: AttributedGraph) -> Tensor:
        """Embeddings of all nodes, [N, D]."""
        if graph.num_features != self.encoder.num_features:
            expected = self.encoder.num_features
            raise InputError(f"the model reads {expected} features per node, {graph.name} has {graph.num_features}")
        h: Tensor = self(self.inputs(graph))
        return h
