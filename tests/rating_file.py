"""A file of ratings with pairs that nobody had to train for."""

from __future__ import annotations

from pathlib import Path

from hostile_model import HOSTILE_NAMES
from lab.rating import RatingPlan
from lab.rating.database import write_pairs
from lab.rating.drawing import PairPictures
from lab.rating.plan import METHODS
from lab.rating.prepare import Pair
from se_gnn.display.text import printable_name

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
