"""The SE-GNN module: what is learned. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from se_gnn.encoder import Encoder, EncoderInputs, Ensemble
from se_gnn.encoder.own_edges import own_edge_columns
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.settings import Resolved
from se_gnn.similarity.edges import Terms, edge_features
from se_gnn.similarity.memory import free_memory

BYTES_IN_TRAINING = 16  # a parameter, its gradient and the two means of Adam, float32 each


def check_model_size(graph: Graph, settings: Resolved) -> None:
    """Refuse a model that does not fit the memory before any of it is made."""
    width, layers, members = settings.encoder.hidden_size, settings.encoder.num_layers, settings.encoder.members
    parameters = (graph.num_features + 1) * width + layers * (width + 1) * width
    of_one = BYTES_IN_TRAINING * parameters + 4 * graph.num_nodes * width * (layers + 1)
    others = (members - 1) * 4 * (parameters + graph.num_nodes * (settings.encoder.output_size or width))
    if (needed := of_one + others) > (free := free_memory()):
        raise InputError(
            f"hidden_size = {width:,}, num_layers = {layers:,} and members = {members:,} take {needed / 2**30:,.0f} GB "
            f"of memory, {free / 2**30:.1f} GB are free: lower them"
        )


LARGEST = 1e16  # of an embedding: the sum of some squares still fits float32


class SEGNN(nn.Module):
    """Self-explainable GNN: node embeddings, and a vote of the K most similar labeled nodes.

    Shapes:
        - **forward:** ``inputs`` of N nodes to embeddings :math:`(N, D)`
    """

    def __init__(
        self,
        num_features: int,
        settings: Resolved,
        *,
        generator: torch.Generator | None = None,
        num_edge_features: int = 0,
    ) -> None:
        super().__init__()
        self.settings = settings
        alone = settings.encoder.members == 1 and settings.encoder.attribute_share == 0
        kind = Encoder if alone else Ensemble
        self.encoder: Encoder | Ensemble = kind(
            num_features,
            settings.encoder,
            generator=generator or torch.Generator().manual_seed(0),
            num_edge_features=num_edge_features,
        )
        self.num_edge_features = num_edge_features  # of what edges carry, those that are part of their representation

    @classmethod
    def for_graph(cls, graph: Graph, settings: Resolved, *, generator: torch.Generator | None = None) -> SEGNN:
        """A model of the size that a graph asks for under some settings."""
        num_features = graph.num_features + len(own_edge_columns(graph, settings.encoder))
        carried = edge_features(graph.edge_values, settings.similarity)
        return cls(
            num_features,
            settings,
            generator=generator,
            num_edge_features=0 if carried is None else carried.shape[1],
        )

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """H, Eq. (1)."""
        h: Tensor = self.encoder(inputs)
        return h

    def inputs(self, graph: Graph) -> EncoderInputs:
        """A graph as this model reads it, on this model's device."""
        return EncoderInputs.from_graph(graph, self.settings.encoder, self.device)

    def edge_terms(self, graph: Graph) -> Terms | None:
        """What the edges of a graph add to their vectors, by the parameters as they are when it is asked for."""
        carried = edge_features(graph.edge_values, self.settings.similarity)
        if carried is None:
            return None
        on_device = torch.from_numpy(carried).to(self.device)
        return lambda ids: self.encoder.edge_terms(on_device[ids])

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    def check_features(self, graph: Graph) -> None:
        """Refuse a graph with another number of features."""
        given = graph.num_features + len(own_edge_columns(graph, self.settings.encoder))
        if given != self.encoder.num_features:
            expected = self.encoder.num_features
            raise InputError(f"the model reads {expected} features per node, {graph.name} has {given}")

    @torch.no_grad()
    def embed(self, graph: Graph) -> Tensor:
        """Embeddings of all nodes, [N, D]."""
        self.check_features(graph)
        h: Tensor = self(self.inputs(graph))
        if not bool((h.abs() < LARGEST).all()):  # `not <` also refuses NaN
            raise InputError(
                f"embeddings of {graph.name} must be below {LARGEST:g}, got larger ones or NaN: its features or the "
                "parameters of the model are too large"
            )
        return h
