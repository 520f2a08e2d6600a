"""How far evidence agrees between five training seeds, beside other explainers on the same nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduce.job import Series
from reproduce.markdown import NOT_APPLICABLE, paragraphs, table
from reproduce.methods import NAMES, baseline_settings, explainer_settings, se_gnn_settings
from reproduce.store import Store

TITLE = "Agreement between training seeds, and fidelity"
ELSEWHERE = True  # on docs/understanding/truth.md
DATASETS = ("cora",)
METHODS = {"best": "se-gnn", "authors": "se-gnn", "gnn-explainer": "gnn-explainer", "pg-explainer": "pg-explainer"}
NODES, SEEDS, TOP = 50, 5, 10
MEASURES = {
    "labeled_nodes_jaccard": "ten nearest labeled nodes",
    "edges_jaccard": "ten most important edges",
    "fidelity+": "fidelity+",
    "fidelity-": "fidelity-",
    "changed_without_nearest_labeled": "changed without the ten nearest labeled nodes",
    "changed_by_nearest_labeled_alone": "changed by the ten nearest labeled nodes alone",
}
ABOUT = f"""\
We explain {NODES} test nodes with models trained from {SEEDS} seeds. The nodes are evenly spaced among those with at
least {2 * TOP} edges in their 2-hop local graph, where there is a choice to make. The first two columns are the mean
Jaccard index of the evidence of two seeds: 1 if both name the same evidence, 0 if they have nothing in common.
GNNExplainer and PGExplainer explain a GCN with settings chosen on validation nodes. Fidelity is PyG's, for the ten
most important edges of the first seed: how often the prediction changes without them (fidelity+, higher is better)
and with them alone (fidelity-, lower is better). The last two columns are a different measure, for cases: how often
the prediction changes if the ten nearest cases lose their labels, and if they alone vote; the graph stays as it is."""


def on_graph(dataset: str, name: str) -> Series:
    """A preset or an explainer on a graph."""
    method = METHODS[name]
    about: dict[str, Any] = {"nodes": NODES, "seeds": SEEDS, "top": TOP}
    if method == "se-gnn":
        about["config"] = se_gnn_settings(dataset, name)
    else:
        about |= {"network": baseline_settings(dataset, "gcn"), "explainer": explainer_settings(method)}
    variant = name if method == "se-gnn" else ""
    return Series(kind="agreement", dataset=dataset, method=method, variant=variant, settings=about, seeded=False)


def series() -> list[Series]:
    """All of them on every graph."""
    return [on_graph(dataset, name) for dataset in DATASETS for name in METHODS]


def render(store: Store, pictures: Path) -> str:
    """A row for each that was run."""
    rows = []
    for dataset in DATASETS:
        for name, method in METHODS.items():
            results = store.of(on_graph(dataset, name))
            if results:
                found = results[0].measures
                shown = f"{NAMES[method]}, `{name}`" if method == "se-gnn" else NAMES[method]
                cells = [f"{found[one]:.3f}" if one in found else NOT_APPLICABLE for one in MEASURES]
                rows.append([f"{dataset}, {shown}", *cells])
    if not rows:
        return paragraphs(ABOUT, "> Not run yet: `make reproduce-agreement`.")
    return paragraphs(ABOUT, table(["", *MEASURES.values()], rows))
