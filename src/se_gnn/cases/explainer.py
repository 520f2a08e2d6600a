"""Cases for any trained model: the known nodes that a node is like, as the model sees them.

Someone else's model is run once. Its embeddings and class probabilities are compared as ours would be, and its own
answers for the cases vote; the similarity is chosen so that the vote agrees with the model. How often it does is part
of every explanation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from se_gnn.encoder.outputs import OutputEncoder, Outputs, Reading, read_outputs
from se_gnn.errors import InputError, shortened
from se_gnn.estimator import ClassVoting
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray
from se_gnn.model import Model
from se_gnn.model.folder import load_model
from se_gnn.model.metrics import evaluate_nodes
from se_gnn.settings import Settings
from se_gnn.settings.presets import CASES
from se_gnn.tables.pyg import from_pyg, to_hetero, to_pyg
from se_gnn.training.agreement import agreeing_model, explained_graph


class CaseExplainer(ClassVoting):
    """Explains the answers of a trained PyTorch model by cases that the model treats alike.

    The model is run on the graph and is not changed. Each case votes for the model's own answer for it, so the vote
    explains the model, right or wrong. ``agreement`` is the share of held-out nodes on which vote and model agree.

    Args:
        model: a trained ``torch.nn.Module`` with PyG's calling convention, in evaluation mode.
        graph: what the model is called with: a PyG ``Data`` or ``HeteroData``, or our :class:`~se_gnn.Graph`.
        embeddings: where the model's embeddings are read. None: the input of its last layer; the name of a submodule:
            the input of that; a function of model and data: what it returns.
        references: the nodes that vote, by position or name; None: the labeled nodes.
        settings: settings of the similarity and the vote by name, such as ``{"num_nearest": 20}``. What is not given is
            chosen by agreement.
        seed: random seed for the nodes that choose and measure, if the graph has no validation or test nodes.
        max_memory: memory limit for comparisons, for example ``"4GB"``.
    """

    def __init__(
        self,
        model: nn.Module,
        graph: Any,
        *,
        embeddings: Reading = None,
        references: Any = None,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        max_memory: int | str | None = None,
    ) -> None:
        data, own = _both(graph)
        outputs = read_outputs(model, data, own, embeddings=embeddings)
        cases = None if references is None else own.node_ids(references)
        explained = explained_graph(own, outputs, cases, seed)
        if settings is not None and not isinstance(settings, Mapping):
            raise InputError(f"settings must be a mapping from names to values, got {shortened(settings)}")
        resolved = Settings(CASES).changed(**(settings or {})).resolve(explained)
        found = agreeing_model(outputs, explained, resolved, max_memory).with_facts(seed=seed)
        self._take(found, model, embeddings)

    def _take(self, model: Model, source: nn.Module | None = None, reading: Reading = None) -> CaseExplainer:
        self.trained_, self.seed = model, model.facts.seed
        self._source, self._reading = source, reading  # what outputs are read from, if it is at hand
        return self

    @property
    def outputs(self) -> Outputs:
        """What the explained model computed for every node."""
        assert isinstance(self.trained_.encoder, OutputEncoder)
        return self.trained_.encoder.outputs

    @property
    def agreement(self) -> float:
        """Share of held-out nodes on which the vote and the model agree; no setting was chosen on them."""
        figures = self.trained_.facts.test
        assert figures is not None
        return float(figures["accuracy"])

    @property
    def choice(self) -> str:
        """How cases are compared, and why."""
        return "; ".join(str(decision) for decision in self.trained_.settings.decisions)

    def agrees(self, nodes: Any = None) -> BoolArray:
        """Whether vote and model give the same answer, for some nodes (None: all)."""
        wanted = self._nodes(nodes)
        model = self.outputs.classes.numpy()
        found: BoolArray = self.predict_proba(wanted).argmax(axis=1) == (model if wanted is None else model[wanted])
        return found

    def with_graph(self, graph: Any) -> CaseExplainer:
        """The same similarity and settings on another graph: the model is run on it; nothing is chosen again."""
        if self._source is None:
            raise InputError(
                "another graph, or new nodes, need the explained model itself, which is not stored: load with model=..."
            )
        data, own = _both(graph)
        outputs = read_outputs(self._source, data, own, embeddings=self._reading)
        explained = explained_graph(own, outputs, None, self.trained_.facts.seed)
        encoder = OutputEncoder(outputs, self.trained_.settings)
        there = dataclasses.replace(self.trained_, encoder=encoder, graph=explained, stored=None)
        figures = evaluate_nodes(there, explained.test)
        return object.__new__(CaseExplainer)._take(there.with_facts(test=figures), self._source, self._reading)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        model: nn.Module | None = None,
        graph: Any = None,
        embeddings: Reading = None,
        max_memory: int | str | None = None,
    ) -> CaseExplainer:
        """Read what :meth:`save` wrote; the explained model itself is not stored, and is yours to rebuild.

        With the ``model`` and the ``graph`` that it was called with, the model is run once more and its outputs are
        compared with the stored ones: another model, or changed code, is refused.
        """
        stored = load_model(folder, max_memory=max_memory)
        if not isinstance(stored.encoder, OutputEncoder):
            raise InputError(f"{folder} holds a trained classifier, not a CaseExplainer: use SEGNNClassifier.load")
        if model is not None:
            if graph is None:
                raise InputError("graph must be given with model: it is what the model is called with")
            data, own = _both(graph)
            found = read_outputs(model, data, own, embeddings=embeddings)
            if found.digest != stored.encoder.outputs.digest:
                raise InputError(f"model gives other outputs than the one that {folder} was made from")
        return object.__new__(cls)._take(stored, model, embeddings)


def _both(graph: Any) -> tuple[Any, Graph]:
    """A graph as PyG's and as ours."""
    if isinstance(graph, Graph):
        return (to_hetero if graph.node_types is not None else to_pyg)(graph), graph
    return graph, from_pyg(graph)
