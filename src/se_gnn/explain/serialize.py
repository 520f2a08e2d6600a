"""An explanation as plain values; `explanation.schema.json` beside this file describes them."""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from se_gnn.explain.edge_text import agreeing_facts, edge_text
from se_gnn.graph.arrays import IntArray

if TYPE_CHECKING:
    from se_gnn.explain.evidence import EdgeMatches, Neighbor
    from se_gnn.explain.explanation import Explanation
    from se_gnn.explain.shared_attributes import SharedAttributes
    from se_gnn.ranking import SmallestSet

FORMAT = "se-gnn-explanation"
VERSION = 2


def schema() -> dict[str, Any]:
    """JSON schema of :func:`to_dict`."""
    text = resources.files("se_gnn.explain").joinpath("explanation.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_dict(explanation: Explanation) -> dict[str, Any]:
    """All of an explanation as values that JSON knows: nodes by their names, edges by their ids."""
    similarity, vote = explanation.settings.similarity, explanation.settings.vote
    return {
        "format": FORMAT,
        "version": VERSION,
        "node": explanation.name,
        "caption": explanation.caption(explanation.node),
        "label": explanation.class_names[explanation.label] if explanation.label >= 0 else None,
        "left_out": explanation.left_out,
        "has_structure": explanation.has_structure,
        "predicted": explanation.predicted_name,
        "probabilities": dict(zip(explanation.class_names, explanation.probabilities)),
        "sentence": explanation.sentence(),
        "settings": {
            "num_nearest": vote.num_nearest,
            "hops": similarity.hops,
            "max_edges": similarity.max_edges,
            "node_weight": similarity.node_weight,
            "temperature": vote.temperature,
            "measure": similarity.measure,
            "directions": similarity.directions,
        },
        **_edge_settings(explanation),
        "neighbors": [_neighbor(neighbor, explanation) for neighbor in explanation.neighbors],
        "smallest_removal": _removal(explanation.smallest_removal, explanation),
        "edges": [
            {"id": int(edge), "importance": float(value) if np.isfinite(value) else None}
            for edge, value in zip(explanation.edge_ids, explanation.importance)
        ],
        "edge_ends": _edge_ends(explanation),
        **_carried(explanation),
    }


def _neighbor(neighbor: Neighbor, explanation: Explanation) -> dict[str, Any]:
    shared = neighbor.shared_attributes
    return {
        "node": neighbor.name,
        "caption": explanation.caption(neighbor.node),
        "label": neighbor.label_name,
        "weight": neighbor.weight,
        "similarity": neighbor.similarity,
        "node_similarity": neighbor.node_similarity,
        "structure_similarity": neighbor.structure_similarity,
        "node_term": neighbor.node_term,
        "structure_term": neighbor.structure_term,
        "without": dict(zip(explanation.class_names, neighbor.without)),
        "edges": neighbor.edge_ids.tolist() if neighbor.explained else None,
        "matches": _matches(neighbor.matches, explanation),
        "matches_back": _matches(neighbor.matches_back, explanation),
        **({} if shared is None else {"shared_attributes": _shared_attributes(shared)}),
    }


def _shared_attributes(shared: SharedAttributes) -> dict[str, Any]:
    attributes = [dataclasses.asdict(attribute) for attribute in shared.attributes]
    return {"attributes": attributes, "num_shared": shared.num_shared, "note": shared.note}


def _matches(matches: EdgeMatches | None, explanation: Explanation) -> list[dict[str, Any]] | None:
    """Each edge with its match; where edges carry something, what both carry alike."""
    if matches is None:
        return None
    columns = (matches.edge_ids, matches.matched_ids, matches.similarity, matches.above_average)
    rows = [
        {"edge": edge, "matched": matched if matched >= 0 else None, "similarity": value, "above_average": well}
        for edge, matched, value, well in zip(*(column.tolist() for column in columns))
    ]
    if explanation.graph.edge_values is not None:
        for row in rows:
            alike = () if row["matched"] is None else agreeing_facts(explanation.graph, row["edge"], row["matched"])
            row["alike"] = list(alike)
    return rows


def _removal(removal: SmallestSet | None, explanation: Explanation) -> dict[str, Any] | None:
    if removal is None:
        return None
    return {
        "nodes": [explanation.graph.node_names[node] for node in removal.nodes],
        "probabilities": dict(zip(explanation.class_names, removal.probabilities)),
    }


def _mentioned(explanation: Explanation) -> IntArray:
    """Every edge that an explanation mentions, once."""
    mentioned = [explanation.edge_ids, *(one.edge_ids for one in explanation.neighbors if one.explained)]
    return np.unique(np.concatenate(mentioned))


def _edge_ends(explanation: Explanation) -> dict[str, list[str]]:
    """The two nodes of every edge that an explanation mentions."""
    names, ids = explanation.graph.node_names, _mentioned(explanation)
    return {str(edge): [names[u], names[v]] for edge, (u, v) in zip(ids, explanation.graph.edges.ends[ids])}


def _edge_settings(explanation: Explanation) -> dict[str, Any]:
    """How edges that carry something were compared; nothing where they carry nothing."""
    if explanation.graph.edge_values is None:
        return {}
    names = ("match_direction", "match_types", "match_attributes", "weighted_mean")
    return {"edge_settings": {name: getattr(explanation.settings.similarity, name) for name in names}}


def _carried(explanation: Explanation) -> dict[str, Any]:
    """What every edge that is mentioned carries; nothing where edges carry nothing."""
    graph = explanation.graph
    values = graph.edge_values
    if values is None:
        return {}
    roles = dict(zip(explanation.edge_ids.tolist(), explanation.roles))
    carried = {}
    for edge in _mentioned(explanation).tolist():
        text = edge_text(graph, edge)
        directed = values.direction is not None and bool(values.direction[edge])
        carried[str(edge)] = {
            "from": graph.node_names[text.start] if directed else None,
            "to": graph.node_names[text.end] if directed else None,
            "type": None if values.type is None else values.type_names[values.type[edge]],
            "weight": None if values.weight is None else float(values.weight[edge]),
            "facts": {fact.name: fact.value for fact in text.facts},
            "role": roles.get(edge),
        }
    return {"edge_values": carried}
