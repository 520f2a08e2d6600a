"""An explanation as plain values; `explanation.schema.json` beside this file describes them."""

from __future__ import annotations

import dataclasses
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from se_gnn.explain.explanation import EdgeMatches, Explanation, Neighbor
    from se_gnn.explain.shared_attributes import SharedAttributes

FORMAT = "se-gnn-explanation"
VERSION = 1


def schema() -> dict[str, Any]:
    """JSON schema of :func:`to_dict`."""
    text = resources.files("se_gnn.explain").joinpath("explanation.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_dict(explanation: Explanation) -> dict[str, Any]:
    """All of an explanation as values that JSON knows; nodes go by their names."""
    names = explanation.node_names
    return {
        "format": FORMAT,
        "version": VERSION,
        "node": explanation.name,
        "label": explanation.class_names[explanation.label] if explanation.label >= 0 else None,
        "left_out": explanation.left_out,
        "has_structure": explanation.has_structure,
        "predicted": explanation.predicted_name,
        "probabilities": dict(zip(explanation.class_names, explanation.probabilities)),
        "sentence": explanation.sentence(),
        "settings": {
            "hops": explanation.hops,
            "node_weight": explanation.node_weight,
            "temperature": explanation.temperature,
            "measure": explanation.measure,
            "directions": explanation.directions,
        },
        "neighbors": [_neighbor(neighbor, explanation) for neighbor in explanation.neighbors],
        "edges": [
            {"edge": [names[int(u)], names[int(v)]], "importance": float(value) if np.isfinite(value) else None}
            for (u, v), value in zip(explanation.edges, explanation.importance)
        ],
    }


def _neighbor(neighbor: Neighbor, explanation: Explanation) -> dict[str, Any]:
    names = explanation.node_names
    shared = neighbor.shared_attributes
    return {
        "node": neighbor.name,
        "label": neighbor.label_name,
        "weight": neighbor.weight,
        "similarity": neighbor.similarity,
        "node_similarity": neighbor.node_similarity,
        "structure_similarity": neighbor.structure_similarity,
        "node_term": neighbor.node_term,
        "structure_term": neighbor.structure_term,
        "without": dict(zip(explanation.class_names, neighbor.without)),
        "matches": _matches(neighbor.matches, names),
        "matches_back": _matches(neighbor.matches_back, names),
        **({} if shared is None else {"shared_attributes": _shared_attributes(shared)}),
    }


def _shared_attributes(shared: SharedAttributes) -> dict[str, Any]:
    attributes = [dataclasses.asdict(attribute) for attribute in shared.attributes]
    return {"attributes": attributes, "num_shared": shared.num_shared, "note": shared.note}


def _matches(matches: EdgeMatches | None, names: dict[int, str]) -> list[dict[str, Any]] | None:
    if matches is None:
        return None
    rows = zip(matches.edges, matches.matched, matches.similarity, matches.well)
    return [
        {
            "edge": [names[int(node)] for node in edge],
            "matched": [names[int(node)] for node in matched],
            "similarity": float(value),
            "well": bool(well),
        }
        for edge, matched, value, well in rows
    ]
