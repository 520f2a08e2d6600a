"""Names of the data sets, what each is, and the one function that loads them.

Nothing heavy is imported before a data set is asked for, so that listing them is instant.
"""

from __future__ import annotations

import importlib
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from se_gnn.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from se_gnn.graph import AttributedGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What people see of a data set before it is loaded."""

    name: str
    description: str
    embedded: bool  # nothing to download
    module: str  # where `load(name, *, seed, data_dir)` is


_INFOS = (
    DatasetInfo(
        name="digits",
        description="1,797 handwritten digits, 8 x 8 pixels, each joined to its 5 nearest; 10 labeled a class",
        embedded=True,
        module="se_gnn.datasets.digits",
    ),
    DatasetInfo(
        name="ba-shapes",
        description="700 nodes: 80 planted houses on a Barabasi-Albert graph; the edges that matter are known",
        embedded=True,
        module="se_gnn.datasets.ba_shapes",
    ),
    DatasetInfo(
        name="cora",
        description="2,708 machine learning papers and their citations, 7 topics; public split",
        embedded=False,
        module="se_gnn.datasets.planetoid",
    ),
    DatasetInfo(
        name="citeseer",
        description="3,327 computer science papers and their citations, 6 fields; public split",
        embedded=False,
        module="se_gnn.datasets.planetoid",
    ),
    DatasetInfo(
        name="pubmed",
        description="19,717 papers on diabetes and their citations, 3 types of diabetes; public split",
        embedded=False,
        module="se_gnn.datasets.planetoid",
    ),
)


def dataset_infos() -> tuple[DatasetInfo, ...]:
    """The data sets that :func:`load_dataset` knows, embedded ones first.

    >>> [info.name for info in dataset_infos() if info.embedded]
    ['digits', 'ba-shapes']
    """
    return _INFOS


def load_dataset(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> AttributedGraph:
    """Load a data set by its name.

    Args:
        name: one of :func:`dataset_infos`; capitals and ``_`` for ``-`` are forgiven.
        seed: draws what is random in a data set: the split of `digits`, graph and split of `ba-shapes`. The citation
            graphs come with their public split and do not depend on it.
        data_dir: folder with downloaded data; else the environment variable `SE_GNN_DATA`, else the user's cache
            folder, to which missing files are downloaded.

    >>> load_dataset("ba-shapes")
    AttributedGraph('ba-shapes': 700 nodes, 2105 edges, 2 dense features, 4 classes, 560/70/70 train/val/test)
    """
    by_name = {info.name: info for info in _INFOS}
    info = by_name.get(name.lower().replace("_", "-"))
    if info is None:
        raise InputError(f"unknown data set {name!r}{did_you_mean(name.lower(), by_name)}; known: {', '.join(by_name)}")
    try:
        whole_seed = operator.index(seed)
    except TypeError as error:
        raise InputError(f"seed must be a whole number, got {seed!r}") from error
    if whole_seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}")
    module = importlib.import_module(info.module)
    return cast("AttributedGraph", module.load(info.name, seed=whole_seed, data_dir=data_dir))
