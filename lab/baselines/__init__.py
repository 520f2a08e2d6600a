"""Other classifiers of nodes, behind one interface, to compare with.

>>> baseline("mlp-k", hidden_size=8).settings.hidden_size
8
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

from lab.baselines.base import Baseline
from lab.baselines.deep_knn import GCNK, GINK, MLPK, DeepKNN
from lab.baselines.gcn import GCN
from lab.baselines.gin import GIN
from lab.baselines.gnn_explainer import GNNExplainer
from lab.baselines.gradients import Gradients
from lab.baselines.graph_sage import GraphSAGE
from lab.baselines.network import NetworkBaseline
from lab.baselines.pg_explainer import PGExplainer
from lab.baselines.post_hoc import PostHocExplainer
from lab.baselines.pro_gnn import ProGNN
from lab.baselines.super_gat import SuperGAT
from se_gnn.errors import InputError, did_you_mean

BASELINES: dict[str, type[Baseline]] = {
    "gcn": GCN,
    "gin": GIN,
    "graph-sage": GraphSAGE,
    "super-gat": SuperGAT,
    "pro-gnn": ProGNN,
    "mlp-k": MLPK,
    "gcn-k": GCNK,
    "gin-k": GINK,
}

EXPLAINERS: dict[str, type[PostHocExplainer]] = {
    "gnn-explainer": GNNExplainer,
    "pg-explainer": PGExplainer,
    "gradients": Gradients,
}

__all__ = [
    "BASELINES",
    "EXPLAINERS",
    "GCN",
    "Baseline",
    "DeepKNN",
    "NetworkBaseline",
    "PostHocExplainer",
    "baseline",
    "post_hoc_explainer",
]


def baseline(name: str, **settings: Any) -> Baseline:
    """A baseline by its name, with changes to its settings; :func:`~lab.baselines.tuned.tuned` knows good ones."""
    _check_known(name, BASELINES, "baseline")
    kind = BASELINES[name]
    return kind(_settings(name, kind.settings_type, settings))


def post_hoc_explainer(name: str, fitted: NetworkBaseline, *, seed: int = 0, **settings: Any) -> PostHocExplainer:
    """An explainer of a fitted network by its name, with changes to its settings."""
    _check_known(name, EXPLAINERS, "explainer")
    kind = EXPLAINERS[name]
    return kind(fitted, _settings(name, kind.settings_type, settings), seed=seed)


def _settings(name: str, kind: type, settings: dict[str, Any]) -> Any:
    for key in settings:
        _check_known(key, [field.name for field in dataclasses.fields(kind)], f"setting of {name},")
    return kind(**settings)


def _check_known(given: str, known: Collection[str], what: str) -> None:
    if given not in known:
        raise InputError(f"unknown {what} {given!r}{did_you_mean(given, known)}; known: {', '.join(known)}")
