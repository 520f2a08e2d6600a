"""A graph under an encoder: embeddings, and what compares nodes by them. Shapes: N nodes, D dimensions.

The embeddings of a graph that is mapped from a folder are stored there, in `graph.embeddings.KEY.DIGEST.npy`, and the
next process maps them. The key is a digest of the encoder, of what it reads of the graph, and of the versions that bits
depend on; the digest is that of the numbers. Damaged ones are computed again; a read-only folder keeps none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import memory_budget
from se_gnn.encoder import AttributeEffects, Embeddings, Encoder, encoder_features
from se_gnn.errors import InputError
from se_gnn.files import json_bytes, replacing, sha256
from se_gnn.files.npy import BLOCK, FINITE, ArrayInfo, check_array, map_array, npy_header, take_rows
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.graph.rows import as_rows
from se_gnn.model.facts import versions
from se_gnn.settings import Resolved
from se_gnn.similarity import Similarity


@dataclass(frozen=True, eq=False)
class Embedded:
    """A graph under an encoder: all that does not depend on who votes, computed when it is first asked for."""

    encoder: Encoder
    graph: Graph
    settings: Resolved
    max_memory: int | str | None

    def serves(self, other: Embedded) -> bool:
        """Whether the other one would compute the same; labels count only for an encoder that reads them."""
        one, two = self.graph, other.graph
        return (
            self.encoder is other.encoder
            and one.nodes is two.nodes
            and one.edges is two.edges
            and (not self.encoder.reads_target or (one.target is two.target and one.split is two.split))
            and (self.settings.encoder, self.settings.similarity) == (other.settings.encoder, other.settings.similarity)
            and self.max_memory == other.max_memory
        )

    @cached_property
    def embeddings(self) -> Embeddings:
        """H of all nodes, [N, D]: a tensor, or, of a mapped graph, the array of a mapped file."""
        where = self.graph.mapped_from
        if where is None:
            return self.encoder.embed(self.graph, max_memory=self.max_memory)
        about = {"encoder": sha256(self.encoder.to_bytes()), "settings": dataclasses.asdict(self.settings.encoder)}
        key = sha256(json_bytes({**about, "graph": where.digest, "versions": versions()}))[:16]
        stored = _stored(where.folder, key, (self.graph.num_nodes, self.encoder.width))
        if stored is not None:
            return stored
        found = self.encoder.embed(self.graph, max_memory=self.max_memory)
        if not isinstance(found, Tensor):
            with contextlib.suppress(OSError):  # the folder is full or read-only
                return _store(where.folder, key, found)
        return found

    def rows(self, nodes: IntArray) -> Tensor:
        """H of some nodes, wherever it is, on the device of the encoder."""
        h = self.embeddings
        if isinstance(h, Tensor):
            return h[torch.from_numpy(nodes).to(h.device)]
        ascending, place = torch.unique(torch.from_numpy(nodes), return_inverse=True)
        return torch.from_numpy(take_rows(h, ascending.numpy()))[place].to(self.encoder.device)

    @cached_property
    def similarity(self) -> Similarity:
        """What compares the nodes of the graph."""
        memory = self.max_memory
        if not isinstance(self.embeddings, Tensor):
            memory = max(1 << 20, memory_budget(memory) // 4)  # the rest is for pages of the files
        return Similarity(
            self.graph,
            self.embeddings,
            self.settings.similarity,
            terms=self.encoder.edge_terms(self.graph),
            max_memory=memory,
            device=self.encoder.device,
        )

    @property
    def takes_attributes(self) -> bool:
        """Whether effects of single attributes can be computed: this takes the embeddings of all nodes, in memory."""
        return isinstance(self.encoder, AttributeEffects) and self.graph.fits_memory

    @property
    def effects(self) -> AttributeEffects:
        """The encoder, if it can say what single attributes do."""
        if not isinstance(self.encoder, AttributeEffects):
            raise InputError("this encoder does not say what a single attribute does to an embedding")
        return self.encoder

    @cached_property
    def steps(self) -> Any:
        """What the encoder computes on the way to H, of all nodes."""
        return self.effects.steps(self.graph)

    @cached_property
    def read_features(self) -> Features:
        """What the encoder reads of all nodes, before it is scaled."""
        return encoder_features(self.graph, self.settings.encoder)


def _stored(folder: Path, key: str, shape: tuple[int, int]) -> FloatArray | None:
    """Embeddings that are there and whole; else None."""
    for path in folder.glob(f"graph.embeddings.{key}.*.npy"):
        info = ArrayInfo("<f4", shape, path.name.split(".")[3])
        with contextlib.suppress(InputError):
            check_array(path, info, FINITE)
            return map_array(path, info)
    return None


def _store(folder: Path, key: str, h: FloatArray) -> FloatArray:
    """Write embeddings beside the graph; the name says when they are whole. Others may write the same ones."""
    digest, path = hashlib.sha256(), folder / f"graph.embeddings.{key}.npy"
    with replacing(path) as file:
        file.write(npy_header(h.dtype, h.shape))
        for _, rows in as_rows(h).blocks(BLOCK):
            piece = np.ascontiguousarray(rows).tobytes()
            digest.update(piece)
            file.write(piece)
    info = ArrayInfo(h.dtype.str, h.shape, digest.hexdigest())
    return map_array(path.rename(folder / f"graph.embeddings.{key}.{info.sha256}.npy"), info)
