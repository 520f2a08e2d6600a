"""Predictions and explanations of many nodes as files. Shapes: T nodes, K nearest cases, C classes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from se_gnn.device import memory_budget
from se_gnn.display.text import to_csv_cell
from se_gnn.explain import Explanations, explain
from se_gnn.explain.explainer import ExplanationsInViews
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray
from se_gnn.labels.novelty import Novelty
from se_gnn.labels.sets import PredictionSets
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import predict_numbers, prediction_intervals
from se_gnn.optional import require
from se_gnn.ranking import NO_CASE

FAR = "closest known case, though not close"
BYTES_OF_A_MATCH = 8  # similarity and edge, of an edge and a case
Record = dict[str, Any]


def set_records(sets: PredictionSets, graph: Graph) -> list[Record]:
    """The prediction set of each node: the classes it holds, and the nearest case of each of them."""
    names, cases = graph.class_names, sets.cases

    def member(i: int, c: int) -> Record:
        known = cases.nodes[i, c] != NO_CASE
        return {
            "class": names[c],
            "case": graph.node_names[cases.nodes[i, c]] if known else None,
            "similarity": float(cases.similarity[i, c]) if known else None,
        }

    return [{"set": [member(i, c) for c in sets.classes(i).tolist()]} for i in range(len(sets.nodes))]


def answer_records(scored: Novelty, prediction: Prediction, graph: Graph) -> list[Record]:
    """The answer for each node, empty if the model abstains; its novelty score, and the closest known case."""
    return [
        {
            "answer": None if abstains else graph.class_names[prediction.classes[i]],
            "novelty": float(scored.score[i]),
            "closest": graph.node_names[prediction.cases[i, 0]],
            "note": FAR if abstains else None,
        }
        for i, abstains in enumerate(scored.abstains.tolist())
    ]


def number_records(
    trained: Model, nodes: IntArray, *, coverage: float | None = None, scored: Novelty | None = None
) -> list[Record]:
    """Predicted numbers with their intervals and cases, a record per node; `answer` is empty if the model abstains.

    The interval is left out if no coverage is asked for.
    """
    graph, found = trained.graph, predict_numbers(trained, nodes)
    asked = None if coverage is None else prediction_intervals(trained, coverage=coverage, prediction=found)
    written = []
    for i, node in enumerate(nodes.tolist()):
        value = float(found.values[i])
        record = {**_about(graph, node), "predicted": value}
        if asked is not None:
            ends = {"low": float(asked.low[i]), "high": float(asked.high[i])}
            record |= {name: end if np.isfinite(end) else None for name, end in ends.items()}
        if scored is not None:
            record |= {"answer": None if scored.abstains[i] else value, "novelty": float(scored.score[i])}
        voting = np.isfinite(found.overall[i])
        votes = zip(found.cases[i][voting].tolist(), found.weights[i][voting].tolist())
        record["nearest"] = [
            {"node": graph.node_names[case], "value": float(graph.values[case]), "weight": weight}
            for case, weight in votes
        ]
        written.append(record)
    return written


def records_as(ending: str, written: Sequence[Record]) -> bytes:
    """Records that all have the same keys as CSV, JSON lines or Parquet; in CSV, None is an empty cell.

    >>> records_as(".csv", [{"node": "a", "sets": ["b", "c"], "size": None}]).splitlines()
    [b'node,sets,size', b'a,b; c,']
    >>> records_as(".jsonl", [{"node": "a", "sizes": [1, 2]}]).splitlines()
    [b'{"node": "a", "sizes": [1, 2]}']
    """
    if ending == ".parquet":
        pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
        names = list(written[0]) if written else ["node"]
        return parquet_bytes(pa, {name: pa.array([one[name] for one in written]) for name in names})
    return _json_lines(written) if ending == ".jsonl" else _csv(written)


def as_csv(prediction: Prediction, graph: Graph, extras: Sequence[list[Record]] = ()) -> bytes:
    """Columns `node`, `class`, `probability_<class>`, then `nearest_1`, `label_1`, `weight_1`, and so on; then extras.

    `type` and `caption` follow `node` if nodes have several types, or captions. A text that a spreadsheet would run as
    a formula is written with an apostrophe in front (`se_gnn.display.text`).
    """
    return _csv(list(records(prediction, graph, extras)), graph.class_names)


def as_json_lines(prediction: Prediction, graph: Graph, extras: Sequence[list[Record]] = ()) -> bytes:
    """One object per line: `node`, `type` and `caption` if there are any, `class`, `probabilities`, `nearest`."""
    return _json_lines(records(prediction, graph, extras))


def as_parquet(prediction: Prediction, graph: Graph, extras: Sequence[list[Record]] = ()) -> bytes:
    """Columns `node`, `type` and `caption` if there are any, `class`, `probability_<class>`; `nearest`, a list."""
    pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
    columns = prediction_columns(pa, prediction, graph)
    columns["nearest"] = votes_column(pa, prediction, graph, {"weight": prediction.weights})
    member = pa.struct([("class", pa.string()), ("case", pa.string()), ("similarity", pa.float32())])
    types = {"set": pa.list_(member), "novelty": pa.float64()}
    for extra in extras:
        for name in extra[0] if extra else ():
            columns[name] = pa.array([one[name] for one in extra], types.get(name, pa.string()))
    return parquet_bytes(pa, columns)


def _json_lines(written: Iterable[Record]) -> bytes:
    lines = (json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n" for one in written)
    return "".join(lines).encode("utf-8", "replace")


def _csv(written: Sequence[Record], classes: Sequence[str] = ()) -> bytes:
    """A row for each record; what a record holds several of has a column for each."""
    votes = (one["nearest"] for one in written if isinstance(one.get("nearest"), list))
    longest: list[Record] = max(votes, key=len, default=[])
    text = io.StringIO(newline="")
    writer = csv.writer(_UnixLines(text), lineterminator="\r\n")  # so that a carriage return in a name is quoted
    for i, one in enumerate(written):
        cells = _cells(one, longest, classes)
        for row in (cells, cells.values()) if i == 0 else (cells.values(),):
            writer.writerow([to_csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue().encode("utf-8", "replace")


def _cells(record: Record, longest: Sequence[Record], classes: Sequence[str]) -> Record:
    """The cells of a record by the names of their columns."""
    cells: Record = {}
    for name, value in record.items():
        if name == "probabilities":
            cells |= {f"probability_{label}": share for label, share in value.items()}
        elif name == "nearest" and isinstance(value, list):
            votes = [*value, *(dict.fromkeys(vote) for vote in longest[len(value) :])]
            cells |= {
                f"{'nearest' if part == 'node' else part}_{rank}": cell
                for rank, vote in enumerate(votes, 1)
                for part, cell in vote.items()
            }
        elif name == "set":
            held = {one["class"]: one["case"] for one in value}
            cells |= {"set_size": len(held), **{f"in_set_{label}": int(label in held) for label in classes}}
            cells |= {f"case_{label}": held.get(label) for label in classes}
        else:
            cells[name] = "; ".join(map(str, value)) if isinstance(value, list) else value
    return cells


def _about(graph: Graph, node: int) -> Record:
    """The name of a node, and its type and caption if nodes have several types, or captions."""
    about: Record = {"node": graph.node_names[node]}
    if graph.node_types is not None:
        about["type"] = graph.node_type_names[int(graph.node_types[node])]
    if graph.captions is not None:
        about["caption"] = graph.captions[node]
    return about


def records(prediction: Prediction, graph: Graph, extras: Sequence[list[Record]] = ()) -> Iterator[Record]:
    """What is written about each node, and extras after it."""
    probabilities, weights = _shortest(_at_most_one(prediction)), _shortest(prediction.weights)
    voting = prediction.voting
    for i, node in enumerate(prediction.nodes.tolist()):
        record = {
            **_about(graph, node),
            "class": graph.class_names[prediction.classes[i]],
            "probabilities": dict(zip(graph.class_names, probabilities[i])),
            "nearest": [
                {
                    "node": graph.node_names[case],
                    "label": graph.class_names[graph.labels[case]],
                    "weight": weights[i][k],
                }
                for k, case in enumerate(prediction.cases[i].tolist())
                if voting[i, k]
            ],
        }
        for extra in extras:
            record |= extra[i]
        yield record


def parquet_bytes(pa: Any, columns: dict[str, Any]) -> bytes:
    """Columns of Arrow as a Parquet file; the same columns give the same bytes."""
    parquet: Any = require("pyarrow.parquet", extra="tables", feature="Parquet files")
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


def prediction_columns(pa: Any, prediction: Prediction, graph: Graph) -> dict[str, Any]:
    """`node`, `type`, `caption`, `class` and `probability_<class>` of each node, as columns of Arrow."""
    about = [_about(graph, node) for node in prediction.nodes.tolist()]
    names = ["node", *(["type"] if graph.node_types is not None else []), *(["caption"] if graph.captions else [])]
    columns = {name: pa.array([one[name] for one in about], pa.string()) for name in names}
    if graph.predicts_numbers:
        return columns
    columns["class"] = pa.array(graph.class_names, pa.string()).take(pa.array(prediction.classes))
    for label, values in zip(graph.class_names, _at_most_one(prediction).T):
        columns[f"probability_{label}"] = pa.array(values, pa.float32())
    return columns


def votes_column(pa: Any, prediction: Prediction, graph: Graph, figures: dict[str, FloatArray]) -> Any:
    """The cases that vote for each node, nearest first: structs with `node`, `label` or `value`, and ``figures``.

    Args:
        pa: the module `pyarrow`.
        prediction: whose votes.
        graph: names of nodes and classes.
        figures: further fields of each vote, :math:`(T, K)`; a value that is not finite is empty in the file.
    """
    voting = prediction.voting
    cases, positions = np.unique(prediction.cases[voting], return_inverse=True)
    names = pa.array([graph.node_names[node] for node in cases], pa.string()).take(pa.array(positions))
    if graph.predicts_numbers:
        kind, labels = "value", pa.array(graph.values[prediction.cases[voting]], pa.float64())
    else:
        taken = pa.array(graph.labels[prediction.cases[voting]])
        kind, labels = "label", pa.array(graph.class_names, pa.string()).take(taken)
    values = [pa.array(figure[voting], pa.float32(), mask=~np.isfinite(figure[voting])) for figure in figures.values()]
    votes = pa.StructArray.from_arrays([names, labels, *values], ["node", kind, *figures])
    return pa.ListArray.from_arrays(offsets(pa, voting.sum(axis=1)), votes)


def offsets(pa: Any, sizes: Any) -> Any:
    """Where each list of a column begins, and where the last one ends."""
    return pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())


def explanations_as_parquet(trained: Model, nodes: IntArray, k: int) -> bytes:
    """What is predicted, by which votes, which edges matter, and what the edges match in the nearest.

    - `node`, `caption` where there is one, `class`, `probability_<class>`; or `predicted`, a number;
    - `nearest`: node, label or value, weight, similarity, and the two similarities it is made of (no structure: empty);
    - `edges`: id, source, target and importance of each edge of the local graph, Eq. (10);
    - `matches`: for each of the ``k`` nearest, by `rank` from 1, the edge that each edge is matched with.

    An id is the row of an edge in the graph's `edges`.
    """
    pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
    tables = [_explanation_table(pa, part, k) for part in _within_memory(trained, nodes)]
    whole = pa.concat_tables(tables)
    return parquet_bytes(pa, {name: whole[name].combine_chunks() for name in whole.column_names})


def _within_memory(trained: Model, nodes: IntArray) -> Iterator[Explanations]:
    """Some nodes at a time, so that their matches fit the memory."""
    budget = memory_budget(trained.max_memory)
    each = BYTES_OF_A_MATCH * trained.settings.vote.num_nearest
    sizes = trained.similarity.items(nodes).sizes * each  # [T]
    low = 0
    while low < len(nodes) or low == 0:
        high = max(low + 1, low + int(np.searchsorted(np.cumsum(sizes[low:]), budget, side="right")))
        yield explain(trained, nodes[low:high])
        low = high


def _explanation_table(pa: Any, found: Explanations, k: int) -> Any:
    if not isinstance(found, ExplanationsInViews):
        return pa.table(_explanation_columns(pa, found, k))
    whole = pa.concat_tables([_explanation_table(pa, one, k) for one in found.parts])
    starts = np.cumsum([0, *map(len, found.parts)])
    return whole.take(pa.array([starts[part] + at for part, at in found.place], pa.int64()))


def _explanation_columns(pa: Any, found: Explanations, k: int) -> dict[str, Any]:
    prediction, graph = found.prediction, found.graph
    figures = {
        "weight": prediction.weights,
        "similarity": prediction.overall,
        "node_similarity": prediction.node,
        "structure_similarity": prediction.structure,
    }
    return {
        **prediction_columns(pa, prediction, graph),
        **({"predicted": pa.array(found.numbers.values, pa.float64())} if graph.predicts_numbers else {}),
        "nearest": votes_column(pa, prediction, graph, figures),
        "edges": _edges_column(pa, found),
        "matches": _matches_column(pa, found, k),
    }


def _edges_column(pa: Any, found: Explanations) -> Any:
    local, names = found.local, found.graph.node_names
    ends = found.graph.edges.ends[local.edge_ids]  # [sum of sizes, 2]
    columns = [
        pa.array(local.edge_ids, pa.int64()),
        *(pa.array([names[node] for node in ends[:, side]], pa.string()) for side in (0, 1)),
        pa.array(found.importance, pa.float32(), mask=~np.isfinite(found.importance)),
    ]
    edges = pa.StructArray.from_arrays(columns, ["id", "source", "target", "importance"])
    return pa.ListArray.from_arrays(offsets(pa, local.sizes), edges)


def _matches_column(pa: Any, found: Explanations, k: int) -> Any:
    kinds = {"rank": np.int32, "edge": np.int64, "matched": np.int64, "similarity": np.float32}
    rows: list[list[Any]] = []
    sizes = np.zeros(len(found), np.int64)
    for i, rank in np.argwhere(found.matched.positions[:, :k] >= 0).tolist():
        one = found.matches(i, rank)
        sizes[i] += len(one)
        rows.append([np.full(len(one), rank + 1), one.edge_ids, one.matched_ids, one.similarity])
    columns = [
        pa.array(np.concatenate([np.empty(0, kind), *(row[c] for row in rows)]).astype(kind))
        for c, kind in enumerate(kinds.values())
    ]
    return pa.ListArray.from_arrays(offsets(pa, sizes), pa.StructArray.from_arrays(columns, list(kinds)))


class _UnixLines:
    """Takes the rows of a CSV writer and ends them with a line feed alone."""

    def __init__(self, text: io.StringIO) -> None:
        self.text = text

    def write(self, row: str) -> int:
        return self.text.write(row.removesuffix("\r\n") + "\n")


def _at_most_one(prediction: Prediction) -> FloatArray:
    """Probabilities are sums of float32 weights and may come out as 1.0000001."""
    clipped: FloatArray = np.minimum(prediction.probabilities, np.float32(1))
    return clipped


def _shortest(values: FloatArray) -> list[list[float]]:
    """Numbers that print with no more digits than float32 holds and read back as the same float32."""
    plain: list[list[float]] = values.astype(str).astype(np.float64).tolist()
    return plain
