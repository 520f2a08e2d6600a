"""`airports-brazil`, `airports-europe`, `airports-usa`: which quartile of traffic an airport belongs to.

From "struc2vec: Learning Node Representations from Structural Identity" (https://arxiv.org/abs/1704.03165). Airports
have no attributes: their features are the numbers that describe the role of a node (`se_gnn.tables.structure`). A
fifth of the airports are for testing; of the others a fifth are for validation.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.tables.structure import encode_structure, fit_structure

_ORIGIN = "the files of https://github.com/leoribeiro/struc2vec as tables: airport and activity, from and to"
TEST, VALIDATION = 0.2, 0.2  # of all airports, and of those that are left


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The airports of a region, with a split that ``seed`` draws."""
    region = name.removeprefix("airports-")
    files = [RawFile(f"{region}_{what}.csv", url=None, sha256=None, origin=_ORIGIN) for what in ("airports", "flights")]
    content = read_verified(files, "airports", data_dir=data_dir)
    airports, flights = (list(csv.DictReader(content[file.name].decode().splitlines())) for file in files)
    names = [row["airport"] for row in airports]
    place = {airport: i for i, airport in enumerate(names)}
    pairs = np.array([(place[row["from"]], place[row["to"]]) for row in flights], np.int64)
    classes = sorted({row["activity"] for row in airports})
    columns = fit_structure(name, len(names), pairs)
    order = np.random.default_rng(seed).permutation(len(names))
    test, rest = np.split(order, [round(TEST * len(names))])
    validation, train = np.split(rest, [round(VALIDATION * len(rest))])
    return Graph.build(
        name=name,
        features=encode_structure(columns, len(names), pairs),
        feature_names=[column.name for column in columns],
        columns=columns,
        edges=pairs,
        labels=np.array([classes.index(row["activity"]) for row in airports]),
        class_names=tuple(classes),
        node_names=[f"airport {airport}" for airport in names],
        train=train,
        validation=validation,
        test=test,
    )
