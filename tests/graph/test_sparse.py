import numba
import numpy as np
import scipy.sparse as sp
import torch

from se_gnn.graph.sparse import WORTH_THREADS, SparseMatrix


def test_a_small_product_has_the_bits_of_the_same_rows_in_a_large_one():
    generator = np.random.default_rng(0)
    few = sp.random_array((50, 40), density=0.2, rng=generator, dtype=np.float32, format="csr")
    many = sp.vstack([few] * (2 * WORTH_THREADS // (few.nnz * 16)), format="csr")
    dense = torch.from_numpy(generator.normal(size=(40, 16)).astype(np.float32))
    assert few.nnz * 16 < WORTH_THREADS < many.nnz * 16
    small, large = (SparseMatrix.from_scipy(matrix) @ dense for matrix in (few, many))
    assert torch.equal(small, large[:50])


def test_a_small_product_leaves_the_number_of_threads_as_it_was():
    before = numba.get_num_threads()
    SparseMatrix.from_scipy(sp.eye_array(3, format="csr")) @ torch.ones(3, 2)
    assert numba.get_num_threads() == before
