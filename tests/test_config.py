"""Settings: what is refused and how it is said, files and assignments, presets."""

from __future__ import annotations

import dataclasses
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from se_gnn.config import (
    PRESETS,
    SECTION_OF,
    Config,
    ContrastConfig,
    EncoderSettings,
    SimilaritySettings,
    TrainingConfig,
)
from se_gnn.datasets import dataset_names
from se_gnn.errors import InputError

SECTIONS = (EncoderSettings, SimilaritySettings, ContrastConfig, TrainingConfig)

count, share = st.integers(1, 10**9), st.floats(0, 1)
positive = st.floats(0, 1e30, exclude_min=True, allow_infinity=False)
configs = st.builds(
    Config,
    preset_name=st.sampled_from(["custom", *PRESETS]),
    encoder=st.builds(
        EncoderSettings, hidden_size=count, num_layers=count, aggregation=st.sampled_from(["gcn", "mean"]),
        weight_init=st.sampled_from(["xavier", "fan_in"]), scale_init=st.sampled_from(["small", "uniform"]),
    ),
    similarity=st.builds(
        SimilaritySettings, num_nearest=count, node_weight=share, temperature=st.floats(1e-6, 1e30),
        hops=st.integers(1, 3), measure=st.sampled_from(["cosine", "distance"]),
        directions=st.sampled_from(["one", "both"]),
    ),
    contrast=st.builds(ContrastConfig, node_loss_weight=positive, mask_rate=share, edge_noise=share, node_batch=count),
    training=st.builds(
        TrainingConfig, epochs=count, patience=st.none() | count, learning_rate=positive, weight_decay=positive,
        max_local_edges=st.none() | count,
    ),
)  # fmt: skip


def refused(text, **sections):
    with pytest.raises(InputError) as caught:
        Config().updated(sections)
    assert text in str(caught.value)


# --- values


@pytest.mark.parametrize("value", [0, 0.0, -1, -0.5, math.nan, math.inf])
def test_a_temperature_that_is_not_above_zero_is_refused(value):
    refused(f"temperature must be a finite number above 0, got {float(value)!r}", similarity={"temperature": value})


def test_a_temperature_by_which_similarities_grow_beyond_float32_is_refused():
    refused("temperature must be at least 1e-06, got 1e-320", similarity={"temperature": 1e-320})


@pytest.mark.parametrize("value", [-0.1, 1.1, 7, math.nan, math.inf])
def test_a_lambda_outside_zero_and_one_is_refused(value):
    refused(f"node_weight must be between 0 and 1, got {float(value)!r}", similarity={"node_weight": value})


@pytest.mark.parametrize("value", [0, -3])
def test_no_nearest_nodes_are_refused(value):
    refused(f"num_nearest must be at least 1, got {value}", similarity={"num_nearest": value})


@pytest.mark.parametrize("value", [0, 4])
def test_hops_other_than_one_to_three_are_refused(value):
    refused(f"hops must be between 1 and 3, got {value}", similarity={"hops": value})


@pytest.mark.parametrize("name", ["node_loss_weight", "edge_loss_weight"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_loss_weight_that_is_not_a_finite_number_of_at_least_zero_is_refused(name, value):
    refused(f"{name} must be", contrast={name: value})


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
def test_a_weight_decay_that_is_not_a_finite_number_of_at_least_zero_is_refused(value):
    refused("weight_decay must be", training={"weight_decay": value})


@pytest.mark.parametrize("name", ["mask_rate", "edge_noise"])
@pytest.mark.parametrize("value", [-0.1, 1.5, math.nan])
def test_a_share_outside_zero_and_one_is_refused(name, value):
    refused(f"{name} must be between 0 and 1, got {value}", contrast={name: value})


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("encoder", "hidden_size"), ("encoder", "num_layers"), ("contrast", "node_batch"), ("contrast", "edge_batch"),
        ("contrast", "node_negatives"), ("contrast", "edge_negatives"), ("training", "epochs"),
        ("training", "num_negatives"), ("training", "support_size"), ("training", "patience"),
        ("training", "max_local_edges"),
    ],
)  # fmt: skip
def test_a_count_of_zero_is_refused(section, name):
    refused(f"{name} must be at least 1, got 0", **{section: {name: 0}})


