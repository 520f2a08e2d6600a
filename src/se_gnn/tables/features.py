"""Columns as features: fitted on all rows of a table, without a look at the labels, and applied to later tables.

Shapes: N rows, F features.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.graph import RawTable
from se_gnn.graph.arrays import Features, IntArray, dense
from se_gnn.graph.columns import NO_TEXT, BooleanColumn, CategoryColumn, Column, DateColumn, NumberColumn, TextColumn
from se_gnn.graph.rows import Texts
from se_gnn.tables.node_types import SPARSE_BELOW
from se_gnn.tables.settings import ColumnSummary
from se_gnn.tables.source import Table
from se_gnn.tables.values import Parsed, check_kinds, is_key, parse_column

MOST_CATEGORIES = 50
SPARSE_FROM = 100  # features of a column of categories, which are then names of nodes
RARE = 0.001  # share of the rows below which a category has no feature of its own
KEY = "a key: another whole number in nearly every row"
NAMES_ROWS = "nearly unique, so treated as an identifier"
HEAVY_TAIL = 6.0  # standard deviations from the mean beyond which numbers are compared by their magnitude
FARTHEST = 1e9  # standard deviations from the mean that a feature says
SMALLEST = 1e-30
GIVES_AWAY = 0.99  # balanced accuracy of a small tree on rows that it has not seen
FOLDS = 3
FEWEST_ROWS = 5  # of a class, for a score that means anything
LEAKING_CORRELATION = 0.999  # of a column with the number to predict
MOST_ROWS = 20_000
LONGEST_CELL = 500  # characters that are kept
CUT = "..."


@dataclass(frozen=True, slots=True, eq=False)
class FittedColumns:
    """The columns of a table that became features, and what people should know about all of them."""

    columns: tuple[Column, ...] = ()
    summaries: tuple[ColumnSummary, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of features."""
        return sum(column.size for column in self.columns)


def fit_columns(
    table: Table,
    names: Sequence[str],
    *,
    kinds: Mapping[str, str],
    keep: Sequence[str] = (),
    text_words: int,
    rows: IntArray | None = None,
) -> FittedColumns:
    """Fit an encoding of each column that says something about a row; there may be none.

    ``kinds`` are those of columns that are not understood right, columns to ``keep`` may look like keys, and ``rows``
    are those that are fitted on; None: all.
    """
    check_kinds(table, kinds, names)
    columns: list[Column] = []
    summaries: list[ColumnSummary] = []
    warnings: list[str] = []
    of = "edge column" if table.of_edges else "column"
    for name in names:
        parsed = parse_column(table, name, kind=kinds.get(name))
        if table.data is None and parsed.kind == "text":
            raise InputError(
                f"{table.name}, column {name!r} is text, whose words are counted in memory, and the table does not fit "
                f"there: leave it out: {table.option(name, 'ignore')}, or raise SE_GNN_MAX_MEMORY"
            )
        parsed = parsed if rows is None else parsed.take(rows)
        missing = int(parsed.missing.sum())
        if parsed.note:
            warnings.append(f"{of} {name!r}: {parsed.note}")
        first = sum(column.size for column in columns)
        column = fit_column(name, parsed, first, text_words=text_words, keep=name in keep or name in kinds)
        if isinstance(column, str):
            summaries.append(ColumnSummary(name=name, kind="left out", missing=missing, note=column))
            if not table.of_edges:
                how = f"; {table.option(name, 'keep')} uses it as an attribute" if column in (KEY, NAMES_ROWS) else ""
                warnings.append(f"{of} {name!r} is left out: {column}{how}")
            continue
        columns.append(column)
        summaries.append(_summary(column, parsed))
    return FittedColumns(tuple(columns), tuple(summaries), tuple(warnings))


