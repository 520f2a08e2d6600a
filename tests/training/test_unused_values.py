"""What edges carry and a model does not use is said at training, by name."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.settings import Settings
from se_gnn.graph import EdgeValues
from se_gnn.training import fit
from se_gnn.training.unused_values import unused_values
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
    said = unused_values(graph(), Settings.of("paper"))
    for words in ("direction", "weight (column 'eur')", "time (column 'day')", "match_direction", "weighted_mean"):
        assert words in said
    assert unused_values(random_graph(), Settings.of("paper")) is None
    used = Settings.of("paper", match_direction=True, weighted_mean=True)
    assert unused_values(graph(), used).startswith(
        "of what edges carry, time (column 'day') is not used; edges are cut"
    )


@pytest.mark.parametrize("valued", [True, False])
def test_a_model_keeps_what_it_did_not_use(valued):
    config = small_settings(epochs=1)
    trained = fit(graph() if valued else random_graph(), config, seed=0)
    assert any("weight (column 'eur')" in why for why in trained.settings.why) == valued