@pytest.mark.parametrize("steps", [0, 1001, 2_000_000_000])
def test_a_number_of_steps_that_would_never_end_is_refused(steps):
    refused(f"steps must be between 1 and 1000, got {steps}", encoder={"steps": steps})


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_a_learning_rate_that_is_not_above_zero_is_refused(value):
    refused("learning_rate must be a finite number above 0, got ", training={"learning_rate": value})


@pytest.mark.parametrize(
    ("section", "name", "value", "text"),
    [
        ("similarity", "num_nearest", 2.5, "num_nearest must be a whole number, got 2.5"),
        ("similarity", "num_nearest", "many", "num_nearest must be a whole number, got 'many'"),
        ("similarity", "num_nearest", True, "num_nearest must be a whole number, got True"),
        ("similarity", "num_nearest", None, "num_nearest must be a whole number, got None"),
        ("similarity", "node_weight", "half", "node_weight must be a number, got 'half'"),
        ("similarity", "node_weight", True, "node_weight must be a number, got True"),
        ("similarity", "measure", "dot", "measure must be one of cosine, distance, got 'dot'"),
        ("similarity", "measure", 3, "measure must be one of cosine, distance, got 3"),
        ("similarity", "directions", "two", "directions must be one of one, both, got 'two'"),
        ("encoder", "aggregation", "gin", "aggregation must be one of gcn, mean, pagerank, steps, own, got 'gin'"),
        ("training", "patience", 1.5, "patience must be a whole number or none, got 1.5"),
        ("training", "references", [], "references must be one of support, nearest, all, got []"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(section, name, value, text):
    refused(text, **{section: {name: value}})


def test_whole_numbers_pass_for_numbers_and_become_them():
    weight = SimilaritySettings(node_weight=1).node_weight
    assert (weight, type(weight)) == (1.0, float)


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().similarity.num_nearest = 3  # type: ignore[misc]


# --- keys


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"similarity": {"num_nearst": 3}}, "unknown config key 'similarity.num_nearst' (did you mean 'num_nearest'?)"),
        ({"similarity": {"zzz": 3}}, "unknown config key 'similarity.zzz'; known: num_nearest, node_weight"),
        ({"similarty": {}}, "unknown config key 'similarty' (did you mean 'similarity'?); sections: encoder, simil"),
        ({"num_nearest": 3}, "unknown config key 'num_nearest'"),
        ({"similarity": 3}, "config section 'similarity' must be a table of settings, got 3"),
    ],
)
def test_an_unknown_key_is_refused_with_the_one_that_was_meant(values, text):
    with pytest.raises(InputError) as caught:
        Config.from_dict(values)
    assert text in str(caught.value)


# --- files


@given(config=configs)
def test_a_config_comes_back_from_toml_and_from_plain_values(config):
    assert Config.from_dict(tomllib.loads(config.to_toml())) == config
    assert Config.from_dict(config.to_dict()) == config


def test_a_file_changes_what_it_names_and_leaves_the_rest(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[similarity]\nnum_nearest = 7\n[training]\npatience = 'none'\n", encoding="utf-8")
    base = Config.preset("authors", dataset="cora")
    config = Config.from_toml(path, base=base)
    assert config == base.changed(num_nearest=7, patience="none")
    assert Config.from_toml(path).similarity == SimilaritySettings(num_nearest=7)


def test_a_written_file_is_read_back(tmp_path):
    path = tmp_path / "config.toml"
    config = Config(preset_name="custom").override(["learning_rate=1e-5", "patience=none"])
    path.write_text(config.to_toml(), encoding="utf-8")
    assert Config.from_toml(path) == config


def test_a_file_that_is_missing_broken_or_no_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"config file .*nowhere\.toml does not exist"):
        Config.from_toml(tmp_path / "nowhere.toml")
    for content in (b"[similarity\n", b"\xff\xfe"):
        (tmp_path / "broken.toml").write_bytes(content)
        with pytest.raises(InputError, match=r"config file .*broken\.toml is not valid TOML: "):
            Config.from_toml(tmp_path / "broken.toml")
    with pytest.raises(InputError, match=r"config file .* must be a regular file, got a folder"):
        Config.from_toml(tmp_path)


