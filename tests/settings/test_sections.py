"""Single settings: what is refused, and how it is said."""

from __future__ import annotations

import dataclasses
import math

import pytest

from se_gnn.errors import InputError
from se_gnn.settings import Settings, SimilaritySettings
from se_gnn.settings.sections import DEFAULTS, OBJECTIVES, OWNERS, SECTIONS, check_value


def refused(text, **given):
    with pytest.raises(InputError) as caught:
        Settings.of("paper", **given)
    assert text in str(caught.value)


@pytest.mark.parametrize("value", [0, 0.0, -1, -0.5, math.nan, math.inf])
def test_a_temperature_that_is_not_above_zero_is_refused(value):
    refused(f"temperature must be a finite number above 0, got {float(value)!r}", temperature=value)


def test_a_temperature_by_which_similarities_grow_beyond_float32_is_refused():
    refused("temperature must be at least 1e-06, got 1e-320", temperature=1e-320)


@pytest.mark.parametrize("value", [-0.1, 1.1, 7, math.nan, math.inf])
def test_a_lambda_outside_zero_and_one_is_refused(value):
    refused(f"node_weight must be between 0 and 1, got {float(value)!r}", node_weight=value)


@pytest.mark.parametrize("value", [0, -3])
def test_no_nearest_nodes_are_refused(value):
    refused(f"num_nearest must be at least 1, got {value}", num_nearest=value)


@pytest.mark.parametrize("value", [0, 4])
def test_hops_other_than_one_to_three_are_refused(value):
    refused(f"hops must be between 1 and 3, got {value}", hops=value)


@pytest.mark.parametrize("name", ["node_loss_weight", "edge_loss_weight", "weight_decay"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_weight_that_is_not_a_finite_number_of_at_least_zero_is_refused(name, value):
    refused(f"{name} must be", **{name: value})


@pytest.mark.parametrize("name", ["mask_rate", "edge_noise", "label_smoothing", "teleport"])
@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_a_share_outside_zero_and_one_is_refused(name, value):
    refused(f"{name} must be between 0 and 1, got {value}", **{name: value})


@pytest.mark.parametrize(
    "name",
    [
        "hidden_size", "num_layers", "output_size", "members", "node_batch", "edge_batch", "node_negatives",
        "edge_negatives", "epochs", "num_negatives", "support_size", "patience", "max_local_edges", "max_edges",
        "consistency_batch", "label_batch", "memory_batch",
    ],
)  # fmt: skip
def test_a_count_of_zero_is_refused(name):
    refused(f"{name} must be at least 1, got 0", **{name: 0})


@pytest.mark.parametrize("steps", [0, 1001, 2_000_000_000])
def test_a_number_of_steps_that_would_never_end_is_refused(steps):
    refused(f"steps must be between 1 and 1000, got {steps}", steps=steps)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_learning_rate_that_is_not_above_zero_is_refused(value):
    refused("learning_rate must be a finite number above 0, got ", learning_rate=value)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("num_nearest", 2.5, "num_nearest must be a whole number, got 2.5"),
        ("num_nearest", "many", "num_nearest must be a whole number, got 'many'"),
        ("num_nearest", True, "num_nearest must be a whole number, got True"),
        ("num_nearest", "none", "num_nearest must be a whole number, got None"),
        ("node_weight", "half", "node_weight must be a number, got 'half'"),
        ("node_weight", True, "node_weight must be a number, got True"),
        ("measure", "dot", "measure must be one of cosine, distance, got 'dot'"),
        ("measure", 3, "measure must be one of cosine, distance, got 3"),
        ("directions", "two", "directions must be one of one, both, got 'two'"),
        ("aggregation", "gin", "aggregation must be one of gcn, mean, pagerank, steps, layers, own, got 'gin'"),
        ("patience", 1.5, "patience must be a whole number or none, got 1.5"),
        ("references", [], "references must be one of support, nearest, got []"),
        ("objective", "both", "objective must be one of paper, vote, number, agreement, got 'both'"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name, value, text):
    refused(text, **{name: value})


@pytest.mark.parametrize("digits", [11, 400, 5000])
@pytest.mark.parametrize("name", ["epochs", "num_nearest", "node_weight", "weight_decay"])
def test_a_number_of_many_digits_is_refused_in_one_line(name, digits):
    with pytest.raises(InputError) as caught:
        Settings.of("best", **{name: 10**digits})
    assert len(str(caught.value)) < 200


def test_whole_numbers_pass_for_numbers_and_become_them():
    weight = SimilaritySettings(node_weight=1).node_weight
    assert (weight, type(weight)) == (1.0, float)


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings.of("best").resolve().vote.num_nearest = 3  # type: ignore[misc]


def test_a_setting_has_one_name_in_one_section_unless_objectives_share_it_with_its_default():
    fields = [field for section in (*SECTIONS.values(), *OBJECTIVES.values()) for field in dataclasses.fields(section)]
    assert OWNERS.keys() == DEFAULTS.keys() == {field.name for field in fields}
    assert all(field.default == DEFAULTS[field.name] for field in fields)
    assert all(len(owners) == 1 or set(owners) <= set(OBJECTIVES.values()) for owners in OWNERS.values())


@pytest.mark.parametrize("name", OWNERS)
def test_every_default_is_a_value_that_may_be_given(name):
    check_value(name, DEFAULTS[name])
