"""Tensors of all ranks: the same bits everywhere, and no wait without end."""

import threading
import time

import pytest
import torch
from torch.distributed import HashStore

import se_gnn.ranks.ranks as module
from rank_threads import in_ranks
from se_gnn.errors import InputError
from se_gnn.ranks import Ranks, alone


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    monkeypatch.setattr(module, "FAREWELL", 2.0)


@pytest.mark.parametrize("size", [2, 3])
def test_a_sum_over_ranks_runs_in_their_order_and_has_the_same_bits_on_each(size):
    values = torch.randn(size, 5, 7, generator=torch.Generator().manual_seed(0)) * 10.0 ** torch.arange(7)
    expected = values[0]
    for rank in range(1, size):
        expected = expected + values[rank]

    def work(ranks):
        for _ in range(3):
            found = ranks.summed(values[ranks.rank])
        return found, ranks.gathered(values[ranks.rank].T)

    for found, parts in in_ranks(size, work):
        assert torch.equal(found, expected)
        assert all(torch.equal(part, own.T) for part, own in zip(parts, values, strict=True))


def test_one_process_and_empty_tensors_gather_without_anybody():
    tensor = torch.ones(3)
    assert alone().gathered(tensor)[0] is tensor
    assert alone().summed(tensor) is tensor
    ranks = Ranks(0, 2, 2, None)  # without a store nothing could be asked
    assert [part.shape for part in ranks.gathered(torch.empty(0, 4))] == [(0, 4), (0, 4)]


@pytest.mark.parametrize("before", [0, 2])
def test_a_rank_that_fails_stops_those_that_wait_for_its_tensor_with_its_text(before):
    def work(ranks):
        for _ in range(before):
            ranks.summed(torch.ones(2))
        if ranks.rank == 1:
            raise InputError("no space left")
        ranks.summed(torch.ones(2))

    start = time.monotonic()
    results = in_ranks(3, work)
    assert [str(error) for error in results] == [
        "rank 1 stopped: no space left", "no space left", "rank 1 stopped: no space left"
    ]  # fmt: skip
    assert time.monotonic() - start < 2


def test_a_rank_that_falls_silent_ends_the_wait_although_another_one_lives(monkeypatch):
    monkeypatch.setattr(module, "FAREWELL", 0.2)
    silent = threading.Event()

    def work(ranks):
        ranks.summed(torch.ones(2))
        if ranks.rank == 1:
            ranks._ended.set()  # no more signs of life
            silent.wait(20)
            return
        try:
            ranks.summed(torch.ones(2))
        finally:
            silent.set()

    first, _, third = in_ranks(3, work, silence=0.4)
    assert any("rank 1 has given no sign of life for 0.4 s" in str(error) for error in (first, third))
    assert all(isinstance(error, InputError) for error in (first, third))


def test_a_lost_connection_between_ranks_is_one_clear_error():
    ranks = Ranks(0, 2, 2, HashStore())

    class Broken:
        def begin(self, tensor):
            raise RuntimeError("[/src/pair.cc:553] Connection closed by peer [10.0.0.1]:5107. This is typically so")

        def abandon(self):
            pass

    ranks._gathering = Broken()
    with pytest.raises(module.RankStopped, match=r"ranks is lost: Connection closed by peer \[10\.0\.0\.1\]:5107$"):
        ranks.summed(torch.ones(2))
