"""Table 4: Syn-Cora, where the right neighbors and the right matches are known."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, percent, spread, table
from reproduce.methods import NAMES, NEAREST, classify
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 4: Syn-Cora, in percent"
DATASETS = ("syn-cora-authors", "syn-cora")
MEASURES = {"accuracy": "accuracy", "node_accuracy": "node accuracy", "edge_accuracy": "edge accuracy"}
NOTE = """\
*Node accuracy* is the share of targets whose nearest labeled node has the role of the target. *Edge accuracy* is the
share of the edges of the target's local graph that are matched with an edge of the same role. MLP-K does not match
edges. The paper does not print a node accuracy. `syn-cora-authors` is one graph; `syn-cora` is a different graph for
each seed."""


def series() -> list[Series]:
    """The methods that name labeled nodes, on both draws."""
    return [classify(dataset, method) for dataset in DATASETS for method in NEAREST]


def render(store: Store, pictures: Path) -> str:
    """A row for each measure and draw."""
    rows = []
    for measure, name in MEASURES.items():
        paper = printed("table_4").get(measure, {})
        cells = [percent(*paper[method]) if method in paper else NOT_APPLICABLE for method in NEAREST]
        rows.append([f"{name}, paper", *cells])
        for dataset in DATASETS:
            ours = [spread(store.of(classify(dataset, method)), measure) for method in NEAREST]
            rows.append([f"{name}, `{dataset}`", *ours])
    return f"{table(['', *(NAMES[method] for method in NEAREST)], rows)}\n\n{NOTE}"
