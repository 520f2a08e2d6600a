"""What each recipe of the default, and each thing it does, is worth on validation nodes; test nodes are not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reproduce.default import DATASETS
from reproduce.job import Series
from reproduce.markdown import paragraphs, spread, table
from reproduce.store import Store
from se_gnn.settings import Settings
from se_gnn.training.portfolio import portfolio

TITLE = "Recipes of the default preset on validation nodes"
ELSEWHERE = True  # on docs/best.md
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
Accuracy on validation nodes in percent, at the best epoch of one run (no ensemble, no choice of K, lambda and tau):
mean and standard deviation over the seeds. The first rows are the recipes, the others change one thing in a recipe."""


def variants() -> dict[str, Config]:
    """All settings that are tried, by name."""
    recipes = portfolio(Settings.of("best"))
    changed = {name: recipes[recipe].changed(**change) for name, (recipe, change) in CHANGED.items()}
    return {
        name: config.changed(portfolio=False, members=1, choose_vote=False)
        for name, config in {**recipes, **changed}.items()
    }


def on_graph(dataset: str, name: str, config: Config) -> Series:
    """One of them on a graph."""
    variant = name.replace(", ", "-").replace(" ", "-")
    return Series(kind="recipes", dataset=dataset, method="se-gnn", variant=variant, settings=config.to_dict())


def series() -> list[Series]:
    """Each on every graph."""
    return [on_graph(dataset, name, config) for name, config in variants().items() for dataset in GRAPHS]


def render(store: Store, pictures: Path) -> str:
    """A row per variant, a column per graph that was run."""
    run = [one for one in GRAPHS if any(store.of(on_graph(one, name, config)) for name, config in variants().items())]
    if not run:
        return "> Not run yet: `make reproduce-recipes`."
    rows = [
        [name, *(spread(store.of(on_graph(dataset, name, config)), "val_accuracy") for dataset in run)]
        for name, config in variants().items()
    ]
    return paragraphs(ABOUT, table(["settings", *(DATASETS[dataset] for dataset in run)], rows))
