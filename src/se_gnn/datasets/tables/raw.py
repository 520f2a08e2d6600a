"""The rows of a node table as text, to be shown beside each other. Shapes: N rows, C columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from se_gnn.datasets.tables.read import Table
from se_gnn.graph import RawTable
from se_gnn.graph.columns import NO_TEXT
from se_gnn.graph.rows import Texts

LONGEST = 500  # characters of a cell that are kept
CUT = "..."


def raw_table(table: Table, names: Sequence[str]) -> RawTable:
    """Cells of some columns as they are read; long texts are cut, so that a graph does not become a library."""
    texts = [_texts(table.column(name)) for name in names]
    encoded = pa.concat_arrays(texts).dictionary_encode() if texts else pa.array([], pa.string()).dictionary_encode()
    codes = pc.fill_null(encoded.indices, NO_TEXT).to_numpy(zero_copy_only=False).astype(np.int32)
    return RawTable(
        columns=tuple(names),
        codes=np.ascontiguousarray(codes.reshape(len(names), len(table)).T),
        texts=Texts.of(encoded.dictionary.to_pylist()),
    )


def _texts(column: pa.ChunkedArray) -> pa.Array:
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pt.is_nested(kind) or pt.is_binary(kind) or pt.is_large_binary(kind):
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    if pt.is_floating(kind):
        column = pc.if_else(pc.is_nan(column), None, column)
    texts = column.cast(pa.string())
    if pt.is_timestamp(kind):  # a day is a day, and no one counts nanoseconds
        texts = pc.replace_substring_regex(texts, r"(\.\d*?)0+(Z?)$", r"\1\2")
        texts = pc.replace_substring_regex(texts, r"\.(Z?)$", r"\1")
        if pc.all(pc.match_substring_regex(texts, r" 00:00:00Z?$")).as_py() is not False:
            texts = pc.utf8_slice_codeunits(texts, 0, 10)
    texts = pc.utf8_trim_whitespace(texts.combine_chunks())
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    long = pc.greater(pc.utf8_length(texts), LONGEST)
    if pc.any(long).as_py():
        cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, LONGEST - len(CUT)), CUT, "")
        texts = pc.if_else(long, cut, texts)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
