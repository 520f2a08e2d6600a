"""Sets with a guarantee: coverage at 90% and the size of the sets, beside the softmax of a tuned GCN."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, NAMES, baseline_settings, se_gnn_settings
from reproduce.store import Store

TITLE = "Sets with a guarantee: coverage at 90%, and classes per set"
ELSEWHERE = True  # on docs/guarantees.md
DATASETS = ("cora", "citeseer", "pubmed")
METHODS = ("se-gnn", "gcn")
SCORES = ("lac", "aps", "daps")
COVERAGE, SHARE = 0.9, 0.3
ABOUT = """\
Coverage of the test nodes in percent, and classes per set, at a coverage of 90%: mean and standard deviation over the
seeds, which also draw the calibration nodes, 30% of the validation nodes. Both methods have the same calibration
nodes, and neither looked at them."""


def on_graph(dataset: str, method: str) -> Series:
    """A method on a graph, with all three scores."""
    settings = se_gnn_settings(dataset, "best") if method == "se-gnn" else baseline_settings(dataset, method)
    about = {"method": settings, "coverage": COVERAGE, "share": SHARE}
    return Series(kind="coverage", dataset=dataset, method=method, settings=about)


def series() -> list[Series]:
    """Both methods on every graph."""
    return [on_graph(dataset, method) for dataset in DATASETS for method in METHODS]


def render(store: Store, pictures: Path) -> str:
    """A row per graph and method that was run."""
    rows = []
    for dataset in DATASETS:
        for method in METHODS:
            found = store.of(on_graph(dataset, method))
            if found:
                cells = [
                    f"{spread(found, f'{score}_coverage', usual=10)}; {measured(found, f'{score}_size').mean():.2f}"
                    for score in SCORES
                ]
                rows.append([f"{DATASET_NAMES.get(dataset, dataset)}, {NAMES.get(method, method)}", *cells])
    if not rows:
        return "> Not run yet: `make reproduce-coverage`."
    return paragraphs(ABOUT, table(["coverage; classes per set", *(score.upper() for score in SCORES)], rows))
