"""Predictions and explanations of many nodes as files: their columns, which CSV, JSON lines and Parquet share.

A list holds texts (None: empty), :class:`Texts` texts that come again, an array numbers (not finite: empty). A mapping
has a column for each class, and :class:`Lists` has several values for each node. Shapes: T nodes, K nearest cases.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from se_gnn.device import memory_budget
from se_gnn.display.text import to_csv_cell
from se_gnn.explain import Explanations, explain
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.labels.novelty import Novelty
from se_gnn.labels.sets import PredictionSets
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import Calibration, NumberPrediction
from se_gnn.optional import require
from se_gnn.ranking import NO_CASE

FAR = "closest known case, though not close"
BYTES_OF_A_MATCH = 8  # similarity and edge, of an edge and a case
Record = dict[str, Any]
Columns = dict[str, Any]  # by name


class Texts(NamedTuple):
    """The names at some positions, [T]."""

    names: Sequence[str]
    positions: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Several values for each node: ``sizes`` [T] says how many, and ``fields`` holds those of all nodes in turn.

    In a CSV file they stand side by side: by their rank, or by class if ``classes`` names the classes.
    """

    sizes: IntArray
    fields: Columns
    classes: tuple[str, ...] = ()


def prediction_columns(
    graph: Graph,
    found: Prediction | NumberPrediction,
    *,
    intervals: Calibration | None = None,
    sets: PredictionSets | None = None,
    novelty: Novelty | None = None,
) -> Columns:
    """What is predicted of some nodes, and the `nearest` cases; ``sets`` and ``novelty`` are those of the same nodes.

    - `node`, `type` and `caption` if there are any;
    - `class` and the probability of each class; or `predicted`, a number, and `low` and `high` of its interval;
    - `set`: the classes of the prediction set, and the nearest case of each of them;
    - `answer` (empty if the model abstains) and `novelty`; of classes also the closest known case and a note.
    """
    columns, votes = _about(graph, found.nodes), _votes(graph, found, weight=found.weights)
    if isinstance(found, NumberPrediction):
        columns["predicted"] = found.values
        if intervals is not None:
            reach = intervals.reach(found.spread)
            columns |= {"low": found.values - reach, "high": found.values + reach}
        if novelty is not None:
            columns |= {"answer": np.where(novelty.abstains, np.nan, found.values), "novelty": novelty.score}
        return {**columns, "nearest": votes}
    columns |= {**_classes(found, graph), "nearest": votes}
    if sets is not None:
        columns["set"] = _sets(sets, graph)
    if novelty is not None:
        answers = zip(novelty.abstains.tolist(), found.classes.tolist())
        columns["answer"] = [None if abstains else graph.class_names[label] for abstains, label in answers]
        columns |= {"novelty": novelty.score, "closest": _names(graph, found.cases[:, 0])}
        columns["note"] = [FAR if abstains else None for abstains in novelty.abstains.tolist()]
    return columns


def _sets(sets: PredictionSets, graph: Graph) -> Lists:
    held = [sets.classes(i) for i in range(len(sets.nodes))]
    rows, classes = np.repeat(np.arange(len(held)), sets.sizes), np.concatenate([np.empty(0, np.int64), *held])
    cases, similarity = sets.cases.nodes[rows, classes], sets.cases.similarity[rows, classes]
    fields = {
        "class": Texts(graph.class_names, classes),
        "case": [None if case == NO_CASE else graph.node_names[case] for case in cases.tolist()],
        "similarity": np.where(cases == NO_CASE, np.nan, similarity).astype(np.float32),
    }
    return Lists(sets.sizes, fields, graph.class_names)


def _about(graph: Graph, nodes: IntArray) -> Columns:
    """The names of nodes, and their types and captions if nodes have several types, or captions."""
    about: Columns = {"node": _names(graph, nodes)}
    if graph.node_types is not None:
        about["type"] = Texts(graph.node_type_names, graph.node_types[nodes].astype(np.int64))
    if graph.captions is not None:
        about["caption"] = [graph.captions[node] for node in nodes.tolist()]
    return about


def _names(graph: Graph, nodes: IntArray) -> Texts:
    each, positions = np.unique(nodes, return_inverse=True)
    return Texts([graph.node_names[node] for node in each.tolist()], positions)


