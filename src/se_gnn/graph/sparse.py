"""A fixed sparse matrix times dense tensors that are learned: features, propagation and membership alike.

On the CPU each row of a product belongs to one thread, which adds the stored values in their order: the same bits on
any number of threads. Rows are dealt out by their stored values, so that a few long rows do not keep the other threads
waiting. Shapes: N rows, M columns, D columns of the dense matrix.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.compiled_code import compiled
from se_gnn.deterministic.layers import one_thread
from se_gnn.deterministic.vectors import multiply_add
from se_gnn.device import has_triton
from se_gnn.graph.arrays import FloatArray, Int32Array

PIECES = 64  # of a matrix, of about as many stored values each
WORTH_THREADS = 1 << 18  # multiplications from which several threads are used: about 0.1 ms


@dataclass(frozen=True, slots=True, eq=False)
class SparseMatrix:
    """A constant matrix in CSR form with its transpose, so that the backward pass is a CSR product as well.

    >>> matrix = SparseMatrix.from_scipy(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> (matrix @ torch.tensor([[1.0], [10.0]])).tolist()
    [[20.0], [1.0]]
    """

    rows: Tensor
    transposed: Tensor
    order: Tensor  # position in `rows` of each stored value of `transposed`

    @classmethod
    def from_scipy(cls, matrix: Any, device: torch.device | str = "cpu") -> SparseMatrix:
        """Take over a SciPy matrix, as float32."""
        csr = sp.csr_array(matrix, dtype=np.float32)
        positions = sp.csr_array((np.arange(csr.nnz), csr.indices, csr.indptr), shape=csr.shape)
        flipped = sp.csr_array(positions.T)
        order = torch.from_numpy(flipped.data.astype(np.int64)).to(device)
        rows = _csr(csr.indptr, csr.indices, torch.tensor(csr.data), csr.shape, device)
        values = rows.values()[order]
        return cls(rows, _csr(flipped.indptr, flipped.indices, values, flipped.shape, device), order)

    @classmethod
    def symmetric(
        cls, pattern: sp.csr_array, values: Any, flipped: Any, device: torch.device | str = "cpu"
    ) -> SparseMatrix:
        """A matrix whose pattern is its own transpose: values of the matrix and of its transpose, row by row."""
        matrices = [
            _csr(pattern.indptr, pattern.indices, torch.tensor(data, dtype=torch.float32), pattern.shape, device)
            for data in (values, flipped)
        ]
        return cls(matrices[0], matrices[1], torch.empty(0, dtype=torch.int64))

    @property
    def values(self) -> Tensor:
        """Stored values, row by row."""
        return self.rows.values()

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same pattern with other stored values."""
        return SparseMatrix(_revalued(self.rows, values), _revalued(self.transposed, values[self.order]), self.order)

    def to(self, device: torch.device) -> SparseMatrix:
        """The same matrix on a device."""
        return SparseMatrix(self.rows.to(device), self.transposed.to(device), self.order.to(device))

    def copy_(self, other: SparseMatrix) -> None:
        """Take over another matrix with as many stored values, in place."""
        for mine, theirs in ((self.rows, other.rows), (self.transposed, other.transposed)):
            for part in ("crow_indices", "col_indices", "values"):
                getattr(mine, part)().copy_(getattr(theirs, part)())
        self.order.copy_(other.order)

    def __matmul__(self, dense: Tensor) -> Tensor:
        """[n, m] @ [m, d] -> [n, d], with a gradient to ``dense``."""
        product: Tensor = _Product.apply(dense, self)  # type: ignore[no-untyped-call]
        return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return csr_product(matrix.rows, dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return csr_product(ctx.matrix.transposed, grad), None


def _csr(indptr: Any, indices: Any, values: Tensor, shape: tuple[int, ...], device: torch.device | str) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Ss]parse.*")  # PyTorch calls its CSR tensors beta
        return torch.sparse_csr_tensor(
            torch.from_numpy(np.asarray(indptr, dtype=np.int32)).to(device),
            torch.from_numpy(np.asarray(indices, dtype=np.int32)).to(device),
            values.to(device),
            size=shape,
            check_invariants=False,
        )


def _revalued(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(
        matrix.crow_indices(), matrix.col_indices(), values, size=matrix.shape, check_invariants=False
    )


def csr_product(matrix: Tensor, dense: Tensor) -> Tensor:
    """[N, M] @ [M, D] -> [N, D]; no gradients."""
    if matrix.device.type == "cuda" and has_triton():
        from se_gnn.deterministic.cuda import csr_product as by_rows  # only on machines with Triton

        return by_rows(matrix.crow_indices(), matrix.col_indices(), matrix.values(), dense)
    if matrix.device.type != "cpu":
        return matrix @ dense
    if not matrix.dtype == dense.dtype == torch.float32:
        with one_thread():
            return matrix @ dense
    out = torch.empty(matrix.shape[0], dense.shape[1])
    parts = (matrix.crow_indices(), matrix.col_indices(), matrix.values().detach(), dense.detach().contiguous(), out)
    arrays = [part.numpy() for part in parts]
    if len(arrays[2]) * dense.shape[1] >= WORTH_THREADS:
        _product(*arrays)
        return out
    before = numba.get_num_threads()
    numba.set_num_threads(1)  # where other processes keep the cores busy, waiting for a second thread takes far longer
    try:
        _product(*arrays)
    finally:
        numba.set_num_threads(before)
    return out


@compiled(parallel=True)
def _product(ptr: Int32Array, columns: Int32Array, values: FloatArray, dense: FloatArray, out: FloatArray) -> None:
    stored = np.int64(len(values))
    for piece in numba.prange(PIECES):
        first = np.searchsorted(ptr, stored * piece // PIECES)
        last = len(out) if piece + 1 == PIECES else np.searchsorted(ptr, stored * (piece + 1) // PIECES)
        for row in range(first, last):
            for d in range(out.shape[1]):
                out[row, d] = 0
            i, end = ptr[row], ptr[row + 1]
            while i + 4 <= end:  # four at a time: the sums are read and written a quarter as often
                a, b, c, e = values[i], values[i + 1], values[i + 2], values[i + 3]
                p, q, r, s = columns[i], columns[i + 1], columns[i + 2], columns[i + 3]
                for d in range(out.shape[1]):
                    two = multiply_add(b, dense[q, d], a * dense[p, d])
                    out[row, d] += multiply_add(e, dense[s, d], multiply_add(c, dense[r, d], two))
                i += 4
            while i < end:
                value, p = values[i], columns[i]
                for d in range(out.shape[1]):
                    out[row, d] = multiply_add(value, dense[p, d], out[row, d])
                i += 1
