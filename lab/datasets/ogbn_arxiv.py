"""`ogbn-arxiv`: papers of computer science on arXiv and their citations, split by the year of publication.

"Open Graph Benchmark" (https://arxiv.org/abs/2005.00687). 169,343 papers, 40 subject areas; the features are the mean
of the word vectors of title and abstract. Papers until 2017 train, those of 2018 validate, later ones test.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np

from se_gnn.datasets.raw_files import RawFile, read_verified
from se_gnn.errors import InputError
from se_gnn.graph import Graph
from se_gnn.graph.arrays import FloatArray, IntArray

ORIGIN = (
    "download https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip, unpack it, "
    "and put its folder arxiv into the data folder under the name ogbn_arxiv"
)
NUM_CLASSES = 40


def load(name: str = "ogbn-arxiv", *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """The citation graph with the published split, whatever the ``seed``; reads the raw files of OGB, which it needs.

    Citations are taken in both directions.
    """
    raw = _read("ogbn_arxiv/raw", ("edge.csv.gz", "node-feat.csv.gz", "node-label.csv.gz"), data_dir)
    split = _read("ogbn_arxiv/split/time", ("train.csv.gz", "valid.csv.gz", "test.csv.gz"), data_dir)
    return Graph.build(
        name=name,
        features=_table(raw, "node-feat.csv.gz").astype(np.float32),
        edges=_integers(raw, "edge.csv.gz"),
        labels=_integers(raw, "node-label.csv.gz").ravel(),
        class_names=[f"class {label}" for label in range(NUM_CLASSES)],
        train=_integers(split, "train.csv.gz").ravel(),
        validation=_integers(split, "valid.csv.gz").ravel(),
        test=_integers(split, "test.csv.gz").ravel(),
    )


def _read(folder: str, names: tuple[str, ...], data_dir: str | Path | None) -> dict[str, bytes]:
    # no SHA-256 is known to us for these files; they are tables of numbers, and reading them runs no code
    files = [RawFile(name, url=None, sha256=None, origin=ORIGIN) for name in names]
    return read_verified(files, folder, data_dir=data_dir)


def _table(contents: dict[str, bytes], name: str) -> FloatArray:
    """The numbers of a compressed CSV file without a header, [rows, columns]."""
    try:
        text = io.StringIO(gzip.decompress(contents[name]).decode("ascii"))
        return np.loadtxt(text, delimiter=",", dtype=np.float64, ndmin=2)
    except (OSError, EOFError, ValueError) as error:  # not gzip, cut off, not numbers
        raise InputError(f"{name} of ogbn-arxiv cannot be read: {error}") from error


def _integers(contents: dict[str, bytes], name: str) -> IntArray:
    table = _table(contents, name)
    whole = table.astype(np.int64)
    if (whole != table).any():
        raise InputError(f"{name} of ogbn-arxiv must hold whole numbers")
    return whole
