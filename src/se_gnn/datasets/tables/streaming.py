"""A mapped graph from Parquet tables that do not fit the memory. Shapes: N nodes, F features.

The tables are read some rows at a time. Nodes have whole numbers for ids; every other column of the node table is a
number and becomes one feature, as it is. What has to be looked at to be encoded (text, dates, categories, missing
values) is for `se-gnn import`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from se_gnn.datasets.tables.read import Table, check_names
from se_gnn.datasets.tables.values import Reading, as_names
from se_gnn.errors import InputError
from se_gnn.files import commit_files, locked, read_file, remove_tree, visible_names, writing_to
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.split import PART_WORDS, PARTS
from se_gnn.graph.storage import HEADER, Facts, read_graph
from se_gnn.graph.streaming import MOST, GraphWriter
from se_gnn.graph.target import UNKNOWN
from se_gnn.optional import require

Kind = Literal["float32", "float16"]
WORK = ".importing"  # folder for what is not a graph yet
NAMES = 1 << 16  # ids that become names at a time
ROWS_SHARE = 32  # a batch of rows takes about this part of the memory
FIXED_BYTES = 64  # per node, that are in memory all the time: ids, order, label, part, degrees


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedTables:
    """Which columns of which tables make a mapped graph.

    Args:
        nodes: Parquet file with a row per node.
        edges: Parquet file with a row per edge.
        id: column with the id of a node, a whole number.
        source: column with the id of one end of an edge.
        target: column with the id of the other.
        label: column with the class, empty where it is not known; None: there is none.
        split: column with `train`, `validation`, `test` or `calibration`, or empty; None: every labeled
            node votes.
        kind: how features are stored.
    """

    nodes: Path
    edges: Path
    id: str = "id"
    source: str = "source"
    target: str = "target"
    label: str | None = None
    split: str | None = None
    kind: Kind = "float32"


def import_streaming(tables: StreamedTables, folder: Path, budget: int, *, name: str = "graph") -> Graph:
    """Write a mapped graph; ``budget`` is the memory to work within, in bytes.

    A graph appears in the folder when all of it is written and checked. What a kill leaves is no graph, and is removed
    by the next import into the folder.
    """
    with writing_to(folder) as out, locked(out):
        if any(name != WORK for name in visible_names(out)):
            raise InputError(f"{out} is not empty; name another folder")
        work = out / WORK
        remove_tree(work)
        work.mkdir()
        try:
            writer = GraphWriter(work)
            nodes = _Nodes.read(tables, writer, budget)
            pairs = _positions(tables, nodes.ids, budget)
            report = writer.edges(pairs, len(nodes.ids), budget - nodes.num_bytes)
            facts = Facts(
                name=name,
                mapped=True,
                num_features=len(nodes.features),
                class_names=tuple(nodes.classes),
                feature_names=tuple(nodes.features),
                merged=report,
            )
            commit_files(out, writer.files(facts))
        finally:
            remove_tree(work)
        return read_graph(out, read_file(out / HEADER), just_written=True)


@dataclass(frozen=True, slots=True)
class _Nodes:
    ids: IntArray
    classes: list[str]
    features: list[str]

    @property
    def num_bytes(self) -> int:
        return 8 * len(self.ids)

    @classmethod
    def read(cls, tables: StreamedTables, writer: GraphWriter, budget: int) -> _Nodes:
        file = _open(tables.nodes)
        features = _feature_columns(file, tables)
        num_nodes = file.metadata.num_rows
        _check_sizes(num_nodes, len(features), budget)
        ids, labels = np.empty(num_nodes, np.int64), np.full(num_nodes, UNKNOWN, np.int64)
        parts, low = np.zeros(num_nodes, np.int8), 0
        classes: dict[str, int] = {}
        step = max(1, budget // ROWS_SHARE // (8 * (len(features) + 4)))
        with writer.array("nodes.features", np.dtype(tables.kind).str, (len(features),)) as matrix:
            for batch in _batches(file, tables.nodes, step):
                rows = slice(low, low + batch.num_rows)
                ids[rows] = _whole_numbers(batch, tables.id, tables.nodes)
                matrix.append(_numbers(batch, features, tables, low))
                if tables.label is not None:
                    labels[rows] = _codes(batch.column(tables.label), tables.label, tables.nodes, classes)
                if tables.split is not None:
                    parts[rows] = _split_codes(batch.column(tables.split), tables)
                low = rows.stop
        _release()
        names = sorted(classes)
        ranks = {name: rank for rank, name in enumerate(names)}
        place = np.array([ranks[one] for one in classes] + [UNKNOWN], np.int64)  # the last one is that of -1
        labels = place[labels]
        if tables.split is None:
            parts[labels != UNKNOWN] = 1
        _check_unique(ids, tables)
        _check_labeled(labels, parts, ids)
        writer.texts("nodes.names", (map(str, ids[low : low + NAMES].tolist()) for low in range(0, num_nodes, NAMES)))
        writer.put("labels", labels)
        for code, part in enumerate(PARTS, start=1):
            writer.put(f"split.{part}", np.flatnonzero(parts == code))
        return cls(ids, names, features)


def _positions(tables: StreamedTables, ids: IntArray, budget: int) -> Iterator[IntArray]:
    """Ends of the edges as positions of nodes, some edges at a time."""
    file = _open(tables.edges)
    for column in (tables.source, tables.target):
        _check_column(file, column, tables.edges)
    numbered = bool((ids == np.arange(len(ids))).all())
    order = None if numbered else np.argsort(ids, kind="stable")
    known = ids if order is None else ids[order]
    step, row = max(1, budget // ROWS_SHARE // 64), 0
    for batch in _batches(file, tables.edges, step, columns=[tables.source, tables.target]):
        columns = [_whole_numbers(batch, column, tables.edges) for column in (tables.source, tables.target)]
        given = np.stack(columns, axis=1)
        places = given if numbered else np.minimum(np.searchsorted(known, given), len(ids) - 1)
        wrong = (given < 0) | (given >= len(ids)) if numbered else known[places] != given
        if wrong.any():
            at = np.argwhere(wrong)[0]
            raise InputError(
                f"edge {row + int(at[0]):,} of {tables.edges} names node {given[tuple(at)]}, which {tables.nodes} does "
                "not have"
            )
        yield places if order is None else order[places]
        row += len(given)
    _release()


def _release() -> None:
    """Let Arrow give back the memory of the batches that were read."""
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")
    arrow.default_memory_pool().release_unused()


def _open(path: Path) -> Any:
    parquet: Any = require("pyarrow.parquet", extra="tables", feature="Parquet files")
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")
    if not path.exists():
        raise InputError(f"{path} is missing")
    if not path.is_file():
        raise InputError(f"{path} must be one Parquet file, not a folder or a pipe")
    try:
        file = parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
    except (OSError, arrow.ArrowException) as error:
        raise InputError(f"{path} cannot be read as Parquet: {error}") from error
    check_names(file.schema_arrow.names, str(path))
    return file


def _batches(file: Any, path: Path, rows: int, **options: Any) -> Iterator[Any]:
    """The rows of a file, some at a time, each checked by Arrow."""
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")
    batches = file.iter_batches(batch_size=rows, **options)
    while True:
        try:
            batch = next(batches, None)
            if batch is not None:
                batch.validate(full=True)  # texts that are no UTF-8, and what else Parquet does not check
        except (OSError, arrow.ArrowException) as error:
            raise InputError(f"{path} is damaged: {error}") from error
        if batch is None:
            return
        yield batch


def _feature_columns(file: Any, tables: StreamedTables) -> list[str]:
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")
    named = [name for name in (tables.id, tables.label, tables.split) if name is not None]
    for name in named:
        _check_column(file, name, tables.nodes)
    features = []
    for column in file.schema_arrow:
        if column.name in named:
            continue
        kind = column.type
        if not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_boolean(kind)):
            raise InputError(
                f"column {column.name!r} of {tables.nodes} is {kind}: features of a mapped graph are numbers; `se-gnn "
                "import` encodes other columns, where the table fits the memory"
            )
        features.append(column.name)
    if not features:
        raise InputError(f"{tables.nodes} has no column besides {', '.join(named)}: there must be a feature")
    return features


def _check_column(file: Any, name: str, path: Path) -> None:
    known = file.schema_arrow.names
    if name not in known:
        raise InputError(f"{path} has no column {name!r}; it has {', '.join(known[:8])}")


def _check_sizes(num_nodes: int, num_features: int, budget: int) -> None:
    if not 0 < num_nodes <= MOST:
        raise InputError(f"a mapped graph must have between 1 and {MOST:,} nodes, got {num_nodes:,}")
    needed = FIXED_BYTES * num_nodes
    if needed > budget:
        raise InputError(
            f"max_memory must be at least {needed / 2**20:,.0f}M for {num_nodes:,} nodes, got {budget / 2**20:,.0f}M"
        )


def _whole_numbers(batch: Any, name: str, path: Path) -> IntArray:
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")
    column = batch.column(name)
    if not arrow.types.is_integer(column.type) or column.null_count:
        what = f"{column.null_count} empty cells" if column.null_count else str(column.type)
        raise InputError(f"column {name!r} of {path} must hold whole numbers, got {what}: number the nodes from 0")
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == np.uint64 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise InputError(f"column {name!r} of {path} must hold whole numbers below 2^63, got {values.max()}")
    return np.asarray(values, dtype=np.int64)


def _numbers(batch: Any, features: list[str], tables: StreamedTables, row: int) -> Any:
    block = np.empty((batch.num_rows, len(features)), tables.kind)
    for place, name in enumerate(features):
        with np.errstate(over="ignore"):
            block[:, place] = batch.column(name).to_numpy(zero_copy_only=False)
    bad = np.argwhere(~np.isfinite(block))
    if len(bad):
        raise InputError(
            f"column {features[bad[0, 1]]!r} of {tables.nodes} must hold finite numbers that fit {tables.kind}: row "
            f"{row + int(bad[0, 0]):,} does not"
        )
    return block


def _codes(column: Any, name: str, path: Path, classes: dict[str, int]) -> IntArray:
    """The class of each row by the order in which classes are met; -1 where it is empty."""
    names, positions = _named(column, name, path)
    place = [UNKNOWN if value is None else classes.setdefault(value, len(classes)) for value in names]
    found: IntArray = np.array([*place, UNKNOWN], np.int64)[positions]
    return found


def _named(column: Any, name: str, path: Path) -> tuple[list[str | None], IntArray]:
    """The distinct values of some rows, called as `se-gnn import` calls them, and which of them each row has."""
    arrow: Any = require("pyarrow", extra="tables", feature="Parquet files")

    def called(values: Any) -> list[str | None]:
        table = Table(str(path), arrow.table({name: values}), (name,))
        names: list[str | None] = as_names(table, name, Reading()).to_pylist()
        return names

    called(column.slice(0, 0))  # refuses lists and the like
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary
    if arrow.types.is_floating(distinct.type):  # in another batch 1.0 may be alone, and be called 1
        numbers = distinct.to_numpy(zero_copy_only=False)
        broken = numbers[~np.isnan(numbers) & (np.floor(numbers) != numbers)]
        if len(broken):
            raise InputError(f"column {name!r} of {path} must hold names, got {broken[0]}: store such numbers as text")
    return called(distinct), encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)


def _split_codes(column: Any, tables: StreamedTables) -> Any:
    names, positions = _named(column, str(tables.split), tables.nodes)
    for value in names:
        if value is not None and value.strip().lower() not in PART_WORDS:
            raise InputError(
                f"column {tables.split!r} of {tables.nodes} must be {', '.join(PARTS)} or empty, got {value!r}"
            )
    place = [0 if value is None else 1 + PARTS.index(PART_WORDS[value.strip().lower()]) for value in names]
    return np.array([*place, 0], np.int8)[positions]


def _check_unique(ids: IntArray, tables: StreamedTables) -> None:
    ordered = np.sort(ids)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        raise InputError(
            f"column {tables.id!r} of {tables.nodes} must have each id once, got {ordered[twice[0]]} twice"
        )


def _check_labeled(labels: IntArray, parts: Any, ids: IntArray) -> None:
    missing = np.flatnonzero((parts > 0) & (labels == UNKNOWN))
    if len(missing):
        raise InputError(f"nodes of the split must have a class; node {ids[missing[0]]} has none")
    if not (parts == 1).any():
        raise InputError("at least one node must be labeled and in the part train: labeled nodes are those that vote")