def _classes(prediction: Prediction, graph: Graph) -> Columns:
    shares = np.minimum(prediction.probabilities, np.float32(1))  # sums of float32 weights may come out as 1.0000001
    return {
        "class": Texts(graph.class_names, prediction.classes),
        "probabilities": dict(zip(graph.class_names, shares.T)),
    }


def _votes(graph: Graph, found: Prediction | NumberPrediction, **figures: FloatArray) -> Lists:
    """The cases that vote for each node, nearest first: `node`, `label` or `value`, and ``figures`` [T, K] of each."""
    voting = found.voting
    voters = found.cases[voting]
    fields: Columns = {"node": _names(graph, voters)}
    if graph.predicts_numbers:
        fields["value"] = graph.values[voters]
    else:
        fields["label"] = Texts(graph.class_names, graph.labels[voters])
    return Lists(voting.sum(axis=1), fields | {name: figure[voting] for name, figure in figures.items()})


def as_file(ending: str, columns: Columns) -> bytes:
    """Columns as the content of a file that ends in `.csv`, `.jsonl` or `.parquet`.

    In a CSV file, `nearest` becomes `nearest_1`, `label_1`, `weight_1`, and so on. A text that a spreadsheet would run
    as a formula is written with an apostrophe in front (`se_gnn.display.text`).

    >>> as_file(".csv", {"node": ["a"], "sets": [["b", "c"]], "size": np.array([np.nan])}).splitlines()
    [b'node,sets,size', b'a,b; c,']
    >>> as_file(".jsonl", {"node": ["a"], "size": np.array([1.5])}).splitlines()
    [b'{"node": "a", "size": 1.5}']
    """
    if ending == ".parquet":
        pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
        return _parquet(_arrow_table(pa, columns))
    if ending == ".jsonl":
        lines = (json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in records(columns))
        return "".join(lines).encode("utf-8", "replace")
    cells: dict[str, list[Any]] = {}
    for name, column in _flat(columns).items():
        cells |= _cells(name, column)
    text = _UnixLines(newline="")
    writer = csv.writer(text, lineterminator="\r\n")  # so that a carriage return in a name is quoted
    for row in (cells, *zip(*cells.values())) if cells else ():
        writer.writerow([to_csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().encode("utf-8", "replace")


def records(columns: Columns) -> list[Record]:
    """The rows, as JSON knows them."""
    return [dict(zip(columns, row)) for row in zip(*map(_values, columns.values()))]


def _values(column: Any) -> list[Any]:
    """What each row holds, as JSON knows it."""
    if isinstance(column, Lists):
        inside, ends = records(column.fields), np.cumsum(column.sizes).tolist()
        return [inside[end - size : end] for size, end in zip(column.sizes.tolist(), ends)]
    if isinstance(column, Texts):
        return [column.names[position] for position in column.positions.tolist()]
    if isinstance(column, Mapping):
        return records(dict(column))
    if isinstance(column, np.ndarray):
        # float32: no more digits than it holds, which read back as the same number
        short = column.astype(str).astype(np.float64) if column.dtype == np.float32 else column
        return [one if known else None for one, known in zip(short.tolist(), np.isfinite(column).tolist())]
    return list(column)


def _flat(columns: Columns) -> Columns:
    """With `probability_<class>` in place of the mapping."""
    flat: Columns = {}
    for name, column in columns.items():
        several = isinstance(column, Mapping)
        flat |= {f"probability_{label}": one for label, one in column.items()} if several else {name: column}
    return flat


def _cells(name: str, column: Any) -> dict[str, list[Any]]:
    """The columns of a CSV file that a column becomes."""
    rows = _values(column)
    if not isinstance(column, Lists):
        return {name: ["; ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in rows]}
    if column.classes:
        held = [{one["class"]: one["case"] for one in row} for row in rows]
        inside = {f"in_set_{label}": [int(label in one) for one in held] for label in column.classes}
        cases = {f"case_{label}": [one.get(label) for one in held] for label in column.classes}
        return {"set_size": list(map(len, held)), **inside, **cases}
    return {
        f"{'nearest' if part == 'node' else part}_{rank + 1}": [
            row[rank][part] if rank < len(row) else None for row in rows
        ]
        for rank in range(max(map(len, rows), default=0))
        for part in column.fields
    }


def _arrow_table(pa: Any, columns: Columns) -> Any:
    return pa.table({name: _arrow(pa, column) for name, column in _flat(columns).items()})


def _arrow(pa: Any, column: Any) -> Any:
    if isinstance(column, Lists):
        offsets = pa.array(np.concatenate([[0], np.cumsum(column.sizes)]), pa.int32())
        fields = [_arrow(pa, field) for field in column.fields.values()]
        return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(fields, list(column.fields)))
    if isinstance(column, np.ndarray):
        return pa.array(column, mask=~np.isfinite(column))
    if isinstance(column, Texts):
        return pa.array(column.names, pa.string()).take(pa.array(column.positions))
    return pa.array(column, pa.string())


def _parquet(table: Any) -> bytes:
    """A table of Arrow as a Parquet file; the same table gives the same bytes."""
    parquet: Any = require("pyarrow.parquet", extra="tables", feature="Parquet files")
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def explanations_as_parquet(trained: Model, nodes: IntArray, k: int) -> bytes:
    """What is predicted, by which votes, which edges matter, and what the edges match in the nearest.

    - `node`, `caption` where there is one, `class`, `probability_<class>`; or `predicted`, a number;
    - `nearest`: node, label or value, weight, similarity, and the two similarities it is made of (no structure: empty);
    - `edges`: id, source, target and importance of each edge of the local graph, Eq. (10);
    - `matches`: for each of the ``k`` nearest, by `rank` from 1, the edge that each edge is matched with.

    An id is the row of an edge in the graph's `edges`.
    """
    pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
    tables = []
    for found in _within_memory(trained, nodes):
        parts = pa.concat_tables([_arrow_table(pa, _explanation_columns(part, k)) for _, part in found.parts])
        order = np.argsort(np.concatenate([rows for rows, _ in found.parts]))
        tables.append(parts if len(found.parts) == 1 else parts.take(pa.array(order)))
    return _parquet(pa.concat_tables(tables).combine_chunks())


def _within_memory(trained: Model, nodes: IntArray) -> Iterator[Explanations]:
    """Some nodes at a time, so that their matches fit the memory."""
    budget = memory_budget(trained.max_memory)
    each = BYTES_OF_A_MATCH * trained.in_use.vote.num_nearest
    sizes = trained.similarity.items(nodes).sizes * each  # [T]
    low = 0
    while low < len(nodes) or low == 0:
        high = max(low + 1, low + int(np.searchsorted(np.cumsum(sizes[low:]), budget, side="right")))
        yield explain(trained, nodes[low:high])
        low = high


def _explanation_columns(found: Explanations, k: int) -> Columns:
    prediction, graph = found.prediction, found.graph
    votes = _votes(
        graph, prediction, weight=prediction.weights, similarity=prediction.overall, node_similarity=prediction.node,
        structure_similarity=prediction.structure,
    )  # fmt: skip
    answers = {"predicted": found.numbers.values} if graph.predicts_numbers else _classes(prediction, graph)
    about = _about(graph, prediction.nodes)
    return {**about, **answers, "nearest": votes, "edges": _edges(found), "matches": _matches(found, k)}


def _edges(found: Explanations) -> Lists:
    local, graph = found.local, found.graph
    source, target = (_names(graph, ends) for ends in graph.edges.ends[local.edge_ids].T)
    ids = local.edge_ids.astype(np.int64)
    return Lists(local.sizes, {"id": ids, "source": source, "target": target, "importance": found.importance})


def _matches(found: Explanations, k: int) -> Lists:
    kinds = {"rank": np.int32, "edge": np.int64, "matched": np.int64, "similarity": np.float32}
    rows: list[list[Any]] = []
    sizes = np.zeros(len(found), np.int64)
    for i, rank in np.argwhere(found.matched.positions[:, :k] >= 0).tolist():
        one = found.matches(i, rank)
        sizes[i] += len(one)
        rows.append([np.full(len(one), rank + 1), one.edge_ids, one.matched_ids, one.similarity])
    fields = {
        name: np.concatenate([np.empty(0, kind), *(row[c] for row in rows)]).astype(kind)
        for c, (name, kind) in enumerate(kinds.items())
    }
    return Lists(sizes, fields)


class _UnixLines(io.StringIO):
    """Takes the rows of a CSV writer and ends them with a line feed alone."""

    def write(self, row: str) -> int:
        return super().write(row.removesuffix("\r\n") + "\n")
