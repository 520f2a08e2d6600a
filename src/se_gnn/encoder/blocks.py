r"""Embeddings of a graph that does not fit the memory. Shapes: N nodes, F features, D dimensions.

The MLP works on some nodes at a time. What is aggregated of its output is linear in each dimension apart from the
others: so the dimensions are propagated some at a time, over all nodes, with the neighbors read from their file some
nodes at a time. What is in between lies in files, dimension by dimension. The result is that of the encoder up to
rounding: sums run in another order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numba
import numpy as np
import torch
from torch import Tensor

from se_gnn.encoder.committee import Committee, side_by_side
from se_gnn.encoder.encoder import Encoder
from se_gnn.encoder.inputs import scaled_attributes
from se_gnn.errors import InputError
from se_gnn.files.npy import read_rows
from se_gnn.files.scratch import scratch_file
from se_gnn.graph.attributed import FloatArray, Int32Array, IntArray
from se_gnn.graph.mapped import MappedGraph

ARRAYS_AT_ONCE = 16  # of N x dimensions while they are propagated
SHARE = 16  # of the memory is for blocks of rows


@torch.no_grad()
def embed_in_blocks(encoder: Encoder | Committee, graph: MappedGraph, budget: int) -> FloatArray:
    """H of all nodes, [N, D], as a mapped file that is removed when it is no longer used.

    Args:
        encoder: on the CPU.
        graph: mapped.
        budget: bytes of memory, besides 16 per node.
    """
    if 4 * ARRAYS_AT_ONCE * graph.num_nodes > budget:
        needed = 4 * ARRAYS_AT_ONCE * graph.num_nodes / 2**20
        raise InputError(f"max_memory must be at least {needed:,.0f}M to embed {graph.num_nodes:,} nodes")
    members = encoder.encoders if isinstance(encoder, Committee) else [encoder]
    step = _Propagation(graph, members[0].config.aggregation == "mean", budget)  # that of the settings, for all
    with tempfile.TemporaryDirectory(prefix="se-gnn-") as place:
        paths = [Path(place) / str(number) for number in range(len(members))]
        found = [_Member(member, graph, step, path, budget) for member, path in zip(members, paths)]
        width = sum(member.width for member in found)
        path = Path(place) / "embeddings"
        with scratch_file(path) as file:
            for low, high in _blocks(graph.num_nodes, budget // SHARE // (16 * width)):
                parts = [member.rows(low, high) for member in found]
                whole = side_by_side(parts, encoder.shares) if isinstance(encoder, Committee) else parts[0]
                file.write(whole.contiguous().numpy().tobytes())
        # the mapping outlives the name of the file
        return np.memmap(path, np.float32, "r", shape=(graph.num_nodes, width))


class _Member:
    """One encoder: its own part and what is aggregated of it, in files of one dimension after the other."""

    def __init__(self, encoder: Encoder, graph: MappedGraph, step: _Propagation, place: Path, budget: int) -> None:
        self.encoder, self.num_nodes = encoder, graph.num_nodes
        self.own, self.aggregated = place.with_suffix(".own"), place.with_suffix(".aggregated")
        layer = encoder.layers[-1]
        assert isinstance(layer, torch.nn.Linear)
        self.width = layer.out_features
        self._write_own(graph, budget)
        most = max(1, budget // (4 * ARRAYS_AT_ONCE * self.num_nodes))
        with scratch_file(self.aggregated) as file:
            for low in range(0, self.width, most):
                count = min(most, self.width - low)
                columns = _columns(self.own, self.num_nodes, low, count)
                aggregated = encoder.aggregate(columns, step)
                for column in aggregated.T:
                    file.write(column.contiguous().numpy().tobytes())

    def rows(self, low: int, high: int) -> Tensor:
        """H of some nodes."""
        own, aggregated = (self._some(path, low, high) for path in (self.own, self.aggregated))
        return self.encoder.finish(own, aggregated)

    def _write_own(self, graph: MappedGraph, budget: int) -> None:
        encoder, scaling = self.encoder, self.encoder.config.attribute_scaling
        widest = max(encoder.config.hidden_size, graph.num_features, self.width)
        with scratch_file(self.own) as file:
            file.truncate(4 * self.num_nodes * self.width)
            for low, high in _blocks(self.num_nodes, budget // SHARE // (24 * widest)):
                features = read_rows(graph.features, low, high).astype(np.float32)
                scaled = torch.from_numpy(np.asarray(scaled_attributes(features, scaling), np.float32))
                own = encoder.later_layers(encoder.first_layer(scaled))
                for column, values in enumerate(own.T):
                    file.seek(4 * (column * self.num_nodes + low))
                    file.write(values.contiguous().numpy().tobytes())

    def _some(self, path: Path, low: int, high: int) -> Tensor:
        """Some rows of a file that holds one dimension after the other, [rows, D]."""
        columns = np.empty((self.width, high - low), np.float32)
        with path.open("rb") as file:
            for column in range(self.width):
                file.seek(4 * (column * self.num_nodes + low))
                columns[column] = np.fromfile(file, np.float32, high - low)
        return torch.from_numpy(np.ascontiguousarray(columns.T))


class _Propagation:
    """One step of propagation, as :func:`se_gnn.encoder.propagation` has it, without a matrix in memory."""

    def __init__(self, graph: MappedGraph, mean: bool, budget: int) -> None:
        self.graph, self.mean = graph, mean
        degrees = graph.degrees
        self.root = (1 / np.maximum(degrees, 1) if mean else 1 / np.sqrt(degrees + 1)).astype(np.float32)
        self.most = max(1, budget // SHARE // 4)

    def __call__(self, h: Tensor) -> Tensor:
        values = h.contiguous().numpy()
        out = np.empty_like(values)
        indptr = self.graph.indptr
        low, num_nodes = 0, self.graph.num_nodes
        while low < num_nodes:
            high = max(low + 1, int(np.searchsorted(indptr, indptr[low] + self.most, side="right")) - 1)
            starts = np.asarray(indptr[low : high + 1])
            columns = read_rows(self.graph.indices, int(starts[0]), int(starts[-1]))
            _step(starts - starts[0], columns, self.root, values, low, self.mean, out)
            low = high
        return torch.from_numpy(out)


@numba.njit(parallel=True, cache=True, nogil=True)
def _step(
    ptr: IntArray, columns: Int32Array, root: FloatArray, h: FloatArray, low: int, mean: bool, out: FloatArray
) -> None:
    """Rows ``low`` and on of D^-1/2 (A + I) D^-1/2 h, or of D^-1 A h; one thread sums each row, in the order of ids."""
    for i in numba.prange(len(ptr) - 1):
        row = low + i
        total = out[row]
        for d in range(h.shape[1]):
            total[d] = np.float32(0) if mean else root[row] * h[row, d]
        for j in range(ptr[i], ptr[i + 1]):
            other = columns[j]
            weight = np.float32(1) if mean else root[other]
            for d in range(h.shape[1]):
                total[d] += weight * h[other, d]
        for d in range(h.shape[1]):
            total[d] *= root[row]


def _blocks(count: int, most: int) -> Iterator[tuple[int, int]]:
    step = max(1, most)
    return ((low, min(low + step, count)) for low in range(0, count, step))


def _columns(path: Path, num_nodes: int, low: int, count: int) -> Tensor:
    """Some dimensions of all nodes, [N, count]."""
    with path.open("rb") as file:
        file.seek(4 * low * num_nodes)
        values = np.fromfile(file, np.float32, count * num_nodes)
    return torch.from_numpy(np.ascontiguousarray(values.reshape(count, num_nodes).T))
