"""Rows that are taken from a mapped file leave no pages of it in the process."""

from pathlib import Path

import numpy as np
import pytest

from se_gnn.files import npy

MEGABYTE = 1 << 20


def mapped_bytes():
    """Resident memory that belongs to files."""
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("the system does not tell which memory belongs to files")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) * 1024


@pytest.fixture
def stored(tmp_path):
    values = np.random.default_rng(0).random((64 * 1024, 128), np.float32)  # 32 MB
    np.save(tmp_path / "values.npy", values)
    return values, np.load(tmp_path / "values.npy", mmap_mode="r")


@pytest.mark.parametrize("window", [1000, MEGABYTE, 1 << 40], ids=["rows", "windows", "one window"])
def test_taken_rows_are_those_of_the_array(stored, monkeypatch, window):
    monkeypatch.setattr(npy, "WINDOW", window)
    values, array = stored
    for rows in ([], [0], [65535], [0, 1, 2047, 2048, 2049, 40000, 65535]):
        taken = npy.take_rows(array, np.array(rows, np.int64))
        assert np.array_equal(taken, values[rows])
        assert taken.shape == (len(rows), 128)
    assert np.array_equal(npy.take_rows(values, np.array([3, 5])), values[[3, 5]])  # an array in memory


def test_pages_are_given_back(stored, monkeypatch):
    monkeypatch.setattr(npy, "WINDOW", MEGABYTE)
    values, array = stored
    before = mapped_bytes()
    assert array.sum(dtype=np.float64) == values.sum(dtype=np.float64)
    assert mapped_bytes() - before > 24 * MEGABYTE, "all of it was looked at"
    npy.forget(array)
    assert mapped_bytes() - before < 4 * MEGABYTE
    npy.take_rows(array, np.arange(0, len(array), 8))
    assert mapped_bytes() - before < 4 * MEGABYTE
    assert np.array_equal(array[:5], values[:5]), "it can be looked at again"
