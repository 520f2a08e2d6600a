"""Table 5: explanation AUC on BA-Shapes."""

from __future__ import annotations

from pathlib import Path

from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, percent, spread, table
from reproduce.methods import NAMES, baseline_settings, se_gnn_settings
from reproduce.paper import printed
from reproduce.store import Store

TITLE = "Table 5: explanation AUC on BA-Shapes, in percent"
METHODS = ("gnn-explainer", "pg-explainer", "se-gnn")
DATASETS = ("ba-shapes-pgexplainer", "ba-shapes")
PROTOCOLS = ("SE-GNN, 1 hop", "PyG, 3 hops", "GNNExplainer, own house", "PGExplainer, 3 hops")
NOTE = """\
The paper prints one number for each method and does not name the protocol; its script follows the first one. That
protocol is easy: almost all edges of a 1-hop local graph in a house are edges of the house. SE-GNN is trained with
1-hop local graphs, as the authors' script does, and the importance of an edge comes from the three nearest labeled
nodes; for the protocols of 3 hops the same encoder compares 3-hop local graphs. `ba-shapes-pgexplainer` is one graph,
`ba-shapes` another one for each seed. All explain the same 60 nodes, the first one of houses 20 to 79."""


def edges_of(dataset: str, method: str) -> Series:
    """A method that says which edges matter."""
    if method == "se-gnn":
        settings = {"config": se_gnn_settings(dataset), "importance_from_nearest": 3}
    else:
        settings = baseline_settings(dataset, method)
    return Series(kind="explain_edges", dataset=dataset, method=method, settings=settings)


def series() -> list[Series]:
    """Every method on both draws."""
    return [edges_of(dataset, method) for dataset in DATASETS for method in METHODS]


def render(store: Store, pictures: Path) -> str:
    """A row for each protocol and draw."""
    rows = [["paper", NOT_APPLICABLE, *(percent(*printed("table_5")[method]) for method in METHODS)]]
    for dataset in DATASETS:
        for name in PROTOCOLS:
            cells = [spread(store.of(edges_of(dataset, method)), name) for method in METHODS]
            rows.append([name, f"`{dataset}`", *cells])
    return f"{table(['protocol', 'data set', *(NAMES[method] for method in METHODS)], rows)}\n\n{NOTE}"
