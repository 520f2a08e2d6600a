"""The state that each kill begins with is made once; how many kills and faults there were is printed at the end."""

from __future__ import annotations

from collections import Counter

import pytest

from faults.commands import prepare, quick_and_often

COUNTS: pytest.StashKey[Counter[str]] = pytest.StashKey()


@pytest.fixture(scope="session", autouse=True)
def in_a_hurry():
    with quick_and_often():
        yield


@pytest.fixture(scope="session")
def prepared(in_a_hurry, tmp_path_factory):
    root = tmp_path_factory.mktemp("prepared")
    prepare(root)
    return root


@pytest.fixture(scope="session")
def counts(request) -> Counter[str]:
    """How many of each were tried."""
    return request.config.stash.setdefault(COUNTS, Counter())


def pytest_terminal_summary(terminalreporter, config):
    counts = config.stash.get(COUNTS, None)
    if counts:
        said = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
        terminalreporter.write_line(f"faults: {said}; none lost a file")
