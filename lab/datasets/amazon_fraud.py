"""`amazon-fraud`, `amazon-fraud-1`: users of Amazon, some of them paid to write reviews.

"Enhancing Graph Neural Network-based Fraud Detectors against Camouflaged Fraudsters" (https://arxiv.org/abs/2008.08692),
the graph of users who reviewed the same product, of those users that have an edge. 25 columns; 6.8% are fraud. 10% of
the users of each class are labeled, in `amazon-fraud-1` 1%; 10% validate, the others test.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from lab.datasets.known_arrays import read_known_arrays
from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.graph import Graph
from se_gnn.graph.split import split_stratified
from se_gnn.tables import ImportSettings, read_tables

FILE = RawFile(
    "amazon_upu.npz",
    url=None,
    sha256=None,
    origin="convert Amazon.mat of https://github.com/YingtongDou/CARE-GNN (docs/reference/datasets.md names the "
    "arrays): features, label, and the edges of net_upu between users that have one",
)
SHA256 = "1d5bb4c0f44f8d978bd6aeaa0e6a39735761b7e2081ce60d04efa34b9b2c34d4"
SHARES = {"amazon-fraud": 0.1, "amazon-fraud-1": 0.01}
VAL_SHARE = 0.1
CLASS_NAMES = ("honest", "fraud")
STARS = range(1, 6)
COLUMNS = (
    "products rated",
    "length of user name",
    *(f"ratings of {stars}" for stars in STARS),
    *(f"share of ratings of {stars}" for stars in STARS),
    "share of low ratings",
    "share of high ratings",
    "entropy of ratings",
    "median rating",
    "highest rating",
    "lowest rating",
    "mean rating",
    "votes",
    "days between first and last review",
    "entropy of dates",
    "all on one day",
    "length of summary",
    "sentiment",
)


def load(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The graph with its columns as numbers, and a split by ``seed``."""
    content = read_verified([FILE], "amazon_fraud", data_dir=data_dir)[FILE.name]
    arrays = read_known_arrays(content, ("edges", "features", "label"), sha256=SHA256, where=FILE.name)
    labels = arrays["label"].astype(np.int64)
    split = split_stratified(labels, train=SHARES[name], validation=VAL_SHARE, generator=np.random.default_rng(seed))
    ids = pa.array([f"user {i}" for i in range(len(labels))])
    columns = {column: pa.array(values) for column, values in zip(COLUMNS, arrays["features"].T)}
    label = pa.array([CLASS_NAMES[one] for one in labels])
    ends = {end: ids.take(pa.array(arrays["edges"][:, i])) for i, end in enumerate(("source", "target"))}
    settings = ImportSettings(id="id", label="label", name=name, kinds=dict.fromkeys(COLUMNS, "number"))
    graph = read_tables(pa.table({"id": ids, "label": label, **columns}), pa.table(ends), settings).graph
    return graph.with_split(train=split.train, validation=split.validation, test=split.test)
