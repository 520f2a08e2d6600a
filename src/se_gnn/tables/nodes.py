"""A node table and what its columns are: id, label, split and caption are read, the others become features.

Shapes: N nodes.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.errors import InputError, did_you_mean
from se_gnn.graph import UNKNOWN, Classes, Graph, Numbers
from se_gnn.graph.arrays import Features, IntArray
from se_gnn.graph.columns import Column, StructureColumn, type_prefix
from se_gnn.graph.split import PART_WORDS, PARTS, Split
from se_gnn.tables.features import FittedColumns, encode_columns, fit_columns, known_columns
from se_gnn.tables.node_types import NAME_COLUMNS, name_column, own_columns
from se_gnn.tables.settings import ColumnSummary, ImportSettings
from se_gnn.tables.source import BYTES_A_CELL, Table, rows_within, such_rows
from se_gnn.tables.values import NO_VALUE, as_names, as_texts, parse_column

FEW_CLASSES = 20  # fine in a table of any size


class NodeTable:
    """The table of one node type: its ids, and the encoding of its attributes, ``fitted``."""

    def __init__(self, type_name: str, table: Table, settings: ImportSettings, like: Graph | None) -> None:
        self.type, self.table, self.settings = type_name, table, settings
        self.id = settings.id_of(type_name)
        table.check_has(self.id)
        self.ids, self.notes = read_ids(table, self.id)
        self.labeled = settings.label in table.columns
        self.attributes = settings.attributes(table.columns, type_name, labeled=self.labeled)
        self.fitted = self._fit() if like is None else self._known(like)

    def __len__(self) -> int:
        return len(self.ids)

    def _fit(self) -> FittedColumns:
        """The encoding of its attributes, or also of the names of its nodes, if these are few.

        Names tell nodes of one of several types apart that are not predicted, or have no attribute.
        """
        known, given = self.attributes, self.settings
        found = fit_columns(
            self.table,
            known,
            kinds={name: kind for name, kind in given.kinds.items() if not self.type or name in known},
            keep=given.keep,
            text_words=given.text_words,
        )
        if not self.type or (found.columns and (self.labeled or not given.name_types)):
            return found
        names = name_column(self.ids.to_pylist(), self.table.columns)
        return dataclasses.replace(found, columns=(*found.columns, *names))

    def _known(self, like: Graph) -> FittedColumns:
        """The encoding of a graph that was imported before."""
        columns = own_columns(like.columns or (), self.type)
        if any(isinstance(column, StructureColumn) for column in columns):
            return FittedColumns()
        return known_columns(self._with_names(self.table, columns), columns)

    def _with_names(self, rows: Table, columns: Sequence[Column]) -> Table:
        """Some rows with a column of ids, where ``columns`` tell nodes apart by names that the table does not have."""
        missing = [one.name for one in columns if one.name in NAME_COLUMNS and one.name not in rows.columns]
        if not missing:
            return rows
        data = rows.select().append_column(missing[0], self.ids.slice(rows.first or 0, len(rows)))
        return dataclasses.replace(rows, data=data, file=None, columns=(*rows.columns, missing[0]))

    def encode(self, budget: int | None) -> Iterator[Features]:
        """The features of its rows, some rows at a time where they have to fit a budget."""
        columns = self.fitted.columns
        bytes_a_row = 8 * (self.fitted.size + 4) + BYTES_A_CELL * len(self.table.columns)
        for block in self.table.blocks(rows_within(budget, bytes_a_row)):
            yield encode_columns(self._with_names(block, columns), columns)

    @property
    def shown(self) -> list[str]:
        """Columns whose cells are shown: those of the attributes, and the caption."""
        return [name for name in self.table.columns if name in (*self.attributes, self.settings.caption)]

    def captions(self) -> pa.Array:
        """What people see for each node, on one line; the empty text where there is none."""
        caption = self.settings.caption
        if caption not in self.table.columns:
            return pa.array([""] * len(self), pa.string())
        texts = pc.fill_null(as_texts(self.table, str(caption), missing=()), "")
        return pc.utf8_trim_whitespace(pc.replace_substring_regex(texts, r"\s+", " "))

    def summaries(self) -> Iterator[ColumnSummary]:
        """What became of each column, in their order."""
        given, by_name = self.settings, {column.name: column for column in self.fitted.summaries}
        target = "label" if given.target_number is None else "target"
        roles: dict[str | None, str] = {given.label: target, given.split: "split", self.id: "id"}
        for name in self.table.columns:
            summary = by_name.get(name)
            if summary is None:
                kind = "caption" if name == given.caption else roles.get(name, "ignored")
                kind = "left out" if kind == "ignored" and name in self.attributes else kind
                notes = {
                    "target": "the number to predict",
                    "caption": "shown to people, not used as an attribute",
                    "left out": "not part of the encoding",
                }
                summary = ColumnSummary(name=name, kind=kind, note=notes.get(kind, ""))
            elif name == given.caption:
                note = f"; {summary.note}" if summary.note else ""
                summary = dataclasses.replace(summary, note=f"caption of the nodes{note}")
            yield dataclasses.replace(summary, name=type_prefix(self.type) + name)


def read_ids(table: Table, column: str) -> tuple[pa.Array, list[str]]:
    """Names of the nodes, each once, numbers as people write them; and what people should know about them."""
    ids = as_names(table, column, missing=())
    if ids.null_count:
        row = pc.index(ids.is_null(), True).as_py()
        raise table.error(column, row, f"a node without an id ({such_rows(ids.null_count)})")
    given = pc.utf8_trim_whitespace(as_texts(table, column, missing=()))
    encoded = ids.dictionary_encode()
    if len(encoded.dictionary) < len(ids):
        codes = encoded.indices.to_numpy()
        again = np.setdiff1d(np.arange(len(codes)), np.unique(codes, return_index=True)[1])
        row = int(again[0])
        first = int(np.flatnonzero(codes == codes[row])[0])
        form = "" if given[row] == given[first] else ", in another form of Unicode (NFC and NFD)"
        message = f"the id {ids[row].as_py()!r} was given in row {first + 1} already{form} ({such_rows(len(again))})"
        raise table.error(column, row, f"{message}; keep one row per node")
    composed = pc.sum(pc.not_equal(given, ids)).as_py() or 0
    message = (
        f"{composed:,} ids of {table.name} were written in decomposed Unicode (NFD) and are kept as NFC, as edges are"
    )
    return ids, [message] if composed else []


def read_numbers(table: Table, column: str, unit: str) -> tuple[Numbers, list[str]]:
    """The numbers to predict that a column holds, and what people should know; a cell that is not one is an error."""
    parsed = parse_column(table, column, kind="number")
    assert parsed.numbers is not None
    values = parsed.numbers.astype(np.float64)
    known = values[~np.isnan(values)]
    if len(known) < 2 or np.ptp(known) == 0:
        raise InputError(
            f"{table.name}, column {column!r} has {'one value' if len(known) else 'no number'} in all "
            f"{len(known):,} rows with a number; at least two different ones are needed"
        )
    note = [f"column {column!r}: {parsed.note}"] if parsed.note else []
    return Numbers(values=values, name=column, unit=unit), note


def read_labels(
    table: Table, column: str, known: Sequence[str] | None = None, *, merge: bool = False
) -> tuple[Classes, list[str]]:
    """The classes that a column names, and what people should know; spaces around a name do not count.

    ``known`` are the classes of a model that is to be used, beside which there are no others; ``merge`` makes one class
    of those that look alike.
    """
    texts = as_names(table, column)
    encoded = texts.dictionary_encode()
    codes = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
    written: list[str] = encoded.dictionary.to_pylist()
    counts = dict(zip(written, np.bincount(codes, minlength=len(written)).tolist()))
    called = {name: name for name in written}
    if merge:
        # a class that the model has stays what it is called there
        called |= _merged(counts | {name: len(texts) + 1 for name in known or ()})
    found = list(dict.fromkeys(called[name] for name in written))
    if known is None:
        _check_classes(table, column, found, len(texts) - texts.null_count)
        names = sorted(found, key=_number_first)
    else:
        names = list(known)
        new = next((i for i, name in enumerate(written) if called[name] not in names), None)
        if new is not None:
            row = int(np.flatnonzero(codes == new)[0])
            hint = did_you_mean(written[new], names)
            listed = ", ".join(names)
            raise table.error(column, row, f"class {written[new]!r} is not one of the model's: {listed}{hint}")
    place = {name: i for i, name in enumerate(names)}
    classes = np.array([place[called[name]] for name in written] + [UNKNOWN], dtype=np.int64)[codes]
    warnings = list(_class_warnings(names, called))
    given = len(pc.unique(as_texts(table, column).drop_null()))
    if given > len(written):
        warnings.append(f"column {column!r}: {given} classes are {len(written)} without the spaces around their names")
    return Classes(labels=classes, names=tuple(names)), warnings


def _class_warnings(names: Sequence[str], called: dict[str, str]) -> Iterator[str]:
    for group in look_alike(names):
        listed = ", ".join(map(repr, group[:-1])) + f" and {group[-1]!r}"
        yield f"classes {listed} look alike and are kept apart; if they are one class: --set merge_classes=true"
    for name in names:
        if name.casefold() in NO_VALUE:
            yield f"class {name!r} reads like no value; if it means that the class is not known: --set missing={name}"
        others = [repr(other) for other, kept in called.items() if kept == name and other != name]
        if others:
            yield f"class {name!r} takes in {', '.join(others)}, which look like it (merge_classes)"


def _check_classes(table: Table, column: str, found: list[str], labeled: int) -> None:
    where = f"{table.name}, column {column!r}"
    if not found:
        raise InputError(f"{where} has no label in any row; at least two classes are needed")
    if len(found) == 1:
        raise InputError(f"{where} has one class, {found[0]!r}, in all {labeled:,} labeled rows; two are needed")
    if len(found) > max(FEW_CLASSES, labeled // 4):
        raise InputError(
            f"{where} has {len(found):,} different values in {labeled:,} rows, as {found[0]!r} and {found[1]!r}: this "
            "does not look like a class column; numbers to predict are named by target_number (--target-number)"
        )


def _number_first(name: str) -> tuple[int, float, str]:
    """Classes that are numbers come in their order, then the others."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def read_split(table: Table, column: str, labels: IntArray) -> Split:
    """The parts that a column names: train, validation, test, calibration, or nothing."""
    texts = as_names(table, column, missing=())
    encoded = texts.dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    parts = {part: np.zeros(len(codes), dtype=bool) for part in PARTS}
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        part, rows = PART_WORDS.get(text.strip().lower()), codes == code
        first = int(np.flatnonzero(rows)[0])
        if part is None:
            raise table.error(column, first, f"{text!r} must be {', '.join(PARTS)}, or nothing")
        unlabeled = np.flatnonzero(rows & (labels == UNKNOWN))
        if len(unlabeled):
            raise table.error(
                column, int(unlabeled[0]), f"{text!r}, but the node has no label ({such_rows(len(unlabeled))})"
            )
        parts[part] |= rows
    if not parts["train"].any():
        raise InputError(f"{table.name}, column {column!r} puts no row into train")
    return Split(**{part: np.flatnonzero(rows) for part, rows in parts.items()})


def look_alike(names: Sequence[str]) -> list[list[str]]:
    """Groups of names that differ in capitals, spaces, marks that nobody sees, or the way a number is written.

    >>> look_alike(["a", "b", "A", "1", "01", "1.0"])
    [['a', 'A'], ['1', '01', '1.0']]
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_class_key(name), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _merged(counts: Mapping[str, int]) -> dict[str, str]:
    """What each name that looks like another is to be called: the one that most rows have, the first of equals.

    >>> _merged({"a": 5, "A": 2, "b": 1})
    {'a': 'a', 'A': 'a'}
    """
    return {name: max(group, key=lambda each: counts[each]) for group in look_alike(list(counts)) for name in group}


def _class_key(name: str) -> str:
    seen = "".join(character for character in name if unicodedata.category(character) != "Cf")  # marks without width
    text = " ".join(unicodedata.normalize("NFKC", seen).casefold().split())
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.17g}"
