"""The state that each kill begins with is made once; how many kills and faults there were is printed at the end."""

from __future__ import annotations

import importlib
from collections import Counter

import pytest
import torch

from faults.commands import prepare
from se_gnn.training import trainer

COUNTS: pytest.StashKey[Counter[str]] = pytest.StashKey()


@pytest.fixture(scope="session", autouse=True)
def quick_and_often():
    """An attack chooses without computing, and everything is written down as soon as it is known."""

    def known_classes(graph, *_, **__):
        return torch.tensor(graph.labels)

    metattack = importlib.import_module("se_gnn.attack.metattack")  # a function has the name, too
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metattack._Attack, "choose", lambda self, flips: (0, 1 + 2 * (len(flips) + self.seed)))
        patch.setattr(importlib.import_module("se_gnn.attack.surrogate"), "guess_classes", known_classes)
        patch.setattr(metattack, "SECONDS_BETWEEN_WRITES", -1.0)
        patch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        yield


@pytest.fixture(scope="session")
def prepared(quick_and_often, tmp_path_factory):
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
