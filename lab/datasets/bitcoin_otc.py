"""`bitcoin-otc`: who trusts whom on a Bitcoin exchange, with some accounts known as fraud or as trusted.

"REV2: Fraudulent User Prediction in Rating Platforms" (https://doi.org/10.1145/3159652.3159729). 5,881 accounts, 35,592
ratings from -10 to 10, each from one account to another at a time; 180 accounts are known to be fraud, 136 to be
trusted. Accounts have no columns: what is known of them are the ratings. Ten accounts per class are labeled, twenty
validate, the others test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.split import split_by_class
from se_gnn.tables import ImportSettings, read_tables

_ORIGIN = (
    "take soc-sign-bitcoinotc.csv of https://snap.stanford.edu/data/soc-sign-bitcoin-otc.html with the header "
    "source,target,rating,time as ratings.csv, and account,label of the REV2 ground truth as accounts.csv"
)
ACCOUNTS = RawFile(
    "accounts.csv", None, "1f30d3b537e2bae2e88eb2a366410243503ce4947dc3074c8782e43d4d2834b4", origin=_ORIGIN
)
RATINGS = RawFile(
    "ratings.csv", None, "3f17ed3d8b86b79ab83c2e25c373fac5cb66a31dad454679e6d6958810ee3fee", origin=_ORIGIN
)
TRAIN_PER_CLASS = 10
VAL_PER_CLASS = 20


def load(name: str = "bitcoin-otc", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The graph of ratings with direction, rating and time on the edges, and a split by ``seed``."""
    contents = read_verified([ACCOUNTS, RATINGS], "bitcoin_otc", data_dir=data_dir)
    accounts, ratings = (pa_csv.read_csv(pa.BufferReader(contents[file.name])) for file in (ACCOUNTS, RATINGS))
    settings = ImportSettings(
        id="account", label="label", name=name, directed=True, edge_time="time", edge_kinds={"rating": "number"}
    )
    graph = read_tables(accounts, ratings, settings).graph
    known = np.flatnonzero(graph.labels != UNKNOWN)
    generator = np.random.default_rng(seed)
    split = split_by_class(graph.labels[known], train=TRAIN_PER_CLASS, validation=VAL_PER_CLASS, generator=generator)
    return graph.with_split(train=known[split.train], validation=known[split.validation], test=known[split.test])
