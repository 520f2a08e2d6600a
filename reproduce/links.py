"""Link prediction under the HeaRT protocol, and explanations of links whose reasons are known."""

from __future__ import annotations

from pathlib import Path

from lab.baselines import gae
from lab.datasets.links import NAMES as DATASETS
from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.store import Store

TITLE = "Link prediction"
ELSEWHERE = True  # on docs/understanding/measurements.md
METHODS = {"cn": "common neighbors", "aa": "Adamic-Adar", "ra": "resource allocation", "gae": "GAE", "se-gnn": "SE-GNN"}
COLUMNS = {"mrr": "MRR", "hits@10": "Hits@10", "roc_auc": "ROC-AUC", "average_precision": "AP"}
NAMES = {"citeseer": "Citeseer", "cora": "Cora", "pubmed": "PubMed"}
EXPLAINERS = {"se-gnn": "SE-GNN", "gnn-explainer": "GNNExplainer on a GAE"}
GAE = {"width": gae.WIDTH, "layers": list(gae.LAYERS), "epochs": gae.EPOCHS, "rate": gae.RATE, "dropout": gae.DROPOUT}


def series_of(dataset: str, method: str) -> Series:
    """A method on a data set."""
    settings = dict(GAE) if method in ("gae", "gnn-explainer") else {"preset": "links"}
    seeded = method not in gae.HEURISTICS
    return Series(kind="links", dataset=dataset, method=method, settings=settings, seeded=seeded)


def series() -> list[Series]:
    """Every method on every data set, and both explainers on the graph with planted reasons."""
    found = [series_of(dataset, method) for dataset in DATASETS for method in METHODS]
    return found + [series_of("planted-links", method) for method in EXPLAINERS]


def render(store: Store, pictures: Path) -> str:
    """A table of the data sets, and one of explanations."""
    rows = []
    for dataset in DATASETS:
        for method, name in METHODS.items():
            found = store.of(series_of(dataset, method))
            if found:
                rows.append([NAMES[dataset], name, *(spread(found, column) for column in COLUMNS)])
    if not rows:
        return "> Not run yet: `make reproduce-links`."
    parts = [table(["graph", "method", *COLUMNS.values()], rows)]
    explained = []
    for method, name in EXPLAINERS.items():
        found = store.of(series_of("planted-links", method))
        if found:
            explained.append([name, spread(found, "named"), spread(found, "by_chance")])
    if explained:
        parts.append(table(["explainer", "names a planted neighbor first", "by chance"], explained))
    return paragraphs(*parts)
