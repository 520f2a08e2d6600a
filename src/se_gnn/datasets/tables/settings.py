"""How two tables are to be read: which columns are what, the split, and what to do where it is not clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from se_gnn.datasets.tables.edge_columns import EdgeSettings
from se_gnn.datasets.tables.values import Reading
from se_gnn.errors import InputError

MOST_TRAIN = 200  # of a class, in a drawn split
TEXT_WORDS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which columns are what; they are kept with an import."""

    id: str
    label: str
    source: str
    target: str
    split: str | None = None
    caption: str | None = None
    directed: bool = False
    edge_weight: str | None = None
    edge_type: str | None = None
    edge_time: str | None = None
    edge_ignore: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSettings:
    """What :func:`import_tables` has to know about two tables.

    Args:
        id: column of the node table that names the nodes, once each.
        label: column of the node table with the class; empty where it is not known.
        source: column of the edge table with one end.
        target: column of the edge table with the other end.
        split: column of the node table that says train, validation, test, calibration or nothing; None: it
            is drawn.
        split_by_time: column of the node table with a date, by which the earliest labeled nodes train, the next ones
            validate and the latest test; or ``edges``: the date of a node is that of its first edge.
        caption: column of the node table with what people see for a node; None: they see its id.
        train_share: share of the labeled nodes of each class that a drawn split gives to training.
        val_share: the same for validation.
        max_train: the most nodes of a class that a drawn split gives to training, and to validation: the time of a
            training grows with the square of the labeled nodes, and a class that is a hundred times as large as another
            would outvote it. Those beyond are in no part. None: no limit.
        seed: draws the split.
        ignore: columns of the node table to leave out.
        keep: columns to use as attributes although they look like keys.
        kinds: what a column is, where it is not understood right: number, boolean, category, date or text.
        text_words: the most words of a text column that become features.
        merge_classes: make one class of those that differ in capitals, spaces or the way a number is written.
        drop_dangling: leave out edges that name no node; else they are an error.
        separator: between the columns of CSV files; None: found out.
        decimal: decimal point in CSV files, ``.`` or ``,``.
        missing: words that mean "no value" in every column, besides the empty one.
        name: of the graph; None: that of the file.
        directed: an edge leads from its source to its target; else it has no direction.
        edge_weight: column of the edge table that says how much an edge counts, numbers above 0.
        edge_type: column of the edge table with the type of an edge.
        edge_time: column of the edge table with its date, or seconds since 1970.
        edge_ignore: columns of the edge table to leave out; all others are attributes of the edges.
        edge_kinds: what a column of the edge table is, where it is not understood right.
        until: leave out edges after this date, the last day included; needs ``edge_time``.
    """

    id: str
    label: str
    source: str = "source"
    target: str = "target"
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
    merge_classes: bool = False
    drop_dangling: bool = False
    separator: str | None = None
    decimal: str = "."
    missing: Sequence[str] = ()
    name: str | None = None
    directed: bool = False
    edge_weight: str | None = None
    edge_type: str | None = None
    edge_time: str | None = None
    edge_ignore: Sequence[str] = ()
    edge_kinds: Mapping[str, str] = field(default_factory=dict)
    until: str | None = None

    def __post_init__(self) -> None:
        train, val = self.train_share, self.val_share
        if not (train > 0 and val >= 0 and train + val <= 1):
            raise InputError(
                f"train_share must be above 0, val_share at least 0, and their sum at most 1, got {train} and {val}"
            )
        if self.max_train is not None and self.max_train < 1:
            raise InputError(f"max_train must be at least 1, got {self.max_train}")
        if self.text_words < 1:
            raise InputError(f"text_words must be at least 1, got {self.text_words}")
        if len(set(self.taken)) < len(self.taken):
            raise InputError(f"id, label and split must be different columns, got {', '.join(map(repr, self.taken))}")
        if self.source == self.target:
            raise InputError(f"source and target must be different columns, got {self.source!r} twice")
        if self.split is not None and self.split_by_time is not None:
            raise InputError("split and split_by_time are two ways to split: give one of them")
        if self.until is not None and self.edge_time is None:
            raise InputError(f"until {self.until!r} needs edge_time, the column of the edge table with the dates")
        both = next((name for name in self.keep if name in (*self.taken, *self.ignore)), None)
        if both is not None:
            raise InputError(f"keep must name attributes, but {both!r} is the id, the label, the split, or ignored")

    @property
    def taken(self) -> tuple[str, ...]:
        """Columns of the node table that are no attributes."""
        return tuple(name for name in (self.id, self.label, self.split) if name is not None)

    @property
    def roles(self) -> Roles:
        """Which columns are what."""
        return Roles(
            id=self.id,
            label=self.label,
            source=self.source,
            target=self.target,
            split=self.split,
            caption=self.caption,
            directed=self.directed,
            edge_weight=self.edge_weight,
            edge_type=self.edge_type,
            edge_time=self.edge_time,
            edge_ignore=tuple(self.edge_ignore),
        )

    @property
    def of_edges(self) -> EdgeSettings:
        """Which columns of the edge table are what."""
        return EdgeSettings(
            directed=self.directed,
            weight=self.edge_weight,
            type=self.edge_type,
            time=self.edge_time,
            ignore=self.edge_ignore,
            kinds=self.edge_kinds,
            reading=self.reading,
        )

    @property
    def reading(self) -> Reading:
        """How text is read."""
        return Reading(decimal=self.decimal, missing=frozenset(self.missing))
