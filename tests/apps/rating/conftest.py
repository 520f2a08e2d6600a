"""A file of ratings with pairs that nobody had to train for, and its pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile_model import HOSTILE_NAMES
from se_gnn.apps.rating import RatingPlan, RatingStore
from se_gnn.apps.rating.database import write_pairs
from se_gnn.apps.rating.drawing import PairPictures
from se_gnn.apps.rating.plan import METHODS
from se_gnn.apps.rating.prepare import Pair
from se_gnn.display import printable_name

SVG = '<svg class="local-graph" role="img" aria-label="Local graph"><circle r="3"/></svg>'
ITEMS = 5


def make_file(path: Path, *, items: int = ITEMS, methods: tuple[str, ...] = tuple(METHODS), seed: int = 0) -> Path:
    plan = RatingPlan(models=(("toy", "d1"),), items=items, methods=methods, seed=seed)
    names = [printable_name(name) for name in HOSTILE_NAMES]
    pairs = [
        Pair(
            item=item,
            method=method,
            model=0,
            target=names[item % len(names)],
            neighbor=names[(item + method) % len(names)],
            pictures=PairPictures(SVG, SVG, ("1 edge", "2 edges"), (0,)),
            classes=((0, names[0]), (-1, "class not known")),
        )
        for item in range(items)
        for method in range(len(methods))
    ]
    write_pairs(path, plan, pairs)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return make_file(tmp_path / "ratings.sqlite")


@pytest.fixture
def store(file: Path) -> Iterator[RatingStore]:
    opened = RatingStore(file)
    yield opened
    opened.close()