# --- assignments


@pytest.mark.parametrize(
    ("text", "section", "name", "value"),
    [
        ("num_nearest=7", "similarity", "num_nearest", 7),
        (" similarity.num_nearest = 7 ", "similarity", "num_nearest", 7),
        ("node_weight=1", "similarity", "node_weight", 1.0),
        ("node_weight=2e-1", "similarity", "node_weight", 0.2),
        ("measure=distance", "similarity", "measure", "distance"),
        ("measure='distance'", "similarity", "measure", "distance"),
        ("patience=none", "training", "patience", None),
        ("patience=5", "training", "patience", 5),
    ],
)
def test_an_assignment_sets_one_value(text, section, name, value):
    found = getattr(getattr(Config().override([text]), section), name)
    assert (found, type(found)) == (value, type(value))


def test_later_assignments_win():
    settings = ["num_nearest=7", "hops=1", "num_nearest=8"]
    assert Config().override(settings).similarity == SimilaritySettings(num_nearest=8, hops=1)


@pytest.mark.parametrize("text", ["num_nearest=3", "similarity.num_nearest", "", "similarity num_nearest 3"])
def test_what_is_no_assignment_is_refused(text):
    with pytest.raises(InputError) as caught:
        Config().override([text])
    assert f"a setting must look like num_nearest=20, got {text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_nearst=3", "did you mean 'num_nearest'?"),
        ("num_nearest=", "num_nearest must be a whole number, got ''"),
        ("num_nearest=ten", "num_nearest must be a whole number, got 'ten'"),
        ("temperature=nan", "temperature must be a finite number above 0, got nan"),
        ("node_weight=-0.1", "node_weight must be between 0 and 1, got -0.1"),
        ("measure=inf", "measure must be one of cosine, distance, got inf"),
        ("patience=0", "patience must be at least 1, got 0"),
    ],
)
def test_an_assignment_of_a_bad_value_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        Config().override([text])
    assert message in str(caught.value)


# --- presets


def test_an_unknown_preset_is_refused_with_the_one_that_was_meant():
    with pytest.raises(InputError) as caught:
        Settings.of("author")
    assert str(caught.value) == "preset must be one of paper, authors, best, got 'author' (did you mean 'authors'?)"


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("dataset", [None, "cora", "citeseer", "pubmed", "syn-cora", "ba-shapes", "digits", "mine"])
def test_every_preset_holds_for_every_data_set_and_keeps_its_name(name, dataset):
    assert Config.preset(name, dataset=dataset).preset_name == name


def test_the_paper_preset_is_the_paper():
    config = Settings.of("paper")
    assert (config.encoder.aggregation, config.encoder.weight_init) == ("gcn", "xavier")
    assert config.similarity == SimilaritySettings(
        num_nearest=config.similarity.num_nearest, node_weight=0.5, temperature=1.0, hops=2, measure="distance",
        directions="one",
    )  # fmt: skip
    assert (config.training.num_negatives, config.training.references) == (20, "support")
    contrast = config.contrast
    assert (contrast.node_negatives, contrast.edge_negatives, contrast.negative_views) == (100, 100, "both")
    assert (contrast.mask_rate, contrast.edge_noise) == (0.2, 0.1)


def test_the_authors_preset_compares_by_distance_in_both_directions_and_hears_the_neighbor_mean():
    config = Settings.of("authors")
    assert (config.similarity.measure, config.similarity.directions) == ("distance", "both")
    assert config.encoder.aggregation == "mean"


PUBLISHED = {  # K, lambda, mask, alpha, hidden, layers, epochs
    "cora": (30, 0.2, 0.4, 0.01, 128, 2, 100),
    "citeseer": (25, 0.5, 0.4, 0.001, 64, 2, 200),
    "pubmed": (20, 0.5, 0.15, 0.01, 64, 3, 200),
    "syn-cora": (5, 0.5, 0.2, 1.0, 64, 2, 50),
    "ba-shapes": (10, 0.5, 0.5, 1.0, 128, 2, 100),
}


