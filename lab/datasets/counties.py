"""`counties-*`: a number of each US county, from its other numbers and those of the counties it borders on.

"Residual Correlation in Graph Neural Network Regression" (https://doi.org/10.1145/3394486.3403101): 3,234 counties with
seven numbers each (income, migration, births, deaths, education, unemployment, election) in 2012 and in 2016. One
column is predicted from the six others: 60% of the counties whose number is known vote, 20% validate, 20% test, drawn
by ``seed``; the split of 2016 is that of 2012.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.tables import read_tables

_ORIGIN = "take the county tables of https://github.com/000Justin000/gnn-residual-correlation, one row per county"
_SHA256 = {
    "counties_2012.csv": "6acbb81c3200182a18cbf37ecbbe6135db7106c5446b49cf5f092c155d4c2ba7",
    "counties_2016.csv": "953cd3af9893f15f3afb0d9c1bea2c3c33e87e05c39d1dd496a9b8b592205656",
    "borders.csv": "9639a31c1decd35534ec6bd25ab5fe92341dfae15d514540b3759af4add029b3",
}
FILES = [RawFile(name, None, digest, origin=_ORIGIN) for name, digest in _SHA256.items()]
TARGETS = ("median_income", "bachelor_rate", "unemployment_rate", "republican_margin")
UNITS = {"median_income": "USD", "bachelor_rate": "%", "unemployment_rate": "%"}
TRAIN, VALIDATION = 0.6, 0.2


def load(
    name: str = "counties-median-income",
    *,
    seed: int = 0,
    data_dir: str | Path | None = None,
    year: int = 2012,
    like: Graph | None = None,
) -> Graph:
    """The counties of a year; ``like`` an earlier one, its encoding of the columns and its split are used."""
    target = name.removeprefix("counties-").replace("-", "_")
    contents = read_verified(FILES, "counties", data_dir=data_dir)
    nodes, borders = (
        pa_csv.read_csv(pa.BufferReader(contents[one])) for one in (f"counties_{year}.csv", "borders.csv")
    )
    graph = read_tables(
        nodes,
        borders,
        id="county",
        source="county",
        target="neighbor",
        caption="name",
        target_number=target,
        unit=UNITS.get(target, ""),
        name=f"counties {year}",
        like=like,
    ).graph
    train, validation, test = _split(graph.values, seed) if like is None else _same_split(like, graph.values)
    return graph.with_split(train=train, validation=validation, test=test)


def _split(values: Float64Array, seed: int) -> tuple[IntArray, IntArray, IntArray]:
    known = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(values)))
    train, rest = int(TRAIN * len(known)), int((TRAIN + VALIDATION) * len(known))
    return known[:train], known[train:rest], known[rest:]


def _same_split(like: Graph, values: Float64Array) -> tuple[IntArray, IntArray, IntArray]:
    """The parts of an earlier year, without counties whose number is not known now; calibration nodes validate."""
    validation = np.union1d(like.validation, like.calibration)
    known = [nodes[~np.isnan(values[nodes])] for nodes in (like.train, validation, like.test)]
    return known[0], known[1], known[2]
