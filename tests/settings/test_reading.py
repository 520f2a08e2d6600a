"""Settings from a TOML file and from the command line."""

from __future__ import annotations

import pytest

from se_gnn.errors import InputError
from se_gnn.settings import Given, Settings
from se_gnn.settings.reading import asked_settings, read_assignments


def from_file(tmp_path, text, preset=None, assignments=()):
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return asked_settings(preset, path, assignments)


def test_a_file_names_its_preset_and_gives_settings_by_name(tmp_path):
    found = from_file(tmp_path, "preset = 'paper'\nnum_nearest = 7\npatience = 'none'\nnode_weight = 1\n")
    expected = {"num_nearest": Given(7, "toml"), "patience": Given(None, "toml"), "node_weight": Given(1, "toml")}
    assert found == Settings("paper", expected)


def test_the_command_line_goes_over_the_file_and_says_so(tmp_path):
    found = from_file(tmp_path, "num_nearest = 7\nhops = 1\n", assignments=["num_nearest=8"])
    assert found.given == {"num_nearest": Given(8, "command line"), "hops": Given(1, "toml")}


def test_without_any_the_preset_is_best():
    assert asked_settings(None, None, []) == Settings("best")


def test_the_same_preset_may_be_named_twice_but_not_another(tmp_path):
    assert from_file(tmp_path, "preset = 'paper'", preset="paper").preset == "paper"
    with pytest.raises(InputError, match=r"--preset paper contradicts .*settings.toml, which says preset = 'authors'"):
        from_file(tmp_path, "preset = 'authors'", preset="paper")


@pytest.mark.parametrize("preset", ["paper", "authors", "best"])
def test_what_is_written_is_read_back(tmp_path, preset):
    asked = Settings.of(preset, learning_rate=1e-5, patience="none", read_edges=True, measure="cosine", num_nearest=40)
    found = from_file(tmp_path, asked.to_toml("why it was chosen"))
    assert found.preset == preset
    assert {name: one.value for name, one in found.given.items()} == {
        name: one.value for name, one in asked.given.items()
    }
    assert asked.to_toml("why it was chosen").startswith("# why it was chosen\n")


@pytest.mark.parametrize("text", ["[similarity]\nnum_nearest = 7", "[[similarity]]\nhops = 1", "similarity.hops = 1"])
def test_a_section_in_a_file_is_refused_with_the_way_to_write_it(tmp_path, text):
    with pytest.raises(InputError, match=r"write settings at the top level, as hops = 1, not under \[similarity\]"):
        from_file(tmp_path, text)


def test_a_file_that_is_missing_broken_or_no_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"config file .*nowhere\.toml does not exist"):
        asked_settings(None, tmp_path / "nowhere.toml", [])
    for content in (b"[similarity\n", b"\xff\xfe"):
        (tmp_path / "broken.toml").write_bytes(content)
        with pytest.raises(InputError, match=r"config file .*broken\.toml is not valid TOML: "):
            asked_settings(None, tmp_path / "broken.toml", [])
    with pytest.raises(InputError, match=r"config file .* must be a regular file, got a folder"):
        asked_settings(None, tmp_path, [])


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("num_nearest=7", "num_nearest", 7),
        (" num_nearest = 7 ", "num_nearest", 7),
        ("node_weight=2e-1", "node_weight", 0.2),
        ("measure=distance", "measure", "distance"),
        ("measure='distance'", "measure", "distance"),
        ("read_edges=false", "read_edges", False),
        ("patience=none", "patience", None),
        ("patience=5", "patience", 5),
    ],
)
def test_an_assignment_gives_one_value(text, name, value):
    found = asked_settings(None, None, [text]).given
    assert found == {name: Given(value, "command line")}
    assert type(found[name].value) is type(value)


def test_the_same_setting_may_not_have_two_values():
    assert read_assignments(["num_nearest=7", "num_nearest=7"]) == {"num_nearest": 7}
    with pytest.raises(InputError, match="num_nearest is set twice: to 7 and to 8"):
        read_assignments(["num_nearest=7", "hops=1", "num_nearest=8"])


@pytest.mark.parametrize("text", ["num_nearest", "", "=3", "num_nearest 3"])
def test_what_is_not_an_assignment_is_refused(text):
    with pytest.raises(InputError) as caught:
        read_assignments([text])
    assert f"a setting must look like num_nearest=20, got {text!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_nearst=3", "unknown setting 'num_nearst' (did you mean 'num_nearest'?)"),
        ("similarity.num_nearest=3", "unknown setting 'similarity.num_nearest' (did you mean 'num_nearest'?)"),
        ("preset=paper", "preset is not a setting: choose it with preset=..., or --preset"),
        ("num_nearest=", "num_nearest must be a whole number, got ''"),
        ("num_nearest=ten", "num_nearest must be a whole number, got 'ten'"),
        ("temperature=nan", "temperature must be a finite number above 0, got nan"),
        ("measure=inf", "measure must be one of cosine, distance, got inf"),
        ("patience=0", "patience must be at least 1, got 0"),
    ],
)
def test_an_assignment_of_a_bad_value_is_refused(text, message):
    with pytest.raises(InputError) as caught:
        asked_settings(None, None, [text])
    assert message in str(caught.value)
