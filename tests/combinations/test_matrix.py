"""Every feature with every kind of data: the answer is the recomputed one, or the product says why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from combinations.data import FROM_PLAIN, MAKERS, RefusedError, World
from combinations.declaration import DATA, FEATURES, NO_SENSE
from combinations.features import CHECKS, LINK_CHECKS
from se_gnn.errors import InputError

pytestmark = [
    pytest.mark.filterwarnings("ignore:calibrated on validation nodes"),
    pytest.mark.filterwarnings("ignore:coverage 0.8 takes"),
    pytest.mark.filterwarnings("ignore:false_alarms"),
]
IN_EVERY_RUN = 5  # cells of a row that `make test` runs, in turn over the columns; all refusals are run


def cells():
    for i, feature in enumerate(FEATURES):
        often = {(i * IN_EVERY_RUN + j) % len(DATA) for j in range(IN_EVERY_RUN)}
        for j, data in enumerate(DATA):
            marks = []
            quick = (feature.name, data.name) in NO_SENSE and data.name not in ("gpu",)
            if data.name == "gpu":
                marks = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")]
            elif not quick and (feature.slow or j not in often):
                marks = [pytest.mark.slow]
            yield pytest.param(feature.name, data.name, marks=marks, id=f"{feature.name} - {data.name}")


@pytest.fixture(scope="session")
def worlds(run, tmp_path_factory):
    """Makes each kind of data when it is first asked for."""
    made: dict[str, World] = {}

    def world(name: str) -> World:
        if name not in made:
            place = Path(tmp_path_factory.mktemp("world"))
            made[name] = MAKERS[name](run, place, *([world("plain")] if name in FROM_PLAIN else []))
        return made[name]

    return world


@pytest.mark.parametrize(("feature", "data"), list(cells()))
def test_a_feature_works_with_data_or_says_why_it_makes_no_sense(feature, data, worlds, monkeypatch):
    for constant, value in worlds(data).limits.items():
        monkeypatch.setattr(constant, value)
    check = LINK_CHECKS[feature] if data == "links" else CHECKS[feature]
    refused = NO_SENSE.get((feature, data))
    if refused is None:
        check(worlds(data))
        return
    with pytest.raises((RefusedError, InputError)) as error:
        check(worlds(data))
    assert refused.says in " ".join(str(error.value).split())


def test_every_cell_is_declared_once():
    assert [one.name for one in FEATURES] == list(CHECKS) == list(LINK_CHECKS)
    assert [one.name for one in DATA] == list(MAKERS)
    assert set(NO_SENSE) <= {(feature.name, data.name) for feature in FEATURES for data in DATA}
