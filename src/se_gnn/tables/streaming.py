"""A mapped graph from tables that do not fit into memory: what `se_gnn.tables.importer` has fitted, row by row.

Shapes: N nodes, F features.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.streaming import MOST, GraphWriter
from se_gnn.tables.features import raw_table
from se_gnn.tables.source import Table

ROWS_SHARE = 32  # a batch of rows takes about this part of the memory
FIXED_BYTES = 64  # per node, that are in memory all the time: ids, order, label, part, degrees
COLUMN_COPIES = 4  # of a column, while it is fitted
TEXTS = 1 << 16  # that are written at a time
BYTES_A_CELL = 64

Encode = Callable[[Table], Features]


def check_memory(tables: Iterable[Table], budget: int) -> None:
    """Refuse tables of which one column does not fit into memory, or the ids of all nodes."""
    for table in tables:
        groups = [table.file.metadata.row_group(i) for i in range(table.file.metadata.num_row_groups)]
        sizes = [sum(group.column(i).total_uncompressed_size for group in groups) for i in range(len(table.columns))]
        needed = max([FIXED_BYTES * len(table) * (not table.of_edges), *(COLUMN_COPIES * size for size in sizes)])
        if len(table) > MOST:
            raise InputError(f"{table.name} must have at most {MOST:,} rows, got {len(table):,}")
        if needed > budget:
            raise InputError(
                f"max_memory must be at least {needed / 2**20:,.0f}M for {len(table):,} rows of {table.name}, whose "
                f"columns are fitted one at a time, got {budget / 2**20:,.0f}M"
            )


def write_features(writer: GraphWriter, table: Table, encode: Encode, width: int, budget: int, kind: str) -> None:
    """The features of nodes of one type, as they are."""
    with writer.array("nodes.features", np.dtype(kind).str, (width,)) as matrix:
        for block in _encoded(table, encode, width, budget):
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            with np.errstate(over="ignore"):
                stored = dense.astype(kind)
            if not np.isfinite(stored).all():
                raise InputError(f"features of {table.name} do not fit {kind}: store them as float32")
            matrix.append(stored)


def write_typed_features(
    writer: GraphWriter, given: Sequence[tuple[Table, Encode, int]], marks: Sequence[float] | None, budget: int
) -> None:
    """The features of several types of nodes: a mark of the type and a block for each, zeros elsewhere.

    Args:
        writer: of the graph.
        given: the table of each type, how it is encoded, and the number of its features.
        marks: what marks each type; None: the root mean square length of its rows, as `se_gnn.tables.node_types` says.
        budget: bytes of memory.
    """
    first, last, name = 0, 0, "nodes.features"
    with (
        writer.array(f"{name}.data") as data,
        writer.array(f"{name}.indices") as indices,
        writer.array(f"{name}.indptr") as indptr,
    ):
        indptr.append(np.zeros(1, np.int64))
        for number, (table, encode, width) in enumerate(given):
            mark = _mean_length(table, encode, width, budget) if marks is None else marks[number]
            for own in _encoded(table, encode, width, budget):
                marked = [sp.csr_array(np.full((own.shape[0], 1), mark, np.float32)), sp.csr_array(own)]
                block = sp.csr_array(sp.hstack(marked, format="csr"))
                data.append(block.data)
                indices.append(block.indices + first)
                indptr.append(block.indptr[1:].astype(np.int64) + last)
                last += block.nnz
            first += 1 + width


def _mean_length(table: Table, encode: Encode, width: int, budget: int) -> float:
    square = 0.0
    for own in _encoded(table, encode, width, budget) if width else ():
        square += float(np.square(own if isinstance(own, np.ndarray) else own.data, dtype=np.float64).sum())
    return math.sqrt(square / len(table)) or 1.0


def _encoded(table: Table, encode: Encode, width: int, budget: int) -> Iterator[Features]:
    step = max(1, budget // ROWS_SHARE // (8 * (width + 4) + BYTES_A_CELL * len(table.columns)))
    for block in table.blocks(step):
        yield encode(block)


def write_texts(writer: GraphWriter, name: str, arrays: Iterable[pa.Array]) -> None:
    """Names or captions, some at a time."""
    slices = (array.slice(low, TEXTS) for array in arrays for low in range(0, len(array), TEXTS))
    writer.texts(name, (block.to_pylist() for block in slices))


def row_digests(table: Table, names: Sequence[str], rows: IntArray) -> IntArray:
    """A number for each of some rows that is the same where all cells are, as they are shown."""
    total = np.zeros(len(rows), np.uint64)
    for place, name in enumerate(names):
        cells = raw_table(table, [name])
        known = [hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest() for text in cells.texts]
        numbers = np.frombuffer(b"".join([*known, bytes(8)]), np.uint64)  # the last one is that of no value, code -1
        total = total * np.uint64(0x9E3779B97F4A7C15) + numbers[cells.codes[rows, 0]] + np.uint64(place)
    return total.view(np.int64)
