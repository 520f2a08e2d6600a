"""What the presets reach on real data; minutes, so marked slow. The figures of the README come from `reproduce/`."""

import numpy as np
import pytest

from se_gnn.datasets import load_dataset
from se_gnn.model.metrics import evaluate_nodes
from se_gnn.settings import Settings
from se_gnn.training import fit

pytestmark = pytest.mark.slow


def mean_of_seeds(dataset, preset, seeds, data_dir=None):
    runs = [
        fit(load_dataset(dataset, seed=seed, data_dir=data_dir), Settings.of(preset), seed=seed)
        for seed in range(seeds)
    ]
    figures = [evaluate_nodes(run, run.graph.test) for run in runs]
    return [float(np.mean([figure[key] for figure in figures])) for key in ("accuracy", "precision_at_5")]


def test_authors_preset_on_cora(data_dir):
    accuracy, precision = mean_of_seeds("cora", "authors", 5, data_dir)
    assert accuracy >= 0.795
    assert precision >= 0.77


def test_paper_preset_on_cora(data_dir):
    assert mean_of_seeds("cora", "paper", 5, data_dir)[0] >= 0.775


@pytest.mark.parametrize("dataset", ["digits", "ba-shapes"])
def test_best_preset_on_embedded_data(dataset):
    assert mean_of_seeds(dataset, "best", 2)[0] >= 0.95
