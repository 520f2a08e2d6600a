"""The SE-GNN module: what is learned. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from se_gnn.device import free_memory, memory_budget
from se_gnn.encoder import Change, EncoderInputs, EncoderSteps, Ensemble, Network
from se_gnn.encoder.blocks import embed_in_blocks
from se_gnn.encoder.own_edges import num_read
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.settings import Resolved
from se_gnn.similarity.edges import Terms, edge_features

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
    """Our encoder: one network, or an ensemble of them, with the settings that they were trained with.

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
        generator = generator or torch.Generator().manual_seed(0)
        encoder, unit = settings.encoder, settings.similarity.measure == "cosine"
        kind: Any = Network if encoder.members == 1 and encoder.attribute_share == 0 else partial(Ensemble, unit=unit)
        self.network: Network | Ensemble
        self.network = kind(num_features, encoder, generator=generator, num_edge_features=num_edge_features)
        self.num_edge_features = num_edge_features  # numbers of an edge that are part of its representation

    @classmethod
    def for_graph(cls, graph: Graph, settings: Resolved, *, generator: torch.Generator | None = None) -> SEGNN:
        """A model of the size that a graph asks for under some settings."""
        read = edge_features(graph.edge_values, settings.similarity, np.empty(0, np.int64))
        width = 0 if read is None else read.shape[1]
        return cls(num_read(graph, settings.encoder), settings, generator=generator, num_edge_features=width)

    def forward(self, inputs: EncoderInputs) -> Tensor:
        """H, Eq. (1)."""
        h: Tensor = self.network(inputs)
        return h

    def inputs(self, graph: Graph) -> EncoderInputs:
        """A graph as this model reads it, on this model's device."""
        return EncoderInputs.from_graph(graph, self.settings.encoder, self.device)

    def edge_terms(self, graph: Graph) -> Terms | None:
        """What the edges of a graph add to their vectors, by the parameters as they are when it is asked for."""
        values, settings = graph.edge_values, self.settings.similarity
        if edge_features(values, settings, np.empty(0, np.int64)) is None:
            return None
        if graph.fits_memory:
            on_device = torch.from_numpy(edge_features(values, settings)).to(self.device)
            return lambda ids: self.terms(on_device[ids])
        return lambda ids: self.terms(
            torch.from_numpy(edge_features(values, settings, ids.cpu().numpy())).to(self.device)
        )

    def terms(self, edge_data: Tensor) -> Tensor:
        """What edges with such data [n, A] add to their vectors, [n, D]."""
        return self.network.edge_terms(edge_data)

    @property
    def device(self) -> torch.device:
        """Device of the parameters."""
        return next(self.parameters()).device

    @property
    def width(self) -> int:
        """D."""
        return self.network.width

    @property
    def reads_target(self) -> bool:
        """Whether known values of neighbors are read."""
        return self.settings.encoder.read_values

    def check(self, graph: Graph) -> None:
        """Refuse a graph with another number of features."""
        reads = self.settings.encoder
        if not graph.fits_memory and (reads.read_neighbors or reads.read_values):
            raise InputError(
                f"{graph.name} is mapped from files, and this model reads means over the neighbors of every node, "
                "which needs all attributes in memory: use a part of the graph (Graph.subgraph), or train without "
                "read_neighbors and read_values"
            )
        given = num_read(graph, self.settings.encoder)
        if given != self.network.num_features:
            expected = self.network.num_features
            raise InputError(f"the model reads {expected} features per node, {graph.name} has {given}")

    @torch.no_grad()
    def embed(self, graph: Graph, *, max_memory: int | str | None = None) -> Tensor | FloatArray:
        """Embeddings of all nodes, [N, D]: a tensor on this device, or, of a mapped graph, the array of a mapped file.

        Those of a mapped graph are computed on the CPU: the graph is in files of this machine.
        """
        self.check(graph)
        if not graph.fits_memory:
            network = self.network if self.device.type == "cpu" else copy.deepcopy(self.network).cpu()
            return embed_in_blocks(network, graph, memory_budget(max_memory))
        h: Tensor = self(self.inputs(graph))
        if not bool((h.abs() < LARGEST).all()):  # `not <` also refuses NaN
            raise InputError(
                f"embeddings of {graph.name} must be below {LARGEST:g}, got larger ones or NaN: its features or the "
                "parameters of the model are too large"
            )
        return h

    @torch.no_grad()
    def steps(self, graph: Graph) -> EncoderSteps | list[EncoderSteps]:
        """What is computed on the way to H, of all nodes."""
        return self.network.steps(self.inputs(graph))

    def without(self, steps: EncoderSteps | list[EncoderSteps], change: Change) -> Tensor:
        """H of the nodes of a change, in each of its variants, [U, S, D]; all else stays as it is."""
        return self.network.changed(steps, change)  # type: ignore[arg-type]  # its own steps

    def to_bytes(self) -> bytes:
        """The parameters as they are stored."""
        return save({name: tensor.detach().cpu().contiguous() for name, tensor in self.state_dict().items()})
