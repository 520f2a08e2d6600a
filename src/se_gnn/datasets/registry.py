"""Names of the data sets, what each is, and the one function that loads them.

Nothing heavy is imported before a data set is asked for, so that listing them is instant.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from se_gnn.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from se_gnn.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInfo:
    """What people see of a data set before it is loaded."""

    name: str  # with RATE in it where there are several rates
    description: str
    embedded: bool = False  # nothing to download
    by_hand: bool = False  # its files are not downloaded, people put them into the data folder
    module: str  # where `load(name, *, seed, data_dir)` is
    rates: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that :func:`load_dataset` takes."""
        return tuple(self.name.replace("RATE", rate) for rate in self.rates) or (self.name,)


_RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")

_INFOS = (
    DatasetInfo(
        name="digits",
        description="1,797 handwritten digits, each joined to its 5 nearest; 10 labeled per class",
        embedded=True,
        module="se_gnn.datasets.digits",
    ),
    DatasetInfo(
        name="ba-shapes",
        description="700 nodes: 80 planted houses on a random graph; the edges that matter are known",
        embedded=True,
        module="se_gnn.datasets.ba_shapes",
    ),
    DatasetInfo(
        name="cora",
        description="2,708 machine learning papers, 7 topics; public split",
        module="se_gnn.datasets.planetoid",
    ),
    DatasetInfo(
        name="citeseer",
        description="2,110 computer science papers, 6 fields, largest component; 10 / 10 / 80 split",
        module="se_gnn.datasets.nettack",
    ),
    DatasetInfo(
        name="pubmed",
        description="19,717 papers on diabetes, 3 types; public split",
        module="se_gnn.datasets.planetoid",
    ),
    DatasetInfo(
        name="syn-cora",
        description="about 1,900 nodes: disturbed copies of pieces of Cora; the nodes and edges to find are known",
        module="se_gnn.datasets.syn_cora",
    ),
    DatasetInfo(
        name="citeseer-planetoid",
        description="3,327 papers, some without citations; public split",
        module="se_gnn.datasets.planetoid",
    ),
    DatasetInfo(
        name="cora-nettack",
        description="2,485 papers, largest component; 10 / 10 / 80 split",
        module="se_gnn.datasets.nettack",
    ),
    DatasetInfo(
        name="citeseer-metattack-RATE",
        description=f"citeseer after Metattack changed a share of its edges: {', '.join(_RATES)}",
        module="se_gnn.datasets.metattack",
        rates=_RATES,
    ),
    DatasetInfo(
        name="cora-metattack-RATE",
        description="cora-nettack after Metattack, at the same rates",
        module="se_gnn.datasets.metattack",
        rates=_RATES,
    ),
    DatasetInfo(
        name="amazon-photo",
        description="7,650 products, 8 categories; 20 labeled per class",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="amazon-computers",
        description="13,752 products, 10 categories; 20 labeled per class",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="coauthor-cs",
        description="18,333 authors, 15 fields; 20 labeled per class",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="coauthor-physics",
        description="34,493 authors, 5 fields; 20 labeled per class",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="amazon-photo-100",
        description="amazon-photo with 100 labeled nodes in all, 500 to validate and 1,000 to test",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="coauthor-physics-100",
        description="coauthor-physics with 100 labeled nodes in all, 500 to validate and 1,000 to test",
        module="se_gnn.datasets.gnn_benchmark",
    ),
    DatasetInfo(
        name="ogbn-arxiv",
        description="169,343 papers, 40 subject areas; split by year",
        by_hand=True,
        module="se_gnn.datasets.ogbn_arxiv",
    ),
    DatasetInfo(
        name="bitcoin-otc",
        description="5,881 accounts, 35,592 directed ratings with times; fraud or trusted; 10 labeled per class",
        by_hand=True,
        module="se_gnn.datasets.bitcoin_otc",
    ),
    DatasetInfo(
        name="amazon-fraud",
        description="10,224 users who wrote reviews, 693 of them fraud; 10% labeled",
        by_hand=True,
        module="se_gnn.datasets.amazon_fraud",
    ),
    DatasetInfo(
        name="amazon-fraud-1",
        description="amazon-fraud with 1% labeled",
        by_hand=True,
        module="se_gnn.datasets.amazon_fraud",
    ),
    DatasetInfo(
        name="acm",
        description="4,019 papers, their authors and subjects, 3 areas; 20 papers labeled per class",
        by_hand=True,
        module="se_gnn.datasets.hetero",
    ),
    DatasetInfo(
        name="dblp",
        description="4,057 authors, their papers and conferences, 4 areas; 20 authors labeled per class",
        by_hand=True,
        module="se_gnn.datasets.hetero",
    ),
    DatasetInfo(
        name="ba-shapes-pgexplainer",
        description="the draw of ba-shapes published with PGExplainer",
        by_hand=True,
        module="se_gnn.datasets.ba_shapes_pgexplainer",
    ),
    DatasetInfo(
        name="syn-cora-authors",
        description="1,895 nodes, made by the authors' own generator",
        by_hand=True,
        module="se_gnn.datasets.syn_cora_authors",
    ),
)


def dataset_infos() -> tuple[DatasetInfo, ...]:
    """The data sets that :func:`load_dataset` knows, embedded ones first.

    >>> [info.name for info in dataset_infos() if info.embedded]
    ['digits', 'ba-shapes']
    """
    return _INFOS


def dataset_names() -> tuple[str, ...]:
    """Every name that :func:`load_dataset` takes, each rate of an attacked graph on its own."""
    return tuple(name for info in _INFOS for name in info.names)


def load_dataset(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """Load a data set by its name.

    Args:
        name: as listed by :func:`dataset_infos`; capitals and ``_`` for ``-`` are forgiven.
        seed: draws what is random in a data set: graph and split of `ba-shapes` and `syn-cora`, the split of `digits`,
            `amazon-...`, `coauthor-...` and `bitcoin-otc`. The others come with a published split and do not depend on
            it.
        data_dir: folder with downloaded data; else the environment variable `SE_GNN_DATA`, else the user's cache
            folder, to which missing files are downloaded.

    >>> load_dataset("ba-shapes")
    Graph('ba-shapes': 700 nodes, 2105 edges, 2 dense features, 4 classes, 560/70/70 train/val/test)
    """
    by_name = {each: info for info in _INFOS for each in info.names}
    exact = name.lower().replace("_", "-")
    info = by_name.get(exact)
    if info is None:
        known = ", ".join(info.name for info in _INFOS)
        raise InputError(f"unknown data set {name!r}{did_you_mean(exact, by_name)}; known: {known}")
    try:
        whole_seed = operator.index(seed)
    except TypeError as error:
        raise InputError(f"seed must be a whole number, got {seed!r}") from error
    if whole_seed < 0:
        raise InputError(f"seed must be at least 0, got {seed}")
    module = importlib.import_module(info.module)
    graph = cast("Graph", module.load(exact, seed=whole_seed, data_dir=data_dir))
    return dataclasses.replace(graph, dataset=exact)
