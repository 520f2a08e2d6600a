"""What was asked for and what holds: precedence, origins, and what nothing would read."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.errors import InputError
from se_gnn.settings import Decision, Given, PaperObjective, Resolved, Settings, VoteObjective
from se_gnn.settings.presets import PRESETS
from se_gnn.settings.sections import DEFAULTS, OWNERS
from strategies import random_graph, rich_graph

GRAPH = random_graph(1, num_nodes=60, num_labeled=30)
WITHOUT_VALIDATION = GRAPH.with_split(train=GRAPH.train)


def refused(text, graph=None, preset="best", **values):
    with pytest.raises(InputError) as caught:
        Settings.of(preset, **values).resolve(graph)
    assert text in str(caught.value)


def test_each_layer_goes_over_the_ones_before():
    asked = Settings.of("authors", epochs=7)
    found = asked.resolve(dataset="cora")
    assert (found.similarity.hops, found.origin["hops"]) == (2, "default")
    assert (found.similarity.directions, found.origin["directions"]) == ("both", "preset")
    assert (found.vote.num_nearest, found.origin["num_nearest"]) == (30, "data set")
    assert (found.training.epochs, found.origin["epochs"]) == (7, "given")
    recipe = Settings.of("best", steps=3).resolve().with_recipe("near")
    assert (recipe.encoder.teleport, recipe.origin["teleport"]) == (0.7, "recipe")
    assert (recipe.encoder.steps, recipe.origin["steps"]) == (3, "given")


@given(name=st.sampled_from(sorted(OWNERS)), preset=st.sampled_from(sorted(PRESETS)))
def test_a_given_value_holds_through_every_decision_even_if_it_is_what_the_preset_has(name, preset):
    base = Settings(preset).resolve()
    if name not in base.values():
        return
    value = base.values()[name]
    found = base.changed(**{name: "none" if value is None else value})
    for origin in ("graph", "recipe", "validation"):
        found = found.decided(origin, {name: DEFAULTS[name]}, Decision("something"))
    assert (found.values()[name], found.origin[name], found.is_given(name)) == (value, "given", True)
    assert base.decided("validation", {name: DEFAULTS[name]}).origin[name] == "validation"


def test_none_is_written_as_text_and_no_value_at_all_is_an_error():
    assert Settings.of("best", patience="none").resolve().training.patience is None
    with pytest.raises(InputError, match="patience must have a value: leave it out, or write 'none' if you mean none"):
        Settings.of("best", patience=None)


def test_scalars_of_numpy_are_plain_values():
    found = Settings.of("best", num_nearest=np.int64(5), node_weight=np.float32(0.5), portfolio=np.bool_(False))
    assert [type(one.value) for one in found.given.values()] == [int, float, bool]


def test_an_unknown_setting_is_refused_with_the_one_that_was_meant():
    with pytest.raises(InputError, match=r"unknown setting 'num_nearst' \(did you mean 'num_nearest'\?\)"):
        Settings.of("best", num_nearst=3)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_record_comes_back_from_plain_values(preset):
    asked = Settings(preset, {"num_nearest": Given(4, "toml"), "patience": Given(None, "command line")})
    found = asked.resolve(GRAPH).decided("validation", {"node_weight": 0.9}, Decision("lambda = 0.9", "it is best"))
    stored = json.loads(json.dumps(found.to_dict()))
    assert Resolved.from_dict(stored) == found
    assert stored["given"]["num_nearest"] == {"value": 4, "source": "toml"}


# --- objectives


@pytest.mark.parametrize("preset", ["paper", "authors"])
@pytest.mark.parametrize("name", [name for name, sections in OWNERS.items() if VoteObjective in sections])
def test_the_papers_objective_does_not_accept_settings_of_the_votes(preset, name):
    text = f"{name} is not read by the paper's objective (preset '{preset}'): leave it out, or set objective to 'vote'"
    refused(text, preset=preset, **{name: DEFAULTS[name]})


@pytest.mark.parametrize("name", [name for name, sections in OWNERS.items() if PaperObjective in sections])
def test_the_votes_objective_does_not_accept_settings_of_the_papers(name):
    value = "none" if DEFAULTS[name] is None else DEFAULTS[name]
    refused(f"{name} is not read by the vote's objective (preset 'best'): leave it out, or use the preset 'paper'",
            **{name: value})  # fmt: skip


def test_another_objective_brings_its_own_defaults():
    found = Settings.of("paper", objective="vote", label_smoothing=0.1).resolve()
    assert found.objective == VoteObjective(label_smoothing=0.1)
    assert found.similarity.measure == "distance"
    found = Settings.of("best", objective="paper", portfolio=False, num_negatives=7).resolve()
    assert found.objective == PaperObjective(num_negatives=7)
    assert "label_smoothing" not in found.values()


def test_a_portfolio_of_the_papers_objective_is_refused_with_the_reason():
    refused("portfolio = True cannot be combined with objective = 'paper': every recipe of the portfolio minimizes the "
            "loss of the vote", preset="paper", portfolio=True)  # fmt: skip
    refused("portfolio = True (preset 'best') cannot be combined", objective="paper")


# --- settings that others make useless


@pytest.mark.parametrize(
    ("preset", "values", "name", "reason"),
    [
        ("paper", {"steps": 4}, "steps", "aggregation = gcn does not propagate in steps"),
        ("best", {"aggregation": "own", "teleport": 0.1}, "teleport", "aggregation = own does not propagate in steps"),
        ("best", {"scale_init": "uniform"}, "scale_init", "only aggregation = mean has a scale"),
        (
            "paper",
            {"num_layers": 1, "hidden_size": 9, "output_size": 5},
            "hidden_size",
            "an encoder of one layer is as",
        ),
        ("best", {"num_layers": 1, "hidden_dropout": 0.1, "aggregation": "own"}, "hidden_dropout", "an encoder of one"),
        ("best", {"consistency_weight": 0, "consistency_power": 3}, "consistency_power", "consistency_weight is 0"),
        ("authors", {"support_size": 9}, "support_size", "references = nearest draws no support set"),
        ("paper", {"node_loss_weight": 0, "node_batch": 9}, "node_batch", "node_loss_weight is 0"),
        ("paper", {"edge_loss_weight": 0, "edge_negatives": 9}, "edge_negatives", "edge_loss_weight is 0"),
        (
            "paper",
            {"node_loss_weight": 0, "edge_loss_weight": 0, "mask_rate": 0.3},
            "mask_rate",
            "node_loss_weight and edge_lo",
        ),
        (
            "paper",
            {
                "choose_vote": True,
                "num_nearest": 3,
                "node_weight": 0.5,
                "temperature": 1,
                "reserve": 0.1,
                "class_factors": [1, 2],
            },
            "choose_vote",
            "num_nearest, node_weight, temperature, reserve, class_factors are all given, so nothing is left to choose",
        ),
    ],
)
def test_a_setting_that_others_make_useless_is_refused(preset, values, name, reason):
    refused(f"{name} = {values[name]} would have no effect: {reason}", preset=preset, **values)
    del values[name]
    Settings.of(preset, **values).resolve()


def test_a_setting_is_accepted_if_one_recipe_reads_it():
    Settings.of("best", steps=4, teleport=0.3).resolve()  # the recipe for columns does not
    Settings.of("paper", aggregation="pagerank", steps=4).resolve()
    Settings.of("paper", attribute_share=0.1, steps=4).resolve()  # the attributes themselves are propagated


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("read_edges", True, "the edges of graph have no data"),
        ("weighted_steps", True, "the edges of graph have no weights"),
        ("weighted_mean", True, "the edges of graph have no weights"),
        ("match_direction", True, "the edges of graph are not directed"),
        ("match_types", "own", "the edges of graph have no types"),
        ("match_types", "learned", "the edges of graph have no types"),
        ("match_attributes", True, "the edges of graph have no attributes"),
    ],
)
def test_edge_data_that_a_graph_does_not_have_cannot_be_asked_for(name, value, reason):
    refused(f"{name} = {value} would have no effect: {reason}", GRAPH, **{name: value})
    rich = rich_graph(3, num_nodes=60, num_edges=90)
    assert Settings.of("best", **{name: value}).resolve(rich).is_given(name)
    off = "any" if name == "match_types" else False
    assert Settings.of("best", **{name: off}).resolve(GRAPH).is_given(name)


@pytest.mark.parametrize("given", [{"best_by": "loss"}, {"patience": 5}, {"choose_vote": True}, {"portfolio": True}])
def test_without_validation_nodes_nothing_can_be_asked_of_them(given):
    refused("graph has no validation nodes to choose by; leave it out", WITHOUT_VALIDATION, **given)
    Settings.of("best").resolve(WITHOUT_VALIDATION)
    Settings.of("best", patience="none", choose_vote=False, portfolio=False, num_nearest=9).resolve(WITHOUT_VALIDATION)


# --- K


def test_a_k_that_is_chosen_later_fits_the_labeled_nodes_and_a_given_one_must():
    found = Settings.of("best").resolve(GRAPH)
    assert (found.vote.num_nearest, found.origin["num_nearest"]) == (30, "graph")
    ranking = Settings.of("best", best_by="roc_auc").resolve(GRAPH)
    assert ranking.vote.num_nearest == 30
    refused("num_nearest must be between 1 and the 30 labeled nodes, got 40", GRAPH, num_nearest=40)
    small = random_graph(1, num_nodes=60, num_labeled=12)
    refused("num_nearest must be between 1 and the 12 labeled nodes, got 20 from preset 'paper': set num_nearest",
            small, preset="paper")  # fmt: skip
