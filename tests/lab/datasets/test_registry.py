"""The data sets of the lab, beside those of se-gnn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.datasets import INFOS, load_dataset, register
from se_gnn import datasets as registry
from se_gnn.datasets import dataset_infos, dataset_names
from se_gnn.errors import InputError
from se_gnn.settings.presets import PRESETS, VARIANT_OF


@pytest.fixture(autouse=True)
def _registered():
    register()


def test_every_name_is_known_once_to_se_gnn_after_registration():
    register()
    names = dataset_names()
    assert {name for info in INFOS for name in info.names} < set(names)
    assert len(set(names)) == len(names) == len(dataset_infos()) + 2 * 4  # two data sets have five names each


def test_an_attacked_graph_has_a_name_for_every_rate():
    assert {"cora-metattack-0.05", "citeseer-metattack-0.25"} < set(dataset_names())
    with pytest.raises(InputError, match=re.escape("(did you mean 'citeseer-metattack-0.25'?)")):
        load_dataset("citeseer-metatack-0.25")


@pytest.mark.parametrize("name", [name for info in INFOS for name in info.names])
def test_without_the_lab_se_gnn_knows_where_each_of_them_lives(name, monkeypatch):
    monkeypatch.setattr(registry, "_infos", [])
    assert "`lab.datasets.load_dataset`" in registry.unknown_dataset(name)


def test_settings_of_presets_by_data_set_belong_to_known_data_sets_and_none_is_forgotten():
    known = set(dataset_names())
    assert set(VARIANT_OF) | set(VARIANT_OF.values()) <= known
    with_settings = {name for preset in PRESETS.values() for name in preset.by_dataset}
    assert with_settings <= known
    related = {name for name in known for base in with_settings if name.startswith(base + "-")}
    assert related == set(VARIANT_OF)


def test_a_description_is_one_line():
    assert all(info.description and "\n" not in info.description for info in INFOS)


def test_listing_data_sets_imports_nothing_heavy():
    heavy = ("torch", "sklearn", "numba", "scipy", "torch_geometric")
    code = f"import sys, lab.datasets as d; d.register(); print([m for m in {heavy} if m in sys.modules])"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"
