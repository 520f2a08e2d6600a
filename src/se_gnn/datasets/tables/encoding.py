"""Columns as features: fitted on all rows of a table, without a look at the labels, and applied to later tables.

Shapes: N rows, F features of one column.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from se_gnn.datasets.tables.values import Parsed, is_key
from se_gnn.errors import InputError
from se_gnn.graph.arrays import Features, FloatArray
from se_gnn.graph.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    StructureColumn,
    TextColumn,
)

MOST_CATEGORIES = 50
RARE = 0.001  # share of the rows below which a category has no feature of its own
KEY = "a key: another whole number in nearly every row"
NAMES_ROWS = "another value in most rows: it names them"
HEAVY_TAIL = 6.0  # standard deviations from the mean beyond which numbers are compared by their magnitude
FARTHEST = 1e9  # standard deviations from the mean that a feature says
SMALLEST = 1e-30
SPARSE_BELOW = 0.1  # share of features that are not 0, below which a table with texts is kept sparse


def fit_column(name: str, parsed: Parsed, first: int, *, text_words: int, keep: bool = False) -> Column | str:
    """The encoding of a column, from all rows; or why it says nothing about a node.

    Args:
        name: of the column.
        parsed: its values.
        first: its first feature.
        text_words: the most words that become features.
        keep: use it although it tells rows apart.
    """
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
    fit = {"number": _fit_number, "boolean": _fit_boolean, "date": _fit_date}[parsed.kind]
    return fit(values, parsed, place)


def fit_structure(name: str, numbers: npt.NDArray[np.float64], first: int, *, decimals: int) -> StructureColumn | None:
    """The encoding of a number that the edges give; None where it is the same for all nodes."""
    if numbers.min() == numbers.max():
        return None
    column = StructureColumn(name=name, first=first, size=1, offset=0.0, scale=1.0, log_unit=1.0, decimals=decimals)
    return dataclasses.replace(column, **_standardization(column.encode(numbers)))


def _fit_number(numbers: npt.NDArray[np.float64], parsed: Parsed, place: dict[str, Any]) -> Column:
    heavy = np.abs(numbers - numbers.mean()).max() > HEAVY_TAIL * numbers.std() > 0
    log_unit = max(SMALLEST, float(np.median(np.abs(numbers[numbers != 0])))) if heavy else None
    size = 1 + place["marked"]
    column = NumberColumn(**place, size=size, offset=0.0, scale=1.0, log_unit=log_unit, **parsed.details)
    return dataclasses.replace(column, **_standardization(column.encode(numbers)))


def _fit_date(days: npt.NDArray[np.float64], parsed: Parsed, place: dict[str, Any]) -> Column:
    return DateColumn(**place, size=1 + place["marked"], **_standardization(days), **parsed.details)


def _standardization(values: npt.NDArray[np.float64]) -> dict[str, Any]:
    offset, spread = float(values.mean()), float(values.std())
    return {"offset": offset, "scale": spread if spread > max(SMALLEST, 1e-12 * abs(offset)) else 1.0}


def _fit_boolean(values: npt.NDArray[np.float64], parsed: Parsed, place: dict[str, Any]) -> Column:
    return BooleanColumn(**place, size=1 + place["marked"], fill=float(values.mean()), **parsed.details)


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
    features = np.zeros((len(parsed.missing), column.size), np.float32)
    _encode(column, parsed, features)
    if column.marked:
        features[parsed.missing, -1] = 1
    return features


def join_features(blocks: Sequence[Features]) -> Features:
    """Features of all columns side by side; sparse where texts leave most of them empty."""
    texts = [block for block in blocks if not isinstance(block, np.ndarray)]
    if texts:
        size = sum(block.shape[0] * block.shape[1] for block in blocks)
        filled = sum(int(np.count_nonzero(block)) if isinstance(block, np.ndarray) else block.nnz for block in blocks)
        if filled < SPARSE_BELOW * size:
            return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"), dtype=np.float32)
    dense = [block if isinstance(block, np.ndarray) else block.toarray() for block in blocks]
    return np.concatenate(dense, axis=1)


@functools.singledispatch
def _encode(column: Column, parsed: Parsed, features: FloatArray) -> None:
    raise InputError(f"column {column.name!r} cannot be encoded")


@_encode.register
def _(column: NumberColumn | DateColumn, parsed: Parsed, features: FloatArray) -> None:
    assert parsed.numbers is not None
    features[:, 0] = np.where(parsed.missing, 0, np.clip(column.encode(parsed.numbers), -FARTHEST, FARTHEST))


@_encode.register
def _(column: BooleanColumn, parsed: Parsed, features: FloatArray) -> None:
    assert parsed.numbers is not None
    features[:, 0] = np.where(parsed.missing, column.fill, parsed.numbers)


@_encode.register
def _(column: CategoryColumn, parsed: Parsed, features: FloatArray) -> None:
    place = pc.index_in(parsed.texts, value_set=pa.array(column.categories, pa.string()))
    places = pc.fill_null(place, len(column.categories)).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(~parsed.missing & ((places < len(column.categories)) | column.has_other))
    features[rows, places[rows]] = 1


def _encode_text(column: TextColumn, parsed: Parsed) -> Features:
    from sklearn.feature_extraction.text import TfidfVectorizer

    assert parsed.texts is not None
    vectorizer = TfidfVectorizer(vocabulary=column.vocabulary, dtype=np.float32)
    vectorizer.idf_ = np.array(column.idf)
    words = sp.csr_array(vectorizer.transform(pc.fill_null(parsed.texts, "").to_pylist()), dtype=np.float32)
    if not column.marked:
        return words
    return sp.csr_array(sp.hstack([words, sp.csr_array(parsed.missing[:, None].astype(np.float32))], format="csr"))
