"""A model: an encoder, and the graph whose labeled nodes vote. Shapes: N nodes, D dimensions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from se_gnn.encoder import Encoder
from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.extend import NewNodes, extended_graph
from se_gnn.graph.split import Split
from se_gnn.graph.target import Target
from se_gnn.model.embedded import Embedded
from se_gnn.model.facts import RunFacts
from se_gnn.model.prediction import Prediction
from se_gnn.ranking import Cases, Ranker, Ranking, factors_of
from se_gnn.settings import Resolved
from se_gnn.similarity import Similarity

FOLDS = 5  # labeled nodes whose values are hidden together where an encoder reads values
NO_FOLD = -1
AT_A_TIME, COMPLETE_AT_A_TIME = 1 << 14, 512  # queries that are ranked together then


@dataclass(frozen=True, slots=True)
class StoredIn:
    """The folder of a model and its digest when the model was loaded, so that saving does not undo others' edits."""

    folder: str
    digest: str
    saved: set[str] = field(default_factory=set)  # digests of the folder after this model, or an edit of it, was saved


@dataclass(frozen=True, eq=False)
class Model:
    """All that predicting and explaining needs. A model is never changed: `with_...` make another one."""

    encoder: Encoder  # gives each node its embedding
    graph: Graph  # its labeled nodes are the cases that vote
    settings: Resolved  # what is compared, and how many cases vote
    facts: RunFacts = field(default_factory=RunFacts)  # how it was trained, and how well it did
    history: tuple[dict[str, Any], ...] = ()  # edits of the labeled nodes since it was trained, oldest first
    # memory that a comparison may take, such as `"4GB"`; None: a quarter of what is free
    max_memory: int | str | None = None
    stored: StoredIn | None = None  # the folder that it was loaded from or saved to first; None: none
    # what another model has computed that serves this one as well; anything else is left aside
    embedded: Embedded = None  # type: ignore[assignment]  # made below
    _ranker: Ranker | None = field(default=None, repr=False)  # of a model with other labels

    def __post_init__(self) -> None:
        wanted = Embedded(self.encoder, self.graph, self.settings, self.max_memory)
        if self.embedded is None or not self.embedded.serves(wanted):
            object.__setattr__(self, "embedded", wanted)

    @property
    def embeddings(self) -> Tensor:
        """H of all nodes, [N, D], in memory; ``embedded.rows`` gives those of some nodes of any graph."""
        h = self.embedded.embeddings
        if not isinstance(h, Tensor):
            raise InputError(
                f"embeddings of {self.graph.name} are mapped from a file, because they may not fit in memory, and this "
                "needs all of them at once: use a part of the graph, as Graph.subgraph makes it"
            )
        return h

    @property
    def similarity(self) -> Similarity:
        """What compares the nodes of the graph."""
        return self.embedded.similarity

    @property
    def in_use(self) -> Resolved:
        """The settings, with no more cases that vote than nodes that are labeled by now."""
        return self.settings.among(len(self.graph.train))

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
    def ranker(self) -> Ranker:
        """What ranks the cases; it keeps what it knows of all nodes."""
        cases, settings = self.cases, self.in_use.vote  # first: they refuse settings before anything is computed
        known = self._ranker
        if known is not None and known.similarity is self.similarity and known.settings == settings:
            return known.with_cases(cases)
        return Ranker(self.similarity, cases, settings)

    def rank(self, queries: IntArray | None = None, *, depth: int | None = None) -> Iterator[Ranking]:
        """The ``depth`` nearest cases (None: all) of some nodes, or of all, block by block."""
        if not self.encoder.reads_target:
            yield from self.ranker.blocks(queries, depth=depth)
            return
        nodes = np.arange(self.graph.num_nodes) if queries is None else np.asarray(queries, dtype=np.int64)
        step = AT_A_TIME if depth is not None else COMPLETE_AT_A_TIME
        for low in range(0, max(1, len(nodes)), step):
            some = nodes[low : low + step]
            parts = self.views(some)
            found = Ranking.joined([one for rows, view in parts for one in view.ranker.blocks(some[rows], depth=depth)])
            yield found.rows(np.argsort(np.concatenate([rows for rows, _ in parts])))

    def views(self, queries: IntArray) -> list[tuple[IntArray, Model]]:
        """The queries in groups (positions), each with the model that compares them.

        This model compares all of them, unless its encoder reads known values: then a labeled node is compared under
        embeddings for which its own value was hidden, that of its whole fold. Otherwise its neighbors, which have read
        its value, would tell it. The same cases vote, each with its known value.
        """
        if not self.encoder.reads_target:
            return [(np.arange(len(queries)), self)]
        folds = np.where(np.isin(queries, self.graph.train), _folds_of(queries), NO_FOLD)
        return [(np.flatnonzero(folds == fold), self._hiding(fold)) for fold in np.unique(folds).tolist()] or [
            (np.arange(0), self)
        ]

    def _hiding(self, fold: int) -> Model:
        if fold == NO_FOLD:
            return self
        if fold not in self._views:
            train = self.graph.train
            target = self.graph.numbers.hiding(train[_folds_of(train) == fold])
            view = dataclasses.replace(self, graph=self.graph.replace(target=target), _ranker=None)
            view.__dict__["cases"] = self.cases  # the same nodes with the same values
            self._views[fold] = view
        return self._views[fold]

    @cached_property
    def _views(self) -> dict[int, Model]:
        return {}

    def with_graph(self, graph: Graph) -> Model:
        """The same model on another graph, whose labeled nodes vote: next month's table, say.

        Its features must mean the same: as many as the model reads, of the same columns in the same encoding.
        """
        than = "than the graph that the model was trained on"
        if graph.columns != self.graph.columns:
            raise InputError(
                f"{graph.name} has other columns, or another encoding of them, {than}: import its tables with --like "
                "and the model's folder"
            )
        _check_edge_values(self.graph, graph, than)
        predicted = "numbers" if self.graph.predicts_numbers else "class_names"
        for what in ("num_features", predicted):
            known, given = (getattr(one, what) for one in (self.graph, graph))
            if what == "numbers":
                known, given = known.name, given.name
            if known != given:
                raise InputError(f"{graph.name} has other {what} {than}: {given}, not {known}")
        self._check_feature_names(graph)
        if isinstance(self.encoder, OutputEncoder) and list(graph.node_names) != list(self.graph.node_names):
            raise InputError(
                f"{graph.name} has other nodes than the graph that the outputs of the explained model were read for: "
                "new nodes and other graphs need the model itself; make a CaseExplainer with the model and this graph"
            )
        if len(graph.train) < 2:
            some = "one labeled node" if len(graph.train) else "no labeled node"
            raise InputError(
                f"{graph.name} has {some}, two are needed: labeled nodes vote, and each is predicted from the others"
            )
        settings = _with_factors_for(self.settings, self.graph, graph)
        return dataclasses.replace(self, graph=graph, settings=settings, history=())

    def with_labels(self, target: Target, split: Split) -> Model:
        """The same model with other labels: what does not depend on them is not computed again."""
        graph = self.graph.replace(target=target, split=split)
        return dataclasses.replace(self, graph=graph, _ranker=self.ranker)

    def with_new_nodes(self, new: NewNodes) -> Model:
        """The same model on its graph with more nodes, as if they had been there from the start; nothing is trained."""
        return dataclasses.replace(self, graph=extended_graph(self.graph, new))

    def with_facts(self, **changes: Any) -> Model:
        """The same model with other facts."""
        return dataclasses.replace(self, facts=dataclasses.replace(self.facts, **changes))

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

    def save(self, folder: str | Path, *, epochs: bytes | None = None) -> None:
        """Write the model into a folder, in one step over what it holds of an earlier one; see :mod:`.folder`."""
        from se_gnn.model.folder import save_model  # which reads models, too

        save_model(self, folder, epochs=epochs)

    @classmethod
    def load(cls, folder: str | Path, graph: str | Path | None = None, **where: Any) -> Model:
        """Read a model back, on its own graph or on that of another folder; see :func:`.folder.load_model`."""
        from se_gnn.model.folder import load_model

        return load_model(folder, graph, **where)

    def predict(self, nodes: IntArray | None = None) -> Prediction:
        """Prediction of some nodes, or of all."""
        return Prediction.of(self.rank(nodes, depth=self.in_use.vote.num_nearest))


