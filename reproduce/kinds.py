"""Several kinds of nodes: the default on all of them, on one kind joined by paths through the others, and an RGCN."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import se_gnn_settings
from reproduce.store import Store

TITLE = "Several node types"
ELSEWHERE = True  # on docs/understanding/measurements.md
DATASETS = {"acm": "ACM", "dblp": "DBLP"}
EPOCHS, MEMBERS = 200, 3
RGCN = {"hidden_size": 64, "dropout": 0.5, "learning_rates": [0.01, 0.003], "weight_decay": 5e-4, "epochs": 200}
NAMES = {
    ("se-gnn", ""): "SE-GNN, all node types",
    ("se-gnn", "paths"): "SE-GNN, one node type joined by paths",
    ("se-gnn", "paths-unread"): "the same, without `read_edges`",
    ("rgcn", ""): "RGCN, all node types",
}
PUBLISHED = {"acm": "88.6", "dblp": "91.3"}  # HeCo, https://arxiv.org/abs/2105.09111
ABOUT = f"""\
The table shows the macro-F1 in percent on the 1,000 published test nodes, mean and standard deviation over the
training seeds, with the published split and 20 labeled nodes per class. SE-GNN is the default with {EPOCHS} epochs
and {MEMBERS} members; the validation nodes choose between its recipes. *Joined by paths*: two papers are joined if
they share an author or a subject (two authors if they share a paper or a conference), each with the 32 others with
the most such paths, and the edge has the type of the path; with and without `read_edges`, by which a node reads how
many paths of each type it has. RGCN has a linear layer per node type and two layers with weights per edge type and
direction; the validation nodes choose its epoch and learning rate."""


def series_of(dataset: str, method: str, variant: str) -> Series:
    """A method on a graph."""
    given = {"members": MEMBERS, "epochs": EPOCHS, **({"read_edges": False} if variant == "paths-unread" else {})}
    settings = {"config": se_gnn_settings(dataset, "best", **given)} if method == "se-gnn" else RGCN
    return Series(kind="kinds", dataset=dataset, method=method, variant=variant, settings=settings)


def series() -> list[Series]:
    """All methods on both graphs."""
    return [series_of(dataset, *one) for dataset in DATASETS for one in NAMES]


def render(store: Store, pictures: Path) -> str:
    """A row per method that was run."""
    rows = []
    for one, name in NAMES.items():
        found = {dataset: store.of(series_of(dataset, *one)) for dataset in DATASETS}
        if any(found.values()):
            cells = [
                spread(results, f"{part}_macro_f1") if results else "-"
                for results in found.values()
                for part in ("val", "test")
            ]
            rows.append([name, *cells])
    if not rows:
        return "> Not run yet: `make reproduce-kinds`."
    rows.append(["HeCo, published", *(cell for dataset in DATASETS for cell in ("-", PUBLISHED[dataset]))])
    heads = [head for name in DATASETS.values() for head in (f"{name}, validation", "test")]
    return paragraphs(ABOUT, table(["macro-F1", *heads], rows))
