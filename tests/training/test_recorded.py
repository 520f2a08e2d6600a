"""An epoch that is recorded and replayed on CUDA is the epoch that runs plainly, and that of the CPU."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from se_gnn.training import recorded, train
from strategies import random_graph, small_config

EPOCHS = 12  # three run plainly, one is recorded, the others are replayed
GRAPH = random_graph(1, num_nodes=60, num_edges=150, num_labeled=20, isolated=(2, 20))


def losses(device, measure, folder):
    """Losses of every epoch, [EPOCHS], and the class probabilities of all nodes after the last."""
    config = small_config(
        similarity={"measure": measure},
        training={"epochs": EPOCHS, "patience": None},
        contrast={"node_loss_weight": 0.1},
    )
    model = train(GRAPH, config, seed=3, device=device, folder=folder)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return np.array([json.loads(line)["loss"] for line in lines]), model.predict().probabilities


@pytest.mark.gpu
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_recorded_epochs_are_those_of_the_cpu_within_a_thousandth(measure, tmp_path, monkeypatch):
    replays = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: (replays.append(graph), replay(graph))[1])
    on_cuda, cuda_votes = losses("cuda", measure, tmp_path / "cuda")
    assert len(replays) == EPOCHS - recorded.WARM_EPOCHS
    monkeypatch.setattr(recorded, "WARM_EPOCHS", EPOCHS)
    plainly, plain_votes = losses("cuda", measure, tmp_path / "plain")
    on_cpu, cpu_votes = losses("cpu", measure, tmp_path / "cpu")
    assert len(on_cuda) == EPOCHS
    np.testing.assert_allclose(on_cuda, plainly, rtol=1e-4)
    np.testing.assert_allclose(cuda_votes, plain_votes, atol=1e-3)
    np.testing.assert_allclose(on_cuda, on_cpu, rtol=1e-3)
    np.testing.assert_allclose(cuda_votes, cpu_votes, atol=1e-2)
