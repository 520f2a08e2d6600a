"""Several kinds of nodes: the default on all of them, on one kind joined by paths through the others, and an RGCN."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.methods import se_gnn_settings
from reproduce.store import Store

TITLE = "Several kinds of nodes"
ELSEWHERE = True  # on docs/rich-edges.md
DATASETS = {"acm": "ACM", "dblp": "DBLP"}
EPOCHS, MEMBERS = 200, 3
RGCN = {"hidden_size": 64, "dropout": 0.5, "learning_rates": [0.01, 0.003], "weight_decay": 5e-4, "epochs": 200}
NAMES = {
    ("se-gnn", ""): "SE-GNN, all kinds",
    ("se-gnn", "paths"): "SE-GNN, one kind joined by paths",
    ("se-gnn", "paths-unread"): "the same, without `read_edges`",
    ("rgcn", ""): "RGCN, all kinds",
}
PUBLISHED = {"acm": "88.6", "dblp": "91.3"}  # HeCo, https://arxiv.org/abs/2105.09111
ABOUT = f"""\
Macro-F1 on the 1,000 published test nodes, in percent, mean and standard deviation over the seeds of the training; 20
labeled nodes per class, the published split. SE-GNN is the default with {EPOCHS} epochs and {MEMBERS} members;
validation nodes choose between its recipes. Joined by paths: two papers are joined that share an author or a subject
(two authors that share a paper or a conference), each to the 32 others with the most such paths, and have the type of
the path; with and without `read_edges`, by which a node reads how many paths of each type it has. RGCN: a linear layer
per kind and two layers with weights per type and direction; validation nodes choose epoch and learning rate."""


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
