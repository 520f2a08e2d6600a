"""What was understood of two tables, for people to look at before anything is trained."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from se_gnn.display.short_names import pad, shorten, width
from se_gnn.graph import UNKNOWN, Graph

WIDTH = 80
MOST_CLASSES = 12  # listed
LONGEST_NAME = 30  # of a column, in the list of columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """A column and what became of it."""

    name: str
    kind: str  # number, boolean, category, date, text, structure; id, label, split; "ignored" or "left out"
    num_features: int = 0
    missing: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What was understood of two tables.

    ``homophily`` is the share of the edges between nodes with a known label that join two of one class, and
    ``homophily_by_chance`` what it would be if the same ends were joined at random.
    """

    nodes_table: str
    edges_table: str
    num_nodes: int
    columns: tuple[ColumnSummary, ...]
    unused_edge_columns: tuple[str, ...]
    classes: dict[str, int]
    unlabeled: int
    split: str  # how it came about
    num_train: int
    num_val: int
    num_test: int
    edges_given: int
    edges_dangling: int
    edges_duplicate: int
    edges_reciprocal: int
    self_loops: int
    num_edges: int
    isolated: int
    degree_mean: float
    degree_max: int
    homophily: float | None
    homophily_by_chance: float | None
    num_features: int
    warnings: tuple[str, ...]
    directed: bool = False
    edge_columns: tuple[ColumnSummary, ...] = ()
    parallel: int = 0  # edges that have the same ends as one before them
    edges_later: int = 0  # left out: after the last date
    node_types: dict[str, int] | None = None  # where there are several

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)

    def to_json(self) -> str:
        """JSON, for programs."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [f"{self.nodes_table}: {self.num_nodes:,} nodes, {self.num_features:,} features from these columns:"]
        lines += _column_lines(self.columns)
        if self.node_types is not None:
            lines += _item("kinds", ", ".join(f"{kind}: {count:,}" for kind, count in self.node_types.items()))
        labeled = sum(self.classes.values())
        lines += _item("classes", _classes(self.classes, labeled))
        if self.unlabeled:
            lines += _item("unlabeled", f"{self.unlabeled:,} of {self.num_nodes:,} nodes")
        parts = f"{self.num_train:,} train, {self.num_val:,} val, {self.num_test:,} test; {self.split}"
        spare = labeled - self.num_train - self.num_val - self.num_test
        parts += f"; {spare:,} labeled nodes are in no part" if spare else ""
        lines += _item("split", parts)
        kind = "directed edges" if self.directed else "edges"
        lines += ["", f"{self.edges_table}: {self.edges_given:,} {kind} given, {self.num_edges:,} kept"]
        if self.edge_columns:
            lines += _column_lines(self.edge_columns)
        merged = (
            f"{self.edges_reciprocal:,} given in both directions, {self.edges_duplicate:,} given again; "
            f"{self.self_loops:,} self-loops removed"
        )
        lines += _item("merged", merged)
        if self.parallel:
            lines += _item("parallel", f"{self.parallel:,} have the same ends as another; all are kept")
        if self.edges_later:
            lines += _item("later", f"{self.edges_later:,} left out: after the last date")
        lines += _item("dangling", f"{self.edges_dangling:,} left out" if self.edges_dangling else "none")
        degree = f"{self.degree_mean:.1f} on average, at most {self.degree_max:,}; {self.isolated:,} isolated nodes"
        lines += _item("degree", degree)
        if self.homophily is not None and self.homophily_by_chance is not None:
            text = (
                f"{self.homophily:.1%} of the edges between labeled nodes join nodes of one class; by chance "
                f"{self.homophily_by_chance:.1%} would"
            )
            lines += _item("homophily", text)
        if self.unused_edge_columns:
            lines += _item("not used", ", ".join(self.unused_edge_columns))
        if self.warnings:
            lines += ["", "Warnings"]
            for warning in self.warnings:
                lines += textwrap.wrap(warning, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        return "\n".join(lines)


def homophily(graph: Graph) -> tuple[float, float] | tuple[None, None]:
    """Share of the edges between labeled nodes that join one class, and that share if the ends were shuffled."""
    labels = graph.labels[graph.edges.ends]  # [E, 2]
    known = labels[(labels != UNKNOWN).all(axis=1)]
    if not len(known):
        return None, None
    shares = np.bincount(known.ravel(), minlength=graph.num_classes) / known.size
    return float((known[:, 0] == known[:, 1]).mean()), float((shares**2).sum())


def _column_lines(columns: tuple[ColumnSummary, ...]) -> list[str]:
    name_width = min(LONGEST_NAME, max(width(column.name) for column in columns))
    kind_width = max(8, *(len(column.kind) for column in columns))
    lines = []
    for column in columns:
        said = [column.note] if column.note else []
        if column.num_features:
            said.insert(0, f"{column.num_features:,} feature{'s' if column.num_features > 1 else ''}")
        if column.missing:
            said.append(f"{column.missing:,} missing")
        start = f"  {pad(shorten(column.name, name_width), name_width)}  {column.kind:<{kind_width}}  "
        lines += textwrap.wrap(
            "; ".join(said) or "-", WIDTH, initial_indent=start, subsequent_indent=" " * width(start)
        )
    return lines


def _classes(classes: dict[str, int], labeled: int) -> str:
    most = sorted(classes.items(), key=lambda item: -item[1]) if len(classes) > MOST_CLASSES else list(classes.items())
    text = ", ".join(f"{name}: {count:,} ({count / max(1, labeled):.1%})" for name, count in most[:MOST_CLASSES])
    return text + (f", and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else "")


def _item(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12)
