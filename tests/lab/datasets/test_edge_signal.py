"""Graphs in which only one thing that edges carry tells the classes apart: without it the model guesses."""

from __future__ import annotations

import pytest

from backends import on_every_device
from lab.datasets.edge_signal import edge_signal_graph
from se_gnn.errors import InputError
from se_gnn.settings import Settings
from se_gnn.training import fit
from strategies import changed

SETTINGS = Settings.of("best", portfolio=False, members=1, epochs=60)
ONLY = ["direction", "kind", "weight", "attribute"]


def accuracy(trained):
    found = trained.predict(trained.graph.test)
    return float((found.probabilities.argmax(axis=1) == trained.graph.labels[trained.graph.test]).mean())


def test_without_what_edges_carry_the_model_guesses():
    graph = changed(edge_signal_graph("direction"), edge_values=None)
    assert accuracy(fit(graph, SETTINGS)) < 0.65


@on_every_device
@pytest.mark.parametrize("signal", ONLY)
def test_what_alone_tells_the_classes_apart_is_learned(signal, device):
    trained = fit(edge_signal_graph(signal), SETTINGS, device=device)
    assert accuracy(trained) >= 0.95


def test_an_unknown_signal_is_refused():
    with pytest.raises(InputError, match="signal must be one of direction, kind, weight, attribute, got 'time'"):
        edge_signal_graph("time")


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_the_losses_of_the_paper_learn_from_what_edges_carry_too(preset):
    asked = Settings.of(
        preset, match_direction=True, read_edges=True, epochs=30, max_local_edges=8, hops=1, num_nearest=10
    )
    assert accuracy(fit(edge_signal_graph("direction", accounts=120), asked)) >= 0.8


def test_settings_that_read_nothing_leave_the_model_guessing_even_where_edges_carry_something():
    off = {"match_direction": False, "read_edges": False, "match_types": "any", "match_attributes": False}
    trained = fit(edge_signal_graph("direction"), SETTINGS.changed(**off, weighted_mean=False))
    assert accuracy(trained) < 0.65
