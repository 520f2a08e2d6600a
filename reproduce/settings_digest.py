"""Whether a result was made with the settings that are asked for, although settings come and go.

A setting that is None is off. One that did not exist when a result was made had, in effect, the value in
:data:`EARLIER`, and was off where nothing is said there; the same holds for one that no longer exists.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

Settings = dict[str, Any]

# the value that results without the setting were made with, by section and key
EARLIER: dict[str, Any] = {
    "encoder.steps": 8,
    "encoder.teleport": 0.2,
    "encoder.attribute_scaling": "raw",
    "encoder.attribute_dropout": 0.0,
    "encoder.hidden_dropout": 0.0,
    "encoder.node_dropout": 0.0,
    "encoder.members": 1,
    "encoder.attribute_share": 0.0,
    "training.compare": "overall",
    "training.memory_dropout": 0.0,
    "training.label_smoothing": 0.0,
    "training.balance_classes": False,
    "training.consistency_weight": 0.0,
    "training.consistency_power": 2.0,
    "training.consistency_ramp": 50,
    "training.consistency_batch": 4096,
    "training.best_by": "accuracy",
    "training.choose_vote": False,
    "training.portfolio": False,
    "training.probability_floor": 1e-8,
    "why": [],
}


def same_settings(stored: Settings, wanted: Settings) -> bool:
    """Whether two settings give the same result."""
    one, other = _explicit(stored), _explicit(wanted)
    return all(one.get(path, _earlier(path)) == other.get(path, _earlier(path)) for path in one | other)


def _earlier(path: str) -> Any:
    """The value before a setting existed, by section and key, wherever in the settings the section is."""
    parts = path.split(".")
    return EARLIER.get(".".join(parts[-2:]), EARLIER.get(parts[-1]))


def digest_of(settings: Settings) -> str:
    """A short name for settings: equal for equal ones, those that are off left out.

    >>> digest_of({"encoder": {"width": 1, "depth": None}}) == digest_of({"encoder": {"width": 1}})
    True
    """
    text = json.dumps(_explicit(settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _explicit(settings: Settings, path: str = "") -> Settings:
    """All settings that are on, flat, by their path."""
    flat: Settings = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _explicit(value, f"{path}{key}.")
        elif value is not None:
            flat[f"{path}{key}"] = value
    return flat
