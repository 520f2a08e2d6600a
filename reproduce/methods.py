"""The methods that are compared, and the settings each has on each data set."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from lab.baselines import EXPLAINERS
from lab.baselines.pro_gnn import PUBLISHED
from lab.baselines.tuned import tuned
from reproduce.job import Series
from se_gnn.settings import Settings

NAMES = {
    "gcn": "GCN",
    "gin": "GIN",
    "graph-sage": "GraphSAGE",
    "super-gat": "SuperGAT",
    "pro-gnn": "Pro-GNN",
    "mlp-k": "MLP-K",
    "gcn-k": "GCN-K",
    "gin-k": "GIN-K",
    "gnn-explainer": "GNNExplainer",
    "pg-explainer": "PGExplainer",
    "se-gnn": "SE-GNN",
    "se-gnn-best": "SE-GNN, preset best",
}
CLASSIFIERS = ("gcn", "gin", "super-gat", "pro-gnn", "mlp-k", "gcn-k", "gin-k", "se-gnn")
ONE_RUN = {"portfolio": False, "members": 1}  # changes of the default: one recipe, one encoder
NEAREST = ("mlp-k", "gcn-k", "gin-k", "se-gnn")  # those that name labeled nodes as evidence

DATASET_NAMES = {
    "cora": "Cora",
    "citeseer": "Citeseer",
    "pubmed": "PubMed",
    "syn-cora-authors": "Syn-Cora",
    "syn-cora": "Syn-Cora",
    "ba-shapes-pgexplainer": "BA-Shapes",
    "ba-shapes": "BA-Shapes",
}

# about the seconds of a job on one core, for the order of those that were never run
_SECONDS_ON_CORA = {"se-gnn": 20.0, "pro-gnn": 600.0, "gnn-explainer": 600.0, "pg-explainer": 120.0}
_TIMES_CORA = {"pubmed": 6.0, "amazon-photo": 20.0, "coauthor-physics": 40.0}


def classify(
    dataset: str,
    method: str,
    *,
    noise: str = "",
    variant: str = "",
    preset: str = "authors",
    **given: Any,
) -> Series:
    """Train on the labeled nodes and classify the test nodes; ``given`` are settings of SE-GNN, named ``variant``."""
    if method == "se-gnn":
        settings = se_gnn_settings(dataset, preset, **given)
    elif method == "pro-gnn":
        settings = pro_gnn_settings(dataset, noise)
    else:
        settings = baseline_settings(dataset, method)
    return Series(kind="classify", dataset=dataset, method=method, noise=noise, variant=variant, settings=settings)


def preset_on(dataset: str, preset: str) -> Series:
    """SE-GNN with a preset; `authors` is what the tables of the paper are compared with."""
    return classify(dataset, "se-gnn", preset=preset, variant="" if preset == "authors" else preset)


def se_gnn_settings(
    dataset: str, preset: str = "authors", *, recipe: str | None = None, **given: Any
) -> dict[str, Any]:
    """What SE-GNN is asked for, and all values that then hold before validation nodes choose, as JSON holds them.

    Settings of edge data are left out if the edges of the data set have none.
    """
    resolved = Settings.of(preset, **given).resolve(dataset=dataset)
    if recipe is not None:
        resolved = resolved.with_recipe(recipe)
    values = resolved.values()
    if not dataset.startswith(_WITH_EDGE_DATA):
        values = {name: value for name, value in values.items() if name not in _EDGE_DATA}
    asked = {"preset": preset, "given": given, "values": values}
    return _plain(asked if recipe is None else {"recipe": recipe, **asked})


def asked(settings: dict[str, Any]) -> Settings:
    """What :func:`se_gnn_settings` was asked for."""
    return Settings.of(settings["preset"], **settings["given"])


_WITH_EDGE_DATA = ("bitcoin-otc", "acm", "dblp", "edge-signal", "only-")  # data sets whose edges have data
_EDGE_DATA = ("read_edges", "weighted_steps", "match_direction", "match_types", "match_attributes", "weighted_mean")


def baseline_settings(dataset: str, method: str, **changes: Any) -> dict[str, Any]:
    """All settings of a baseline, as JSON holds them: those that validation nodes chose, and changes to them."""
    return _plain(dataclasses.asdict(tuned(method, dataset, **changes).settings))


def pro_gnn_settings(dataset: str, noise: str) -> dict[str, Any]:
    """All settings of Pro-GNN: those of its authors' scripts for that data set and kind of noise.

    On PubMed half as many epochs: each takes seconds, even on a GPU.
    """
    kind = "random" if noise.startswith("random") else "metattack"
    return _plain({**dataclasses.asdict(PUBLISHED[dataset, kind]), **_SHORTER.get(dataset, {})})


_SHORTER = {"pubmed": {"epochs": 50}}


def explainer_settings(method: str) -> dict[str, Any]:
    """All settings of a post-hoc explainer, as JSON holds them."""
    return _plain(dataclasses.asdict(EXPLAINERS[method].settings_type()))


def guessed_seconds(series: Series) -> float:
    """A guess that needs no result: enough to start the longest first."""
    return _SECONDS_ON_CORA.get(series.method, 5.0) * _TIMES_CORA.get(series.dataset.removesuffix("-100"), 1.0)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain
