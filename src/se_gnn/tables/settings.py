"""How tables are to be read, and what was understood of them, for people to look at before anything is trained."""

from __future__ import annotations

import dataclasses
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from se_gnn.display.text import pad, shorten, width
from se_gnn.errors import InputError

ABOUT = "import.json"  # the record of an import, in the folder of its graph
MOST_TRAIN = 1000  # of a class, in a drawn split
TEXT_WORDS = 500
FIRST_EDGE = "edges"  # in place of a column: the date of a node is that of its first edge
WIDTH = 80
MOST_CLASSES = 12  # listed
LONGEST_NAME = 30  # of a column, in the list of columns


def is_import_file(name: str) -> bool:
    """Whether a file of a folder belongs to an import, by its name, besides those of its graph.

    >>> [is_import_file(name) for name in ("import.json", "nodes.parquet", "edges.1.parquet", "old.parquet")]
    [True, True, True, False]
    """
    return name == ABOUT or re.fullmatch(r"(nodes|edges)(\.\d+)?\.parquet", name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSettings:
    """What :func:`read_tables` has to know about tables; a setting that names a column is for every table that has it.

    Args:
        id: column of the node table that names the nodes, once each; with several types of nodes also the column of
            each type.
        label: column of the node table with the class; empty where it is not known.
        target_number: instead of a label, the column with the number to predict; empty where it is not known.
        unit: of that number, as people write it behind: ``USD``.
        source: column of the edge table with one end; if each edge type has a table, also the column of each type.
        target: column of the edge table with the other end.
        split: column of the node table that says train, validation, test, calibration or nothing; None: it
            is drawn.
        split_by_time: column of the node table with a date, by which the earliest labeled nodes train, the next ones
            validate and the latest test; or ``edges``: the date of a node is that of its first edge.
        caption: column of the node table with what people see for a node; None: they see its id. It is for display
            only: nothing is learned from it unless ``keep`` names it, too.
        train_share: share of the labeled nodes of each class that a drawn split gives to training.
        val_share: the same for validation.
        max_train: the most nodes of a class that a drawn split gives to training: time and memory grow with the number
            of cases. If it is given, at most 1,000 nodes of all classes together validate. Those beyond are in no part.
            None: no limit.
        seed: draws the split.
        ignore: columns of the node table to leave out.
        keep: columns to use as attributes although they look like keys.
        kinds: what a column is, where it is not understood right: number, boolean, category, date or text.
        text_words: the most words of a text column that become features.
        name_types: distinguish nodes of unlabeled types by their names as well as their attributes (at most 10,000 of a
            type): two papers by the same author are alike. Only with several node types.
        merge_classes: make one class of those that differ in capitals, spaces or the way a number is written.
        drop_dangling: leave out edges that name no node; else they are an error.
        separator: between the columns of CSV files; None: detected.
        encoding: of CSV files, as cp1252; None: detected.
        decimal: decimal point in CSV files, ``.`` or ``,``; None: detected for each file.
        missing: words that mean "no value" in every column, besides the empty one.
        name: of the graph; None: that of the file.
        directed: an edge leads from its source to its target; else it has no direction.
        edge_weight: column of the edge table that says how much an edge counts, numbers above 0.
        edge_type: column of the edge table with the type of an edge.
        edge_time: column of the edge table with its date, or seconds since 1970.
        edge_ignore: columns of the edge table to leave out; all others are attributes of the edges.
        edge_kinds: what a column of the edge table is, where it is not understood right.
        until: leave out edges after this date, the last day included; needs ``edge_time``.
        feature_type: how the features of tables that do not fit into memory are stored, float32 or float16.
    """

    id: str | Mapping[str, str]
    label: str = ""
    target_number: str | None = None
    unit: str = ""
    source: str | Mapping[str, str] = "source"
    target: str | Mapping[str, str] = "target"
    split: str | None = None
    split_by_time: str | None = None
    caption: str | None = None
    train_share: float = 0.6
    val_share: float = 0.2
    max_train: int | None = MOST_TRAIN
    seed: int = 0
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    text_words: int = TEXT_WORDS
    name_types: bool = True
    merge_classes: bool = False
    drop_dangling: bool = False
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    missing: Sequence[str] = ()
    name: str | None = None
    directed: bool = False
    edge_weight: str | None = None
    edge_type: str | None = None
    edge_time: str | None = None
    edge_ignore: Sequence[str] = ()
    edge_kinds: Mapping[str, str] = field(default_factory=dict)
    until: str | None = None
    feature_type: str = "float32"

    def __post_init__(self) -> None:
        for name in ("ignore", "keep", "missing", "edge_ignore"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if bool(self.label) == (self.target_number is not None) and self.label != self.target_number:
            raise InputError("label must name the column with the class, or target_number the one with the number")
        if self.target_number is not None:
            object.__setattr__(self, "label", self.target_number)
        elif self.unit:
            raise InputError(f"unit = {self.unit!r} is that of a number: name its column with target_number")
        train, val = self.train_share, self.val_share
        if not (train > 0 and val >= 0 and train + val <= 1):
            raise InputError(
                f"train_share must be above 0, val_share at least 0, and their sum at most 1, got {train} and {val}"
            )
        if self.max_train is not None and self.max_train < 1:
            raise InputError(f"max_train must be at least 1, got {self.max_train}")
        if self.text_words < 1:
            raise InputError(f"text_words must be at least 1, got {self.text_words}")
        if self.feature_type not in ("float32", "float16"):
            raise InputError(f"feature_type must be float32 or float16, got {self.feature_type!r}")
        if self.source == self.target:
            raise InputError(f"source and target must be different columns, got {self.source!r} twice")
        if self.split is not None and self.split_by_time is not None:
            raise InputError("split and split_by_time are two ways to split: give one of them")
        if self.until is not None and self.edge_time is None:
            raise InputError(f"until {self.until!r} needs edge_time, the column of the edge table with the dates")
        for type_name in ("",) if isinstance(self.id, str) else self.id:
            taken = self.taken(type_name)
            if len(set(taken)) < len(taken):
                raise InputError(f"id, label and split must be different columns, got {', '.join(map(repr, taken))}")
            both = next((name for name in self.keep if name in (*taken, *self.ignore)), None)
            if both is not None:
                raise InputError(f"keep must name attributes, but {both!r} is the id, the label, the split, or ignored")
        named = [name for name in (self.edge_weight, self.edge_type, self.edge_time) if name is not None]
        if len(set(named)) < len(named):
            raise InputError(f"weight, type and time of an edge must be different columns, got {named}")
        both = next((name for name in named if name in self.edge_ignore), None)
        if both is not None:
            raise InputError(f"column {both!r} of the edges cannot be ignored: it is the weight, the type or the time")

    def id_of(self, type_name: str) -> str:
        """The id column of one type of nodes."""
        return _column_of("id", self.id, type_name)

    def ends_of(self, type_name: str) -> tuple[str, str]:
        """The columns with the two ends of the edges of one type."""
        return _column_of("source", self.source, type_name), _column_of("target", self.target, type_name)

    def taken(self, type_name: str = "") -> tuple[str, ...]:
        """Columns of a node table that are not attributes."""
        return tuple(name for name in (self.id_of(type_name), self.label, self.split) if name is not None)

    def attributes(self, columns: Sequence[str], type_name: str, *, labeled: bool) -> list[str]:
        """Columns of a node table that become features."""
        taken = self.taken(type_name) if labeled else (self.id_of(type_name),)
        shown_only = () if self.caption in (*self.keep, *self.kinds) else (self.caption,)
        return [name for name in columns if name not in (*taken, *self.ignore, *shown_only)]

    @property
    def roles(self) -> dict[str, str]:
        """Which column is what, as a graph remembers it for new nodes."""
        found: dict[str, str] = {}
        for role in ("id", "caption", "label", "split", "source", "target"):
            given = getattr(self, role)
            if isinstance(given, Mapping):
                found |= {f"{role} of {name}": column for name, column in given.items()}
            elif given is not None:
                found[role] = given
        return found


def _column_of(role: str, given: str | Mapping[str, str], type_name: str) -> str:
    """The column that has a role in the table of a type."""
    if isinstance(given, str):
        return given
    if type_name not in given:
        raise InputError(f"{role} must name a column for each type, but has none for {type_name!r}")
    return given[type_name]


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
    """What was understood of the tables of nodes and edges.

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
    number: str | None = None  # what is known of the number to predict; None: classes are predicted
    suggestion: str = ""  # options with which edges would carry more

    def to_json(self) -> str:
        """JSON, for programs."""
        return json.dumps(dataclasses.asdict(self), indent=2, allow_nan=False, ensure_ascii=False)

    def __str__(self) -> str:
        labeled = self.num_nodes - self.unlabeled if self.number else sum(self.classes.values())
        spare = labeled - self.num_train - self.num_val - self.num_test
        parts = f"{self.num_train:,} train, {self.num_val:,} val, {self.num_test:,} test; {self.split}"
        isolated = f"{self.isolated:,} isolated {'node' if self.isolated == 1 else 'nodes'}"
        homophily = ""
        if self.homophily is not None and self.homophily_by_chance is not None:
            homophily = f"{self.homophily:.1%} of the edges between labeled nodes join nodes of one class; "
            homophily += f"{self.homophily_by_chance:.1%} expected by chance"
        of_nodes = {
            "types": ", ".join(f"{kind}: {count:,}" for kind, count in (self.node_types or {}).items()),
            "number" if self.number else "classes": self.number or _classes(self.classes, labeled),
            "unlabeled": f"{self.unlabeled:,} of {self.num_nodes:,} nodes" if self.unlabeled else "",
            "split": parts + (f"; {spare:,} labeled nodes are not used by the split" if spare else ""),
        }
        of_edges = {
            "merged": f"{self.edges_reciprocal:,} given in both directions, {self.edges_duplicate:,} given again; "
            f"{self.self_loops:,} self-loops removed",
            "parallel": f"{self.parallel:,} have the same ends as another; all are kept" if self.parallel else "",
            "later": f"{self.edges_later:,} left out: after the last date" if self.edges_later else "",
            "dangling": f"{self.edges_dangling:,} left out" if self.edges_dangling else "none",
            "degree": f"{self.degree_mean:.1f} on average, at most {self.degree_max:,}; {isolated}",
            "homophily": homophily,
            "not used": ", ".join(self.unused_edge_columns),
        }
        kind = "directed edges" if self.directed else "edges"
        lines = [
            f"{self.nodes_table}: {self.num_nodes:,} nodes, {self.num_features:,} features from these columns:",
            *_column_lines(self.columns),
            *_items(of_nodes),
            "",
            f"{self.edges_table}: {self.edges_given:,} {kind} given, {self.num_edges:,} kept",
            *_column_lines(self.edge_columns),
            *_items(of_edges),
        ]
        if self.warnings:
            lines += ["", "Warnings"]
            for warning in self.warnings:
                lines += textwrap.wrap(warning, WIDTH, initial_indent="  - ", subsequent_indent="    ")
        if self.suggestion:
            lines += ["", "The columns of the edges could say more, which often helps. Try", f"  {self.suggestion}"]
        return "\n".join(lines)


def _column_lines(columns: tuple[ColumnSummary, ...]) -> list[str]:
    name_width = min(LONGEST_NAME, max((width(column.name) for column in columns), default=0))
    kind_width = max(8, *(len(column.kind) for column in columns), 0)
    lines = []
    for column in columns:
        notes = [column.note] if column.note else []
        if column.num_features:
            notes.insert(0, f"{column.num_features:,} feature{'s' if column.num_features > 1 else ''}")
        if column.missing:
            notes.append(f"{column.missing:,} missing")
        start = f"  {pad(shorten(column.name, name_width), name_width)}  {column.kind:<{kind_width}}  "
        lines += textwrap.wrap(
            "; ".join(notes) or "-", WIDTH, initial_indent=start, subsequent_indent=" " * width(start)
        )
    return lines


def _classes(classes: dict[str, int], labeled: int) -> str:
    most = sorted(classes.items(), key=lambda item: -item[1]) if len(classes) > MOST_CLASSES else list(classes.items())
    text = ", ".join(f"{name}: {count:,} ({count / max(1, labeled):.1%})" for name, count in most[:MOST_CLASSES])
    return text + (f", and {len(classes) - MOST_CLASSES} more" if len(classes) > MOST_CLASSES else "")


def _items(texts: dict[str, str]) -> list[str]:
    """A line or more for each text that is not empty, after its label."""
    wrapped = (
        textwrap.wrap(text, WIDTH, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12)
        for label, text in texts.items()
    )
    return [line for lines in wrapped for line in lines]
