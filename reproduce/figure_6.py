"""Figure 6: what each part of the method is worth."""

from __future__ import annotations

from pathlib import Path

from reproduce import chart
from reproduce.figure_3 import precision_of
from reproduce.job import Series
from reproduce.markdown import measured, paragraphs, spread, table
from reproduce.methods import DATASET_NAMES, classify
from reproduce.paper import words
from reproduce.store import Store

TITLE = "Figure 6: SE-GNN without some of its parts"
DATASETS = ("pubmed", "syn-cora-authors")
VARIANTS: dict[str, dict[str, float]] = {
    "": {},
    "1-hop": {"hops": 1},
    "no-node": {"node_loss_weight": 0.0},
    "no-edge": {"edge_loss_weight": 0.0},
    "no-self-supervision": {"node_loss_weight": 0.0, "edge_loss_weight": 0.0},
    "structural-identity": {"role_weight": 1.0},
    "only-structural-identity": {"node_loss_weight": 0.0, "edge_loss_weight": 0.0, "role_weight": 1.0},
}
NAMES = {
    "": "SE-GNN",
    "1-hop": "1-hop local graphs",
    "no-node": "\\N: no node loss",
    "no-edge": "\\E: no edge loss",
    "no-self-supervision": "\\S: no self-supervision",
    "structural-identity": "with structural identity",
    "only-structural-identity": "\\S, with structural identity",
}


def variant_of(dataset: str, variant: str) -> Series:
    """SE-GNN with some settings changed."""
    return classify(dataset, "se-gnn", variant=variant, **VARIANTS[variant])


def series() -> list[Series]:
    """Every variant on both data sets."""
    return [variant_of(dataset, variant) for dataset in DATASETS for variant in VARIANTS]


def render(store: Store, pictures: Path) -> str:
    """Bars and a table for each data set."""
    figure, axes = chart.panels([DATASET_NAMES[name] for name in DATASETS], columns=2, width=3.8)
    tables = []
    for dataset, panel in zip(DATASETS, axes):
        precision, k = precision_of(dataset)
        measures: dict[str, tuple[str, int | None]] = {
            "accuracy": ("accuracy", None),
            f"precision@{k}": (precision, k - 1),
        }
        if dataset.startswith("syn-cora"):
            measures["edge accuracy"] = ("edge_accuracy", None)
        bars, rows = {}, []
        for variant, name in NAMES.items():
            results = store.of(variant_of(dataset, variant))
            values = [measured(results, measure) for measure, _ in measures.values()]
            items = [item for _, item in measures.values()]
            bars[name] = [
                100 * (one if item is None or not len(one) else one[:, item]) for one, item in zip(values, items)
            ]
            rows.append([name, *(spread(results, measure, item=item) for measure, item in measures.values())])
        chart.draw_bars(panel, list(measures), bars, ylabel="%")
        tables.append(table([DATASET_NAMES[dataset], *measures], rows))
    picture = chart.finish(figure, pictures / "figure-6.svg", alt="accuracy and precision of the variants")
    return paragraphs(words("figure_6"), picture, *tables)
