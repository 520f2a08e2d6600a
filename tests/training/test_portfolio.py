"""Claims about training by `best`: what validation nodes decide, and that it is said."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from se_gnn.datasets import load_dataset
from se_gnn.graph import Graph
from se_gnn.graph.columns import BooleanColumn, NumberColumn
from se_gnn.model import Model
from se_gnn.model.folder import load_model, save_model
from se_gnn.settings import Settings
from se_gnn.settings.presets import RECIPES
from se_gnn.training import fit
from se_gnn.training.portfolio import (
    chosen_recipe,
    member_seed,
    offered_recipes,
    quick_warning,
    single_recipe,
    standard_error,
    with_members,
    worth_more_epochs,
)
from strategies import changed, random_graph


def quick(**given) -> Settings:
    return Settings.of("best", **{"epochs": 4, "hidden_size": 8, "output_size": 4, "steps": 2, **given})


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph(3, num_nodes=90, num_edges=200, num_labeled=24, num_classes=3)


@pytest.fixture(scope="module")
def trained(graph) -> Model:
    return fit(graph, quick(members=3))


def test_what_was_decided_is_in_the_settings_with_the_reason(trained):
    members, recipe, share, vote, *factors, calibration = trained.settings.decisions
    assert all(one.what.startswith("cases count by class: ") for one in factors)
    assert str(members) == "ensemble of 3 models (given)"
    assert recipe.what.startswith("recipe '")
    assert all(name in recipe.reason for name in RECIPES)
    assert share.what.startswith("attribute_share = ")
    assert vote.what.startswith("K = ")
    assert calibration.what == "calibration error"
    assert "validation nodes, cross-fitted" in calibration.reason


def test_every_value_has_its_origin(trained):
    origin, recipe = trained.settings.origin, trained.facts.chosen
    assert (origin["members"], origin["epochs"], origin["max_edges"], origin["hops"]) == (
        "given", "given", "preset", "default",
    )  # fmt: skip
    assert {origin[name] for name in ("num_nearest", "node_weight", "temperature")} == {"validation"}
    decided_later = ("temperature", "epochs", "hidden_size", "output_size", "steps")
    assert {origin[name] for name in RECIPES[recipe] if name not in decided_later} == {"recipe"}


def test_structure_always_has_a_share(trained):
    assert trained.settings.similarity.node_weight <= 0.9
    assert trained.settings.similarity.max_edges == 64


def test_a_model_goes_through_a_folder_with_its_ensemble(trained, tmp_path):
    save_model(trained, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.settings == trained.settings
    assert torch.equal(loaded.embeddings, trained.embeddings)
    attributes = trained.graph.num_features if trained.settings.encoder.attribute_share else 0
    assert loaded.embeddings.shape[1] == 3 * 4 + attributes


def test_recipe_is_the_best_on_validation_nodes(trained):
    first = trained.facts.runs[: len(RECIPES)]
    best = first[0]
    for run in first[1:]:
        error = standard_error(best.val_accuracy, "accuracy", len(trained.graph.validation))
        best = run if run.val_accuracy > best.val_accuracy + error / 2 else best
    assert trained.settings.decisions[1].what == f"recipe {best.name!r}"
    assert [run.name for run in trained.facts.runs[len(RECIPES) :]] == [
        f"{best.name}-2",
        f"{best.name}-3",
    ]


def test_of_recipes_that_are_always_right_the_first_is_chosen_and_otherwise_only_a_clear_lead_counts():
    assert chosen_recipe([0.9, 1.0, 1.0], "accuracy", 70) == 1
    assert chosen_recipe([0.995, 1.0, 1.0], "accuracy", 70) == 0
    nearly = [0.9, 0.91, 0.93]
    assert chosen_recipe(nearly[:2], "accuracy", 70) == 0
    assert chosen_recipe(nearly, "accuracy", 70) == 2
    assert chosen_recipe([-0.5, -0.49, -0.6], "loss", 70) == 1


def test_recipes_that_cannot_be_chosen_any_more_are_given_up():
    assert worth_more_epochs([0.9, 1.0, 1.0, 1.0], "accuracy", 70) == {0, 1}
    assert worth_more_epochs([1.0, 0.9, 1.0], "accuracy", 70) == {0}
    assert worth_more_epochs([-0.5, -0.49, -0.9], "loss", 70) == {0, 1}


def test_at_least_three_answers_in_as_many_as_were_seen_are_held_in_reserve(trained, graph):
    reserve, count = trained.settings.vote.reserve, len(graph.validation)
    assert reserve >= float(f"{3 / (count + 2):.3g}")
    prediction = trained.predict(graph.test)
    assert np.allclose(prediction.probabilities.sum(axis=1), 1, atol=1e-5)
    assert np.allclose(prediction.weights.sum(axis=1), 1 - reserve, atol=1e-5)
    assert prediction.probabilities.min() >= 0.999 * reserve / graph.num_classes


def test_figures_are_of_nodes_that_chose_nothing(trained, graph):
    crossed = trained.facts.cross_fitted
    assert crossed["nodes"] == len(graph.validation)
    assert 0 <= crossed["calibration_error"] <= 1


def test_an_estimate_takes_no_epoch_that_would_not_be_trained(graph, monkeypatch, capsys):
    module = sys.modules[fit.__module__]
    monkeypatch.setattr(module, "FIRST_LOOK", 2)
    monkeypatch.setattr(module, "worth_more_epochs", lambda *_: {1})  # the first recipe, which is timed, is given up
    trained = fit(graph, quick(members=1), progress=True)
    assert "estimate" in capsys.readouterr().err
    assert [run.epochs for run in trained.facts.runs[:3]] == [2, 4, 2]


def test_same_seed_gives_the_same_bits_and_an_interrupted_training_goes_on_to_them(graph, tmp_path, monkeypatch):
    from se_gnn.training import trainer

    whole = fit(graph, quick(members=2), seed=5)
    monkeypatch.setattr(trainer, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    steps = trainer.TrainingRun.step
    count = 0

    def interrupted(run):
        nonlocal count
        count += 1
        if count == 7:  # within the second run
            raise KeyboardInterrupt
        return steps(run)

    monkeypatch.setattr(trainer.TrainingRun, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(graph, quick(members=2), seed=5, folder=tmp_path)
    done = count
    again = fit(graph, quick(members=2), seed=5, folder=tmp_path)
    assert count - done == sum(run.epochs for run in whole.facts.runs) - (done - 1)  # no epoch was repeated
    assert torch.equal(whole.embeddings, again.embeddings)
    assert whole.settings == again.settings
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["run"] for line in lines[:4]] == ["smooth"] * 4


def test_settings_of_the_user_hold_in_every_recipe():
    graph = random_graph(3)
    recipes, _ = offered_recipes(graph, Settings.of("best", learning_rate=0.5, steps=3).resolve(graph))
    assert {one.training.learning_rate for one in recipes.values()} == {0.5}
    assert {one.encoder.steps for one in recipes.values()} == {3}


def numbers_graph(**details) -> Graph:
    columns = tuple(NumberColumn(name=f"c{i}", first=i, size=1, offset=0, scale=1) for i in range(5))
    return random_graph(3, num_nodes=60, num_labeled=20, columns=columns, **details)


def test_where_columns_are_numbers_one_more_recipe_is_offered_and_that_is_said():
    trained = fit(numbers_graph(), quick(members=1))
    assert [run.name for run in trained.facts.runs] == [*RECIPES, "columns"]
    told = [str(one) for one in trained.settings.decisions]
    assert "recipe 'columns' is offered too: 5 of 5 node columns are numbers" in told


def words_graph(weights: np.ndarray, *, stored: Callable[[np.ndarray], Any] = np.asarray) -> Graph:
    """Ten attributes, of which each node has two."""
    graph = random_graph(3, num_nodes=60, num_labeled=20)
    features = np.zeros((60, 10), np.float32)
    features[np.arange(60), np.arange(60) % 10] = features[np.arange(60), (np.arange(60) + 3) % 10] = weights
    return changed(graph, features=stored(features))


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_where_attributes_are_weights_of_words_a_recipe_that_weighs_them_comes_first_and_that_is_said(stored):
    trained = fit(words_graph(np.linspace(0.1, 0.9, 60), stored=stored), quick(members=1))
    assert [run.name for run in trained.facts.runs] == ["weighted", *RECIPES]
    assert any("recipe 'weighted' is offered first" in str(one) for one in trained.settings.decisions)


def test_other_graphs_are_offered_what_they_were():
    mixed = tuple(BooleanColumn(name=f"c{i}", first=i, size=1, words=("no", "yes"), fill=0) for i in range(3))
    numbers = tuple(NumberColumn(name=f"c{i}", first=i, size=1, offset=0, scale=1) for i in range(3, 5))
    counted = [words_graph(counts) for counts in (np.ones(60), np.arange(60) % 3)]
    for graph in (*counted, random_graph(3), random_graph(3, columns=mixed + numbers)):
        recipes, reasons = offered_recipes(graph, Settings.of("best").resolve())
        assert (list(recipes), reasons) == (list(RECIPES), [])


@pytest.mark.parametrize("scaling", ["raw", "weighted"])
def test_where_the_scaling_is_given_no_recipe_is_offered_that_equals_another(scaling):
    settings = Settings.of("best", attribute_scaling=scaling).resolve()
    recipes, reasons = offered_recipes(words_graph(np.linspace(0.1, 0.9, 60)), settings)
    assert (list(recipes), reasons) == (list(RECIPES), [])
    assert {one.encoder.attribute_scaling for one in recipes.values()} == {scaling}


@pytest.mark.parametrize(("best_by", "sizes"), [("accuracy", (500,)), ("roc_auc", (500, 520))])
def test_for_a_ranking_all_labeled_nodes_may_vote(best_by, sizes, monkeypatch):
    from se_gnn.training import choice

    tried = []
    original = choice._tried

    def spied(*given):
        found = original(*given)
        tried.extend(size for size, _, _ in found)
        return found

    monkeypatch.setattr(choice, "_tried", spied)
    graph = random_graph(3, num_nodes=640, num_edges=900, num_labeled=520)
    trained = fit(graph, quick(members=1, portfolio=False, best_by=best_by))
    assert tuple(sorted({size for size in tried if size > 200})) == sizes
    assert trained.settings.vote.num_nearest in tried


def test_without_validation_nodes_the_first_recipe_is_taken_and_said():
    graph = random_graph(3, num_nodes=60, num_labeled=20, validation=np.empty(0, np.int64))
    trained = fit(graph, quick(members=1))
    told = [str(one) for one in trained.settings.decisions]
    assert "recipe 'smooth': there are no validation nodes to choose by" in told
    few = "there are no validation nodes to choose by; probabilities are not calibrated"
    assert told[-1] == f"K = 20, lambda = 0.5, tau = 0.05: {few}"


def across(**given) -> Graph:
    """Nodes of two classes in a ring, so that every edge joins different classes."""
    count = 80
    features = np.random.default_rng(0).normal(size=(count, 4)).astype("f4")
    edges = [(i, (i + step) % count) for i in range(count) for step in (1, 3)]
    parts = {"train": range(0, 50), "validation": range(50, 80)}
    return Graph.build(features=features, edges=edges, labels=[0, 1] * (count // 2), **parts, **given)


def test_a_single_recipe_fits_edges_that_join_different_classes():
    settings = quick(members=1, portfolio=False)
    chosen = single_recipe(across(), settings.resolve(across()))
    assert chosen.encoder.aggregation == "steps"
    assert "recipe 'steps': most recipes expect edges" in str(chosen.decisions[-1])
    assert quick_warning(across()) is None
    given = settings.changed(aggregation="pagerank").resolve(across())
    assert single_recipe(across(), given) is given


def test_fewer_labeled_nodes_than_k_are_no_error_by_default():
    graph = random_graph(1, num_nodes=40, num_edges=80, num_labeled=5)
    trained = fit(graph, quick(members=1))
    assert trained.settings.vote.num_nearest <= 5


def test_labels_of_test_nodes_change_nothing(graph, trained):
    labels = graph.labels.copy()
    labels[graph.test] = np.random.default_rng(0).permutation(labels[graph.test])
    scrambled = Graph.build(
        features=graph.features,
        edges=graph.edges.ends,
        labels=labels,
        train=graph.train,
        validation=graph.validation,
        test=graph.test,
    )
    assert torch.equal(fit(scrambled, quick(members=3)).embeddings, trained.embeddings)


def test_the_ensemble_is_smaller_where_an_epoch_is_long_unless_its_size_is_given():
    wide = random_graph(0, num_nodes=2000, num_features=900, num_labeled=20)
    found = with_members(wide, Settings.of("best").resolve(wide))
    assert (found.encoder.members, found.origin["members"]) == (3, "graph")
    assert found.decisions[0].what == "ensemble of 3 models instead of 5"
    given = with_members(wide, Settings.of("best", members=5).resolve(wide))
    assert (given.encoder.members, given.origin["members"]) == (5, "given")
    small = load_dataset("ba-shapes")
    default = with_members(small, Settings.of("best").resolve(small))
    assert (default.encoder.members, str(default.decisions[0])) == (5, "ensemble of 5 models (default)")


def test_members_have_seeds_of_their_own():
    seeds = {member_seed(seed, member) for seed in range(5) for member in range(1, 5)}
    assert len(seeds) == 20


def test_share_of_the_attributes_that_a_user_sets_stays(graph):
    trained = fit(graph, quick(members=2, portfolio=False, attribute_share=0.6))
    assert trained.settings.encoder.attribute_share == 0.6
    assert not any("attribute_share" in one.what for one in trained.settings.decisions)


@pytest.mark.parametrize("compared", ["overall", "node"])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_training_by_all_labeled_nodes_learns(graph, compared, measure):
    given = {"compare": compared, "measure": measure, "epochs": 30, "temperature": 0.5, "consistency_batch": 10}
    facts = fit(graph, quick(members=1, portfolio=False, patience="none", **given)).facts
    assert facts.epochs == 30
    assert facts.validation["accuracy"] > 0.45  # of three classes


def test_without_validation_nodes_no_recipe_is_said_to_be_offered():
    graph = numbers_graph(validation=np.empty(0, np.int64))
    told = [str(one) for one in fit(graph, quick(members=1)).settings.decisions]
    assert not any("offered" in sentence for sentence in told)
    assert "a single model (given)" in told


def test_a_class_with_one_labeled_node_is_warned_of_once_however_many_runs_there_are():
    labels = np.arange(60) % 2
    labels[0] = 2
    graph = random_graph(3, num_nodes=60, num_labeled=20, labels=labels, class_names=("a", "b", "rare"))
    with pytest.warns(UserWarning, match="left out of the loss: rare") as warned:
        fit(graph, quick(members=2))
    assert len(warned) == 1
