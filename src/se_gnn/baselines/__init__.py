"""Other classifiers of nodes, behind one interface, to compare with.

>>> baseline("mlp-k", hidden_size=8).settings.hidden_size
8
"""

from __future__ import annotations

import dataclasses
from typing import Any

from se_gnn.baselines.base import Baseline
from se_gnn.baselines.deep_knn import GCNK, GINK, MLPK, DeepKNN
from se_gnn.baselines.gcn import GCN
from se_gnn.baselines.gin import GIN
from se_gnn.baselines.super_gat import SuperGAT
from se_gnn.errors import InputError, did_you_mean

BASELINES: dict[str, type[Baseline]] = {
    "gcn": GCN,
    "gin": GIN,
    "super-gat": SuperGAT,
    "mlp-k": MLPK,
    "gcn-k": GCNK,
    "gin-k": GINK,
}

__all__ = ["BASELINES", "Baseline", "DeepKNN", "baseline"]


def baseline(name: str, **settings: Any) -> Baseline:
    """A baseline by its name, with changes to its settings; :func:`~se_gnn.baselines.tuned.tuned` knows good ones."""
    if name not in BASELINES:
        raise InputError(f"unknown baseline {name!r}{did_you_mean(name, BASELINES)}; known: {', '.join(BASELINES)}")
    kind = BASELINES[name]
    known = [field.name for field in dataclasses.fields(kind.settings_type)]
    for key in settings:
        if key not in known:
            raise InputError(f"unknown setting {key!r} of {name}{did_you_mean(key, known)}; known: {', '.join(known)}")
    return kind(kind.settings_type(**settings))
