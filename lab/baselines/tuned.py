"""Settings of the baselines that validation nodes chose for each data set; `reproduce/search_baselines.py` writes them.

Syn-Cora takes over the settings of Cora, as in the paper, and an attacked graph those of the clean one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab.baselines import baseline
from lab.baselines.base import Baseline

FILE = Path(__file__).with_name("tuned.json")

_LIKE = {"syn-cora": "cora", "cora-nettack": "cora", "cora-metattack": "cora", "citeseer-metattack": "citeseer"}


def tuned(name: str, dataset: str, **changes: Any) -> Baseline:
    """A baseline with the settings chosen for a data set, and changes to them; else with its defaults.

    >>> tuned("mlp-k", "no such data set", hidden_size=8).settings == baseline("mlp-k", hidden_size=8).settings
    True
    """
    chosen = json.loads(FILE.read_text(encoding="utf-8")).get(name, {})
    like = next((other for start, other in _LIKE.items() if dataset.startswith(start)), dataset)
    return baseline(name, **{**chosen.get(like, {}), **changes})