def known_columns(table: Table, columns: Sequence[Column]) -> FittedColumns:
    """Columns that were fitted on an earlier table, with what people should know about those of this one."""
    parsed = [_parse_known(table, column) for column in columns]
    warnings = []
    for column, missing in zip(columns, (int(one.missing.sum()) for one in parsed)):
        if missing and not column.marked:
            numbers = column.kind in ("number", "boolean", "date")
            filled = "filled with the mean" if numbers else "without a category or a word"
            why = f"but none in the rows that the encoding was fitted on: {filled}, unmarked"
            warnings.append(f"column {column.name!r}: {missing:,} missing values, {why}")
    return FittedColumns(tuple(columns), tuple(map(_summary, columns, parsed)), tuple(warnings))


def encode_columns(table: Table, columns: Sequence[Column], rows: IntArray | None = None) -> Features:
    """Features of the rows of a table, or of some of them, [N, F]; nothing is fitted."""
    blocks = []
    for column in columns:
        parsed = _parse_known(table, column)
        blocks.append(encode_column(column, parsed if rows is None else parsed.take(rows)))
    return join_features(blocks, len(table) if rows is None else len(rows))


def _parse_known(table: Table, column: Column) -> Parsed:
    """A column as its encoding was fitted: of that kind, written in that way."""
    known = getattr(column, "decimal_point", table.decimal_of(column.name))
    pattern = column.pattern if isinstance(column, DateColumn) else None
    return parse_column(table, column.name, kind=column.kind, pattern=pattern, decimal=known)


def number_leaks(columns: Sequence[Column], features: Features, values: Any) -> list[str]:
    """Columns that are the number to predict in another form, by the features and values of training rows."""
    if not isinstance(features, np.ndarray) or len(values) < FEWEST_ROWS:
        return []
    centered = features - features.mean(axis=0, dtype=np.float64)
    lengths = np.sqrt((centered**2).sum(axis=0)) * np.linalg.norm(values - values.mean())
    correlation = np.abs(centered.T @ (values - values.mean())) / np.where(lengths > 0, lengths, np.inf)
    return [
        f"column {column.name!r} nearly is the number to predict (correlation {correlation[column.first]:.4f}): if it "
        f"is not known when you predict, leave it out with --column {column.name}=ignore"
        for column in columns
        if correlation[column.first] > LEAKING_CORRELATION
    ]


def fit_column(name: str, parsed: Parsed, first: int, *, text_words: int, keep: bool = False) -> Column | str:
    """The encoding of a column, from all rows; or why it says nothing about a node."""
    if not keep and (parsed.identifier or is_key(parsed)):
        return KEY if parsed.kind == "number" else NAMES_ROWS
    present = ~parsed.missing
    if not present.any():
        return "no value in any row"
    marked = bool(parsed.missing.any())
    place: dict[str, Any] = {"name": name, "first": first, "marked": marked}
    if parsed.texts is not None:
        texts = parsed.texts.filter(pa.array(present))
        return _fit_text(texts, place, text_words) if parsed.kind == "text" else _fit_category(texts, place)
    assert parsed.numbers is not None
    values = parsed.numbers[present]
    if values.min() == values.max() and not marked:
        return "the same value in all rows"
    place |= {"size": 1 + marked, **parsed.details}
    if parsed.kind == "boolean":
        return BooleanColumn(**place, fill=float(values.mean()))
    if parsed.kind == "date":
        return DateColumn(**place, **standardization(values))
    heavy = np.abs(values - values.mean()).max() > HEAVY_TAIL * values.std() > 0
    log_unit = max(SMALLEST, float(np.median(np.abs(values[values != 0])))) if heavy else None
    column = NumberColumn(**place, offset=0.0, scale=1.0, log_unit=log_unit)
    return dataclasses.replace(column, **standardization(column.encode(values)))


