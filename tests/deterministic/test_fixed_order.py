"""Operators with the same bits on any number of threads agree with PyTorch's own, gradients included."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from backends import GPU, on_every_device, on_triton
from se_gnn.deterministic import linear, linear_by_row, one_thread, rows
from se_gnn.graph.sparse import SparseMatrix
from strategies import continuous, seeds

THREADS = (1, 2, 4)


def on_every_number_of_threads(compute):
    """What ``compute`` returns on 1, 2 and 4 threads of PyTorch, and of numba as far as there are so many."""
    before, found = (torch.get_num_threads(), numba.get_num_threads()), []
    try:
        for threads in THREADS:
            torch.set_num_threads(threads)
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            found.append(compute())
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])
    return found


def assert_all_equal(results):
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


def sparse(seed, num_rows, num_columns, density):
    generator = np.random.default_rng(seed)
    matrix = sp.random(num_rows, num_columns, density, format="csr", dtype=np.float32, rng=generator)
    return SparseMatrix.from_scipy(matrix), torch.from_numpy(matrix.toarray())


@on_triton
@pytest.mark.parametrize(("shape", "density", "width"), [((40, 30), 0.2, 5), ((3, 400), 0.9, 200), ((2, 2), 0.0, 1)])
def test_a_sparse_product_by_triton_is_that_of_the_dense_matrix(shape, density, width):
    from se_gnn.deterministic.cuda import csr_product  # only on machines with Triton

    matrix, dense = sparse(0, *shape, density)
    x = continuous(1, shape[1], width)
    parts = (matrix.rows.crow_indices(), matrix.rows.col_indices(), matrix.values, x)
    product = csr_product(*(part.to(GPU) for part in parts)).cpu()
    torch.testing.assert_close(product, dense @ x, atol=1e-4, rtol=1e-5)


@on_every_device
@given(
    seed=seeds, num_rows=st.integers(1, 40), num_columns=st.integers(1, 30), width=st.integers(0, 9),
    density=st.sampled_from([0.0, 0.1, 0.9]),
)  # fmt: skip
def test_a_sparse_product_and_its_gradient_are_those_of_the_dense_matrix(
    seed, num_rows, num_columns, width, density, device
):
    matrix, dense = (each.to(torch.device(device)) for each in sparse(seed, num_rows, num_columns, density))
    x = torch.from_numpy(np.random.default_rng(seed).normal(size=(num_columns, width)).astype(np.float32)).to(device)
    x.requires_grad_()
    product = matrix @ x
    torch.testing.assert_close(product, dense @ x, atol=1e-5, rtol=1e-5)
    weights = torch.from_numpy(np.random.default_rng(1).normal(size=(num_rows, width)).astype(np.float32)).to(device)
    (gradient,) = torch.autograd.grad(product, x, weights)
    torch.testing.assert_close(gradient, dense.T @ weights, atol=1e-5, rtol=1e-5)


def test_a_sparse_product_of_doubles_stays_double():
    matrix, dense = sparse(0, 5, 4, 0.5)
    doubled = SparseMatrix(matrix.rows.double(), matrix.transposed.double(), matrix.order)
    x = continuous(0, 4, 3).double()
    torch.testing.assert_close(doubled @ x, dense.double() @ x)


@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_layer_and_its_gradients_are_those_of_pytorch(shape, biased):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    weight = continuous(1, 5, 7).requires_grad_()
    bias = continuous(2, 1, 5)[0].requires_grad_() if biased else None
    inputs = [each for each in (x, weight, bias) if each is not None]
    found, expected = linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(out.square().sum(), inputs) for out in (found, expected))):
        torch.testing.assert_close(one, other)


def test_a_row_of_a_layer_by_rows_has_the_same_bits_alone_and_among_others():
    x, weight = continuous(0, 50, 6).requires_grad_(), continuous(1, 33, 6).requires_grad_()
    together = linear_by_row(x, weight)
    torch.testing.assert_close(together, torch.nn.functional.linear(x, weight))
    assert torch.equal(together, torch.cat([linear_by_row(x[i : i + 1], weight) for i in range(50)]))
    expected = torch.autograd.grad(torch.nn.functional.linear(x, weight).square().sum(), (x, weight))
    for found, other in zip(torch.autograd.grad(together.square().sum(), (x, weight)), expected):
        torch.testing.assert_close(found, other)


def test_a_layer_of_an_array_that_starts_anywhere_has_the_same_bits():
    values, weight = continuous(0, 400, 32), continuous(1, 16, 32)
    shifted = torch.empty(values.numel() + 1)[1:].reshape(values.shape).copy_(values)
    assert shifted.data_ptr() % 64 != values.data_ptr() % 64
    assert torch.equal(linear(values, weight), linear(shifted, weight))


def test_the_number_of_threads_changes_no_bit_of_a_layer():
    x, weight, bias = continuous(0, 4000, 96), continuous(1, 64, 96), continuous(2, 1, 64)[0]
    inputs = [each.requires_grad_() for each in (x, weight, bias)]

    def compute():
        out = linear(x, weight, bias)
        return [out.detach(), *torch.autograd.grad(out, inputs, torch.tanh(out.detach()))]

    assert_all_equal(on_every_number_of_threads(compute))


def test_the_number_of_threads_changes_no_bit_of_a_sparse_product():
    matrix, _ = sparse(0, 3000, 500, 0.05)
    x = continuous(0, 500, 64).requires_grad_()

    def compute():
        out = matrix @ x
        return [out.detach(), *torch.autograd.grad(out, x, torch.tanh(out.detach()))]

    assert_all_equal(on_every_number_of_threads(compute))


def test_the_number_of_threads_changes_no_bit_of_the_gradient_of_rows_taken_often():
    matrix = continuous(0, 50, 64).requires_grad_()
    index = torch.from_numpy(np.random.default_rng(0).integers(0, 50, (300, 40)))

    def compute():
        taken = rows(matrix, index)
        return [taken.detach(), *torch.autograd.grad(taken, matrix, torch.tanh(taken.detach() * index[..., None]))]

    assert torch.equal(rows(matrix, index), matrix[index])
    assert_all_equal(on_every_number_of_threads(compute))


@pytest.mark.usefixtures("all_threads")
def test_one_thread_is_given_back_even_after_an_error():
    before = torch.get_num_threads()

    @one_thread()
    def fail():
        assert torch.get_num_threads() == 1
        raise ValueError("on the way")

    with pytest.raises(ValueError, match="on the way"):
        fail()
    assert torch.get_num_threads() == before