def _with_factors_for(settings: Resolved, known: Graph, given: Graph) -> Resolved:
    """Factors that training chose make classes as frequent as they were, however frequent they are among new labels."""
    factors = settings.vote.class_factors
    if factors is None or settings.is_given("class_factors"):
        return settings
    before, now = (np.bincount(one.labels[one.train], minlength=len(factors)) for one in (known, given))
    if np.array_equal(before, now):
        return settings
    shares = np.array(factors) * before
    found = factors_of(shares / shares.sum(), given.labels[given.train])
    return settings.decided("graph", {"class_factors": tuple(float(f"{factor:.3g}") for factor in found)})


def _check_edge_values(known: Graph, given: Graph, than: str) -> None:
    """Edges must carry the same things; what is shown of them may differ."""
    one, other = known.edge_values, given.edge_values
    had, has = ("nothing" if values is None else ", ".join(values.edge_data_words.values()) for values in (one, other))
    if (one is None) != (other is None) or (one is not None and other is not None and one.edge_data != other.edge_data):
        raise InputError(f"{given.name} has edges with other data {than}: {has}, not {had}")
    if one is None or other is None:
        return
    if one.type_names != other.type_names:
        raise InputError(f"{given.name} has other types of edges {than}: {other.type_names}, not {one.type_names}")
    if one.columns != other.columns or one.num_attributes != other.num_attributes:
        raise InputError(
            f"{given.name} has other edge columns, or another encoding of them, {than}: import its tables with --like "
            "and the model's folder"
        )


def _folds_of(nodes: IntArray) -> IntArray:
    """The fold of each node, by its id alone: an edit of other labels does not move it."""
    mixed = nodes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # multiplicative hashing; overflow is meant
    return ((mixed >> np.uint64(33)) % np.uint64(FOLDS)).astype(np.int64)
