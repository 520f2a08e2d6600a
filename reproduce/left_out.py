"""A class left out of training: telling its nodes from the rest, beside a GCN's largest probability and its energy."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, baseline_settings
from reproduce.store import Store

TITLE = "Abstaining: detecting the nodes of a class that was left out"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASETS = ("cora", "citeseer", "pubmed")
SHOWN = {"unlike": "novelty score", "gcn_probability": "GCN, largest probability", "gcn_energy": "GCN, energy"}
ABOUT = """\
Each class is left out once: its nodes do not vote, are not used for validation, and have no known label. The table
shows how well each score separates the test nodes of that class from all others: the area under the ROC curve in
percent, averaged over the classes, with mean and standard deviation over the seeds. The novelty score uses the labels
of labeled and validation nodes, chooses its settings on them, and has no seed. The GCN learns from the labeled nodes
and chooses its epoch on the validation nodes. *False alarms* is the share of other test nodes on which the model
abstains with `false_alarms=0.05`; *detected* is the same share for the nodes of the left-out class."""


def on_graph(dataset: str) -> Series:
    """Every class of a graph, left out in turn."""
    settings = {"gcn": baseline_settings(dataset, "gcn"), "false_alarms": 0.05}
    return Series(kind="left_out", dataset=dataset, method="se-gnn", variant="left-out", settings=settings)


def series() -> list[Series]:
    """Every graph."""
    return [on_graph(dataset) for dataset in DATASETS]


def render(store: Store, pictures: Path) -> str:
    """A row per graph that was run."""
    rows = []
    for dataset in DATASETS:
        found = store.of(on_graph(dataset))
        if found:
            cells = [spread(found, measure, usual=10) for measure in (*SHOWN, "alarms", "caught")]
            rows.append([DATASET_NAMES[dataset], *cells])
    if not rows:
        return "> Not run yet: `make reproduce-left-out`."
    return paragraphs(ABOUT, table(["AUROC in percent", *SHOWN.values(), "false alarms", "detected"], rows))
