"""Whether a result was made with the settings that are asked for, although settings come and go.

Settings of SE-GNN are kept as what was asked for (`preset`, `given`) and all `values` that then held. A setting that is
None is off. A value that did not exist when a result was made had, in effect, its default: a new setting begins as what
was done before. One that no longer exists was off.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from se_gnn.settings.sections import DEFAULTS

Stored = dict[str, Any]


def same_settings(stored: Stored, wanted: Stored) -> bool:
    """Whether two settings give the same result."""
    one, other = _explicit(stored), _explicit(wanted)
    return all(one.get(path, _earlier(path)) == other.get(path, _earlier(path)) for path in one | other)


def _earlier(path: str) -> Any:
    """The value before a setting existed: that of `values.NAME`, wherever it stands, is the default of NAME."""
    *_, parent, name = ["", *path.split(".")]
    return DEFAULTS.get(name) if parent == "values" else None


def digest_of(settings: Stored) -> str:
    """A short name for settings: equal for equal ones, those that are off left out.

    >>> digest_of({"values": {"width": 1, "depth": None}}) == digest_of({"values": {"width": 1}})
    True
    """
    text = json.dumps(_explicit(settings), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _explicit(settings: Stored, path: str = "") -> Stored:
    """All settings that are on, flat, by their path."""
    flat: Stored = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= _explicit(value, f"{path}{key}.")
        elif value is not None:
            flat[f"{path}{key}"] = value
    return flat
