r"""Embeddings of a graph that does not fit the memory. Shapes: N nodes, F features, D dimensions.

The MLP works on some nodes at a time. What is aggregated of its output is a polynomial of the propagation matrix,
:math:`\sum_k g_k \tilde A^k H^m`, each dimension apart from the others: so some dimensions at a time, a *panel*, are
propagated over all nodes, by Horner's rule, with the neighbors read from their file some nodes at a time. What is in
between lies in files, panel after panel. The result is that of the encoder up to rounding: sums run in another order.

A sum over neighbors waits for memory, since nobody knows which row comes next before it is read. So 32 dimensions of a
row are added at a time, in registers, and no weight is looked up beside it: neighbors are added as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from io import BufferedRandom
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.vectors import WIDTH, ZEROS, Loop, Matrix, constant, generated
from se_gnn.encoder.columns import mean_weight, own_edge_columns, own_edges, relative_weights
from se_gnn.encoder.encoder import Network, ResidualLayers
from se_gnn.encoder.ensemble import Ensemble
from se_gnn.encoder.inputs import MEANS, scaled_attributes
from se_gnn.errors import InputError
from se_gnn.files.writing import nameless_file, room_for_scratch
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, Int32Array, IntArray
from se_gnn.graph.rows import Rows, as_rows
from se_gnn.settings import EncoderSettings

LEAST = 64  # bytes of memory per node that are needed at least
ARRAYS_AT_ONCE = 3  # of N x dimensions while they are propagated
SHARE = 16  # of the memory is for blocks of rows


@torch.no_grad()
def embed_in_blocks(encoder: Network | Ensemble, graph: Graph, budget: int) -> FloatArray:
    """H of all nodes, [N, D], as a mapped file that is removed when it is no longer used.

    Args:
        encoder: on the CPU.
        graph: any, mapped or not.
        budget: bytes of memory, besides 16 per node.
    """
    if LEAST * graph.num_nodes > budget:
        needed = LEAST * graph.num_nodes / 2**20
        raise InputError(f"max_memory must be at least {needed:,.0f}M to embed {graph.num_nodes:,} nodes")
    members = encoder.encoders if isinstance(encoder, Ensemble) else [encoder]
    propagation = _Propagation(graph, members[0].settings, budget)  # of the settings, which all members share
    with room_for_scratch(), ExitStack() as stack:
        found = [_Member(member, graph, propagation, stack, budget) for member in members]
        width = sum(member.embedding_width for member in found)
        file = stack.enter_context(nameless_file())
        for low, high in _blocks(graph.num_nodes, budget // SHARE // (16 * width)):
            parts = [member.rows(low, high) for member in found]
            whole = encoder.side_by_side(parts) if isinstance(encoder, Ensemble) else parts[0]
            file.write(whole.contiguous().numpy().data)
        file.flush()
        return np.memmap(file, np.float32, "r", shape=(graph.num_nodes, width))  # stays when the file is closed


class _Member:
    """One encoder: what is aggregated, and its own part where that is added, in files of one panel after the other."""

    def __init__(
        self, encoder: Network, graph: Graph, propagation: _Propagation, stack: ExitStack, budget: int
    ) -> None:
        self.encoder, self.num_nodes = encoder, graph.num_nodes
        self.own, self.aggregated = (stack.enter_context(nameless_file()) for _ in range(2))
        self.embedding_width = encoder.width
        self.width = encoder.width if encoder.residual is None else encoder.dense(-1).in_features  # what is propagated
        self.panels = list(_blocks(self.width, _panel_width(graph.num_nodes, budget)))
        self._write_own(graph, budget)
        if encoder.residual is not None:
            self._run_layers(encoder.residual, propagation, stack, budget)
            return
        self._propagate(self.own, propagation, encoder.step_polynomial)
        if not encoder.adds_own:
            self.own.close()

    def _propagate(self, source: BufferedRandom, propagation: _Propagation, weights: Tensor) -> None:
        """Write what is aggregated of a file, panel by panel."""
        source.seek(0)
        self.aggregated.seek(0)
        for low, high in self.panels:
            panel = aligned(self.num_nodes, high - low)
            source.readinto(panel.data)
            self.aggregated.write(propagation(panel, weights).data)
        self.aggregated.flush()

    def _run_layers(self, residual: ResidualLayers, propagation: _Propagation, stack: ExitStack, budget: int) -> None:
        """Residual layers, one after the other; the states of all nodes stay in the file of their own."""
        normalized = stack.enter_context(nameless_file())
        blocks = list(_blocks(self.num_nodes, budget // SHARE // (24 * self.width)))
        for i in range(len(residual)):
            for low, high in blocks:
                self._put(normalized, low, residual.normalized(self._some(self.own, low, high), i))
            self._propagate(normalized, propagation, torch.tensor([0.0, 1.0]))
            for low, high in blocks:
                h, z, around = (self._some(file, low, high) for file in (self.own, normalized, self.aggregated))
                self._put(self.own, low, residual.layer(h, z, around, i))

    def rows(self, low: int, high: int) -> Tensor:
        """H of some nodes."""
        if (residual := self.encoder.residual) is not None:
            return self.encoder.last_layer(residual.normalized(self._some(self.own, low, high), len(residual)))
        aggregated = self._some(self.aggregated, low, high)
        own = self._some(self.own, low, high) if self.encoder.adds_own else aggregated
        return self.encoder.finish(own, aggregated)

    def _write_own(self, graph: Graph, budget: int) -> None:
        encoder, scaling = self.encoder, self.encoder.settings.attribute_scaling
        widest = max(encoder.settings.hidden_size, encoder.num_features, self.width)
        most = graph.nodes.features.dtype.itemsize * graph.num_features * (budget // SHARE // (24 * widest))
        for low, rows in graph.nodes.features.blocks(most):
            dense = rows.toarray() if sp.issparse(rows) else rows
            if own_edge_columns(graph, encoder.settings):
                dense = np.concatenate([dense, own_edges(graph, np.arange(low, low + len(dense)))], axis=1)
            scaled = torch.from_numpy(np.asarray(scaled_attributes(dense.astype(np.float32), scaling), np.float32))
            self._put(self.own, low, encoder.later_layers(encoder.first_layer(scaled)))

    def _put(self, file: BufferedRandom, low: int, rows: Tensor) -> None:
        """Write some rows [rows, D] to a file of panels, from row ``low`` on."""
        for first, last in self.panels:
            file.seek(self._place(first, last, low))
            file.write(rows[:, first:last].contiguous().numpy().data)

    def _some(self, file: BufferedRandom, low: int, high: int) -> Tensor:
        """Some rows of a file of panels, [rows, D]."""
        found = np.empty((high - low, self.width), np.float32)
        for first, last in self.panels:
            part = np.empty((high - low, last - first), np.float32)
            file.seek(self._place(first, last, low))
            file.readinto(part.data)
            found[:, first:last] = part
        return torch.from_numpy(found)

    def _place(self, first: int, last: int, row: int) -> int:
        """Where a row of a panel stands in its file."""
        return 4 * (self.num_nodes * first + row * (last - first))


class _Propagation:
    r"""A polynomial of the propagation matrix times a panel, without a matrix in memory.

    With :math:`R = (D + I)^{-1/2}` a step is :math:`\tilde A = R (A + I) R`. The panel is multiplied by R before
    all steps and divided by it after them: between, a step is :math:`R^2 (A + I)`, and neighbors are added as they are.
    """

    def __init__(self, graph: Graph, settings: EncoderSettings, budget: int) -> None:
        self.neighbors, self.mean, self.budget = graph.neighbors(), settings.aggregation in MEANS, budget // SHARE
        self.weights: Rows | None = None  # of the edges; None: all count the same
        degrees = graph.degrees
        if settings.weighted_steps and graph.edge_values is not None and graph.edge_values.weight is not None:
            self.weights, self.unit = as_rows(graph.edge_values.weight), mean_weight(graph.edge_values.weight)
            sums = [np.asarray(matrix.sum(axis=1)) for _, matrix in self._weighted_rows()]
            degrees = np.concatenate([*sums, np.empty(0, np.float32)])
        self.factor = (1 / (np.where(degrees > 0, degrees, 1) if self.mean else degrees + 1)).astype(np.float32)
        self.root = np.sqrt(self.factor)

    def __call__(self, own: FloatArray, weights: Tensor) -> FloatArray:
        """The sum over k of ``weights[k]`` times the k-th power times ``own``, [N, D]; ``own`` is written over."""
        *others, last = weights.tolist()
        scaled = bool(others) and not self.mean
        h, out = aligned(*own.shape), aligned(*own.shape)
        if scaled:
            own *= self.root[:, None]
        np.multiply(own, last, out=h)
        for weight in reversed(others):
            self._step(h, weight, own, out)
            h, out = out, h
        if scaled:
            h /= self.root[:, None]
        return h

    def _step(self, h: FloatArray, weight: float, own: FloatArray, out: FloatArray) -> None:
        if self.weights is None:
            for low, ptr, neighbors in self.neighbors.blocks(self.budget):
                aggregate_rows(ptr, neighbors, low, not self.mean, self.factor, h, weight, own, out)
            return
        for low, matrix in self._weighted_rows():
            rows = slice(low, low + matrix.shape[0])
            total = matrix @ h if self.mean else matrix @ h + h[rows]
            out[rows] = self.factor[rows, None] * total + np.float32(weight) * own[rows]

    def _weighted_rows(self) -> Iterator[tuple[int, sp.csr_array]]:
        """The weights of the edges of each node, some nodes at a time: the first of them, and a row for each."""
        assert self.weights is not None
        for low, ptr, others, ids in self.neighbors.row_blocks(self.budget):
            weights = relative_weights(self.weights[ids], self.unit)
            yield low, sp.csr_array((weights, others, ptr), shape=(len(ptr) - 1, len(self.neighbors)))


def _panel_width(num_nodes: int, budget: int) -> int:
    """Dimensions that are propagated at a time; whole vectors where there is room for one."""
    most = max(1, (budget - budget // SHARE) // (4 * ARRAYS_AT_ONCE * num_nodes))
    return most - most % WIDTH if most >= WIDTH else most


def _blocks(count: int, most: int) -> Iterator[tuple[int, int]]:
    step = max(1, most)
    return ((low, min(low + step, count)) for low in range(0, count, step))


def aligned(rows: int, columns: int) -> FloatArray:
    """An array without values, [rows, columns], of which no row of 16 lies in two lines of the cache."""
    whole = np.empty(rows * columns + WIDTH, np.float32)
    start = -(whole.ctypes.data // 4) % WIDTH
    return whole[start : start + rows * columns].reshape(rows, columns)


def _sum_of(vectors: int) -> Any:
    """``out[row, first:] = sum of h[columns[low:high], first:]``, for some vectors of 16 dimensions."""

    @generated()
    def add(builder: Any, out: Matrix, row: Any, h: Matrix, columns: Matrix, low: Any, high: Any, first: Any) -> None:
        places = [builder.add(first, constant(v * WIDTH)) for v in range(vectors)]
        with Loop.over(builder, low, high, [ZEROS] * vectors) as loop:
            other = columns.whole(loop.index)
            loop.next = [builder.fadd(total, h.load(other, at)) for at, total in zip(places, loop.carried, strict=True)]
        for place, total in zip(places, loop.carried, strict=True):
            out.store(total, row, place)

    return add


_sum_of_one, _sum_of_two = _sum_of(1), _sum_of(2)


@compiled(parallel=True)
def aggregate_rows(
    ptr: IntArray,
    columns: Int32Array,
    low: int,
    with_itself: bool,
    factor: FloatArray,
    h: FloatArray,
    weight: float,
    own: FloatArray,
    out: FloatArray,
) -> None:
    r"""Write rows ``low`` and on of :math:`diag(f) A h + g\,own`, A with ones on its diagonal where ``with_itself``.

    One thread adds the neighbors of a node, in the order of ``columns``.

    Shapes:
        - **ptr:** one more than rows, **columns:** neighbors one row after the other, **factor:** :math:`(N,)`
        - **h**, **own**, **out:** :math:`(N, D)`
    """
    width, g = h.shape[1], np.float32(weight)
    for i in numba.prange(len(ptr) - 1):
        row, first = low + i, 0
        while first + 2 * WIDTH <= width:
            _sum_of_two(out, row, h, columns, ptr[i], ptr[i + 1], first)
            first += 2 * WIDTH
        if first + WIDTH <= width:
            _sum_of_one(out, row, h, columns, ptr[i], ptr[i + 1], first)
            first += WIDTH
        for d in range(first, width):
            out[row, d] = 0
        for j in range(ptr[i], ptr[i + 1] if first < width else ptr[i]):
            for d in range(first, width):
                out[row, d] += h[columns[j], d]
        for d in range(width):
            total = out[row, d] + h[row, d] if with_itself else out[row, d]
            out[row, d] = factor[row] * total + g * own[row, d]
