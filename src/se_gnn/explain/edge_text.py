"""An edge as people read it: where it leads, what it does, and what it carries. Shapes: E edges, A attributes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from se_gnn.explain.attributes import attributes_of_edges
from se_gnn.explain.side_by_side import Spread, difference, likeness
from se_gnn.graph import EdgeValues, Graph
from se_gnn.settings import SimilaritySettings

ARROW, LINE = "→", "–"
WEIGHT = -1  # in place of an attribute: the weight of the edges


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
        ours, theirs = (float(values.weight[i]) for i in (edge, matched))
        name = dict(values.names).get("weight", "weight")
        found += _in_common(name, (f"{ours:.4g}", f"{theirs:.4g}"), (ours, theirs), _spread(graph, WEIGHT))
    if values.attributes is not None:
        known, rows = attributes_of_edges(graph), values.attributes[[edge, matched]]
        for one in known.shared(rows[0], rows[1]):
            if not _of_another_type(values, edge, one.name):
                feature = one.features[0]
                shown = one.show(rows[0][list(one.features)]), one.show(rows[1][list(one.features)])
                among = None if known.counts[feature] else _spread(graph, feature)
                found += _in_common(one.name, shown, (float(rows[0][feature]), float(rows[1][feature])), among)
    return tuple(found)


@lru_cache(maxsize=64)
def _spread(graph: Graph, feature: int) -> Spread:
    """The spread of an attribute of the edges, or of their weight; kept, because one pair of edges follows another."""
    values = graph.edge_values
    assert values is not None
    column = values.weight if feature == WEIGHT else values.attributes[:, feature]  # type: ignore[index]
    assert column is not None
    return Spread.of(column)


def _in_common(name: str, texts: tuple[str, str], numbers: tuple[float, float], among: Spread | None) -> list[str]:
    """An attribute of two edges, if it is equal or close; without a spread it is not a number, and never close."""
    alike = likeness(*texts, numbers, among)
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
