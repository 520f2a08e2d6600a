"""`--max-memory` holds for import, embedding and prediction of a mapped graph, measured in a process of its own."""

import pytest

from benchmarks.memory import run_apart
from benchmarks.workloads.mapped import write_tables

NODES = 300_000  # its edges, neighbors, features and embeddings take 370 MB together
LIMIT = 200
PAGES = 60  # of the mapped files: a window of one, and the neighbors, which are small here


@pytest.mark.slow
def test_no_phase_allocates_more_than_it_may(tmp_path):
    write_tables(tmp_path, NODES, seed=0)
    arguments = {"folder": str(tmp_path), "sample": 300, "max_memory": f"{LIMIT}M", "seed": 0}
    result = run_apart("benchmarks.workloads.mapped:predict_sample", arguments).result
    for phase, gigabytes in result["allocated in each phase at most, GB"].items():
        assert gigabytes * 1e9 <= LIMIT * 2**20, (phase, gigabytes)
    resident = result["resident at most, mapped files included, GB"]
    assert resident * 1e9 <= (LIMIT + PAGES) * 2**20, "pages of the files are given back"
