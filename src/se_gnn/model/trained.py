"""A model together with the graph whose labeled nodes vote. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from se_gnn.encoder import EncoderSteps, encoder_features
from se_gnn.encoder.blocks import embed_in_blocks
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Features, FloatArray, IntArray
from se_gnn.model.facts import RunFacts
from se_gnn.model.prediction import Prediction
from se_gnn.model.segnn import SEGNN
from se_gnn.ranking import Cases, Ranker, Ranking
from se_gnn.settings import Resolved
from se_gnn.similarity import Similarity
from se_gnn.similarity.memory import memory_budget


@dataclass(frozen=True, slots=True)
class StoredIn:
    """The folder of a model and its digest when the model was loaded, so that saving does not undo others' edits."""

    folder: str
    digest: str
    saved: set[str] = field(default_factory=set)  # digests of the folder after this model, or an edit of it, was saved


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained model, its graph, and how well it did: all that predicting and explaining needs."""

    model: SEGNN
    graph: Graph
    facts: RunFacts = field(default_factory=RunFacts)
    history: tuple[dict[str, Any], ...] = ()  # edits of the labeled nodes since it was trained, oldest first
    max_memory: int | str | None = None  # what a comparison may take; None: a quarter of what is free
    stored: StoredIn | None = None  # where it was loaded from or saved first; None: nowhere

    @property
    def settings(self) -> Resolved:
        """Settings of the model."""
        return self.model.settings

    @cached_property
    def embeddings(self) -> Tensor:
        """H of all nodes, [N, D]."""
        return self.model.embed(self.graph)

    @cached_property
    def encoder_steps(self) -> EncoderSteps | list[EncoderSteps]:
        """What the encoder computes on the way to H, of all nodes."""
        with torch.no_grad():
            return self.model.encoder.steps(self.model.inputs(self.graph))

    @cached_property
    def read_features(self) -> Features:
        """What the encoder reads of all nodes, before it is scaled."""
        return encoder_features(self.graph, self.settings.encoder)

    @cached_property
    def cases(self) -> Cases:
        """The labeled nodes of the graph, which vote."""
        if not self.graph.fits_memory and self.settings.similarity.max_edges is None:
            raise InputError(
                "similarity.max_edges must be set for a mapped graph, as in the preset best: local graphs without a "
                "limit may be as large as the graph"
            )
        return Cases.of(self.graph, self.settings)

    @cached_property
    def similarity(self) -> Similarity:
        """What compares the nodes of the graph."""
        settings, memory = self.settings.similarity, self.max_memory
        if not self.graph.fits_memory:
            memory = max(1 << 20, memory_budget(memory) // 4)  # the rest is for pages of the files
            return Similarity(self.graph, self.mapped_embeddings, settings, max_memory=memory, device=self.model.device)
        terms = self.model.edge_terms(self.graph)
        return Similarity(self.graph, self.embeddings, settings, terms=terms, max_memory=memory)

    @cached_property
    def ranker(self) -> Ranker:
        """What ranks the cases; it keeps what it knows of all nodes."""
        cases = self.cases  # first: it refuses settings before anything is computed
        return Ranker(self.similarity, cases, self.settings.vote)

    def rank(self, queries: IntArray | None = None, *, depth: int | None = None) -> Iterator[Ranking]:
        """The ``depth`` nearest cases (None: all) of some nodes, or of all, block by block."""
        return self.ranker.blocks(queries, depth=depth)

    @cached_property
    def mapped_embeddings(self) -> FloatArray:
        """H of all nodes of a mapped graph, [N, D], as a mapped file."""
        self.model.check_features(self.graph)
        encoder = self.model.encoder
        if self.model.device.type != "cpu":  # the graph is in files of this machine, and so is all of its propagation
            encoder = copy.deepcopy(encoder).cpu()
        return embed_in_blocks(encoder, self.graph, memory_budget(self.max_memory))

    def with_graph(self, graph: Graph) -> TrainedModel:
        """The same model on another graph, whose labeled nodes vote: next month's table, say.

        Its features must mean the same: as many as the model reads, of the same columns in the same encoding.
        """
        told = "than the graph that the model was trained on"
        if graph.columns != self.graph.columns:
            raise InputError(
                f"{graph.name} has other columns, or another encoding of them, {told}: import its tables with --like "
                "and the model's folder"
            )
        _check_edge_values(self.graph, graph, told)
        for what in ("num_features", "class_names"):
            known, given = getattr(self.graph, what), getattr(graph, what)
            if known != given:
                raise InputError(f"{graph.name} has other {what} {told}: {given}, not {known}")
        self._check_feature_names(graph)
        if len(graph.train) < 2:
            some = "one labeled node" if len(graph.train) else "no labeled node"
            raise InputError(
                f"{graph.name} has {some}, two are needed: labeled nodes vote, and each is predicted by the others"
            )
        return dataclasses.replace(self, graph=graph, history=())

    def with_facts(self, **changes: Any) -> TrainedModel:
        """The same model with other facts; what has been computed is kept."""
        other = copy.copy(self)
        object.__setattr__(other, "facts", dataclasses.replace(self.facts, **changes))
        return other

    def _check_feature_names(self, graph: Graph) -> None:
        known, given = self.graph.feature_names, graph.feature_names
        if known is None or given is None or known == given:
            return
        place = next(i for i, (one, other) in enumerate(zip(known, given)) if one != other)
        order = "in another order" if set(known) == set(given) else "with other names"
        raise InputError(
            f"{graph.name} has its features {order} than the graph that the model was trained on: feature {place} is "
            f"{given[place]!r}, not {known[place]!r}; give the features in the order of the model's feature_names"
        )

    def predict(self, nodes: IntArray | None = None) -> Prediction:
        """Prediction of some nodes, or of all."""
        return Prediction.of(self.rank(nodes, depth=self.settings.vote.num_nearest))


def _check_edge_values(known: Graph, given: Graph, told: str) -> None:
    """Edges must carry the same things; what is shown of them may differ."""
    one, other = known.edge_values, given.edge_values
    had, has = ("nothing" if values is None else ", ".join(values.carried_words.values()) for values in (one, other))
    if (one is None) != (other is None) or (one is not None and other is not None and one.carried != other.carried):
        raise InputError(f"{given.name} has edges that carry other values {told}: {has}, not {had}")
    if one is None or other is None:
        return
    if one.type_names != other.type_names:
        raise InputError(f"{given.name} has other types of edges {told}: {other.type_names}, not {one.type_names}")
    if one.columns != other.columns or one.num_attributes != other.num_attributes:
        raise InputError(
            f"{given.name} has other edge columns, or another encoding of them, {told}: import its tables with --like "
            "and the model's folder"
        )
