"""Columns as features: fitted on training rows, applied to all rows, and again to rows of later tables.

Shapes: N rows, F features of one column.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.tables.values import Parsed, is_row_number
from se_gnn.errors import InputError
from se_gnn.graph.attributed import BoolArray, FloatArray
from se_gnn.graph.columns import BooleanColumn, CategoryColumn, Column, DateColumn, NumberColumn, TextColumn

MOST_CATEGORIES = 50
RARE = 0.001  # share of the training rows below which a category has no feature of its own
MOST_WORDS = 100
HEAVY_TAIL = 6.0  # standard deviations from the mean beyond which numbers are compared by their magnitude
FARTHEST = 1e9  # standard deviations from the mean that a feature says
SMALLEST = 1e-30


def fit_column(name: str, parsed: Parsed, train: BoolArray, first: int) -> Column | str:
    """The encoding of a column, from its training rows; or why it can say nothing about a node."""
    if parsed.identifier or is_row_number(parsed):
        return "a different value in most rows: it names them"
    present = train & ~parsed.missing
    if not present.any():
        return "no value in the training rows"
    marked = bool((train & parsed.missing).any())
    place: dict[str, Any] = {"name": name, "first": first, "marked": marked}
    fit = {"number": _fit_number, "boolean": _fit_boolean, "date": _fit_date, "category": _fit_category,
           "text": _fit_text}[parsed.kind]  # fmt: skip
    if parsed.texts is not None:
        return fit(parsed.texts.filter(pa.array(present)), parsed, place)
    assert parsed.numbers is not None
    values = parsed.numbers[present]
    if values.min() == values.max() and not marked:
        return "the same value in all training rows"
    return fit(values, parsed, place)


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


def _fit_category(values: pa.Array, parsed: Parsed, place: dict[str, Any]) -> Column | str:
    counts = pc.value_counts(values)
    names, numbers = counts.field("values").to_pylist(), counts.field("counts").to_numpy()
    if len(names) == 1 and not place["marked"]:
        return "the same value in all training rows"
    order = sorted(range(len(names)), key=lambda i: (-numbers[i], names[i]))[:MOST_CATEGORIES]
    kept = [names[i] for i in order if numbers[i] >= RARE * len(values)]
    has_other = len(kept) < len(names)
    if not kept:
        return "a different value in most rows: it names them"
    size = len(kept) + has_other + place["marked"]
    return CategoryColumn(**place, size=size, categories=tuple(sorted(kept)), has_other=has_other)


def _fit_text(values: pa.Array, parsed: Parsed, place: dict[str, Any]) -> Column | str:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(max_features=MOST_WORDS, min_df=2 if len(values) > 1 else 1)
    try:
        vectorizer.fit(values.to_pylist())
    except ValueError:  # no word in two rows
        return "no word that two training rows share"
    words = vectorizer.get_feature_names_out().tolist()
    return TextColumn(
        **place, size=len(words) + place["marked"], vocabulary=tuple(words), idf=tuple(vectorizer.idf_.tolist())
    )


def encode_column(column: Column, parsed: Parsed) -> FloatArray:
    """Features of all rows, [N, F]; only the encoding decides, whatever else is in the table."""
    features = np.zeros((len(parsed.missing), column.size), np.float32)
    _encode(column, parsed, features)
    if column.marked:
        features[parsed.missing, -1] = 1
    return features


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


@_encode.register
def _(column: TextColumn, parsed: Parsed, features: FloatArray) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    assert parsed.texts is not None
    vectorizer = TfidfVectorizer(vocabulary=column.vocabulary, dtype=np.float32)
    vectorizer.idf_ = np.array(column.idf)
    texts = pc.fill_null(parsed.texts, "").to_pylist()
    features[:, : len(column.vocabulary)] = vectorizer.transform(texts).toarray()
