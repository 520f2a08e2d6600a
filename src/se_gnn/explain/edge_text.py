"""An edge as people read it: where it leads, what it does, and what it carries. Shapes: E edges, A attributes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from se_gnn.explain.attributes import attributes_of_edges
from se_gnn.explain.side_by_side import difference, likeness
from se_gnn.graph import EdgeValues, Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.settings import SimilaritySettings

ARROW, LINE = "→", "–"


class Fact(NamedTuple):
    """Something that an edge carries, with its value as it is shown."""

    name: str
    value: str


class EdgeText(NamedTuple):
    """An edge in words: "a pays b (amount 118)"."""

    start: int  # node ids; of an edge without a direction the first one
    joint: str  # the verb of its type, an arrow, or a line
    end: int
    facts: tuple[Fact, ...]

    def joined(self, start: str, end: str) -> str:
        """With names for its ends."""
        listed = ", ".join(f"{fact.name} {fact.value}" for fact in self.facts)
        return f"{start} {self.joint} {end}" + (f" ({listed})" if listed else "")


def edge_text(graph: Graph, edge: int) -> EdgeText:
    """What is said of an edge; of one that carries nothing, its two ends."""
    u, v = graph.edges.ends[edge].tolist()
    values = graph.edge_values
    if values is None:
        return EdgeText(u, LINE, v, ())
    direction = 0 if values.direction is None else int(values.direction[edge])
    start, end = (v, u) if direction < 0 else (u, v)
    facts, joint = [], LINE if direction == 0 else ARROW
    if values.type is not None and direction:
        joint = values.verb(int(values.type[edge]))
    elif values.type is not None:
        facts.append(Fact("type", values.type_names[values.type[edge]]))
    if values.weight is not None:
        facts.append(Fact(dict(values.names).get("weight", "weight"), f"{values.weight[edge]:.4g}"))
    if values.attributes is not None:
        row = values.attributes[edge]
        facts += [Fact(one.name, one.show(row[list(one.features)])) for one in attributes_of_edges(graph).all]
    return EdgeText(start, joint, end, tuple(facts))


def agreeing_facts(graph: Graph, edge: int, matched: int) -> tuple[str, ...]:
    """What two edges have in common: the names of equal values, and of close ones with the difference."""
    values = graph.edge_values
    if values is None:
        return ()
    found = []
    if values.type is not None and values.type[edge] == values.type[matched]:
        found.append("type")
    if values.weight is not None:
        ours, theirs = (f"{values.weight[i]:.4g}" for i in (edge, matched))
        found += _in_common(dict(values.names).get("weight", "weight"), (ours, theirs), values.weight, (edge, matched))
    if values.attributes is not None:
        known, rows = attributes_of_edges(graph), values.attributes[[edge, matched]]
        for one in known.shared(rows[0], rows[1]):
            if not _of_another_type(values, edge, one.name):
                feature = one.features[0]
                ours, theirs = (one.show(row[list(one.features)]) for row in rows)
                column = None if known.counts[feature] else values.attributes[:, feature]
                found += _in_common(one.name, (ours, theirs), column, (edge, matched))
    return tuple(found)


def _in_common(name: str, texts: tuple[str, str], column: FloatArray | None, edges: tuple[int, int]) -> list[str]:
    """An attribute of two edges, if it is equal or close; ``column`` has the value of each edge, if it is a number."""
    numbers = None if column is None else (float(column[edges[0]]), float(column[edges[1]]))
    alike = likeness(*texts, numbers, None if column is None else np.sort(column))
    if alike != "close":
        return [name] if alike else []
    apart = difference(*texts)
    return [f"{name} (close, {apart})" if apart else f"{name} (close)"]


def _of_another_type(values: EdgeValues, edge: int, name: str) -> bool:
    """Whether an attribute is a column of another type than the edge has: "writes: share" of an edge that cites."""
    if values.type is None:
        return False
    type_, colon, _ = name.partition(": ")
    return bool(colon) and type_ in values.type_names and values.type_names[values.type[edge]] != type_


def edge_rule(graph: Graph, settings: SimilaritySettings) -> str | None:
    """How edges that carry something were compared, in words; None where they carry nothing that was read."""
    values = graph.edge_values
    if values is None:
        return None
    same = []
    if settings.match_direction and values.direction is not None:
        same.append("the same direction, seen from the center")
    if settings.match_types == "own" and values.type is not None:
        same.append("the same type")
    told = []
    if same:
        told.append(f"Edges match only edges of {', and '.join(same)}; one without a counterpart is least similar.")
    if settings.match_attributes and values.attributes is not None:
        told.append("What an edge carries is part of what is compared.")
    if settings.weighted_mean and values.weight is not None:
        told.append("An edge counts with its weight.")
    return " ".join(told) or None
