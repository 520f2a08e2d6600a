"""Edges that do not fit the memory: sorted, each once, and as neighbors of each node. Shapes: N nodes, E edges.

An edge u < v is the number u N + v. The numbers are cut into ranges of u of about the same size, one file each; a range
fits the memory, is sorted there, and its edges follow those of the range before. For the neighbors, nodes are taken
some at a time, and the edges at them are found by going through the edges once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.files.npy import ArrayInfo, NpyWriter, read_rows
from se_gnn.files.scratch import scratch_file
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edge_list import EdgeReport

MOST = 2**31 - 1  # nodes, and edges: ids are 32 bits wide
MOST_RANGES = 256  # files that are open at a time
BYTES_A_KEY = 128  # of memory while a range is sorted or cut: the numbers, their order, copies, and the ends
BYTES_AN_ENTRY = 192  # of memory while the neighbors of some nodes are put in order

Array = npt.NDArray[Any]


def write_edges(
    pairs: Iterable[IntArray], num_nodes: int, arrays: Path, work: Path, budget: int
) -> tuple[dict[str, ArrayInfo], EdgeReport]:
    """Write `edges`, `indptr`, `indices` and `edge_ids` of a mapped graph.

    Args:
        pairs: positions of the ends, some rows at a time, in any order and direction.
        num_nodes: N.
        arrays: folder for the result.
        work: folder for what is in between: twice 8 bytes per edge.
        budget: bytes of memory.
    """
    given, loops, counts = _write_keys(pairs, num_nodes, work / "keys")
    kept = int(counts.sum())
    ranges = _ranges(counts, max(1, budget // BYTES_A_KEY))
    _split(work / "keys", ranges, num_nodes, work, budget)
    degrees = np.zeros(num_nodes, np.int64)
    with NpyWriter(arrays / "edges.npy", np.int64, (2,)) as edges:
        for number in range(len(ranges)):
            for part in _sorted_range(work / f"range-{number}", num_nodes, budget):
                degrees += np.bincount(part.ravel(), minlength=num_nodes)
                edges.append(part)
        found = {"edges": edges.close()}
    num_edges = found["edges"].shape[0]
    if num_edges > MOST // 2:
        raise InputError(f"a mapped graph must have at most {MOST // 2:,} edges, got {num_edges:,}")
    report = EdgeReport(given=given, self_loops=loops, reciprocal=0, duplicates=kept - num_edges)
    return {**found, **_write_neighbors(arrays, degrees, num_nodes, num_edges, budget)}, report


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


def _write_neighbors(
    arrays: Path, degrees: IntArray, num_nodes: int, num_edges: int, budget: int
) -> dict[str, ArrayInfo]:
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    edges = np.load(arrays / "edges.npy", mmap_mode="r")
    most = max(1, budget // BYTES_AN_ENTRY)
    with (
        NpyWriter(arrays / "indptr.npy", np.int64) as starts,
        NpyWriter(arrays / "indices.npy", np.int32) as indices,
        NpyWriter(arrays / "edge_ids.npy", np.int32) as ids,
    ):
        starts.append(indptr)
        low = 0
        while low < num_nodes:
            high = max(low + 1, int(np.searchsorted(indptr, indptr[low] + most, side="right")) - 1)
            rows, columns, edge_ids = _entries(edges, low, high, num_edges, budget)
            order = np.argsort(rows, kind="stable")
            indices.append(columns[order])
            ids.append(edge_ids[order])
            low = high
        return {"indptr": starts.close(), "indices": indices.close(), "edge_ids": ids.close()}


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
