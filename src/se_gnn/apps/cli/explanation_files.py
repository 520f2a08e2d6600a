"""Explanations of many nodes as a Parquet file. Shapes: T nodes, K nearest labeled nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from se_gnn.apps.cli.prediction_files import offsets, parquet_bytes, prediction_columns, votes_column
from se_gnn.explain import Explainer, Explanations
from se_gnn.graph.arrays import IntArray
from se_gnn.model import TrainedModel
from se_gnn.optional import require
from se_gnn.similarity.memory import memory_budget

BYTES_OF_A_MATCH = 8  # similarity and edge, of an edge and a labeled node


def explanations_as_parquet(trained: TrainedModel, nodes: IntArray, k: int) -> bytes:
    """What is predicted, by which votes, which edges matter, and what the edges match in the nearest.

    - `node`, `caption` where there is one, `class`, `probability_<class>`;
    - `nearest`: node, label, weight, similarity, and the two similarities it is made of (no structure: empty);
    - `edges`: id, source, target and importance of each edge of the local graph, Eq. (10);
    - `matches`: for each of the ``k`` nearest, by `rank` from 1, the edge that each edge is matched with.

    An id is the row of an edge in the graph's `edges`.
    """
    pa: Any = require("pyarrow", extra="tables", feature="Parquet files")
    tables = [pa.table(_columns(pa, part, k)) for part in _within_memory(trained, nodes)]
    whole = pa.concat_tables(tables)
    return parquet_bytes(pa, {name: whole[name].combine_chunks() for name in whole.column_names})


def _within_memory(trained: TrainedModel, nodes: IntArray) -> Iterator[Explanations]:
    """Some nodes at a time, so that their matches fit the memory."""
    explainer, budget = Explainer(trained), memory_budget(trained.max_memory)
    each = BYTES_OF_A_MATCH * trained.settings.vote.num_nearest
    sizes = trained.similarity.items(nodes).sizes * each  # [T]
    low = 0
    while low < len(nodes) or low == 0:
        high = max(low + 1, low + int(np.searchsorted(np.cumsum(sizes[low:]), budget, side="right")))
        yield explainer.explain_all(nodes[low:high])
        low = high


def _columns(pa: Any, found: Explanations, k: int) -> dict[str, Any]:
    prediction, graph = found.prediction, found.graph
    figures = {
        "weight": prediction.weights,
        "similarity": prediction.overall,
        "node_similarity": prediction.node,
        "structure_similarity": prediction.structure,
    }
    return {
        **prediction_columns(pa, prediction, graph),
        "nearest": votes_column(pa, prediction, graph, figures),
        "edges": _edges(pa, found),
        "matches": _matches(pa, found, k),
    }


def _edges(pa: Any, found: Explanations) -> Any:
    local, names = found.local, found.graph.node_names
    ends = found.graph.edges.ends[local.edge_ids]  # [sum of sizes, 2]
    columns = [
        pa.array(local.edge_ids, pa.int64()),
        *(pa.array([names[node] for node in ends[:, side]], pa.string()) for side in (0, 1)),
        pa.array(found.importance, pa.float32(), mask=~np.isfinite(found.importance)),
    ]
    edges = pa.StructArray.from_arrays(columns, ["id", "source", "target", "importance"])
    return pa.ListArray.from_arrays(offsets(pa, local.sizes), edges)


def _matches(pa: Any, found: Explanations, k: int) -> Any:
    ranks: list[Any] = []
    edges: list[Any] = []
    matched: list[Any] = []
    similarity: list[Any] = []
    sizes = np.zeros(len(found), np.int64)
    for i in range(len(found)):
        for rank in range(min(k, found.prediction.neighbors.shape[1])):
            if found.matched.positions[i, rank] < 0:
                continue
            matches = found.matches(i, rank)
            sizes[i] += len(matches.edge_ids)
            ranks.append(np.full(len(matches.edge_ids), rank + 1, np.int32))
            edges.append(matches.edge_ids)
            matched.append(matches.matched_ids)
            similarity.append(matches.similarity)
    kinds = {"rank": np.int32, "edge": np.int64, "matched": np.int64, "similarity": np.float32}
    columns = [
        pa.array(np.concatenate([np.empty(0, kind), *parts]).astype(kind))
        for kind, parts in zip(kinds.values(), (ranks, edges, matched, similarity))
    ]
    return pa.ListArray.from_arrays(offsets(pa, sizes), pa.StructArray.from_arrays(columns, list(kinds)))
