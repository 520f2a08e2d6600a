"""A class left out of training: telling its nodes from the rest, beside a GCN's largest probability and its energy."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, baseline_settings
from reproduce.store import Store

TITLE = "No answer: telling the nodes of a class that was left out"
ELSEWHERE = True  # on docs/no-answer.md
DATASETS = ("cora", "citeseer", "pubmed")
SHOWN = {"unlike": "`unlike`", "gcn_probability": "GCN, largest probability", "gcn_energy": "GCN, energy"}
ABOUT = """\
Area under the ROC curve in percent of telling the test nodes of the left-out class from all others, mean over the
classes, each left out once; mean and standard deviation over the seeds. Nodes of that class neither vote nor validate,
and their labels are unknown. `unlike` knows the labels of labeled and validation nodes, has no seed, and chooses its
settings on these nodes; the GCN learns from the labeled nodes, and validation nodes choose its epoch. Alarms: the share
of other test nodes that are without an answer at a stated rate of 5%; caught: that of the nodes of the left-out
class."""


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
    return paragraphs(ABOUT, table(["AUROC in percent", *SHOWN.values(), "alarms", "caught"], rows))
