"""A graph that does not fit the memory, put together some rows at a time. Shapes: N nodes, E edges.

What is made goes to files without a name and is mapped from there; storing the graph copies it to where it is to be.
Edges are sorted outside of memory: nodes are cut into ranges, so that the edges whose lower end lies in a range fit the
memory. There they are merged and sorted as those of any graph are, and follow the edges of the range before. Neighbors
are put in order for some nodes at a time. Each range of nodes goes through the edges once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files.npy import Array
from se_gnn.graph.arrays import FloatArray, IntArray, row_starts
from se_gnn.graph.edge_values import ARRAYS, EdgeValues
from se_gnn.graph.edges import Csr, EdgeReport, Edges, canonical_edges
from se_gnn.graph.rows import MappedSparseRows, Rows, as_rows, mapped_scratch, row_ranges

MOST = 2**31 - 1  # nodes, and edges: ids are 32 bits wide
BYTES_AN_EDGE = 256  # of memory while the edges of a range are sorted, besides those of its record
BYTES_AN_ENTRY = 192  # of memory while the neighbors of some nodes are put in order
SHARE = 8  # a block of edges takes about this part of the memory
_STORED_VALUE = np.dtype([("value", "<f4"), ("column", "<i4")])
_NEIGHBOR = np.dtype([("node", "<i4"), ("edge", "<i4")])


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBlock:
    """Some edges: positions of their ends, [E, 2], their data, and a digest of the cells of each row, [E].

    Rows that agree in everything are one edge, given twice; ``cells`` distinguishes rows whose values are the same.
    """

    pairs: IntArray
    values: EdgeValues | None = None
    cells: IntArray | None = None


def mapped_features(blocks: Iterable[FloatArray], width: int, dtype: str) -> Rows:
    """Dense features of all nodes."""

    def stored() -> Iterator[Array]:
        for block in blocks:
            with np.errstate(over="ignore"):
                array = block.astype(dtype)
            if not np.isfinite(array).all():
                raise InputError(f"the features do not fit {dtype}: store them as float32")
            yield array

    return as_rows(mapped_scratch(stored(), dtype, (width,)), "features")


def mapped_sparse_features(blocks: Iterable[sp.csr_array], width: int) -> Rows:
    """Features of all nodes, most of which are 0."""
    sizes = []

    def stored() -> Iterator[Array]:
        for block in blocks:
            sizes.append(np.diff(block.indptr))
            yield np.rec.fromarrays([block.data, block.indices], dtype=_STORED_VALUE)

    found = mapped_scratch(stored(), _STORED_VALUE)
    return MappedSparseRows(found["value"], found["column"], row_starts(np.concatenate(sizes)), width, "features")


def mapped_edges(blocks: Iterable[EdgeBlock], num_nodes: int, budget: int, values: EdgeValues | None = None) -> Edges:
    """Every edge once, what it carries, and the neighbors of each node, from edges in any order and direction.

    All edges carry what ``values`` of no edge say; None: nothing. The ``budget`` is in bytes.
    """
    parts = () if values is None else values.edge_data
    shapes = {} if values is None else {"attributes": (values.num_attributes,)}
    fields: list[Any] = [("pair", "<i8", (2,)), *((part, ARRAYS[part], shapes.get(part, ())) for part in parts)]
    record, given = np.dtype(fields), np.dtype([*fields, ("cells", "<i8")])
    counts, degrees = np.zeros((2, num_nodes), np.int64)  # edges by their lower end, and by both

    def as_given() -> Iterator[Array]:
        for block in blocks:
            counts[:] += np.bincount(np.minimum(*block.pairs.T), minlength=num_nodes)
            rows = np.zeros(len(block.pairs), given)
            rows["pair"], rows["cells"] = block.pairs, 0 if block.cells is None else block.cells
            for part in parts:
                rows[part] = getattr(block.values, part)
            yield rows

    unsorted, reports = as_rows(mapped_scratch(as_given(), given)), list[EdgeReport]()

    def in_order() -> Iterator[Array]:
        most = budget // (BYTES_AN_EDGE + SHARE * (given.itemsize - 16))
        for low, high in row_ranges(row_starts(counts), most):
            lower = ((block, np.minimum(*block["pair"].T)) for _, block in unsorted.blocks(budget // SHARE))
            own = np.concatenate([block[(first >= low) & (first < high)] for block, first in lower])
            data: dict[str, Any] = {part: own[part] for part in parts}
            held = None if values is None else replace(values, **data, verified=True)
            pairs, _, held, report = canonical_edges(own["pair"], num_nodes, held, own["cells"])
            reports.append(report)
            degrees[:] += np.bincount(pairs.ravel(), minlength=num_nodes)
            yield np.rec.fromarrays([pairs, *(getattr(held, part) for part in parts)], dtype=record)

    found = mapped_scratch(in_order(), record)
    if len(found) > MOST // 2:
        raise InputError(f"a mapped graph must have at most {MOST // 2:,} edges, got {len(found):,}")
    carried = None
    if values is not None:
        held: dict[str, Any] = {part: as_rows(found[part], "edge values") for part in parts}
        carried = replace(values, **held, verified=True)
    pairs = as_rows(found["pair"], "edges")
    return Edges(
        pairs=pairs,
        num_nodes=num_nodes,
        values=carried,
        merged=EdgeReport(*map(sum, zip(*map(astuple, reports)))),
        csr=_neighbors(pairs, degrees, budget),
    )


def _neighbors(edges: Rows, degrees: IntArray, budget: int) -> Csr:
    indptr = row_starts(degrees)

    def in_order() -> Iterator[Array]:
        for low, high in row_ranges(indptr, budget // BYTES_AN_ENTRY):
            rows, others, ids = _entries(edges, low, high, budget).T
            order = np.argsort(rows, kind="stable")
            yield np.rec.fromarrays([others[order], ids[order]], dtype=_NEIGHBOR)

    found = mapped_scratch(in_order(), _NEIGHBOR)
    return Csr(indptr, found["node"], found["edge"])


def _entries(edges: Rows, low: int, high: int, budget: int) -> Array:
    """Row, column and edge of each neighbor of the nodes ``low`` to ``high``; lower neighbors first, each ascending."""
    ends, begins = [np.empty((0, 3), np.int32)], list[Array]()  # edges that end, and that begin, at these nodes
    for start, pairs in edges.blocks(budget // SHARE):
        if pairs[0, 0] >= high:
            break
        for found, own in ((ends, 1), (begins, 0)):
            there = np.flatnonzero((pairs[:, own] >= low) & (pairs[:, own] < high))
            entries = [pairs[there, own], pairs[there, 1 - own], start + there]
            found.append(np.stack(entries, axis=1).astype(np.int32))
    return np.concatenate([*ends, *begins])
