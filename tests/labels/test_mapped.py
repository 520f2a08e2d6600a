"""Work on a graph mapped from files gives the answers of the same graph in memory."""

from __future__ import annotations

import numpy as np
import pytest

from se_gnn.explain import explain
from se_gnn.graph.storage import load_graph, save_graph
from se_gnn.labels import Memory, audit, certify
from se_gnn.labels.extension import extend, new_nodes_from_arrays
from se_gnn.labels.memory import edit_folder
from se_gnn.labels.novelty import novelty
from se_gnn.labels.sets import prediction_sets
from se_gnn.labels.suggest import suggest
from se_gnn.model import Model
from se_gnn.model.folder import load_model, save_model
from se_gnn.settings import Settings
from strategies import random_graph, rich_graph, untrained

SIZES = {"num_nodes": 60, "num_edges": 120, "num_labeled": 20, "num_classes": 3}
PARTS = {"test": np.arange(40, 50), "calibration": np.arange(50, 60)}
EVERYTHING = {"match_types": "own", "match_direction": True, "weighted_mean": True, "match_attributes": True}
GRAPHS = {
    "plain": (random_graph(1, **SIZES, **PARTS, isolated=(4, 30)), {}),
    "directed, weighted and typed edges": (
        rich_graph(1, **SIZES, **PARTS), {**EVERYTHING, "read_edges": True, "weighted_steps": True},
    ),
    "mean of weighted edges": (
        rich_graph(2, **SIZES, **PARTS), {"aggregation": "mean", "weighted_steps": True, "match_types": "learned"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=GRAPHS)
def both(request, tmp_path_factory):
    """A model on a graph in memory, and on the same graph mapped from files."""
    graph, given = GRAPHS[request.param]
    model = untrained(graph, Settings.of("best", hidden_size=8, num_nearest=5, members=2, **given))
    folder = tmp_path_factory.mktemp("graph")
    save_graph(graph, folder, mapped=True)
    return model, Model(model.encoder, load_graph(folder), model.settings)


def edited(model):
    memory = Memory(model)
    memory.remove(["3"])
    memory.add({"45": "1"})
    memory.relabel({"5": "0"})
    return memory.trained.predict().probabilities


def with_new_nodes(model):
    features = np.ones((2, model.graph.num_features))
    found = extend(model, new_nodes_from_arrays(model.graph, features, [[60, 3], [61, 60]]))
    return np.concatenate([found.prediction.probabilities, found.trained.predict().probabilities])


def lowest(scores):
    return np.where(np.isfinite(scores), scores, -9)


TASKS = {
    "predict": lambda model: model.predict().probabilities,
    "audit": lambda model: [row.suspicion for row in audit(model)],
    "certify": lambda model: certify(model).removal.sizes,
    "sets": lambda model: prediction_sets(model).scores,
    "sets by neighbors": lambda model: prediction_sets(model, np.array([50, 3, 3]), method="daps").scores,
    "abstaining": lambda model: novelty(model).score,
    "abstaining, some nodes": lambda model: novelty(model, np.array([50, 3, 3])).score,
    "suggest": lambda model: [one.node for one in suggest(model, 2, candidates=np.arange(41, 50))],
    "edits of labels": edited,
    "new nodes": with_new_nodes,
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.filterwarnings("ignore:coverage 0.9 needs at least")
def test_a_mapped_graph_gives_the_answers_of_the_graph_in_memory(both, task):
    expected, found = (np.asarray(TASKS[task](model), float) for model in both)
    np.testing.assert_allclose(lowest(found), lowest(expected), atol=1e-5)


def test_a_mapped_graph_is_explained_in_the_same_words(both):
    one, other = (explain(model, [45, 4], k=2) for model in both)
    for expected, found in zip(one, other, strict=True):
        assert found.sentence() == expected.sentence()
        assert [vote.node for vote in found.votes] == [vote.node for vote in expected.votes]
        assert [vote.matches is None for vote in found.votes] == [vote.matches is None for vote in expected.votes]


def test_a_model_on_a_mapped_graph_is_saved_edited_and_loaded(both, tmp_path):
    in_memory, mapped = both
    save_model(mapped, tmp_path / "model")
    np.testing.assert_allclose(
        load_model(tmp_path / "model").predict().probabilities, in_memory.predict().probabilities, atol=1e-5
    )
    edit_folder(tmp_path / "model", lambda memory: memory.remove(["3"]))
    loaded = load_model(tmp_path / "model")
    assert not loaded.graph.fits_memory
    assert len(Memory(loaded).history) == 1
    assert 3 not in loaded.graph.train
