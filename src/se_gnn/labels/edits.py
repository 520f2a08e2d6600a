"""Edits of the labeled memory: which nodes vote, and for which class. Nothing is trained again.

A node's *state* is its class and its part of the split. An edit is a list of changes of states, so that it can be
undone: the states before are in it. The limit, which no edit lifts: the encoder learned from the old labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import Part, Split

LABELED: Part = "train"


@dataclass(frozen=True, slots=True)
class State:
    """Class of a node (None: not known) and its part of the split (None: in none)."""

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
    label = int(graph.labels[node])
    return State(None if label == UNKNOWN else graph.class_names[label], graph.split.part_of(node))


def adding(graph: Graph, labels: Mapping[Any, str]) -> list[Change]:
    """Nodes that begin to vote, with their classes; a validation or test node leaves its part."""
    changes = []
    for node in _ids(graph, labels):
        was = state_of(graph, node)
        if was.votes:
            raise InputError(
                f"node {graph.node_names[node]!r} is labeled already, as {was.label!r}: use relabel to change its class"
            )
        changes.append(Change(graph.node_names[node], was, State(_class(graph, labels, node), LABELED)))
    return changes


def removing(graph: Graph, nodes: Sequence[Any] | IntArray) -> list[Change]:
    """Labeled nodes that no longer vote; their class counts as unknown, and is kept in the history."""
    return [Change(graph.node_names[node], _voting(graph, node), State(None, None)) for node in _ids(graph, nodes)]


def relabeling(graph: Graph, labels: Mapping[Any, str]) -> list[Change]:
    """Labeled nodes that vote for another class."""
    changes = []
    for node in _ids(graph, labels):
        was, label = _voting(graph, node), _class(graph, labels, node)
        if was.label == label:
            raise InputError(f"node {graph.node_names[node]!r} is labeled {label!r} already: nothing to change")
        changes.append(Change(graph.node_names[node], was, State(label, LABELED)))
    return changes


def apply(graph: Graph, changes: Sequence[Change]) -> Graph:
    """The graph with the states that the changes ask for."""
    labels = graph.labels.copy()
    parts = {part: set(nodes.tolist()) for part, nodes in graph.split.items()}
    for change in changes:
        node = graph.node_id(change.node)
        name = change.becomes.label
        labels[node] = UNKNOWN if name is None else graph.class_names.index(name)
        for part, nodes in parts.items():
            nodes.discard(node)
            if part == change.becomes.part:
                nodes.add(node)
    split: dict[str, Any] = {part: np.array(sorted(nodes), dtype=np.int64) for part, nodes in parts.items()}
    return graph.replace(target=graph.target.with_labels(labels), split=Split(**split))


def check_enough(before: Graph, after: Graph, num_nearest: int) -> None:
    """Refuse an edit after which a class, or the vote, would have too few labeled nodes."""
    had, have = np.unique(before.labels[before.train]), np.unique(after.labels[after.train])
    lost = np.setdiff1d(had, have)
    if len(lost):
        raise InputError(
            f"each class needs a labeled node, {before.class_names[lost[0]]!r} would have none: add one of it first"
        )
    if len(after.train) < num_nearest:
        raise InputError(
            f"num_nearest is {num_nearest}, so {num_nearest} labeled nodes must be left, not {len(after.train)}: "
            f"train with a smaller num_nearest, or remove fewer"
        )


def _ids(graph: Graph, nodes: Mapping[Any, str] | Sequence[Any] | IntArray) -> list[int]:
    ids: list[int] = graph.node_ids(list(nodes) if isinstance(nodes, Mapping) else nodes).tolist()
    if not ids:
        raise InputError("name at least one node")
    twice = next((node for i, node in enumerate(ids) if node in ids[:i]), None)
    if twice is not None:
        raise InputError(f"each node can be changed once, {graph.node_names[twice]!r} is named twice")
    return ids


def _class(graph: Graph, labels: Mapping[Any, str], node: int) -> str:
    given = next(str(label) for name, label in labels.items() if graph.node_id(name) == node)
    if given not in graph.class_names:
        known = ", ".join(map(repr, graph.class_names[:10]))
        raise InputError(
            f"unknown class {shortened(given)}{did_you_mean(given, graph.class_names)}; there are: {known}"
        )
    return given


def _voting(graph: Graph, node: int) -> State:
    state = state_of(graph, node)
    if not state.votes:
        raise InputError(
            f"node {graph.node_names[node]!r} is not one of the {len(graph.train)} labeled nodes: add makes it one"
        )
    return state
