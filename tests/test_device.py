"""Where to compute, and how much memory a comparison may take."""

from __future__ import annotations

import pytest
import torch

from se_gnn.apps.cli.outputs import rank_device
from se_gnn.device import free_memory, items_within, memory_budget, resolve_device
from se_gnn.errors import InputError


@pytest.fixture
def two_gpus(monkeypatch):
    """A machine that says it has two; the devices that become the current one."""
    current = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


@pytest.mark.parametrize(("rank", "device"), [(0, "cuda:0"), (1, "cuda:1"), (2, "cuda:0"), (3, "cuda:1")])
def test_ranks_take_turns_in_using_the_gpus_and_start_kernels_there(rank, device, two_gpus, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", str(rank))
    assert rank_device("cuda") == torch.device(device)
    assert two_gpus == [torch.device(device)]


def test_a_gpu_that_is_not_there_is_an_error(two_gpus):
    with pytest.raises(InputError, match="device 'cuda:2' was asked for, but PyTorch sees 2 CUDA devices"):
        resolve_device("cuda:2")
    assert two_gpus == []


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("4GB", 4 << 30),
        ("500M", 500 << 20),
        ("1.5 gib", 3 << 29),
        ("2048k", 2 << 20),
        (1 << 20, 1 << 20),
        ("9" * 400 + "TB", 10**15),
    ],
)
def test_a_size_is_read_in_any_unit(given, size):
    assert memory_budget(given) == size


@pytest.mark.parametrize("given", ["", "much", "-1G", "1X", "900K", 0, -5, "nan"])
def test_a_size_that_is_none_or_too_small_is_an_error(given):
    with pytest.raises(InputError, match="max_memory must be a size of at least 1M such as 500M or 4GB, got "):
        memory_budget(given)


def test_without_a_size_a_quarter_of_what_is_free_may_be_taken():
    assert 1 << 20 < memory_budget() < free_memory()


def test_at_least_one_item_is_taken_at_a_time_and_never_more_than_there_are():
    assert items_within(0, 8, 5) == 1
    assert items_within(24, 8, 5) == 3
    assert items_within(1 << 40, 8, 5) == 5
