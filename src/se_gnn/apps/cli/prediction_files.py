"""Predictions as files. Shapes: T targets, K nearest labeled nodes, C classes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from se_gnn.apps.cli.prediction_extras import Extra
from se_gnn.display import to_csv_cell
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray
from se_gnn.model import Prediction
from se_gnn.optional import require


class Vote(NamedTuple):
    """One labeled node that was nearest, and what it counted."""

    node: str
    label: str
    weight: float


class Row(NamedTuple):
    """What is written of one node."""

    node: str
    type: str | None  # None if all nodes are of one type
    caption: str | None  # None if the graph has no captions
    predicted: str
    probabilities: list[float]  # [C]
    nearest: list[Vote]  # [K], nearest first; fewer where fewer can vote


def as_csv(prediction: Prediction, graph: Graph, extras: Sequence[Extra] = ()) -> bytes:
    """Columns `node`, `class`, `probability_<class>`, then `nearest_1`, `label_1`, `weight_1`, and so on; then extras.

    `type` and `caption` come after `node` if nodes have several types, or captions. A text that a spreadsheet would run
    as a formula is written with an apostrophe in front (`se_gnn.display.cells`).
    """
    most = prediction.neighbors.shape[1]
    header = ["node", *_more_names(graph), "class", *_probability_columns(graph)]
    for rank in range(1, most + 1):
        header += [f"nearest_{rank}", f"label_{rank}", f"weight_{rank}"]
    header += [name for extra in extras for name in extra.header]
    text = io.StringIO(newline="")
    writer = csv.writer(_UnixLines(text), lineterminator="\r\n")  # so that a carriage return in a name is quoted
    writer.writerow([_cell(name) for name in header])
    for i, row in enumerate(_rows(prediction, graph)):
        votes = [value for vote in row.nearest for value in vote]
        empty = [""] * (3 * (most - len(row.nearest)))
        named = [row.node, *(text for text in (row.type, row.caption) if text is not None), row.predicted]
        more = [value for extra in extras for value in extra.row(i)]
        writer.writerow([_cell(value) for value in (*named, *row.probabilities, *votes, *empty, *more)])
    return text.getvalue().encode()


def as_json_lines(prediction: Prediction, graph: Graph, extras: Sequence[Extra] = ()) -> bytes:
    """One object per line: `node`, `caption` where there is one, `class`, `probabilities` by class, `nearest`."""
    lines = (
        json.dumps(
            {
                "node": row.node,
                **{name: getattr(row, name) for name in _more_names(graph)},
                "class": row.predicted,
                "probabilities": dict(zip(graph.class_names, row.probabilities)),
                "nearest": [vote._asdict() for vote in row.nearest],
                **_merged(extras, i),
            },
            ensure_ascii=False,
        )
        for i, row in enumerate(_rows(prediction, graph))
    )
    return "".join(line + "\n" for line in lines).encode()


def as_parquet(prediction: Prediction, graph: Graph, extras: Sequence[Extra] = ()) -> bytes:
    """Columns `node`, `caption` where there is one, `class`, `probability_<class>`; `nearest`, a list of structs."""
    pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
    columns = prediction_columns(pa, prediction, graph)
    columns["nearest"] = votes_column(pa, prediction, graph, {"weight": prediction.weights})
    for extra in extras:
        values = [extra.values(i) for i in range(len(prediction.nodes))]
        for name, kind in extra.arrow_types(pa).items():
            columns[name] = pa.array([value[name] for value in values], kind)
    return parquet_bytes(pa, columns)


def _more_names(graph: Graph) -> list[str]:
    """Columns that follow the name of a node."""
    return [*(["type"] if graph.node_types is not None else []), *(["caption"] if graph.captions else [])]


def parquet_bytes(pa: Any, columns: dict[str, Any]) -> bytes:
    """Columns of Arrow as a Parquet file; the same columns give the same bytes."""
    parquet: Any = require("pyarrow.parquet", extra="tables", feature="Parquet files")
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def prediction_columns(pa: Any, prediction: Prediction, graph: Graph) -> dict[str, Any]:
    """`node`, `caption` where there is one, `class` and `probability_<class>` of each node, as columns of Arrow."""
    columns = {"node": pa.array([graph.node_names[node] for node in prediction.nodes], pa.string())}
    if graph.node_types is not None:
        types = [graph.node_type_names[graph.node_types[node]] for node in prediction.nodes]
        columns["type"] = pa.array(types, pa.string())
    if graph.captions:
        columns["caption"] = pa.array([graph.captions[node] for node in prediction.nodes], pa.string())
    columns["class"] = pa.array(graph.class_names, pa.string()).take(pa.array(prediction.classes))
    for column, values in zip(_probability_columns(graph), _at_most_one(prediction).T):
        columns[column] = pa.array(values, pa.float32())
    return columns


def votes_column(pa: Any, prediction: Prediction, graph: Graph, figures: dict[str, FloatArray]) -> Any:
    """The nearest labeled nodes of each node, nearest first: a list of structs with `node`, `label` and ``figures``.

    Args:
        pa: the module.
        prediction: whose votes.
        graph: names of nodes and classes.
        figures: further fields of each vote, :math:`(T, K)`; what is not finite there is empty in the file.
    """
    voting = prediction.voting
    voters, positions = np.unique(prediction.neighbors[voting], return_inverse=True)
    names = pa.array([graph.node_names[node] for node in voters], pa.string()).take(pa.array(positions))
    labels = pa.array(graph.class_names, pa.string()).take(pa.array(graph.labels[prediction.neighbors[voting]]))
    values = [pa.array(figure[voting], pa.float32(), mask=~np.isfinite(figure[voting])) for figure in figures.values()]
    votes = pa.StructArray.from_arrays([names, labels, *values], ["node", "label", *figures])
    return pa.ListArray.from_arrays(offsets(pa, voting.sum(axis=1)), votes)


def offsets(pa: Any, sizes: Any) -> Any:
    """Where each list of a column begins, and where the last one ends."""
    return pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())


def _merged(extras: Sequence[Extra], i: int) -> dict[str, Any]:
    return {name: value for extra in extras for name, value in extra.values(i).items()}


class _UnixLines:
    """Where a CSV writer puts its rows: they end with a line feed alone."""

    def __init__(self, text: io.StringIO) -> None:
        self.text = text

    def write(self, row: str) -> int:
        return self.text.write(row.removesuffix("\r\n") + "\n")


def _cell(value: str | float) -> str | float:
    return to_csv_cell(value) if isinstance(value, str) else value


def _probability_columns(graph: Graph) -> list[str]:
    return [f"probability_{name}" for name in graph.class_names]


def _rows(prediction: Prediction, graph: Graph) -> Iterator[Row]:
    votes = prediction.voting
    probabilities, weights = _shortest(_at_most_one(prediction)), _shortest(prediction.weights)
    for i, node in enumerate(prediction.nodes):
        nearest = [
            Vote(graph.node_names[other], graph.class_names[graph.labels[other]], weights[i][k])
            for k, other in enumerate(prediction.neighbors[i])
            if votes[i, k]
        ]
        caption = None if graph.captions is None else graph.captions[node]
        type_ = None if graph.node_types is None else graph.node_type_names[graph.node_types[node]]
        predicted = graph.class_names[prediction.classes[i]]
        yield Row(graph.node_names[node], type_, caption, predicted, probabilities[i], nearest)


def _at_most_one(prediction: Prediction) -> FloatArray:
    """Probabilities are sums of float32 weights and may come out as 1.0000001."""
    clipped: FloatArray = np.minimum(prediction.probabilities, np.float32(1))
    return clipped


def _shortest(values: FloatArray) -> list[list[float]]:
    """Numbers that print with no more digits than float32 holds and read back as the same float32."""
    plain: list[list[float]] = values.astype(str).astype(np.float64).tolist()
    return plain
