"""Table 2: accuracy on the citation graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reproduce import default
from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, paragraphs, percent, spread, table
from reproduce.methods import CLASSIFIERS, DATASET_NAMES, NAMES, classify
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 2: accuracy on the citation graphs, in percent"
DATASETS = ("cora", "citeseer", "pubmed")
NOTE = """\
The last row is the default preset. Its settings were chosen on validation nodes, like those of the baselines;
everything that was tried is in `reproduce/searches/se-gnn.jsonl`."""


def series() -> list[Series]:
    """Every classifier on every citation graph, and SE-GNN once more with the preset `best`."""
    compared = [classify(dataset, method) for dataset in DATASETS for method in CLASSIFIERS]
    return [*compared, *(default.on_graph(dataset, "se-gnn") for dataset in DATASETS)]


def render(store: Store, pictures: Path) -> str:
    """A row for each method."""
    header, rows = beside_the_print(store, CLASSIFIERS, {"ours": classify})
    best = [spread(store.of(default.on_graph(dataset, "se-gnn")), "accuracy") for dataset in DATASETS]
    rows.append([NAMES["se-gnn-best"], *(cell for ours in best for cell in (NOT_APPLICABLE, ours))])
    return paragraphs(table(header, rows), NOTE)


def beside_the_print(
    store: Store, methods: Iterable[str], ours: Mapping[str, Callable[[str, str], Series]]
) -> tuple[list[str], list[list[str]]]:
    """Header and rows: for each graph the printed accuracy, and ours of each series (data set, method) by name."""
    header = ["", *(f"{DATASET_NAMES[dataset]}, {who}" for dataset in DATASETS for who in ("paper", *ours))]
    rows = []
    for method in methods:
        row = [NAMES[method]]
        for dataset in DATASETS:
            row.append(percent(*printed("table_2")[dataset][method]))
            row.extend(spread(store.of(series_of(dataset, method)), "accuracy") for series_of in ours.values())
        rows.append(row)
    return header, rows
