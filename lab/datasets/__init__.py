"""Data sets for research: the paper's synthetic graphs, attacked graphs, and others that se-gnn does not bring along.

:func:`load_dataset` loads all of them by name. :func:`register` makes the names known to `se_gnn.load_dataset` as well.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, cast

from se_gnn import datasets
from se_gnn.datasets import DatasetInfo

if TYPE_CHECKING:
    from lab.truth import GroundTruth
    from se_gnn.graph import Graph

_RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")

INFOS = (
    DatasetInfo(
        name="syn-cora",
        description="about 1,900 nodes: disturbed copies of pieces of Cora; the nodes and edges to find are known",
        module="lab.datasets.syn_cora",
    ),
    DatasetInfo(
        name="citeseer-metattack-RATE",
        description=f"citeseer after Metattack changed a share of its edges: {', '.join(_RATES)}",
        module="lab.datasets.metattack",
        rates=_RATES,
    ),
    DatasetInfo(
        name="cora-metattack-RATE",
        description="cora-nettack after Metattack, at the same rates",
        module="lab.datasets.metattack",
        rates=_RATES,
    ),
    DatasetInfo(
        name="ogbn-arxiv",
        description="169,343 papers, 40 subject areas; split by year",
        by_hand=True,
        module="lab.datasets.ogbn_arxiv",
    ),
    DatasetInfo(
        name="bitcoin-otc",
        description="5,881 accounts, 35,592 directed ratings with times; fraud or trusted; 10 labeled per class",
        by_hand=True,
        module="lab.datasets.bitcoin_otc",
    ),
    DatasetInfo(
        name="amazon-fraud",
        description="10,224 users who wrote reviews, 693 of them fraud; 10% labeled",
        by_hand=True,
        module="lab.datasets.amazon_fraud",
    ),
    DatasetInfo(
        name="amazon-fraud-1",
        description="amazon-fraud with 1% labeled",
        by_hand=True,
        module="lab.datasets.amazon_fraud",
    ),
    *(
        DatasetInfo(
            name=f"counties-{target}",
            description=f"3,234 US counties of 2012 and their borders; {target.replace('-', ' ')} is predicted",
            by_hand=True,
            module="lab.datasets.counties",
        )
        for target in ("median-income", "bachelor-rate", "unemployment-rate", "republican-margin")
    ),
    DatasetInfo(
        name="acm",
        description="4,019 papers, their authors and subjects, 3 areas; 20 papers labeled per class",
        by_hand=True,
        module="lab.datasets.hetero",
    ),
    DatasetInfo(
        name="dblp",
        description="4,057 authors, their papers and conferences, 4 areas; 20 authors labeled per class",
        by_hand=True,
        module="lab.datasets.hetero",
    ),
    DatasetInfo(
        name="grid-game",
        description="10,000 fields of a grid, a fifth of them mines; half labeled; generated",
        module="lab.datasets.grid_game",
    ),
    DatasetInfo(
        name="shared-authors",
        description="1,500 papers, 600 authors and 20 venues; shared authors tell the topic; generated",
        module="lab.datasets.shared_authors",
    ),
    *(
        DatasetInfo(
            name=f"airports-{region}",
            description=f"{count:,} airports without attributes; their quartile of traffic; by the seed",
            by_hand=True,
            module="lab.datasets.airports",
        )
        for region, count in (("brazil", 131), ("europe", 399), ("usa", 1190))
    ),
    *(
        DatasetInfo(
            name=f"{name}-100",
            description=f"{name} with 100 labeled nodes in all, 500 to validate and 1,000 to test",
            module="lab.datasets.few_labeled",
        )
        for name in ("amazon-photo", "coauthor-physics")
    ),
    DatasetInfo(
        name="ba-shapes-pgexplainer",
        description="the draw of ba-shapes published with PGExplainer",
        by_hand=True,
        module="lab.datasets.ba_shapes",
    ),
    DatasetInfo(
        name="syn-cora-authors",
        description="1,895 nodes, made by the authors' own generator",
        by_hand=True,
        module="lab.datasets.syn_cora_authors",
    ),
)


def register() -> None:
    """Make these data sets known to `se_gnn.load_dataset` and to the commands that take the name of a data set."""
    datasets.register_datasets(INFOS)


def load_dataset(name: str, *, seed: int = 0, data_dir: str | Path | None = None) -> Graph:
    """Load a data set of the lab or of se-gnn by its name; see :func:`se_gnn.load_dataset`.

    ``seed`` also draws the graph and split of `syn-cora` and the split of `bitcoin-otc`.
    """
    register()
    return datasets.load_dataset(name, seed=seed, data_dir=data_dir)


# modules with a `load_with_truth` beside their `load`
_WITH_TRUTH = {
    "ba-shapes": "lab.datasets.ba_shapes",
    "ba-shapes-pgexplainer": "lab.datasets.ba_shapes",
    "syn-cora": "lab.datasets.syn_cora",
    "syn-cora-authors": "lab.datasets.syn_cora_authors",
}


def load_with_truth(
    name: str, *, seed: int = 0, data_dir: str | Path | None = None
) -> tuple[Graph, GroundTruth | None]:
    """Load a data set and what is known of its motifs; None where it has none.

    >>> graph, truth = load_with_truth("ba-shapes")
    >>> int(truth.motif_edges.sum()), graph.num_edges  # 80 houses of 6 edges
    (480, 2105)
    """
    if name not in _WITH_TRUTH:
        return load_dataset(name, seed=seed, data_dir=data_dir), None
    module = importlib.import_module(_WITH_TRUTH[name])
    graph, truth = module.load_with_truth(name, seed=seed, data_dir=data_dir)
    return graph.replace(dataset=name), cast("GroundTruth", truth)
