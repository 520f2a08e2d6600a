"""What each recipe of the default, and each thing it does, is worth on validation nodes; test nodes are not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduce.default import DATASETS
from reproduce.job import Series
from reproduce.markdown import one_seed, paragraphs, spread, table
from reproduce.methods import ONE_RUN, se_gnn_settings
from reproduce.store import Store
from se_gnn.settings.presets import RECIPES

TITLE = "Recipes of the default preset on validation nodes"
ELSEWHERE = True  # on docs/understanding/measurements.md
GRAPHS = ("cora", "citeseer", "citeseer-planetoid", "pubmed", "citeseer-metattack-0.25", "digits", "ba-shapes")
# each is a recipe with some settings changed; what they change it to is not what the recipe does
CHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    "smooth, no consistency": ("smooth", {"consistency_weight": 0.0}),
    "smooth, attributes as they are": ("smooth", {"attribute_scaling": "raw"}),
    "smooth, half of the memory dropped": ("smooth", {"memory_dropout": 0.5}),
    "smooth, tau 0.2": ("smooth", {"temperature": 0.2}),
    "smooth, one GCN layer": ("smooth", {"aggregation": "gcn"}),
    "smooth, no propagation": ("smooth", {"aggregation": "own"}),
    "sparing, no memory dropout": ("sparing", {"memory_dropout": 0.0}),
    "steps, dropout 0.5": ("steps", {"attribute_dropout": 0.5}),
}
ABOUT = """\
Accuracy on validation nodes in percent, at the best epoch of one run (no ensemble, no choice of K, lambda and tau),
with {seeds}. The first rows are the recipes, the others change one thing in a recipe."""


def variants() -> dict[str, tuple[str, dict[str, Any]]]:
    """All that is tried, by name: a recipe, and the settings that are changed in it."""
    return {**{name: (name, {}) for name in RECIPES}, **CHANGED}


def on_graph(dataset: str, name: str) -> Series:
    """One of them on a graph."""
    recipe, changed = variants()[name]
    settings = se_gnn_settings(dataset, "best", recipe=recipe, **ONE_RUN, choose_vote=False, **changed)
    variant = name.replace(", ", "-").replace(" ", "-")
    return Series(kind="recipes", dataset=dataset, method="se-gnn", variant=variant, settings=settings)


def series() -> list[Series]:
    """Each on every graph."""
    return [on_graph(dataset, name) for name in variants() for dataset in GRAPHS]


def render(store: Store, pictures: Path) -> str:
    """A row per variant and a column per graph that was run; one seed has no deviation."""
    found = {(graph, name): store.of(on_graph(graph, name)) for graph in GRAPHS for name in variants()}
    run = [graph for graph in GRAPHS if any(found[graph, name] for name in variants())]
    if not run:
        return "> Not run yet: `make reproduce-recipes`."
    single = max(map(len, found.values())) == 1
    cell = one_seed if single else spread
    names = [name for name in variants() if any(found[graph, name] for graph in run)]
    rows = [[name, *(cell(found[graph, name], "val_accuracy") for graph in run)] for name in names]
    about = ABOUT.format(seeds="one seed" if single else "mean and standard deviation over the seeds")
    return paragraphs(about, table(["settings", *(DATASETS[graph] for graph in run)], rows))
