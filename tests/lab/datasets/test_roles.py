"""Graphs in which roles or shared neighbors decide."""

from __future__ import annotations

import numpy as np

from lab.datasets import grid_game, load_dataset
from lab.datasets.shared_authors import shared_author_vote


def test_the_counts_of_a_field_are_those_of_its_neighbors():
    graph = grid_game.load(size=12)
    shown = graph.features.argmax(axis=1)
    mines = np.zeros(graph.num_nodes)
    for u, v in graph.edges.ends.tolist():
        mines[u] += graph.labels[v]
        mines[v] += graph.labels[u]
    seen = shown < 9
    assert np.array_equal(shown[seen], mines[seen])
    assert 0.3 < seen.mean() < 0.7


def test_a_vote_of_papers_by_the_same_authors_is_mostly_right():
    graph = load_dataset("shared-authors", seed=1)
    assert (shared_author_vote(graph, graph.validation) == graph.labels[graph.validation]).mean() > 0.9


def test_airports_are_described_by_their_role(data_dir):
    graph = load_dataset("airports-brazil", data_dir=data_dir)
    assert graph.num_nodes == 131
    assert "core number" in graph.feature_names
