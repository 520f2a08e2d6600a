"""A mapped graph from tables that do not fit into memory: what `se_gnn.tables.importer` has fitted, row by row.

Shapes: N nodes, F features.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, IntArray, dense
from se_gnn.graph.streaming import MOST, GraphWriter
from se_gnn.tables.features import raw_table
from se_gnn.tables.source import Table

ROWS_SHARE = 32  # a batch of rows takes about this part of the memory
FIXED_BYTES = 64  # per node, that are in memory all the time: ids, order, label, part, degrees
COLUMN_COPIES = 4  # of a column, while it is fitted
TEXTS = 1 << 16  # that are written at a time
BYTES_A_CELL = 64


def check_memory(tables: Iterable[Table], budget: int) -> None:
    """Refuse tables of which one column does not fit into memory, or the ids of all nodes."""
    for table in tables:
        needed = max(FIXED_BYTES * len(table) * (not table.of_edges), COLUMN_COPIES * table.largest_column)
        if len(table) > MOST:
            raise InputError(f"{table.name} must have at most {MOST:,} rows, got {len(table):,}")
        if needed > budget:
            raise InputError(
                f"max_memory must be at least {needed / 2**20:,.0f}M for {len(table):,} rows of {table.name}, whose "
                f"columns are fitted one at a time, got {budget / 2**20:,.0f}M"
            )


def rows_within(budget: int | None, bytes_a_row: int) -> int | None:
    """How many rows are read at a time within a budget; None: all of them."""
    return None if budget is None else max(1, budget // ROWS_SHARE // bytes_a_row)


def write_features(writer: GraphWriter, blocks: Iterable[Features], width: int, kind: str) -> None:
    """The features of nodes of one type, dense."""
    with writer.array("nodes.features", np.dtype(kind).str, (width,)) as matrix:
        for block in blocks:
            with np.errstate(over="ignore"):
                stored = dense(block).astype(kind)
            if not np.isfinite(stored).all():
                raise InputError(f"the features do not fit {kind}: store them as float32")
            matrix.append(stored)


def write_sparse_features(writer: GraphWriter, blocks: Iterable[sp.csr_array]) -> None:
    """The features of nodes of several types, most of which are 0."""
    last, name = 0, "nodes.features"
    with (
        writer.array(f"{name}.data") as data,
        writer.array(f"{name}.indices") as indices,
        writer.array(f"{name}.indptr") as indptr,
    ):
        indptr.append(np.zeros(1, np.int64))
        for block in blocks:
            data.append(block.data)
            indices.append(block.indices)
            indptr.append(block.indptr[1:].astype(np.int64) + last)
            last += block.nnz


def write_texts(writer: GraphWriter, name: str, arrays: Iterable[pa.Array]) -> None:
    """Names or captions, some at a time."""
    slices = (array.slice(low, TEXTS) for array in arrays for low in range(0, len(array), TEXTS))
    writer.texts(name, (block.to_pylist() for block in slices))


def row_digests(table: Table, names: Sequence[str], rows: IntArray) -> IntArray:
    """A number for each of some rows that is the same where all cells are, as they are shown."""
    total = np.zeros(len(rows), np.uint64)
    for place, name in enumerate(names):
        if name not in table.columns:
            continue
        cells = raw_table(table, [name])
        texts: Iterable[str] = cells.texts
        if pt.is_timestamp(table.column(name).type):  # other blocks may show the time of day
            texts = (re.sub(r" 00:00:00Z?$", "", text) for text in texts)
        known = [hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest() for text in texts]
        numbers = np.frombuffer(b"".join([*known, bytes(8)]), np.uint64)  # the last one is that of no value, code -1
        total = total * np.uint64(0x9E3779B97F4A7C15) + numbers[cells.codes[rows, 0]] + np.uint64(place)
    return total.view(np.int64)
