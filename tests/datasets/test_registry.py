"""The registry: names, errors, and how little it imports."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from se_gnn.datasets import dataset_infos, dataset_names, load_dataset
from se_gnn.errors import InputError


def test_an_unknown_data_set_is_refused_with_a_close_name_and_the_list():
    text = "unknown data set 'coar' (did you mean 'cora'?); known: digits, ba-shapes, cora, citeseer, pubmed, syn-cora"
    with pytest.raises(InputError, match=re.escape(text)):
        load_dataset("coar")


def test_a_name_unlike_any_other_gets_the_list_alone():
    with pytest.raises(InputError, match="unknown data set 'zzz'; known: digits"):
        load_dataset("zzz")


def test_an_attacked_graph_has_a_name_for_every_rate():
    with pytest.raises(InputError, match=re.escape("(did you mean 'citeseer-metattack-0.25'?)")):
        load_dataset("citeseer-metatack-0.25")
    names = dataset_names()
    assert {"cora-metattack-0.05", "citeseer-metattack-0.25"} < set(names)
    assert len(set(names)) == len(names) == len(dataset_infos()) + 2 * 4  # two data sets have five names each


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
