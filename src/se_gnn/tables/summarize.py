"""What was understood of tables, counted in the graph that they became, with what people should know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from se_gnn.graph import UNKNOWN, EdgeValues, Graph, Numbers
from se_gnn.graph.columns import type_prefix
from se_gnn.graph.edge_values import NO_TIME
from se_gnn.graph.graph import homophily
from se_gnn.graph.rows import take
from se_gnn.tables.features import class_leaks, number_leaks
from se_gnn.tables.guess import suggested_edges
from se_gnn.tables.node_types import NAME_COLUMNS
from se_gnn.tables.settings import FIRST_EDGE, ColumnSummary, ImportSettings, Summary

if TYPE_CHECKING:
    from se_gnn.tables.importer import Import

FEW_LABELED = 3  # of a class, below which a vote rests on chance
EDGES_AT_ONCE = 1 << 16
MOST_CLASSES_WARNED = 3  # of each, in a warning of its own; more share one


def summarize(tables: Import, graph: Graph) -> Summary:
    """What was understood of the tables that a graph was made of; what can be counted in it is counted there."""
    given, dangling = tables.counts["given"], tables.counts["dangling"]
    warnings = [*tables.notes, *_label_warnings(graph, tables.like)]
    for one in tables.nodes:
        warnings += [f"{one.type}: {text}" if one.type else text for text in one.fitted.warnings]
    if tables.structure and tables.like is None:
        warnings.append(
            f"{tables.labeled.table.name} has no column that says something about a node; features are taken from the "
            f"edges around it: {', '.join(column.name for column in tables.structure)}"
        )
    names = set(NAME_COLUMNS).difference(tables.labeled.table.columns)
    columns = [one for one in tables.structure or tables.labeled.fitted.columns if one.name not in names]
    if tables.like is None and columns:
        features, known = graph.nodes.features.take(graph.train), graph.target.array[graph.train]
        if tables.several:  # without the attributes of other types
            features = features[:, (graph.nodes.blocks_by_type() or {})[tables.labeled.type][1:]]
        leaks = number_leaks if graph.predicts_numbers else class_leaks
        warnings += leaks(columns, features, known)
    for roles in tables.edges:
        warnings += [*roles.notes, *roles.fitted.warnings]
    if dangling:
        warnings.append(f"{dangling:,} of {given:,} edges refer to unknown nodes and were left out")
    values, edge_columns = graph.edge_values, _edge_columns(tables, graph)
    listed = {column.name for column in edge_columns} if values is not None else set()
    unused = [
        name
        for one in tables.edges
        for name in one.table.columns
        if name not in one.ends and type_prefix(one.of_type) + name not in listed
    ]
    classes: dict[str, int] = {}
    share, chance = None, None
    if not graph.predicts_numbers:
        counts = np.bincount(graph.labels[graph.labels != UNKNOWN], minlength=graph.num_classes)
        classes = dict(zip(graph.class_names, counts.tolist()))
        share, chance, _ = homophily(graph, graph.labels)
    return Summary(
        nodes_table=", ".join(one.table.name for one in tables.nodes),
        edges_table=", ".join(one.table.name for one in tables.edges),
        num_nodes=graph.num_nodes,
        num_features=graph.num_features,
        columns=(
            *(column for one in tables.nodes for column in one.summaries()),
            *(ColumnSummary(name=one.name, kind=one.kind, num_features=1) for one in tables.structure),
        ),
        node_types={one.type: len(one) for one in tables.nodes} if tables.several else None,
        classes=classes,
        number=_about_numbers(graph.numbers) if graph.predicts_numbers else None,
        unlabeled=int((~graph.target.known).sum()),
        split=_how_split(tables.settings, tables.like),
        num_train=len(graph.train),
        num_val=len(graph.validation),
        num_test=len(graph.test),
        directed=values is not None and values.direction is not None,
        edge_columns=edge_columns,
        unused_edge_columns=tuple(dict.fromkeys(unused)),
        edges_given=given,
        edges_dangling=dangling,
        edges_later=tables.counts["later"],
        edges_duplicate=graph.merged.duplicates,
        edges_reciprocal=graph.merged.reciprocal,
        self_loops=graph.merged.self_loops,
        num_edges=graph.num_edges,
        parallel=0 if values is None else _parallel(graph),
        isolated=int((graph.degrees == 0).sum()),
        degree_mean=float(graph.degrees.mean()),
        degree_max=int(graph.degrees.max()),
        homophily=share,
        homophily_by_chance=chance,
        warnings=tuple(warnings),
        suggestion=_suggestion(tables),
    )


def _edge_columns(tables: Import, graph: Graph) -> tuple[ColumnSummary, ...]:
    """What became of the columns of the edge tables, called by the type of their edges."""
    found: list[ColumnSummary] = []
    for one in tables.edges:
        notes = _role_notes(graph.edge_values, one.of_type)
        roles = [ColumnSummary(name=name, kind=part, note=notes.get(part, "")) for part, name in one.roles.items()]
        found += [
            replace(column, name=type_prefix(one.of_type) + column.name) for column in (*roles, *one.fitted.summaries)
        ]
    if not tables.edges[0].of_type or graph.edge_values is None:
        return tuple(found)
    return ColumnSummary(name="(type)", kind="type", note=_role_notes(graph.edge_values, "")["type"]), *found


def _role_notes(values: EdgeValues | None, of_type: str) -> dict[str, str]:
    """What the edges of a type carry, or those of all, in words: how many of each type, from which weight to which."""
    if values is None:
        return {}
    counts, ends = np.zeros(values.num_types, np.int64), dict[str, list[float]]()
    parts = [part for part in values.edge_data if part in ("type", "weight", "time")]
    for low in range(0, len(values), EDGES_AT_ONCE):
        ids = np.arange(low, min(low + EDGES_AT_ONCE, len(values)))
        held = {part: take(getattr(values, part), ids) for part in parts}
        if "type" in held:
            counts += np.bincount(held["type"], minlength=len(counts))
        for part in {"weight", "time"}.intersection(parts):
            own = held[part] != NO_TIME
            if of_type:
                own &= held["type"] == values.type_names.index(of_type)
            known = np.append(held[part][own], ends.get(part, []))
            ends[part] = [known.min(), known.max()] if len(known) else []
    notes = {part: f"from {_shown(part, two[0])} to {_shown(part, two[1])}" for part, two in ends.items() if two}
    if "type" in parts:
        notes["type"] = ", ".join(f"{name}: {count:,}" for name, count in zip(values.type_names, counts.tolist()))
    return notes


def _shown(part: str, value: float) -> str:
    return f"{value:g}" if part == "weight" else str(np.datetime64(int(value), "s").astype("datetime64[D]"))


def _suggestion(tables: Import) -> str:
    """What edges could carry besides, where they are imported for the first time and have one table."""
    one = tables.edges[0]
    if tables.like is not None or tables.edges[0].of_type:
        return ""
    decided = ["weight", "type", "time"] if one.ignore or one.kinds else []  # the user has said what the columns are
    return suggested_edges(one.table, one.ends, [*one.roles, *decided], directed=one.directed)


def _parallel(graph: Graph) -> int:
    """Edges that have the same ends as one before them."""
    count, last = 0, np.array([[-1, -1]])
    for _, ends in graph.edges.pairs.blocks():
        count += int((np.diff(np.concatenate([last, ends]), axis=0) == 0).all(axis=1).sum())
        last = ends[-1:]
    return count


def _how_split(settings: ImportSettings, like: Graph | None) -> str:
    if settings.split is not None:
        return f"column {settings.split!r}"
    if like is not None:
        return "the same labeled nodes vote as in the original graph"
    if settings.split_by_time is not None:
        edges = settings.split_by_time == FIRST_EDGE
        what = "first edge of each node" if edges else f"column {settings.split_by_time!r}"
        return f"by time, the latest test: {what}"
    if settings.target_number is not None:
        return f"drawn with seed {settings.seed}"
    most = f", at most {settings.max_train:,} of a class" if settings.max_train else ""
    return f"drawn by class with seed {settings.seed}{most}"


def _about_numbers(numbers: Numbers) -> str:
    """What is known of the numbers to predict, in words."""
    known = numbers.values[numbers.known]
    low, middle, high = (numbers.text(float(value)) for value in np.quantile(known, [0, 0.5, 1]))
    return f"{numbers.name}, from {low} to {high}, median {middle}; {len(known):,} nodes have one"


def _label_warnings(graph: Graph, like: Graph | None) -> list[str]:
    """Classes with so few labeled nodes that a vote for them rests on chance."""
    if like is not None and not len(graph.train):
        return ["no node is labeled: nobody can vote; a table for prediction holds the labeled nodes, too"]
    if graph.predicts_numbers:
        return []
    counts = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    few = [(name, count) for name, count in zip(graph.class_names, counts.tolist()) if count < FEW_LABELED]
    if len(few) > MOST_CLASSES_WARNED:
        listed = ", ".join(f"{name!r} {count}" for name, count in few[:MOST_CLASSES_WARNED])
        start = (
            f"{len(few):,} of {graph.num_classes:,} classes have fewer than {FEW_LABELED} training rows ({listed}, and "
        )
        rest = f"{len(few) - MOST_CLASSES_WARNED:,} more)"
        return [f"{start}{rest}: a vote for them rests on chance; label more of them"]
    rows = [f"class {name!r} has {count} training {'row' if count == 1 else 'rows'}" for name, count in few]
    return [f"{one}: a vote for it rests on chance; label more of them, or empty these labels" for one in rows]
