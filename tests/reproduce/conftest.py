"""A kind of job that takes no time."""

import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def counting(monkeypatch):
    """A kind of job that takes no time: `accuracy` is a tenth of the seed; returns the names of the jobs run."""
    ran = []

    def measure(job, device):
        ran.append(job.name)
        if job.series.settings.get("fails"):
            raise ValueError("no such luck")
        return {"accuracy": job.seed / 10, "precision": [0.5, job.seed / 10]}

    monkeypatch.setitem(sys.modules, "reproduce.measures.counting", SimpleNamespace(measure=measure))
    return ran
