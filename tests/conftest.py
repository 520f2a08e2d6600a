"""What all tests share: where the real data is, a cache folder without a network, and a deterministic hypothesis."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
import torch
from hypothesis import settings

pytest_plugins = ["chromium", "commands", "faults.counting"]

# the same examples on every run and machine; kernels compile on first use, so no deadline
settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
settings.load_profile("deterministic")


def pytest_sessionstart() -> None:
    """Where several processes share the tests, each computes on one thread: together they fill the machine."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        numba.set_num_threads(1)
        torch.set_num_threads(1)


@pytest.fixture
def all_threads() -> Iterator[None]:
    """For a test of what threads do: as many as there are."""
    before = numba.get_num_threads(), torch.get_num_threads()
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    torch.set_num_threads(max(2, before[1]))
    yield
    numba.set_num_threads(before[0])
    torch.set_num_threads(before[1])


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are not part of a test's name: gzip writes the clock into them, and all processes need the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data; tests that ask for it are skipped where there is none."""
    named = os.environ.get("SE_GNN_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the real data: {folder} does not exist, name its folder by SE_GNN_DATA")
    return folder


@pytest.fixture
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own: neither the user's is read or written nor the network reached."""
    import requests

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SE_GNN_DATA", raising=False)

    def no_network(url, **options):
        raise requests.exceptions.ConnectionError("no network in tests")

    monkeypatch.setattr(requests, "get", no_network)
    return tmp_path / "cache" / "se-gnn"
