"""What edges carry and a model does not use is said at training, by name."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.graph import EdgeValues
from se_gnn.settings import Settings
from se_gnn.training import fit
from se_gnn.training.portfolio import unused_edge_data
from strategies import random_graph, small_settings


def graph(**parts):
    values = EdgeValues(
        direction=np.ones(26, np.int8),
        weight=np.ones(26, np.float32),
        time=np.arange(26),
        names=(("weight", "eur"), ("time", "day")),
        **parts,
    )
    return random_graph(edge_values=values)


def test_what_is_not_used_is_named():
    told = str(unused_edge_data(graph(), Settings.of("paper").resolve()))
    for words in ("direction", "weight (column 'eur')", "time (column 'day')", "match_direction", "weighted_mean"):
        assert words in told
    assert unused_edge_data(random_graph(), Settings.of("paper").resolve()) is None
    used = Settings.of("paper", match_direction=True, weighted_mean=True).resolve()
    expected = "edge data that is not used: time (column 'day'); --set until=DATE of se-gnn import cuts edges at a date"
    assert str(unused_edge_data(graph(), used)) == expected


@pytest.mark.parametrize("valued", [True, False])
def test_a_model_keeps_what_it_did_not_use(valued):
    trained = fit(graph() if valued else random_graph(), small_settings(epochs=1), seed=0)
    assert any("weight (column 'eur')" in str(one) for one in trained.settings.decisions) == valued
