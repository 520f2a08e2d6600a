"""Edits of the labeled nodes: what they change, and what becomes of the predictions. Nothing is trained again.

A node's *state* is its class and its part of the split. An edit is a list of changes of states, so that it can be
undone: it contains the states before. No edit changes the encoder, which learned from the old labels. Shapes: N nodes,
M nodes whose prediction changes.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import Part, Split
from se_gnn.graph.spread import listed_nodes
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import NumberPrediction, predict, r_squared
from se_gnn.model.prediction import accuracy, log_loss
from se_gnn.settings import Resolved

LABELED: Part = "train"


@dataclass(frozen=True, slots=True)
class State:
    """Class of a node, or its number as text (None: not known) and its part of the split (None: in none)."""

    label: str | None
    part: Part | None

    @property
    def votes(self) -> bool:
        """Whether it is one of the labeled nodes."""
        return self.part == LABELED


@dataclass(frozen=True, slots=True)
class Change:
    """One node of an edit."""

    node: str
    was: State
    becomes: State


def state_of(graph: Graph, node: int) -> State:
    """The state of a node as the graph has it."""
    if graph.predicts_numbers:
        value = float(graph.values[node])
        return State(None if math.isnan(value) else repr(value), graph.split.part_of(node))
    label = int(graph.labels[node])
    return State(None if label == UNKNOWN else graph.class_names[label], graph.split.part_of(node))


def labeling(graph: Graph, labels: Mapping[Any, str], *, anew: bool = False) -> list[Change]:
    """Labeled nodes that vote for another class; or, ``anew``, nodes that begin to vote and leave their part."""
    changes = []
    for node, given in zip(_ids(graph, list(labels)), labels.values()):
        was, label, name = state_of(graph, node), _label(graph, str(given)), graph.node_names[node]
        if anew and was.votes:
            raise InputError(f"node {name!r} is labeled already, as {was.label!r}: use relabel to change its class")
        if not anew:
            _check_votes(graph, name, was)
            if was.label == label:
                raise InputError(f"node {name!r} is labeled {label!r} already: nothing to change")
        changes.append(Change(name, was, State(label, LABELED)))
    return changes


def removing(graph: Graph, nodes: Sequence[Any] | IntArray) -> list[Change]:
    """Labeled nodes that no longer vote; their class counts as unknown, and is kept in the history."""
    changes = [Change(graph.node_names[node], state_of(graph, node), State(None, None)) for node in _ids(graph, nodes)]
    for one in changes:
        _check_votes(graph, one.node, one.was)
    return changes


def _check_votes(graph: Graph, name: str, state: State) -> None:
    if not state.votes:
        raise InputError(f"node {name!r} is not one of the {len(graph.train)} labeled nodes: use add to label it")


def apply(graph: Graph, changes: Sequence[Change]) -> Graph:
    """The graph with the states that the changes ask for."""
    numbers = graph.predicts_numbers
    known: Any = graph.target.array.copy()
    parts = {part: set(nodes.tolist()) for part, nodes in graph.split.items()}
    for change in changes:
        node, label = graph.node_id(change.node), change.becomes.label
        if label is None:
            known[node] = math.nan if numbers else UNKNOWN
        else:
            known[node] = float(label) if numbers else graph.class_names.index(label)
        for part, nodes in parts.items():
            nodes.discard(node)
            if part == change.becomes.part:
                nodes.add(node)
    split: dict[str, Any] = {part: np.array(sorted(nodes), dtype=np.int64) for part, nodes in parts.items()}
    return graph.replace(target=graph.target.with_array(known), split=Split(**split))


def check_enough(before: Graph, after: Graph, settings: Resolved) -> None:
    """Refuse an edit after which a class, or the vote, would have too few labeled nodes.

    A K that training chose may be larger than what is left: then all labeled nodes vote.
    """
    settings.among(len(after.train))
    if before.predicts_numbers:
        return
    had, have = np.unique(before.labels[before.train]), np.unique(after.labels[after.train])
    lost = np.setdiff1d(had, have)
    if len(lost):
        raise InputError(
            f"each class needs a labeled node, {before.class_names[lost[0]]!r} would have none: add one of it first"
        )


def _ids(graph: Graph, nodes: Sequence[Any] | IntArray) -> list[int]:
    ids: list[int] = graph.node_ids(nodes).tolist()
    if not ids:
        raise InputError("name at least one node")
    twice = next((node for i, node in enumerate(ids) if node in ids[:i]), None)
    if twice is not None:
        raise InputError(f"each node can be changed once, {graph.node_names[twice]!r} is named twice")
    if graph.node_types is not None and len(other := np.setdiff1d(ids, graph.candidates)):
        name, own = graph.node_names[other[0]], graph.node_type_names[graph.node_types[other[0]]]
        raise InputError(
            f"node {name!r} is of type {own!r}: only nodes of type {graph.target.node_type!r} are predicted, and only "
            "they can be labeled"
        )
    return ids


def _label(graph: Graph, given: str) -> str:
    """A class, or a number as text, as it is kept."""
    if not graph.predicts_numbers:
        if given not in graph.class_names:
            known = ", ".join(map(repr, graph.class_names[:10]))
            hint = did_you_mean(given, graph.class_names)
            raise InputError(f"unknown class {shortened(given)}{hint}; there are: {known}")
        return given
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(given)):
            return repr(value)
    raise InputError(f"{graph.numbers.name} must be a number, such as 12.5, got {shortened(given)}")


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Accuracy and log loss on the validation nodes (for numbers R2 and mean absolute error); NaN without any."""

    accuracy: float
    loss: float
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """The edited model, and how its answers differ.

    Shapes:
        - **changed:** ids of the nodes of the predicted type that get another class, :math:`(M,)`
        - **before**, **after:** predictions of all nodes; of a large graph those of :func:`listed_nodes`
    """

    changes: tuple[Change, ...]
    edited: Model
    changed: IntArray
    before: Prediction | NumberPrediction
    after: Prediction | NumberPrediction
    validation_before: Figures
    validation_after: Figures

    @property
    def compared(self) -> IntArray:
        """Ids of the nodes of the predicted type whose predictions are compared."""
        return np.intersect1d(self.before.nodes, self.edited.graph.candidates)


