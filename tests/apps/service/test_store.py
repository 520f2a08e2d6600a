"""A model folder that changes is picked up whole, or refused; requests in between see one model or the other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from se_gnn.apps.service import Store
from se_gnn.apps.service.store import MOST_COMPARISONS, Comparisons
from se_gnn.errors import InputError
from se_gnn.graph.storage import save_graph
from se_gnn.labels.extension import new_nodes_from_arrays
from se_gnn.model.folder import PARAMETERS, save_model
from strategies import random_graph, small_settings, untrained


@pytest.fixture(scope="module")
def two_models():
    return [untrained(random_graph(seed, name=f"model {seed}"), small_settings()) for seed in (0, 1)]


def test_a_new_model_in_the_folder_is_picked_up(two_models, tmp_path):
    save_model(two_models[0], tmp_path)
    store = Store.of_folder(tmp_path)
    held = store.snapshot
    assert not store.refresh()
    save_model(two_models[1], tmp_path)
    assert store.refresh()
    assert store.snapshot.graph.name == "model 1"
    assert store.snapshot.ready
    assert held.graph.name == "model 0"  # whoever works with it goes on
    assert held.trained.predict().probabilities.tolist() == two_models[0].predict().probabilities.tolist()


def test_a_damaged_folder_is_refused_and_the_old_model_is_served(two_models, tmp_path):
    save_model(two_models[0], tmp_path)
    store = Store.of_folder(tmp_path)
    save_model(two_models[1], tmp_path)
    whole = (tmp_path / PARAMETERS).read_bytes()
    (tmp_path / PARAMETERS).write_bytes(whole[:-1])
    assert not store.refresh()
    assert store.snapshot.graph.name == "model 0"
    assert PARAMETERS in store.refused
    (tmp_path / PARAMETERS).write_bytes(whole)
    assert store.refresh()
    assert store.refused is None


def test_a_folder_that_is_gone_is_refused(two_models, tmp_path):
    folder = tmp_path / "model"
    save_model(two_models[0], folder)
    store = Store.of_folder(folder)
    folder.rename(tmp_path / "elsewhere")
    assert not store.refresh()
    assert "does not exist" in store.refused
    with pytest.raises(InputError):
        Store.of_folder(folder)


def test_a_model_is_never_half_read_while_another_is_written(two_models, tmp_path):
    save_model(two_models[0], tmp_path)
    store = Store.of_folder(tmp_path)
    expected = {one.graph.name: one.predict().probabilities.tolist() for one in two_models}
    done = threading.Event()

    def write():
        for turn in range(6):
            save_model(two_models[turn % 2], tmp_path)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        store.refresh()
        snapshot = store.snapshot
        assert snapshot.trained.predict().probabilities.tolist() == expected[snapshot.graph.name]
    writer.join()


def test_the_memory_of_comparisons_is_bounded(monkeypatch):
    graph = random_graph(3, num_nodes=100, num_edges=150)
    comparisons = Comparisons(untrained(graph, small_settings()))
    for node in range(100):
        assert comparisons.of(node).queries.nodes.tolist() == [node]
    assert len(comparisons._kept) == MOST_COMPARISONS
    most = comparisons.num_bytes // 2
    monkeypatch.setattr("se_gnn.apps.service.store.MOST_BYTES", most)
    comparisons.of(0)
    assert comparisons.num_bytes <= most
    assert len(comparisons._kept) < MOST_COMPARISONS


def test_kernels_let_other_threads_work():
    """Without it the server would not even answer that it is alive while a hub is explained."""
    from se_gnn.graph.local import _local_edges
    from se_gnn.similarity.cpu.backend import first_few
    from se_gnn.similarity.cpu.matching import _multiply, segment_argmax, to_distances

    for kernel in (_local_edges, _multiply, segment_argmax, to_distances, first_few):
        assert getattr(kernel, "dispatcher", kernel).targetoptions.get("nogil") is True


def test_a_model_is_served_on_another_graph_and_follows_it(two_models, tmp_path):
    model = two_models[0]
    save_model(model, tmp_path / "model")
    grown = model.with_new_nodes(
        new_nodes_from_arrays(model.graph, np.ones((1, model.graph.num_features)), [[model.graph.num_nodes, 3]])
    )
    save_graph(grown.graph, tmp_path / "grown")
    store = Store.of_folder(tmp_path / "model", tmp_path / "grown")
    assert store.snapshot.graph.num_nodes == model.graph.num_nodes + 1
    assert not store.refresh()
    save_graph(model.graph, tmp_path / "grown")
    assert store.refresh()
    assert store.snapshot.graph.num_nodes == model.graph.num_nodes
