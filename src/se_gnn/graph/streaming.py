"""A graph that does not fit the memory, written some rows at a time. Shapes: N nodes, E edges.

Edges are sorted outside of memory: an edge u < v is the number u N + v, the numbers are cut into ranges of u of about
the same size, one file each; a range fits the memory, is sorted there, and its edges follow those of the range before.
For the neighbors, nodes are taken some at a time, and the edges at them are found by going through the edges once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.files.commit import Content
from se_gnn.files.npy import ArrayInfo, NpyWriter, read_rows
from se_gnn.files.scratch import scratch_file
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edges import EdgeReport
from se_gnn.graph.rows import Texts, row_ranges
from se_gnn.graph.storage import HEADER, KINDS, Facts, array_file

MOST = 2**31 - 1  # nodes, and edges: ids are 32 bits wide
MOST_RANGES = 256  # files that are open at a time
BYTES_A_KEY = 128  # of memory while a range is sorted or cut: the numbers, their order, copies, and the ends
BYTES_AN_ENTRY = 192  # of memory while the neighbors of some nodes are put in order

Array = npt.NDArray[Any]


class GraphWriter:
    """Writes the arrays of a graph (`se_gnn.graph.storage.KINDS`) into a work folder, in any order, in blocks of rows.

    :meth:`files` then gives the files that :func:`~se_gnn.files.commit_files` moves to where the graph is to be::

        writer = GraphWriter(work)
        with writer.array("nodes.features", "<f4", (num_features,)) as features:
            for block in blocks:
                features.append(block)
        writer.put("labels", labels)
        writer.texts("nodes.names", blocks_of_names)
        report = writer.edges(blocks_of_pairs, num_nodes, budget)
        commit_files(folder, writer.files(Facts(...)))
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        self.infos: dict[str, ArrayInfo] = {}

    @contextmanager
    def array(self, name: str, dtype: str | None = None, row_shape: tuple[int, ...] = ()) -> Iterator[NpyWriter]:
        """An array to append rows to; None: the first type that the array may have."""
        kind = KINDS[name]
        dtype = dtype or kind.dtypes[0]
        if dtype not in kind.dtypes or 1 + len(row_shape) != kind.dimensions:
            raise ValueError(f"{name} must be {kind}, got {dtype} with rows of shape {row_shape}")
        with NpyWriter(self.work / array_file(name), dtype, row_shape) as writer:
            yield writer
            self.infos[name] = writer.close()

    def put(self, name: str, values: Array) -> None:
        """A whole array."""
        with self.array(name, values.dtype.str, values.shape[1:]) as writer:
            writer.append(values)

    def texts(self, name: str, blocks: Iterable[Iterable[str]]) -> None:
        """Texts, some at a time: ``name`` is `nodes.names`, `nodes.captions`, `nodes.raw` or `edges.raw`."""
        last = 0
        with self.array(f"{name}.offsets") as offsets, self.array(f"{name}.text") as text:
            offsets.append(np.zeros(1, np.int64))
            for block in blocks:
                encoded = Texts.of(block)
                offsets.append(encoded.offsets[1:] + last)
                text.append(encoded.text)
                last += len(encoded.text)

    def edges(self, pairs: Iterable[IntArray], num_nodes: int, budget: int) -> EdgeReport:
        """Edges without values, each once, and the neighbors of each node.

        Args:
            pairs: positions of the ends, some rows at a time, in any order and direction.
            num_nodes: N.
            budget: bytes of memory; the work folder takes twice 8 bytes per edge besides.
        """
        work = self.work
        given, loops, counts = _write_keys(pairs, num_nodes, work / "keys")
        kept = int(counts.sum())
        ranges = _ranges(counts, max(1, budget // BYTES_A_KEY))
        _split(work / "keys", ranges, num_nodes, work, budget)
        degrees = np.zeros(num_nodes, np.int64)
        with self.array("edges.ends", row_shape=(2,)) as edges:
            for number in range(len(ranges)):
                for part in _sorted_range(work / f"range-{number}", num_nodes, budget):
                    degrees += np.bincount(part.ravel(), minlength=num_nodes)
                    edges.append(part)
        num_edges = self.infos["edges.ends"].shape[0]
        if num_edges > MOST // 2:
            raise InputError(f"a mapped graph must have at most {MOST // 2:,} edges, got {num_edges:,}")
        self._neighbors(degrees, num_edges, budget)
        return EdgeReport(given=given, self_loops=loops, duplicates=kept - num_edges)

    def _neighbors(self, degrees: IntArray, num_edges: int, budget: int) -> None:
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        edges = np.load(self.work / array_file("edges.ends"), mmap_mode="r")
        self.put("neighbors.indptr", indptr)
        with self.array("neighbors.indices") as indices, self.array("neighbors.edge_ids") as ids:
            for low, high in row_ranges(indptr, budget // BYTES_AN_ENTRY):
                rows, columns, edge_ids = _entries(edges, low, high, num_edges, budget)
                order = np.argsort(rows, kind="stable")
                indices.append(columns[order])
                ids.append(edge_ids[order])

    def files(self, facts: Facts) -> dict[str, Content]:
        """Name and content of all files of the graph."""
        files: dict[str, Content] = {array_file(name): self.work / array_file(name) for name in self.infos}
        return {**files, HEADER: facts.to_bytes(self.infos)}


def _write_keys(pairs: Iterable[IntArray], num_nodes: int, path: Path) -> tuple[int, int, IntArray]:
    given = loops = 0
    counts = np.zeros(num_nodes, np.int64)  # edges by their lower end
    with scratch_file(path) as file:
        for block in pairs:
            low, high = block.min(axis=1), block.max(axis=1)
            proper = low != high
            given, loops = given + len(block), loops + int(len(block) - proper.sum())
            low, high = low[proper], high[proper]
            counts += np.bincount(low, minlength=num_nodes)
            file.write((low * num_nodes + high).data)  # not tofile, which does not say why a disk takes no more
    return given, loops, counts


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


def _split(keys: Path, ranges: IntArray, num_nodes: int, work: Path, budget: int) -> None:
    files = [scratch_file(work / f"range-{number}") for number in range(len(ranges))]
    try:
        for block in _blocks(keys, budget // BYTES_A_KEY):
            place = np.searchsorted(ranges, block // num_nodes, side="right") - 1
            order = np.argsort(place, kind="stable")
            bounds = np.searchsorted(place[order], np.arange(len(ranges) + 1))
            ordered = block[order]
            for file, (low, high) in zip(files, itertools.pairwise(bounds)):
                file.write(ordered[low:high].data)
    finally:
        for file in files:
            file.close()
    keys.unlink()


def _blocks(path: Path, most: int) -> Iterator[IntArray]:
    with path.open("rb") as file:
        while len(block := np.fromfile(file, np.int64, max(1, most))):
            yield block


def _sorted_range(path: Path, num_nodes: int, budget: int) -> Iterator[IntArray]:
    """Edges of a range, sorted, each once, some at a time."""
    keys = np.fromfile(path, np.int64)
    path.unlink()
    keys.sort()
    fresh = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    keys = keys[fresh]
    step = max(1, budget // BYTES_A_KEY // 4)
    for low in range(0, len(keys), step):
        part = keys[low : low + step]
        yield np.stack([part // num_nodes, part % num_nodes], axis=1)


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
