import time

import pytest
from torch.distributed import HashStore

import se_gnn.ranks.ranks as module
from rank_threads import in_ranks
from se_gnn.errors import InputError
from se_gnn.ranks import Ranks, alone, joined


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.05)
    monkeypatch.setattr(module, "FAREWELL", 2.0)


def test_every_number_is_claimed_by_exactly_one_rank():
    def work(ranks):
        claimed = []
        while (number := ranks.claim("shard")) < 50:
            claimed.append(number)
        return claimed

    results = in_ranks(3, work)
    assert sorted(number for claimed in results for number in claimed) == list(range(50))


def test_one_process_claims_all_numbers_and_waits_for_nobody():
    ranks = alone()
    assert [ranks.claim("shard") for _ in range(3)] == [0, 1, 2]
    ranks.barrier("somewhere")
    ranks.check()
    ranks.check_same({"graph": "a"})
    assert ranks.first


def test_without_torchrun_there_is_one_process(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with joined() as ranks:
        assert (ranks.rank, ranks.size) == (0, 1)


@pytest.mark.parametrize(("count", "restarted"), [("0", False), ("2", True)])
def test_one_process_of_torchrun_knows_that_it_was_started_again(monkeypatch, count, restarted):
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
    with joined() as ranks:
        assert ranks.restarted == restarted


def test_no_rank_passes_a_meeting_before_the_last_one_has_come():
    passed = []

    def work(ranks):
        if ranks.rank == 1:
            time.sleep(0.3)
        ranks.barrier("here")
        passed.append(time.monotonic())

    start = time.monotonic()
    assert in_ranks(2, work) == [None, None]
    assert min(passed) - start >= 0.3


@pytest.mark.parametrize("size", [0, 1, 100, 101])
def test_what_one_rank_tells_another_receives_however_long_it_is(size, monkeypatch):
    monkeypatch.setattr(module, "PIECE", 10)
    content = bytes(range(size))

    def work(ranks):
        if ranks.rank == 1:
            ranks.broadcast("parameters", content)
        return ranks.receive("parameters", [1])

    assert in_ranks(2, work) == [content, content]


def test_ranks_with_another_graph_are_an_error_on_every_rank_that_names_it():
    def work(ranks):
        ranks.check_same({"model": "same", "graph": "x" if ranks.rank == 1 else "y"})

    for error in in_ranks(3, work):
        assert isinstance(error, InputError)
        assert "all ranks must have the same graph: rank 0 has 'y', rank 1 has 'x'" in str(error)


def test_a_rank_with_a_setting_that_the_others_do_not_know_is_an_error():
    def work(ranks):
        ranks.check_same({"model": "same"} | ({"new setting": "1"} if ranks.rank == 1 else {}))

    assert all("new setting" in str(error) for error in in_ranks(2, work))


def test_an_error_in_one_rank_is_told_on_every_rank():
    def work(ranks):
        if ranks.rank == 2:
            raise InputError("no space left")
        ranks.barrier("end")

    results = in_ranks(3, work)
    assert [str(error) for error in results] == ["rank 2 stopped: no space left"] * 2 + ["no space left"]


def test_an_unexpected_error_is_told_with_its_kind():
    def work(ranks):
        if ranks.rank == 1:
            raise MemoryError
        ranks.barrier("end")

    first, second = in_ranks(2, work)
    assert str(first) == "rank 1 stopped: MemoryError"
    assert isinstance(second, MemoryError)


def test_an_interrupt_of_one_rank_is_told_as_such_on_the_others_however_its_command_ends():
    def work(ranks):
        if ranks.rank == 0:
            ranks.barrier("here")
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise RuntimeError(130) from interrupt  # as a command does that says how to go on

    assert str(in_ranks(2, work)[0]) == "rank 1 stopped: it was interrupted"


def test_a_rank_that_is_gone_ends_the_wait_of_the_others():
    ranks = Ranks(0, 2, 2, HashStore(), silence=0.3)  # nobody is rank 1
    with pytest.raises(InputError, match=r"rank 1 has given no sign of life for 0\.3 s"):
        ranks.barrier("end")


def test_a_rank_that_lives_and_does_not_get_on_ends_the_wait_of_the_others():
    def work(ranks):
        if ranks.rank == 0:
            ranks.barrier("end")
        else:
            time.sleep(0.8)
            ranks.check()

    first, second = in_ranks(2, work, patience=0.4, silence=30)
    assert "rank 1 has made no progress for 0.4 s" in str(first)
    assert "rank 0 stopped" in str(second)


def test_a_rank_that_gets_on_is_waited_for_longer_than_the_limit():
    def work(ranks):
        if ranks.rank == 1:
            for _ in range(5):
                time.sleep(0.15)
                ranks.heartbeat()
        ranks.barrier("end")

    assert in_ranks(2, work, patience=0.4, silence=30) == [None, None]


def test_a_lost_store_is_one_clear_error():
    class Gone:
        def check(self, names):
            raise RuntimeError("Connection reset by peer\nand a long trace")

    with pytest.raises(InputError, match=r"the connection to the other ranks is lost: Connection reset by peer$"):
        Ranks(0, 2, 2, Gone()).check()