def preview(trained: Model, changes: Sequence[Change]) -> Preview:
    """Apply changes to a copy and predict the nodes anew; the model itself stays as it is.

    All nodes are predicted; of a large graph validation nodes and those that a page would list.

    Refused if nothing would change, if a class would lose its last labeled node, or if fewer would be left than a K
    that training did not choose.
    """
    if not changes:
        raise InputError("nothing to change: the labels are already like this")
    _check_answers(trained, changes)
    graph = apply(trained.graph, changes)
    check_enough(trained.graph, graph, trained.settings)
    edited = trained.with_labels(graph.target, graph.split)
    nodes = np.unique(np.concatenate([listed_nodes(trained.graph), trained.graph.validation, graph.validation]))
    if len(nodes) < graph.num_nodes:
        trained.ranker.hold(nodes)  # the edited model takes over what is still true
    before, after = (predict(one, nodes) for one in (trained, edited))
    return Preview(
        changes=tuple(changes),
        edited=edited,
        changed=np.intersect1d(nodes[shown_answers(graph, before) != shown_answers(graph, after)], graph.candidates),
        before=before,
        after=after,
        validation_before=_figures(trained, before),
        validation_after=_figures(edited, after),
    )


def shown_answers(graph: Graph, found: Prediction | NumberPrediction) -> npt.NDArray[np.object_]:
    """The answer for each node as people see it: its class, or its number with its unit."""
    if isinstance(found, Prediction):
        return np.array(graph.class_names, dtype=object)[found.classes]
    return np.array([graph.numbers.text(value) for value in found.values.tolist()], dtype=object)


def _check_answers(trained: Model, changes: Sequence[Change]) -> None:
    """The cases of someone else's model vote for its answers, and for nothing else."""
    if not isinstance(trained.encoder, OutputEncoder):
        return
    names, answers = trained.graph.class_names, trained.encoder.outputs.classes
    for change in changes:
        answer = names[int(answers[trained.graph.node_id(change.node)])]
        if change.becomes.votes and change.becomes.label != answer:
            raise InputError(
                f"cases vote for the answers of the explained model, which is {answer!r} for node {change.node!r}, got "
                f"{change.becomes.label!r}: add it with that class, or remove it from the vote"
            )


def _figures(trained: Model, prediction: Prediction | NumberPrediction) -> Figures:
    val = trained.graph.validation
    if not isinstance(prediction, Prediction):
        truth, found = trained.graph.values[val], prediction.of_nodes(val).values
        error = float(np.abs(truth - found).mean()) if len(val) else math.nan
        return Figures(r_squared(found, truth), error, len(val))
    probabilities, labels = prediction.of_nodes(val).probabilities, trained.graph.labels[val]
    return Figures(accuracy(probabilities, labels), log_loss(probabilities, labels), len(val))
