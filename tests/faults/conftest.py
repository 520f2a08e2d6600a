"""The state that each kill begins with is made once."""

from __future__ import annotations

from collections import Counter

import pytest

from faults.commands import prepare, quick_and_often
from faults.counting import counts_of


@pytest.fixture(autouse=True)
def in_a_hurry():
    with quick_and_often():
        yield


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    root = tmp_path_factory.mktemp("prepared")
    with quick_and_often():  # for the tests of this folder alone
        prepare(root)
    return root


@pytest.fixture(scope="session")
def counts(request) -> Counter[str]:
    """How many of each were tried."""
    return counts_of(request.config)