def standardization(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The offset and the scale that bring values to mean 0 and variance 1."""
    offset, spread = float(values.mean()), float(values.std())
    return {"offset": offset, "scale": spread if spread > max(SMALLEST, 1e-12 * abs(offset)) else 1.0}


def _fit_category(values: pa.Array, place: dict[str, Any]) -> Column | str:
    counts = pc.value_counts(values)
    names, numbers = counts.field("values").to_pylist(), counts.field("counts").to_numpy()
    if len(names) == 1 and not place["marked"]:
        return "the same value in all rows"
    order = sorted(range(len(names)), key=lambda i: (-numbers[i], names[i]))[:MOST_CATEGORIES]
    kept = [names[i] for i in order if numbers[i] >= RARE * len(values)]
    has_other = len(kept) < len(names)
    if not kept:
        return NAMES_ROWS
    size = len(kept) + has_other + place["marked"]
    return CategoryColumn(**place, size=size, categories=tuple(sorted(kept)), has_other=has_other)


def _fit_text(values: pa.Array, place: dict[str, Any], most: int) -> Column | str:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(max_features=most, min_df=2 if len(values) > 1 else 1)
    try:
        vectorizer.fit(values.to_pylist())
    except ValueError:  # no word in two rows
        return "no word that two rows share"
    words = vectorizer.get_feature_names_out().tolist()
    return TextColumn(
        **place, size=len(words) + place["marked"], vocabulary=tuple(words), idf=tuple(vectorizer.idf_.tolist())
    )


def encode_column(column: Column, parsed: Parsed) -> Features:
    """Features of all rows, [N, F], sparse for a text; only the encoding decides, whatever else is in the table."""
    if isinstance(column, TextColumn):
        return _encode_text(column, parsed)
    shape = (len(parsed.missing), column.size)
    if isinstance(column, CategoryColumn):
        place = pc.index_in(parsed.texts, value_set=pa.array(column.categories, pa.string()))
        places = pc.fill_null(place, len(column.categories)).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(~parsed.missing & ((places < len(column.categories)) | column.has_other))
        if column.size > SPARSE_FROM:  # names of nodes: nothing is missing
            return sp.csr_array((np.ones(len(rows), np.float32), (rows, places[rows])), shape=shape)
        features = np.zeros(shape, np.float32)
        features[rows, places[rows]] = 1
    else:
        assert parsed.numbers is not None
        features = np.zeros(shape, np.float32)
        if isinstance(column, BooleanColumn):
            features[:, 0] = np.where(parsed.missing, column.fill, parsed.numbers)
        elif isinstance(column, NumberColumn | DateColumn):
            features[:, 0] = np.where(parsed.missing, 0, np.clip(column.encode(parsed.numbers), -FARTHEST, FARTHEST))
    if column.marked:
        features[parsed.missing, -1] = 1
    return features


def join_features(blocks: Sequence[Features], count: int) -> Features:
    """Features of all columns of ``count`` rows side by side; sparse where texts leave most of them empty."""
    texts = [block for block in blocks if not isinstance(block, np.ndarray)]
    if texts:
        size = sum(block.shape[0] * block.shape[1] for block in blocks)
        filled = sum(int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else block.nnz for block in blocks)
        if filled < SPARSE_BELOW * size:
            return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"), dtype=np.float32)
    return np.concatenate([np.empty((count, 0), np.float32), *map(dense, blocks)], axis=1)


def _encode_text(column: TextColumn, parsed: Parsed) -> Features:
    from sklearn.feature_extraction.text import TfidfVectorizer

    assert parsed.texts is not None
    vectorizer = TfidfVectorizer(vocabulary=column.vocabulary, dtype=np.float32)
    vectorizer.idf_ = np.array(column.idf)
    words = sp.csr_array(vectorizer.transform(pc.fill_null(parsed.texts, "").to_pylist()), dtype=np.float32)
    if not column.marked:
        return words
    return sp.csr_array(sp.hstack([words, sp.csr_array(parsed.missing[:, None].astype(np.float32))], format="csr"))


def _summary(column: Column, parsed: Parsed) -> ColumnSummary:
    note = ""
    if isinstance(column, NumberColumn) and column.log_unit is not None:
        note = "heavy tail, compared by magnitude"
    elif isinstance(column, CategoryColumn):
        known = pc.is_in(parsed.texts, value_set=pa.array(column.categories, pa.string()))
        unknown = int((~known.to_numpy(zero_copy_only=False) & ~parsed.missing).sum())
        where = "share the feature (other)" if column.has_other else "of unknown categories"
        note = f"{unknown:,} rows {where}" if unknown else ""
    missing = int(parsed.missing.sum())
    return ColumnSummary(name=column.name, kind=column.kind, num_features=column.size, missing=missing, note=note)


def class_leaks(columns: Sequence[Column], features: Features, labels: Any) -> list[str]:
    """Columns from which a decision tree reads the class of training rows, by their features and labels.

    Its cross-validated accuracy is balanced: among 2% frauds, saying "no fraud" is right 98 times out of 100 and tells
    nothing. Classes of fewer than five rows are left aside.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.tree import DecisionTreeClassifier

    if len(labels) > MOST_ROWS:
        chosen = np.sort(np.random.default_rng(0).choice(len(labels), MOST_ROWS, replace=False))
        features, labels = features[chosen], labels[chosen]
    counts = np.bincount(labels)
    enough = np.isin(labels, np.flatnonzero(counts >= FEWEST_ROWS))
    features, labels = features[enough], labels[enough]
    if len(np.unique(labels)) < 2:
        return []
    tree = DecisionTreeClassifier(max_depth=6, class_weight="balanced", random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    found = []
    for column in columns:
        own = dense(features[:, column.first : column.first + column.size])
        score = float(cross_val_score(tree, own, labels, cv=folds, scoring="balanced_accuracy").mean())
        if score >= GIVES_AWAY:
            found.append(
                f"column {column.name!r} alone tells the class of {score:.1%} of the training rows, each class "
                "counting the same: is it known before the class is? If not, leave it out: --column "
                f"{shlex.quote(f'{column.name}=ignore')}"
            )
    return found


def raw_table(table: Table, names: Sequence[str], rows: IntArray | None = None, *, prefix: str = "") -> RawTable:
    """Cells of some columns and rows as they are read; long texts are cut, so that a graph does not become a library.

    Columns are called ``prefix`` and the name in the table; one that the table does not have is empty.
    """
    count = len(table) if rows is None else len(rows)
    own = {prefix + name: name for name in table.columns}
    held = table.select([own[name] for name in names if name in own], rows)
    texts = [_cell_texts(held.column(own[name])) if name in own else pa.nulls(count, pa.string()) for name in names]
    encoded = pa.concat_arrays(texts).dictionary_encode() if texts else pa.array([], pa.string()).dictionary_encode()
    codes = pc.fill_null(encoded.indices, NO_TEXT).to_numpy(zero_copy_only=False).astype(np.int32)
    return RawTable(
        columns=tuple(names),
        codes=np.ascontiguousarray(codes.reshape(len(names), count).T),
        texts=arrow_texts([encoded.dictionary]),
    )


def _cell_texts(column: pa.ChunkedArray) -> pa.Array:
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
    long = pc.greater(pc.utf8_length(texts), LONGEST_CELL)
    if pc.any(long).as_py():
        cut = pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, LONGEST_CELL - len(CUT)), CUT, "")
        texts = pc.if_else(long, cut, texts)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts


