"""Embeddings of a mapped graph are computed once, and mapped by the next process."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.labels.extension import new_nodes_from_arrays
from se_gnn.model import SEGNN, Model
from se_gnn.settings import Settings
from strategies import random_graph, untrained

PATTERN = "graph.embeddings.*.npy"


@pytest.fixture
def folder(tmp_path):
    save_graph(random_graph(1, num_nodes=60, num_edges=120, num_labeled=20), tmp_path, mapped=True)
    return tmp_path


@pytest.fixture
def model(folder):
    graph = load_graph(folder)
    return Model(untrained(random_graph(1), settings()).encoder, graph, settings())


def settings(**given):
    return Settings.of("best", hidden_size=8, num_nearest=5, **given).resolve()


def reloaded(model, folder):
    return Model(model.encoder, load_graph(folder), model.settings)


def test_the_next_process_maps_what_the_first_one_stored(model, folder, monkeypatch):
    first = np.array(model.embedded.embeddings)
    assert len(list(folder.glob(PATTERN))) == 1
    monkeypatch.setattr(SEGNN, "embed", None)
    assert np.array_equal(reloaded(model, folder).embedded.embeddings, first)


def test_damaged_embeddings_are_computed_again(model, folder):
    first = np.array(model.embedded.embeddings)
    (path,) = folder.glob(PATTERN)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    assert np.array_equal(reloaded(model, folder).embedded.embeddings, first)
    path.write_bytes(bytes(content[:-8]))
    assert np.array_equal(reloaded(model, folder).embedded.embeddings, first)


def test_another_encoder_or_graph_has_embeddings_of_its_own(model, folder):
    model.embedded.embeddings  # noqa: B018
    other = Model(untrained(random_graph(1), settings(), seed=7).encoder, model.graph, model.settings)
    assert not np.array_equal(other.embedded.embeddings, model.embedded.embeddings)
    assert len(list(folder.glob(PATTERN))) == 2
    save_graph(random_graph(2, num_nodes=60, num_edges=120, num_labeled=20), folder, mapped=True)
    assert not list(folder.glob(PATTERN))  # they were of the graph that was there before
    assert not np.array_equal(reloaded(model, folder).embedded.embeddings, model.embedded.embeddings)


def test_other_labels_share_them_and_new_nodes_do_not(model, folder):
    known = np.array(model.embedded.embeddings)
    edited = dataclasses.replace(model, graph=model.graph.with_split(train=np.arange(1, 15)))
    assert edited.embedded is model.embedded
    grown = model.with_new_nodes(new_nodes_from_arrays(model.graph, np.ones((1, 5)), [[60, 3]]))
    assert grown.embedded.embeddings.shape[0] == len(known) + 1
    assert len(list(folder.glob(PATTERN))) == 1


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_fail(model, folder, monkeypatch):
    def full(*_):
        raise OSError("no space")

    monkeypatch.setattr("se_gnn.model.embedded.replacing", full)
    assert model.predict().probabilities.shape == (60, 2)
    assert not list(folder.glob(PATTERN))
