"""Claims about training by `best`: what validation nodes decide, and that it is said."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from se_gnn.config import Config
from se_gnn.datasets import load_dataset
from se_gnn.graph import Graph
from se_gnn.graph.columns import BooleanColumn, NumberColumn
from se_gnn.model import TrainedModel
from se_gnn.model.folder import load_model, save_model
from se_gnn.recipes import FOR_COLUMNS, RECIPES
from se_gnn.training import train
from se_gnn.training.offered import offered_recipes
from se_gnn.training.portfolio import chosen_recipe, member_seed, num_members, portfolio
from strategies import random_graph


def quick(**settings) -> Config:
    return Config.preset("best").with_settings(epochs=4, hidden_size=8, output_size=4, steps=2, **settings)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph(3, num_nodes=90, num_edges=200, num_labeled=24, num_classes=3)


@pytest.fixture(scope="module")
def trained(graph) -> TrainedModel:
    return train(graph, quick(members=3))


def test_what_was_decided_is_in_the_settings_with_the_rule(trained):
    recipe, members, share, vote = trained.config.why
    assert recipe.startswith("recipe '")
    assert all(name in recipe for name in RECIPES)
    assert members.startswith("3 members")
    assert share.startswith("attribute_share = ")
    assert vote.startswith("K = ")
    assert not trained.config.training.portfolio
    assert not trained.config.training.choose_vote


def test_structure_always_has_a_share(trained):
    assert trained.config.similarity.node_weight <= 0.9
    assert trained.config.similarity.max_edges == 64


def test_model_goes_through_a_folder_with_its_committee(trained, tmp_path):
    save_model(trained, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.config == trained.config
    assert torch.equal(loaded.embeddings, trained.embeddings)
    attributes = trained.graph.num_features if trained.config.encoder.attribute_share else 0
    assert loaded.embeddings.shape[1] == 3 * 4 + attributes


def test_recipe_is_the_best_on_validation_nodes(trained):
    first = trained.metrics["runs"][: len(RECIPES)]
    best = first[0]
    for run in first[1:]:
        error = np.sqrt(best["val_accuracy"] * (1 - best["val_accuracy"]) / len(trained.graph.validation))
        best = run if run["val_accuracy"] > best["val_accuracy"] + error / 2 else best
    assert trained.config.why[0].startswith(f"recipe {best['name']!r}")
    assert [run["name"] for run in trained.metrics["runs"][len(RECIPES) :]] == [
        f"{best['name']}-2",
        f"{best['name']}-3",
    ]


def finished(name: str, accuracy: float, loss: float) -> SimpleNamespace:
    return SimpleNamespace(name=name, standing=(accuracy, -loss))


def test_of_recipes_that_are_always_right_the_loss_decides_and_of_others_only_a_clear_lead():
    always = [finished("first", 1.0, 0.3), finished("second", 1.0, 0.1), finished("third", 0.9, 0.05)]
    assert chosen_recipe(always, "accuracy", 70).name == "second"
    nearly = [finished("first", 0.9, 0.3), finished("second", 0.91, 0.1), finished("third", 0.93, 0.2)]
    assert chosen_recipe(nearly[:2], "accuracy", 70).name == "first"
    assert chosen_recipe(nearly, "accuracy", 70).name == "third"


def test_temperature_has_the_lowest_log_loss_of_its_vote(trained, graph):
    settings = trained.config.similarity
    truth = graph.labels[graph.validation]

    def loss(temperature: float) -> float:
        changed = TrainedModel(trained.model, graph)
        object.__setattr__(changed.model, "config", trained.config.with_settings(temperature=temperature))
        try:
            own = changed.predict(graph.validation).probabilities[np.arange(len(truth)), truth]
        finally:
            object.__setattr__(changed.model, "config", trained.config)
        return float(-np.log(np.maximum(own, 1e-4)).mean())

    best = loss(settings.temperature)
    assert all(best <= loss(settings.temperature * factor) + 1e-4 for factor in (0.5, 0.8, 1.25, 2))


def test_same_seed_gives_the_same_bits_and_an_interrupted_training_goes_on_to_them(graph, tmp_path, monkeypatch):
    from se_gnn.training import trainer

    whole = train(graph, quick(members=2), seed=5)
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
        train(graph, quick(members=2), seed=5, folder=tmp_path)
    done = count
    again = train(graph, quick(members=2), seed=5, folder=tmp_path)
    assert count - done < done + 12  # the first run was not repeated
    assert torch.equal(whole.embeddings, again.embeddings)
    assert whole.config == again.config
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["run"] for line in lines[:4]] == ["smooth"] * 4


def test_settings_of_the_user_hold_in_every_recipe():
    recipes = portfolio(Config.preset("best").with_settings(learning_rate=0.5, steps=3))
    assert {one.training.learning_rate for one in recipes.values()} == {0.5}
    assert {one.encoder.steps for one in recipes.values()} == {3}


def numbers_graph(**details) -> Graph:
    columns = tuple(NumberColumn(name=f"c{i}", first=i, size=1, offset=0, scale=1) for i in range(5))
    return random_graph(3, num_nodes=60, num_labeled=20, columns=columns, **details)


def test_where_columns_are_numbers_one_more_recipe_is_offered_and_that_is_said():
    trained = train(numbers_graph(), quick(members=1))
    assert [run["name"] for run in trained.metrics["runs"]] == [*RECIPES, *FOR_COLUMNS]
    assert "recipe 'columns' is offered too: 5 of the 5 columns of a node are numbers" in trained.config.why


def test_other_graphs_are_offered_what_they_were():
    assert list(offered_recipes(random_graph(3))) == list(RECIPES)
    mixed = tuple(BooleanColumn(name=f"c{i}", first=i, size=1, words=("no", "yes"), fill=0) for i in range(3))
    numbers = tuple(NumberColumn(name=f"c{i}", first=i, size=1, offset=0, scale=1) for i in range(3, 5))
    assert list(offered_recipes(random_graph(3, columns=mixed + numbers))) == list(RECIPES)


@pytest.mark.parametrize(("best_by", "sizes"), [("accuracy", (10, 20, 40)), ("roc_auc", (10, 20, 40, 50))])
def test_for_a_ranking_all_labeled_nodes_may_vote(best_by, sizes, monkeypatch):
    from se_gnn.training import vote_choice

    tried = []
    original = vote_choice._try
    monkeypatch.setattr(vote_choice, "_try", lambda *given: tried.append(given[3]) or original(*given))
    graph = random_graph(3, num_nodes=110, num_edges=200, num_labeled=50)
    trained = train(graph, quick(members=1, portfolio=False, best_by=best_by))
    assert tuple(sorted(set(tried))) == sizes
    assert trained.config.similarity.num_nearest in tried


def test_without_validation_nodes_the_first_recipe_is_taken_and_said():
    graph = random_graph(3, num_nodes=60, num_labeled=20, validation=np.empty(0, np.int64))
    trained = train(graph, quick(members=1))
    assert trained.config.why[0] == "recipe 'smooth': there are no validation nodes to choose by"
    assert "no validation node" in trained.config.why[-1]


def test_fewer_labeled_nodes_than_k_are_no_error_by_default():
    graph = random_graph(1, num_nodes=40, num_edges=80, num_labeled=5)
    trained = train(graph, quick(members=1))
    assert trained.config.similarity.num_nearest <= 5


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
    assert torch.equal(train(scrambled, quick(members=3)).embeddings, trained.embeddings)


def test_committee_is_smaller_where_an_epoch_is_long():
    config = Config.preset("best")
    assert num_members(load_dataset("ba-shapes"), config) == 5
    wide = random_graph(0, num_nodes=2000, num_features=900, num_labeled=20)
    assert num_members(wide, config) == 3


def test_members_have_seeds_of_their_own():
    seeds = {member_seed(seed, member) for seed in range(5) for member in range(1, 5)}
    assert len(seeds) == 20


def misleading(graph) -> Graph:
    """Attributes of which one tells the class, beside many louder ones that tell nothing."""
    generator = np.random.default_rng(0)
    told = np.eye(graph.num_classes, dtype="f4")[graph.labels] + generator.normal(0, 0.1, (graph.num_nodes, 3))
    noise = 20 * generator.standard_normal((graph.num_nodes, 20))
    return Graph.build(
        features=np.hstack([told, noise]).astype("f4"), edges=np.empty((0, 2), np.int64), labels=graph.labels,
        train=graph.train, validation=graph.validation, test=graph.test,
    )  # fmt: skip


@pytest.mark.parametrize("kept", [True, False])
def test_attributes_keep_their_share_unless_validation_nodes_are_better_off_without(graph, kept):
    base = random_graph(3, num_nodes=200, num_edges=400, num_labeled=60, num_classes=3)
    informative = Graph.build(
        features=np.eye(3, dtype="f4")[base.labels], edges=base.edges.ends, labels=base.labels, train=base.train,
        validation=base.validation, test=base.test,
    )  # fmt: skip
    config = Config.preset("best").with_settings(
        portfolio=False, members=1, epochs=60, hidden_size=16, output_size=8, attribute_dropout=0.0, weight_decay=0.0
    )
    trained = train(informative if kept else misleading(base), config)
    assert (trained.config.encoder.attribute_share > 0) is kept
    assert ("does not cost" in trained.config.why[0]) is kept


def test_share_of_the_attributes_that_a_user_sets_stays(graph):
    trained = train(graph, quick(members=2, portfolio=False, attribute_share=0.6))
    assert trained.config.encoder.attribute_share == 0.6
    assert not any("attribute_share" in reason for reason in trained.config.why)


@pytest.mark.parametrize("compared", ["overall", "node"])
@pytest.mark.parametrize("measure", ["cosine", "distance"])
def test_training_by_all_labeled_nodes_learns(graph, compared, measure):
    config = quick(members=1, compare=compared, measure=measure, portfolio=False, patience=None).with_settings(
        epochs=30, temperature=0.5, consistency_batch=10
    )
    history = train(graph, config).metrics
    assert history["epochs"] == 30
    assert history["val_accuracy"] > 0.45  # of three classes


def test_without_validation_nodes_no_recipe_is_said_to_be_offered():
    graph = numbers_graph(validation=np.empty(0, np.int64))
    why = train(graph, quick(members=1)).config.why
    assert not any("offered" in sentence for sentence in why)
    assert "1 member: as set" in why


def test_a_class_with_one_labeled_node_is_warned_of_once_however_many_runs_there_are():
    labels = np.arange(60) % 2
    labels[0] = 2
    graph = random_graph(3, num_nodes=60, num_labeled=20, labels=labels, class_names=("a", "b", "rare"))
    with pytest.warns(UserWarning, match="left out of the loss: rare") as warned:
        train(graph, quick(members=2))
    assert len(warned) == 1
