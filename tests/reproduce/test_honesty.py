"""What is measured on drawn tables, and the page that shows it."""

from __future__ import annotations

import dataclasses

from reproduce import honesty
from reproduce.job import Job
from reproduce.measures.honesty import judge, task
from reproduce.store import Result, Store
from se_gnn.settings import Settings


def test_flipped_labels_are_found_and_shown(tmp_path):
    drawn = task("members", flipped=0.08, seed=0)
    found = judge(drawn, Settings.of("best", portfolio=False, members=1, epochs=30), seed=0)
    assert found.precision >= max(0.95, found.vote_precision)
    assert (found.cases, found.judged) == (len(drawn.graph.train), len(drawn.judged))
    assert found.wrong_above_99 == 0
    store = Store(tmp_path)
    for noise in ("", honesty.FLIPPED):
        job = Job(honesty.series_of("members", noise), 0, "honesty")
        store.put(job, Result(0, dataclasses.asdict(found), 1.0, {"device": "cpu"}))
    page = honesty.render(store, tmp_path)
    assert "| members | `--quick` | 1 | 100.0 | " in page
    assert "| members, 8% flipped | `--quick` | 1 | " in page
