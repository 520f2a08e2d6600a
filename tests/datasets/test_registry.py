"""The registry: names, errors, and how little it imports."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from se_gnn import datasets as registry
from se_gnn.datasets import dataset_infos, load_dataset
from se_gnn.errors import InputError


@pytest.fixture(autouse=True)
def _without_the_lab(monkeypatch):
    """As in a process that has not imported the lab."""
    monkeypatch.setattr(registry, "_infos", [info for info in registry._infos if info.module.startswith("se_gnn.")])


def test_an_unknown_data_set_is_refused_with_a_close_name_and_the_list():
    text = "unknown data set 'coar' (did you mean 'cora'?); known: digits, ba-shapes, cora, citeseer, pubmed, citeseer-"
    with pytest.raises(InputError, match=re.escape(text)):
        load_dataset("coar")


def test_a_name_unlike_any_other_gets_the_list_alone():
    with pytest.raises(InputError, match="unknown data set 'zzz'; known: digits"):
        load_dataset("zzz")


@pytest.mark.parametrize("name", ["syn-cora", "Syn_Cora_Authors", "citeseer-metattack-0.25", "acm", "amazon-fraud-1"])
def test_a_data_set_of_the_lab_is_refused_with_where_it_lives(name):
    text = f"data set {name!r} is not part of the installed se-gnn, but of the lab in its repository: in a checkout, "
    with pytest.raises(InputError, match=re.escape(text)):
        load_dataset(name)


def test_registered_data_sets_are_loaded_by_name_and_are_registered_once():
    info = registry.DatasetInfo(
        name="own-RATE", description="of mine", module="se_gnn.datasets.embedded", rates=("1", "2")
    )
    for _ in range(2):
        registry.register_datasets([info])
    assert dataset_infos().count(info) == 1
    assert load_dataset("own-2").dataset == "own-2"
    with pytest.raises(InputError, match=re.escape("(did you mean 'own-2'?)")):
        load_dataset("owm-2")


def test_capitals_and_underscores_are_forgiven():
    assert load_dataset("BA_Shapes").name == "ba-shapes"


@pytest.mark.parametrize(("seed", "rule"), [(-1, "at least 0"), (0.5, "a whole number"), ("1", "a whole number")])
def test_a_seed_that_is_not_a_whole_number_from_zero_is_refused(seed, rule):
    with pytest.raises(InputError, match=re.escape(f"seed must be {rule}, got {seed!r}")):
        load_dataset("ba-shapes", seed=seed)


def test_every_data_set_has_a_name_of_its_own_and_a_description_of_one_line():
    infos = dataset_infos()
    assert len({info.name for info in infos}) == len(infos)
    assert all(info.description and "\n" not in info.description for info in infos)


@pytest.mark.parametrize("name", [info.name for info in dataset_infos() if info.embedded])
def test_an_embedded_data_set_loads_whatever_the_data_folder_is(name, monkeypatch):
    monkeypatch.setenv("SE_GNN_DATA", "/no/such/folder")
    graph = load_dataset(name)
    assert graph.name == name
    graph.check_trainable()


def test_listing_data_sets_imports_nothing_heavy():
    heavy = ("torch", "sklearn", "numba", "scipy", "torch_geometric")
    code = f"import sys, se_gnn.datasets as d; d.dataset_infos(); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
