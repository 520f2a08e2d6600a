"""`reproduce` is a folder beside the package, not a part of it."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


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
