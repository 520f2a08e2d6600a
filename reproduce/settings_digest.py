"""Whether a result was made with the settings that are asked for, although settings come and go.

A setting that is None is off. One that did not exist when a result was made had, in effect, the value in
:data:`EARLIER`, or else that of `Config()`: a new setting begins as what was done before. One that no longer exists was
off.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

from se_gnn.settings import Settings

Settings = dict[str, Any]

# the value that results without the setting were made with, where it is not the one that `Config()` has
EARLIER: dict[str, Any] = {"training.probability_floor": 1e-8}


def same_settings(stored: Settings, wanted: Settings) -> bool:
    """Whether two settings give the same result."""
    one, other = _explicit(stored), _explicit(wanted)
    return all(one.get(path, _earlier(path)) == other.get(path, _earlier(path)) for path in one | other)


def _earlier(path: str) -> Any:
    """The value before a setting existed, by section and key, wherever in the settings the section is."""
    parts = path.split(".")
    names = (".".join(parts[-2:]), parts[-1])
    known = {**_defaults(), **EARLIER}
    return next((known[name] for name in names if name in known), None)


@cache
def _defaults() -> Settings:
    return {**_explicit(Config().to_dict()), "why": []}


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
