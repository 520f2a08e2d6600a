"""Prediction sets: coverage at 90% and the size of the sets, beside the softmax of a tuned GCN."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, NAMES, baseline_settings, se_gnn_settings
from reproduce.store import Result, Store

TITLE = "Prediction sets: coverage at 90%, and classes per set"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASETS = ("cora", "citeseer", "pubmed")
METHODS = ("se-gnn", "gcn")
SCORES = ("lac", "aps", "daps")
COVERAGE, SHARE, DRAWS = 0.9, 0.3, 100
ABOUT = f"""\
The tables show the coverage of the test nodes in percent, and the mean number of classes per set, with a target
coverage of 90%: mean and standard deviation over the seeds, which also draw the calibration nodes. Both methods use
the same calibration nodes, and neither was trained on them.

In the first table, calibration nodes and test nodes are exchangeable, as the guarantee requires: for every trained
model, the held-out nodes and the test nodes are pooled, and calibration nodes (as many as 30% of the validation
nodes) are drawn from the pool {DRAWS} times. The rest of the pool is tested."""
PUBLIC = """\
The second table uses the calibration nodes that a user of the public split has: 30% of its validation nodes, held out
before training. If the validation nodes of a split differ from its test nodes, calibration on them cannot detect it:
the validation nodes of Citeseer are easier than its test nodes."""


def on_graph(dataset: str, method: str) -> Series:
    """A method on a graph, with all three scores."""
    settings = se_gnn_settings(dataset, "best") if method == "se-gnn" else baseline_settings(dataset, method)
    about = {"method": settings, "coverage": COVERAGE, "share": SHARE, "draws": DRAWS}
    return Series(kind="coverage", dataset=dataset, method=method, settings=about)


def series() -> list[Series]:
    """Both methods on every graph."""
    return [on_graph(dataset, method) for dataset in DATASETS for method in METHODS]


def render(store: Store, pictures: Path) -> str:
    """A row per graph and method that was run, for both kinds of calibration nodes."""
    results = {
        f"{DATASET_NAMES.get(dataset, dataset)}, {NAMES.get(method, method)}": found
        for dataset in DATASETS
        for method in METHODS
        if (found := store.of(on_graph(dataset, method)))
    }
    if not results:
        return "> Not run yet: `make reproduce-coverage`."
    return paragraphs(ABOUT, _table(results, "redrawn_"), PUBLIC, _table(results, ""))


def _table(results: dict[str, list[Result]], kind: str) -> str:
    rows = [
        [
            name,
            *(
                f"{spread(found, f'{score}_{kind}coverage', usual=10)}; "
                f"{measured(found, f'{score}_{kind}size').mean():.2f}"
                for score in SCORES
            ),
        ]
        for name, found in results.items()
    ]
    return table(["coverage; classes per set", *(score.upper() for score in SCORES)], rows)
