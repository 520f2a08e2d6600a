"""Same seed, same bits, on any number of threads, interrupted or not; every run in a process of its own."""

from __future__ import annotations

import os

import pytest

from reproduce.bits import Case, Way, differing_bits, trained_bits

CASES = [Case("digits", "paper", 0), Case("ba-shapes", "authors", 0)]
WITH_DATA = Case("syn-cora", "best", 0)  # made from Cora


@pytest.fixture(scope="module")
def cases(request):
    try:
        os.environ.setdefault("SE_GNN_DATA", str(request.getfixturevalue("data_dir")))
    except pytest.skip.Exception:
        return CASES
    return [*CASES, WITH_DATA]


@pytest.fixture(scope="module")
def on_one_thread(cases):
    return trained_bits(cases, Way(threads=1, interrupted=False), epochs=4)


@pytest.mark.parametrize(
    ("threads", "interrupted"), [(4, False), (2, True)], ids=["on four threads", "on two threads, killed and resumed"]
)
def test_every_bit_of_parameters_and_predictions_is_that_of_one_thread(threads, interrupted, cases, on_one_thread):
    found = trained_bits(cases, Way(threads, interrupted), epochs=4)
    for case, bits, expected in zip(cases, found, on_one_thread, strict=True):
        assert differing_bits(bits, expected) == 0, case
        assert len(bits) > 1000
