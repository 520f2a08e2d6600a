"""What the presets and the data sets' published settings fill in."""

from __future__ import annotations

import pytest

from se_gnn.errors import InputError
from se_gnn.settings import PaperObjective, Settings, SimilaritySettings, VoteObjective
from se_gnn.settings.presets import ALL_RECIPES, PRESETS, RECIPES, SOMETIMES
from se_gnn.settings.sections import names_read

DATASETS = [None, "cora", "citeseer", "pubmed", "syn-cora", "ba-shapes", "digits", "mine"]


@pytest.mark.parametrize("name", ["author", 3, None, {"x": 1}, ["best"], "Best", "custom"])
def test_an_unknown_preset_is_refused(name):
    with pytest.raises(InputError, match="preset must be one of paper, authors, best, got "):
        Settings(name)


def test_an_unknown_preset_is_refused_with_the_one_that_was_meant():
    with pytest.raises(InputError, match=r"got 'author' \(did you mean 'authors'\?\)"):
        Settings("author")


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("dataset", DATASETS)
def test_every_preset_holds_for_every_data_set_and_keeps_its_name(name, dataset):
    assert Settings(name).resolve(dataset=dataset).preset == name


def test_the_paper_preset_is_the_paper():
    found = Settings("paper").resolve()
    assert (found.encoder.aggregation, found.encoder.weight_init) == ("gcn", "xavier")
    assert found.similarity == SimilaritySettings(node_weight=0.5, hops=2, measure="distance", directions="one")
    assert found.vote.temperature == 1.0
    objective = found.objective
    assert isinstance(objective, PaperObjective)
    assert (objective.num_negatives, objective.references) == (20, "support")
    assert (objective.node_negatives, objective.edge_negatives, objective.negative_views) == (100, 100, "both")
    assert (objective.mask_rate, objective.edge_noise) == (0.2, 0.1)


def test_the_authors_preset_compares_by_distance_in_both_directions_and_uses_the_neighbor_mean():
    found = Settings("authors").resolve()
    assert (found.similarity.measure, found.similarity.directions) == ("distance", "both")
    assert found.encoder.aggregation == "mean"


PUBLISHED = {  # K, lambda, mask, alpha, hidden, layers, epochs
    "cora": (30, 0.2, 0.4, 0.01, 128, 2, 100),
    "citeseer": (25, 0.5, 0.4, 0.001, 64, 2, 200),
    "pubmed": (20, 0.5, 0.15, 0.01, 64, 3, 200),
    "syn-cora": (5, 0.5, 0.2, 1.0, 64, 2, 50),
    "ba-shapes": (10, 0.5, 0.5, 1.0, 128, 2, 100),
}


@pytest.mark.parametrize("dataset", list(PUBLISHED))
def test_the_authors_preset_holds_the_published_settings_of_each_data_set(dataset):
    found = Settings("authors").resolve(dataset=dataset).values()
    names = ("num_nearest", "node_weight", "mask_rate", "node_loss_weight", "hidden_size", "num_layers", "epochs")
    assert tuple(found[name] for name in names) == PUBLISHED[dataset]
    assert found["edge_loss_weight"] == found["node_loss_weight"]  # alpha = beta
    assert (found["learning_rate"], found["weight_decay"]) == (0.01, 5e-4)
    assert found["hops"] == (1 if dataset == "ba-shapes" else 2)


VARIANTS = {
    "citeseer-planetoid": "citeseer",
    "citeseer-metattack-0.25": "citeseer",
    "cora-nettack": "cora",
    "syn-cora-authors": "syn-cora",
    "ba-shapes-pgexplainer": "ba-shapes",
}


@pytest.mark.parametrize(("variant", "dataset"), list(VARIANTS.items()))
def test_a_variant_has_the_settings_of_the_data_set_that_it_is_a_variant_of(variant, dataset):
    authors = Settings("authors")
    assert authors.resolve(dataset=variant) == authors.resolve(dataset=dataset)
    for foreign in ("my-" + dataset, dataset + "-payments-2024"):
        assert authors.resolve(dataset=foreign) == authors.resolve()


def test_the_best_preset_is_the_same_for_every_data_set():
    assert PRESETS["best"].by_dataset == {}
    assert all(Settings("best").resolve(dataset=name) == Settings("best").resolve() for name in DATASETS)


@pytest.mark.parametrize("name", [*RECIPES, *SOMETIMES])
def test_a_recipe_sets_what_the_votes_objective_reads(name):
    recipe = ALL_RECIPES[name]
    assert recipe.keys() <= set(names_read("vote"))
    found = Settings("best").resolve().with_recipe(name)
    assert isinstance(found.objective, VoteObjective)
    assert recipe.items() <= found.values().items()
    assert {found.origin[setting] for setting in recipe} == {"recipe"}
