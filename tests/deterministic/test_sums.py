"""Sums in compiled code: right, in one order, and the same in the process that compiles as in one that loads."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import se_gnn
from se_gnn.deterministic.vectors import apart_from_edge, apart_of_rows, dot_of_edges, dot_of_rows, multiply_add

BOUNDS = {"se_gnn.similarity.cpu.bounds"}  # they decide who is compared


@numba.njit
def sums(a, b):
    return np.array(
        [
            dot_of_rows(a, 1, b, 2),
            apart_of_rows(a, 1, b, 2),
            apart_from_edge(a, 0, b, 1, 2),
            dot_of_edges(a, 0, 1, 2, 3),
            multiply_add(a[0, 0], b[0, 0], a[1, 0]),
        ]
    )


@pytest.mark.parametrize("depth", [1, 3, 15, 16, 17, 48, 63, 64, 65, 200])
def test_sums_are_right_for_any_number_of_dimensions(depth):
    a, b = np.random.default_rng(depth).normal(size=(2, 4, depth)).astype(np.float32)
    x, y = a.astype(np.float64), b.astype(np.float64)
    wanted = [
        x[1] @ y[2],
        ((x[1] - y[2]) ** 2).sum(),
        ((x[0] - (y[1] + y[2]) / 2) ** 2).sum(),
        (x[0] + x[1]) @ (x[2] + x[3]) / 4,
        x[0, 0] * y[0, 0] + x[1, 0],
    ]
    np.testing.assert_allclose(sums(a, b), wanted, rtol=2e-6, atol=2e-6 * depth**0.5)


def test_no_result_is_made_by_code_that_the_compiler_may_reorder():
    fast = set()
    for found in pkgutil.walk_packages(se_gnn.__path__, "se_gnn."):
        if found.name.endswith("__main__") or ".apps" in found.name or ".cuda" in found.name:
            continue
        module = importlib.import_module(found.name)
        functions = [getattr(value, "dispatcher", value) for value in vars(module).values()]
        functions = [function for function in functions if isinstance(function, Dispatcher)]
        fast |= {function.__module__ for function in functions if function.targetoptions.get("fastmath")}
    assert fast
    assert fast <= BOUNDS


PROGRAM = """
import hashlib
import numpy as np
from se_gnn.similarity.cpu.backend import distances_of_rows
from se_gnn.similarity.cpu.matching import edge_squares
found = hashlib.sha256()
for depth in (3, 4, 5, 17, 64):
    generator = np.random.default_rng(depth)
    h, ends = generator.normal(size=(90, depth)).astype(np.float32), generator.integers(0, 90, (400, 2))
    apart = distances_of_rows(h, h, np.arange(91) * 90, np.zeros(90, int), np.arange(90))
    for array in (*edge_squares(h, ends), apart):
        found.update(array.tobytes())
print(found.hexdigest(), sum(edge_squares.dispatcher.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_code_that_was_just_compiled_has_the_bits_of_code_out_of_the_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    (compiled, none), (loaded, some) = (found.stdout.split() for found in said)
    assert (none, some) == ("0", "1")
    assert compiled == loaded