def row_digests(table: Table, names: Sequence[str], rows: IntArray) -> IntArray:
    """A number for each of some rows that is the same where all cells are, as they are shown."""
    import pandas as pd

    cells = {name: _cell_texts(table.column(name)) for name in names if name in table.columns}
    for name, texts in cells.items():
        if pt.is_timestamp(table.column(name).type):  # other blocks may show the time of day
            cells[name] = pc.replace_substring_regex(texts, r" 00:00:00Z?$", "")
    frame = pd.DataFrame({name: texts.to_numpy(zero_copy_only=False) for name, texts in cells.items()})
    digests: IntArray = pd.util.hash_pandas_object(frame, index=False).to_numpy().view(np.int64)
    return digests[rows] if cells else np.zeros(len(rows), np.int64)


def arrow_texts(arrays: Iterable[pa.Array]) -> Texts:
    """Texts of Arrow, one array after the other, without making Python's of them."""
    whole = pa.concat_arrays([array.cast(pa.large_string()) for array in arrays])
    _, offsets, content = whole.buffers()
    starts = np.frombuffer(offsets, np.int64)[whole.offset : whole.offset + len(whole) + 1]
    text = np.frombuffer(content or b"", np.uint8)[starts[0] : starts[-1]]
    return Texts(starts - starts[0], text)
