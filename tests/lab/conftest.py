"""Commands here are those of the lab."""

from __future__ import annotations

import pytest

from commands import Run, runner


@pytest.fixture(scope="session")
def run() -> Run:
    """Run `python -m lab ...` and hand back what it printed and its exit code."""
    from lab.commands import app

    return runner(app)
