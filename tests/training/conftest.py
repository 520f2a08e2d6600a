"""Ranks that are threads of one process notice each other quickly, and share one setting of PyTorch's threads."""

from __future__ import annotations

import pytest
import torch

from se_gnn.ranks import ranks as ranks_module


@pytest.fixture
def quick_ranks(monkeypatch):
    monkeypatch.setattr(ranks_module, "BEAT", 0.05)
    monkeypatch.setattr(ranks_module, "FAREWELL", 2.0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # one setting for all threads of a process, which here are the ranks
    yield
    torch.set_num_threads(before)
