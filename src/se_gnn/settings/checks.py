"""Checks of single values. Every error names the setting, the rule and the value.

A dataclass states the rules of its fields with their defaults: `hops: int = ruled((between, 1, 3))(2)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from se_gnn.errors import InputError, shortened

LARGEST_FLOAT = 1e30  # everything is computed in float32, which ends at 3e38
LARGEST = 2**31 - 1  # largest whole number: every array index and sample size fits

_hints = cache(get_type_hints)  # explanations create settings, and looking up type hints takes a millisecond
_TYPE_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    tuple: "a list of numbers",
    type(None): "none",
}


def check_types(section: Any) -> None:
    """Check that each value has the type of its annotation, and passes the rules of its field.

    Whole numbers are accepted, and converted, for floats.
    """
    for name, hint in _hints(type(section)).items():  # type: ignore[arg-type]  # a class can be hashed
        value = getattr(section, name)
        if get_origin(hint) is Literal:
            if not isinstance(value, str) or value not in get_args(hint):
                raise InputError(f"{name} must be one of {', '.join(get_args(hint))}, got {shortened(value)}")
            continue
        allowed = tuple(get_origin(kind) or kind for kind in get_args(hint) or (hint,))
        if isinstance(value, list):
            value = tuple(value)
            object.__setattr__(section, name, value)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and not -LARGEST <= value <= LARGEST:
            raise InputError(f"{name} must be at most {LARGEST}, got {shortened(value)}")
        if isinstance(value, float) and LARGEST_FLOAT < abs(value) < float("inf"):
            raise InputError(f"{name} must be at most {LARGEST_FLOAT:g}, got {value!r}")
        if float in allowed and whole:
            object.__setattr__(section, name, float(value))
        elif (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
            words = " or ".join(_TYPE_WORDS[kind] for kind in allowed)
            given = list(value) if isinstance(value, tuple) else value
            raise InputError(f"{name} must be {words}, got {shortened(given)}")
    for one in dataclasses.fields(section):
        for rule, *bounds in one.metadata.get("rules", ()):
            rule(section, *bounds, one.name)


def ruled(*rules: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Makes a field from its default: `(at_least, 1)` stands for the rule `at_least(section, 1, name)`."""
    return lambda default: dataclasses.field(default=default, metadata={"rules": rules})


def at_least(section: Any, low: float, *names: str) -> None:
    """Check that these settings are finite and not below ``low``; None passes."""
    for name in names:
        value = getattr(section, name)
        if value is not None and not low <= value < float("inf"):  # `not <=` also refuses NaN
            rule = "finite" if value == float("inf") else f"at least {low}"
            raise InputError(f"{name} must be {rule}, got {value!r}")


def above_zero(section: Any, name: str) -> None:
    """Check that a setting is finite and above 0."""
    if not 0 < getattr(section, name) < float("inf"):
        raise InputError(f"{name} must be a finite number above 0, got {getattr(section, name)!r}")


def each_above_zero(section: Any, name: str) -> None:
    """Check that a setting is none, or at least two finite numbers above 0."""
    value = getattr(section, name)
    if value is None:
        return
    proper = [isinstance(one, int | float) and not isinstance(one, bool) and 0 < one <= LARGEST_FLOAT for one in value]
    if len(value) < 2 or not all(proper):
        raise InputError(
            f"{name} must be a list of finite numbers above 0, one for each class, got {shortened(list(value))}"
        )
    object.__setattr__(section, name, tuple(float(one) for one in value))


def share_below_one(section: Any, *names: str) -> None:
    """Check that these settings are shares of at least 0 and below 1."""
    for name in names:
        if not 0 <= getattr(section, name) < 1:
            raise InputError(f"{name} must be at least 0 and below 1, got {getattr(section, name)!r}")


def between(section: Any, low: float, high: float, *names: str) -> None:
    """Check that these settings lie within the bounds, which are allowed themselves."""
    for name in names:
        if not low <= getattr(section, name) <= high:
            raise InputError(f"{name} must be between {low} and {high}, got {getattr(section, name)!r}")