VARIANTS = {
    "citeseer-planetoid": "citeseer",
    "citeseer-metattack-0.25": "citeseer",
    "cora-nettack": "cora",
    "syn-cora-authors": "syn-cora",
    "ba-shapes-pgexplainer": "ba-shapes",
}


@pytest.mark.parametrize(("variant", "dataset"), list(VARIANTS.items()))
def test_a_variant_has_the_settings_of_the_data_set_that_it_is_a_variant_of(variant, dataset):
    assert Config.preset("authors", dataset=variant) == Config.preset("authors", dataset=dataset)
    for foreign in ("my-" + dataset, dataset + "-payments-2024"):
        assert Config.preset("authors", dataset=foreign) == Settings.of("authors")


def test_the_best_preset_is_the_same_for_every_data_set():
    assert PRESETS["best"][1] == {}
    assert {repr(Config.preset("best", dataset=name)) for name in dataset_names()} == {repr(Settings.of("best"))}


def test_a_setting_has_one_name_in_one_section():
    names = [f.name for section in SECTIONS for f in dataclasses.fields(section)]
    assert len(set(names)) == len(names)
    assert set(SECTION_OF) == set(names)
    assert Config().changed(hops=1, mask_rate=0.3) == Config().updated(
        {"similarity": {"hops": 1}, "contrast": {"mask_rate": 0.3}}
    )
    with pytest.raises(InputError, match=r"unknown setting 'num_nearst' \(did you mean 'num_nearest'\?\)"):
        Config().changed(num_nearst=3)


def test_a_preset_is_the_one_asked_for_else_the_one_named_else_best():
    values = {"preset_name": "paper", "training": {"epochs": 3}}
    changed = {"training": {"epochs": 3}}
    assert Config.choose(None, values) == Settings.of("paper").updated(changed)
    assert Config.choose("authors", values) == Settings.of("authors").updated(changed)
    assert Config.choose(None, changed) == Settings.of("best").updated(changed)
    assert Config.choose(None, {**values, "preset_name": "custom"}) == Config().updated(changed)
    assert Config.choose("authors", dataset="cora") == Config.preset("authors", dataset="cora")


@pytest.mark.parametrize("name", ["nonsense", 3, None, {"x": 1}, ["best"], "Best"])
def test_a_preset_name_that_no_preset_has_is_refused(name):
    for make in (lambda: Config.choose(None, {"preset_name": name}), lambda: Config.from_dict({"preset_name": name})):
        with pytest.raises(InputError, match="preset_name must be one of paper, authors, best or custom, got "):
            make()


@pytest.mark.parametrize("digits", [11, 400, 5000])
def test_a_number_of_many_digits_is_refused_in_one_line(digits):
    for name in ("training.epochs", "similarity.num_nearest", "similarity.node_weight", "training.weight_decay"):
        with pytest.raises(InputError) as caught:
            Config().override([f"{name}={'9' * digits}"])
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("dataset", list(PUBLISHED))
def test_the_authors_preset_holds_the_published_settings_of_each_data_set(dataset):
    config = Config.preset("authors", dataset=dataset)
    similarity, contrast, encoder, training = config.similarity, config.contrast, config.encoder, config.training
    found = (
        similarity.num_nearest, similarity.node_weight, contrast.mask_rate, contrast.node_loss_weight,
        encoder.hidden_size, encoder.num_layers, training.epochs,
    )  # fmt: skip
    assert found == PUBLISHED[dataset]
    assert contrast.edge_loss_weight == contrast.node_loss_weight  # alpha = beta
    assert (training.learning_rate, training.weight_decay) == (0.01, 5e-4)
    assert similarity.hops == (1 if dataset == "ba-shapes" else 2)


def test_a_retired_setting_of_an_older_model_is_ignored_where_it_was_off():
    old = {**Config().to_dict(), "similarity": {**Config().to_dict()["similarity"], "candidates": None}}
    assert Config.from_dict(old) == Config()
    assert Config().override(["candidates=none"]) == Config()


def test_a_retired_setting_that_was_on_is_an_error_that_says_what_to_do():
    with pytest.raises(InputError, match=r"similarity.candidates no longer exists, got 120; .*train the model again"):
        Config.from_dict({"similarity": {"candidates": 120}})
