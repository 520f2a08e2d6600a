import threading

import pytest
from torch.distributed import HashStore

from se_gnn.errors import InputError
from se_gnn.ranks.joining import name_of_start


def names(store, size, order, counted=(0, 0, 0)):
    found = {}

    def join(rank):
        found[rank] = name_of_start(store, rank, size, restarts=counted[rank], limit=10)

    threads = [threading.Thread(target=join, args=(rank,)) for rank in order]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == size
    assert len(set(found.values())) == 1
    return found[0]


def test_all_ranks_of_a_start_have_one_name_and_those_of_a_restart_another():
    store = HashStore()
    given = [names(store, 3, order) for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2])]
    assert len(set(given)) == 3


@pytest.mark.parametrize(("rank", "missing"), [(0, "rank 1"), (1, "rank 0")])
def test_a_rank_that_never_starts_is_named(rank, missing):
    with pytest.raises(InputError, match=f"{missing} did not answer within 0.2 s"):
        name_of_start(HashStore(), rank, 2, limit=0.2)


def test_the_answer_to_a_rank_of_an_earlier_start_is_not_taken():
    store = HashStore()
    names(store, 2, [0, 1])
    with pytest.raises(InputError, match="rank 0 did not answer"):
        name_of_start(store, 1, 2, limit=0.2)


def test_every_rank_knows_of_a_restart_that_the_machine_of_one_has_counted():
    assert not names(HashStore(), 3, [0, 1, 2])[1]
    assert names(HashStore(), 3, [0, 1, 2], counted=(0, 0, 1))[1]
    assert names(HashStore(), 3, [2, 1, 0], counted=(1, 0, 0))[1]
