"""What nodes aggregate, vector by vector, against sums written out."""

import numpy as np
import pytest

from se_gnn.encoder.blocks import aggregate_rows, aligned
from strategies import random_graph


@pytest.mark.parametrize("width", [1, 7, 16, 19, 32, 48, 53])
@pytest.mark.parametrize("with_itself", [True, False])
def test_rows_are_the_sums_of_their_neighbors(width, with_itself):
    graph, generator = random_graph(width, num_nodes=40, num_edges=70, isolated=(3, 39)), np.random.default_rng(width)
    csr = graph.neighbors()
    indptr, indices = csr.indptr, csr.indices
    h, own = (generator.standard_normal((40, width), dtype=np.float32) for _ in range(2))
    factor, weight = generator.random(40, dtype=np.float32), np.float32(0.3)
    out = aligned(40, width)
    for low, high in ((0, 11), (11, 40)):
        ptr = indptr[low : high + 1] - indptr[low]
        columns = indices[indptr[low] : indptr[high]].astype(np.int32)
        aggregate_rows(ptr, columns, low, with_itself, factor, h, weight, own, out)
    sums = np.array([h[indices[indptr[i] : indptr[i + 1]]].sum(axis=0) + with_itself * h[i] for i in range(40)])
    assert (np.diff(indptr) == 0).any(), "a node without a neighbor is part of it"
    assert np.allclose(out, factor[:, None] * sums + weight * own, atol=1e-5)


@pytest.mark.parametrize(("rows", "columns"), [(5, 16), (3, 32), (4, 7)])
def test_rows_of_whole_vectors_begin_with_a_line_of_the_cache(rows, columns):
    found = aligned(rows, columns)
    assert found.shape == (rows, columns)
    assert found.flags.c_contiguous
    assert found.ctypes.data % 64 == 0
