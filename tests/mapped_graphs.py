"""A graph as Parquet tables, for tests of what is read some rows at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from se_gnn.graph import Graph

PARTS = np.array(["", "train", "val", "test"])


def random_tables(folder: Path, num_nodes: int, num_edges: int, *, seed: int = 0, features: int = 4, numbered=True):
    """Write both tables; ids, features, edges as positions, labels, and the part of each node."""
    generator = np.random.default_rng(seed)
    ids = np.arange(num_nodes) if numbered else generator.permutation(10 * num_nodes)[:num_nodes] - num_nodes
    labels = np.arange(num_nodes) % 3
    matrix = (labels[:, None] + generator.normal(size=(num_nodes, features))).astype(np.float32)
    edges = generator.integers(num_nodes, size=(num_edges, 2))
    parts = np.zeros(num_nodes, int)
    parts[: num_nodes // 5] = 1
    parts[num_nodes // 5 : num_nodes // 4] = 2
    classes = np.array(["red", "green", "blue"])[labels]
    columns = {"id": ids, **{f"x{i}": matrix[:, i] for i in range(features)}}
    columns |= {"label": [c if p else None for c, p in zip(classes, parts)], "part": PARTS[parts]}
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "nodes.parquet", row_group_size=max(1, num_nodes // 3))
    pq.write_table(pa.table({"source": ids[edges[:, 0]], "target": ids[edges[:, 1]]}), folder / "edges.parquet")
    return ids, matrix, edges, classes, parts


def in_memory(ids, matrix, edges, classes, parts) -> Graph:
    """The same graph as one that was built in memory."""
    names = sorted(set(classes))
    labels = np.where(parts > 0, [names.index(c) for c in classes], -1)
    return Graph.build(
        features=matrix, edges=edges, labels=labels, class_names=names, node_names=[str(i) for i in ids],
        train=parts == 1, validation=parts == 2, test=parts == 3,
        feature_names=[f"x{i}" for i in range(matrix.shape[1])],
    )  # fmt: skip
