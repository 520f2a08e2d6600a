"""New nodes after training: their predictions, and the known nodes whose predictions they change.

Nothing is trained. Embeddings are computed on the larger graph, and the same labeled nodes vote: the answers are those
of a graph that had all nodes from the start. Shapes: N known nodes, M new ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.arrays import Int32Array, IntArray, as_features
from se_gnn.graph.edges import as_pairs
from se_gnn.graph.extend import NewNodes
from se_gnn.labels.edits import shown_answers
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import NumberPrediction, predict


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A known node that is predicted as another class, or number, because of the new nodes and edges."""

    node: int
    name: str
    was: str
    was_probability: float | None  # None: a number is predicted
    becomes: str
    probability: float | None

    def to_record(self) -> dict[str, Any]:
        """The change as a row of a file."""
        if self.probability is None:
            return {"node": self.name, "was": self.was, "becomes": self.becomes}
        return {
            "node": self.name,
            "was": self.was,
            "was_probability": self.was_probability,
            "class": self.becomes,
            "probability": self.probability,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Extension:
    """A model on a graph with new nodes.

    ``new`` are the ids of the new nodes of the type that is predicted, ``prediction`` is theirs. ``changed`` are the
    known nodes of that type, labeled ones aside, that are predicted as another class than before, or as another number,
    as it is shown.
    """

    trained: Model
    new: IntArray
    prediction: Prediction | NumberPrediction
    changed: tuple[ChangedAnswer, ...]
    notes: tuple[str, ...]

    @property
    def graph(self) -> Graph:
        """The graph with the new nodes; ``classifier.with_graph(extension.graph)`` predicts and explains all of it."""
        return self.trained.graph


def new_nodes_from_arrays(
    graph: Graph,
    features: Any,
    edges: Any = None,
    names: Sequence[str] | None = None,
    *,
    edge_values: EdgeValues | None = None,
    node_types: Any = None,
) -> NewNodes:
    """New nodes given as arrays.

    Args:
        graph: the graph that they join.
        features: attributes, [M, F].
        edges: pairs of positions, [E', 2], where the new nodes are N, N + 1, and so on; or pairs of names.
        names: what the new nodes are called; None: ``new 0``, ``new 1``, ...
        edge_values: what each of ``edges`` carries, direction +1 from its first end to its second.
        node_types: type of each new node, by position or by name, if the graph has several types.
    """
    matrix = as_features(features)
    called = tuple(names) if names is not None else _free_names(graph, matrix.shape[0])
    if len(called) != matrix.shape[0]:
        raise InputError(f"names must have one entry per new node ({matrix.shape[0]}), got {len(called)}")
    return NewNodes(
        names=called,
        features=matrix,
        pairs=_pairs(graph, edges, called),
        edge_values=edge_values,
        node_types=_types(graph, node_types),
    )


def _types(graph: Graph, types: Any) -> Int32Array | None:
    if types is None:
        return None
    if graph.node_types is None:
        raise InputError(f"{graph.name} has nodes of one type: leave node_types out")
    place = {name: i for i, name in enumerate(graph.node_type_names)}
    unknown = next((one for one in types if isinstance(one, str) and one not in place), None)
    if unknown is not None:
        raise InputError(f"node_types must be among {', '.join(place)}, got {unknown!r}")
    return np.array([place[one] if isinstance(one, str) else int(one) for one in types], np.int32)


def extend(trained: Model, new: NewNodes) -> Extension:
    """Add new nodes to the graph of a model, predict them, and list the known nodes whose answer changes."""
    graph = trained.graph
    later = trained.with_new_nodes(new)
    known = np.setdiff1d(graph.candidates, graph.train)
    ids = later.graph.candidates[later.graph.candidates >= graph.num_nodes]
    before, after = predict(trained, known), predict(later, known)
    was, becomes = shown_answers(graph, before), shown_answers(graph, after)
    changed = tuple(
        ChangedAnswer(
            node=int(known[i]),
            name=graph.node_names[known[i]],
            was=was[i],
            was_probability=_probability(before, i),
            becomes=becomes[i],
            probability=_probability(after, i),
        )
        for i in np.flatnonzero(was != becomes).tolist()
    )
    return Extension(later, ids, predict(later, ids), changed, new.notes)


def _probability(found: Prediction | NumberPrediction, i: int) -> float | None:
    return float(min(found.probabilities[i].max(), 1)) if isinstance(found, Prediction) else None


def _free_names(graph: Graph, count: int) -> tuple[str, ...]:
    known = set(graph.node_names)
    free = (name for name in (f"new {i}" for i in itertools.count()) if name not in known)
    return tuple(itertools.islice(free, count))


def _pairs(graph: Graph, edges: Any, names: Sequence[str]) -> IntArray:
    array = np.asarray([] if edges is None else edges)
    if array.size and array.dtype.kind in "UO":
        if array.ndim != 2 or array.shape[1] != 2:
            raise InputError(f"edges must be pairs of nodes, shape (E, 2), got shape {array.shape}")
        places = {name: graph.num_nodes + i for i, name in enumerate(names)}
        ends = [places[end] if end in places else graph.node_id(end) for end in array.ravel().tolist()]
        return np.array(ends, dtype=np.int64).reshape(-1, 2)
    return as_pairs(array)
