"""A graph that does not fit the memory, written some rows at a time. Shapes: N nodes, E edges.

Edges are sorted outside of memory: an edge u < v is the number u N + v, beside what it carries; these records are cut
into ranges of u of about the same size, one file each; a range fits the memory, is sorted there, and its edges follow
those of the range before.
For the neighbors, nodes are taken some at a time, and the edges at them are found by going through the edges once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files.npy import ArrayInfo, NpyWriter, map_array, read_rows
from se_gnn.files.writing import NewFile
from se_gnn.graph.arrays import FloatArray, IntArray, row_starts
from se_gnn.graph.edge_values import ARRAYS, EdgeValues
from se_gnn.graph.edges import Csr, EdgeReport, Edges, first_of_equals
from se_gnn.graph.rows import MappedSparseRows, Rows, as_rows, row_ranges
from se_gnn.graph.storage import KINDS, array_file

MOST = 2**31 - 1  # nodes, and edges: ids are 32 bits wide
MOST_RANGES = 256  # files that are open at a time
BYTES_A_KEY = 128  # of memory while a range is sorted or cut: the numbers, their order, copies, and the ends
BYTES_AN_ENTRY = 192  # of memory while the neighbors of some nodes are put in order

Array = npt.NDArray[Any]


class GraphWriter:
    """Writes features and edges of a graph into a work folder, in blocks of rows, and maps them.

    A graph of these and of what is in memory is then put where it is to be, without reading them again::

        writer = GraphWriter(work)
        graph = Graph(nodes=Nodes(features=writer.features(blocks, num_features), ...), edges=writer.edges(...), ...)
        commit_files(folder, graph_files(graph, written=writer.written))
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        self.written: dict[str, tuple[Path, ArrayInfo]] = {}  # by the name of the array

    @contextmanager
    def array(self, name: str, dtype: str | None = None, row_shape: tuple[int, ...] = ()) -> Iterator[NpyWriter]:
        """An array to append rows to; None: the first type that the array may have."""
        path = self.work / array_file(name)
        writer = NpyWriter(path, dtype or KINDS[name].dtypes[0], row_shape)
        with closing(writer.file):
            yield writer
            self.written[name] = path, writer.close()

    def mapped(self, name: str) -> Array:
        """An array that was written."""
        return map_array(*self.written[name])

    def features(self, blocks: Iterable[FloatArray], width: int, dtype: str = "float32") -> Rows:
        """Dense features of all nodes."""
        with self.array("nodes.features", np.dtype(dtype).str, (width,)) as matrix:
            for block in blocks:
                with np.errstate(over="ignore"):
                    stored = block.astype(dtype)
                if not np.isfinite(stored).all():
                    raise InputError(f"the features do not fit {dtype}: store them as float32")
                matrix.append(stored)
        return as_rows(self.mapped("nodes.features"), "features")

    def sparse_features(self, blocks: Iterable[sp.csr_array], width: int) -> Rows:
        """Features of all nodes, most of which are 0."""
        name, sizes = "nodes.features", []
        with self.array(f"{name}.data") as data, self.array(f"{name}.indices") as indices:
            for block in blocks:
                data.append(block.data)
                indices.append(block.indices)
                sizes.append(np.diff(block.indptr))
        indptr = row_starts(np.concatenate(sizes))
        return MappedSparseRows(self.mapped(f"{name}.data"), self.mapped(f"{name}.indices"), indptr, width, "features")

    def edges(
        self, blocks: Iterable[EdgeBlock], num_nodes: int, budget: int, values: EdgeValues | None = None
    ) -> Edges:
        """Every edge once, what it carries, and the neighbors of each node.

        Args:
            blocks: edges, some rows at a time, in any order and direction.
            num_nodes: N.
            budget: bytes of memory; the work folder takes the edges twice besides.
            values: what all edges carry, as values of no edge; None: nothing.
        """
        work, record = self.work, _record(values)
        most = max(1, budget // (BYTES_A_KEY + 8 * (record.itemsize - 8)))
        given, loops, counts = _write_records(blocks, num_nodes, work / "keys", record)
        ranges = _ranges(counts, most)
        _cut(work / "keys", ranges, num_nodes, work, record, most)
        degrees, repeated, reciprocal = np.zeros(num_nodes, np.int64), 0, 0
        parts = [name for name in record.names or () if name in ARRAYS]
        with ExitStack() as stack:
            ends = stack.enter_context(self.array("edges.ends", row_shape=(2,)))
            arrays = {
                part: stack.enter_context(self.array(f"edges.{part}", row_shape=record[part].shape)) for part in parts
            }
            for number in range(len(ranges)):
                kept, again, back = _sorted_range(work / f"range-{number}", record)
                repeated, reciprocal = repeated + again, reciprocal + back
                for low in range(0, len(kept), max(1, most // 4)):
                    some = kept[low : low + max(1, most // 4)]
                    pairs = np.stack([some["key"] // 2 // num_nodes, some["key"] // 2 % num_nodes], axis=1)
                    degrees += np.bincount(pairs.ravel(), minlength=num_nodes)
                    ends.append(pairs)
                    for part, array in arrays.items():
                        array.append(some[part])
        pairs = self.mapped("edges.ends")
        if len(pairs) > MOST // 2:
            raise InputError(f"a mapped graph must have at most {MOST // 2:,} edges, got {len(pairs):,}")
        carried = None
        if values is not None:
            held: dict[str, Any] = {part: as_rows(self.mapped(f"edges.{part}"), "edge values") for part in parts}
            carried = replace(values, **held, verified=True)
        return Edges(
            pairs=as_rows(pairs, "edges"),
            num_nodes=num_nodes,
            values=carried,
            merged=EdgeReport(given=given, self_loops=loops, reciprocal=reciprocal, duplicates=repeated - reciprocal),
            csr=self._neighbors(degrees, pairs, budget),
        )

    def _neighbors(self, degrees: IntArray, edges: Array, budget: int) -> Csr:
        indptr = row_starts(degrees)
        with self.array("neighbors.indices") as indices, self.array("neighbors.edge_ids") as ids:
            for low, high in row_ranges(indptr, budget // BYTES_AN_ENTRY):
                rows, columns, edge_ids = _entries(edges, low, high, len(edges), budget)
                order = np.argsort(rows, kind="stable")
                indices.append(columns[order])
                ids.append(edge_ids[order])
        return Csr(indptr, self.mapped("neighbors.indices"), self.mapped("neighbors.edge_ids"))


@dataclass(frozen=True, slots=True, eq=False)
class EdgeBlock:
    """Some edges: positions of their ends, [E, 2], their data, and a digest of the cells of each row, [E].

    Rows that agree in everything are one edge, given twice; ``cells`` distinguishes rows whose values are the same.
    """

    pairs: IntArray
    values: EdgeValues | None = None
    cells: IntArray | None = None


def _record(values: EdgeValues | None) -> np.dtype[Any]:
    """What is kept of an edge while edges are sorted: its ends as one number, and its data."""
    fields: list[Any] = [("key", "<i8")]
    if values is not None:
        fields += [
            (part, ARRAYS[part], (values.num_attributes,) if part == "attributes" else ()) for part in values.edge_data
        ]
        fields.append(("cells", "<i8"))
    return np.dtype(fields)


def _write_records(
    blocks: Iterable[EdgeBlock], num_nodes: int, path: Path, record: np.dtype[Any]
) -> tuple[int, int, IntArray]:
    """Edges u < v as the number 2 (u N + v), one more where they were given as (v, u); self-loops are left out."""
    given = loops = 0
    counts = np.zeros(num_nodes, np.int64)  # edges by their lower end
    with closing(NewFile(path)) as file:
        for block in blocks:
            proper = np.flatnonzero(block.pairs[:, 0] != block.pairs[:, 1])
            pairs = block.pairs[proper]
            low, high, swapped = pairs.min(axis=1), pairs.max(axis=1), pairs[:, 0] > pairs[:, 1]
            given, loops = given + len(block.pairs), loops + len(block.pairs) - len(proper)
            counts += np.bincount(low, minlength=num_nodes)
            rows = np.zeros(len(pairs), record)
            rows["key"] = 2 * (low * num_nodes + high) + swapped
            if block.values is not None:
                values = block.values.take(proper).reversed(swapped)
                for part in values.edge_data:
                    rows[part] = getattr(values, part)
                rows["cells"] = 0 if block.cells is None else block.cells[proper]
            file.write(_bytes(rows))
    return given, loops, counts


def _bytes(rows: Array) -> Any:
    return rows.view(np.uint8).data


def _ranges(counts: IntArray, most: int) -> IntArray:
    """First node of each range: no range has more than ``most`` edges, unless one node alone has."""
    total = np.cumsum(counts)
    wanted = max(1, -(-int(total[-1] if len(total) else 0) // most))
    if wanted > MOST_RANGES:
        raise InputError(
            f"max_memory must hold a {MOST_RANGES}th of the edges while they are sorted: give at least "
            f"{wanted / MOST_RANGES:.1f} times as much"
        )
    bounds = np.searchsorted(total, np.arange(wanted) * (total[-1] / wanted) if len(total) else [0], side="left")
    bounds[0] = 0
    return np.unique(bounds).astype(np.int64)


def _cut(keys: Path, ranges: IntArray, num_nodes: int, work: Path, record: np.dtype[Any], most: int) -> None:
    """Edges into one file per range, in the order given."""
    with ExitStack() as stack, keys.open("rb") as file:
        files = [stack.enter_context(closing(NewFile(work / f"range-{i}"))) for i in range(len(ranges))]
        while len(block := np.fromfile(file, record, most)):
            place = np.searchsorted(ranges, block["key"] // 2 // num_nodes, side="right") - 1
            order = np.argsort(place, kind="stable")
            bounds = np.searchsorted(place[order], np.arange(len(ranges) + 1))
            ordered = block[order]
            for out, (low, high) in zip(files, itertools.pairwise(bounds)):
                out.write(_bytes(ordered[low:high]))
    keys.unlink()


def _sorted_range(path: Path, record: np.dtype[Any]) -> tuple[Array, int, int]:
    """Edges of a range, sorted, each once; how many were given again, and how many of those the other way round."""
    rows = np.fromfile(path, record)
    path.unlink()
    swapped = (rows["key"] & 1).astype(bool)
    rows["key"] -= swapped
    bare = record.names == ("key",)
    first, back = first_of_equals(rows["key"] if bare else rows.view(np.dtype((np.void, record.itemsize))), swapped)
    order = first if bare else first[np.lexsort((first, rows["key"][first]))]
    return rows[order], len(rows) - len(first), back


def _entries(edges: Array, low: int, high: int, num_edges: int, budget: int) -> tuple[Array, Array, Array]:
    """Row, column and edge of each neighbor of the nodes ``low`` to ``high``; lower neighbors first, each ascending."""
    ends, begins = [], []  # edges that end, and that begin, at these nodes
    step = max(1, budget // BYTES_A_KEY)
    for start in range(0, num_edges, step):
        block = read_rows(edges, start, min(start + step, num_edges))
        if block[0, 0] >= high:
            break
        numbers = np.arange(start, start + len(block), dtype=np.int32)
        there = (block[:, 1] >= low) & (block[:, 1] < high)
        ends.append((block[there, 1].astype(np.int32), block[there, 0].astype(np.int32), numbers[there]))
        here = (block[:, 0] >= low) & (block[:, 0] < high)
        begins.append((block[here, 0].astype(np.int32), block[here, 1].astype(np.int32), numbers[here]))
    nothing = (np.empty(0, np.int32),) * 3
    rows, columns, ids = (np.concatenate(parts) for parts in zip(nothing, *ends, *begins))
    return rows, columns, ids
