"""Explanations as JSON and back, exactly; `explanation.schema.json` beside this file describes it.

The format is that of the dataclasses: a field is a key, and a field that has its default value is left out. A table by
id is a list, an array is a list with null for NaN, and a kind of query or answer is named under "kind".
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
from collections.abc import Mapping
from importlib import resources
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from se_gnn.errors import InputError, shortened
from se_gnn.explain.explanation import Explanation
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray

FORMAT = "se-gnn-explanation"
VERSION = 3

Kind = TypeVar("Kind")
_SCALARS = frozenset({int, float, str, bool, type(None)})
_ARRAYS: dict[Any, Any] = {IntArray: np.int64, FloatArray: np.float32, BoolArray: np.bool_}


def schema() -> dict[str, Any]:
    """JSON schema of :func:`to_dict`."""
    text = resources.files("se_gnn.explain").joinpath("explanation.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_dict(explanation: Explanation) -> dict[str, Any]:
    """All of an explanation as values that JSON knows, and the sentence beside it."""
    return {"format": FORMAT, "version": VERSION, "sentence": explanation.sentence(), **to_plain(explanation)}


def from_json(text: str | bytes) -> Explanation:
    """The explanation that was written; an error says what is wrong with the text."""
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise InputError(f"an explanation must be JSON as Explanation.to_json writes it: {error}") from error
    return from_plain(Explanation, loaded, FORMAT, VERSION, "an explanation")


def from_plain(kind: type[Kind], loaded: Any, form: str, version: int, what: str) -> Kind:
    """What :func:`to_plain` wrote, with its format and version beside it; ``what`` names it in errors."""
    about = (loaded.get("format"), loaded.get("version")) if isinstance(loaded, Mapping) else loaded
    if about != (form, version):
        raise InputError(f"{what} must have the format {form!r}, version {version}, got {shortened(about)}")
    fields = {name: value for name, value in loaded.items() if name not in ("format", "version", "sentence")}
    try:
        found: Kind = _read(kind, fields)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{what} must be as to_json writes it: {shortened(error)}") from error
    return found


def to_plain(value: Any) -> Any:
    """A dataclass, or a part of one, as values that JSON knows."""
    if type(value) in _SCALARS:  # nearly all values of a batch: everything else is asked afterwards
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {"kind": value.kind} if hasattr(value, "kind") else {}
        for name, (_, default, is_table) in _fields(type(value)).items():
            content = getattr(value, name)
            if default is dataclasses.MISSING or type(content) is not type(default) or content != default:
                plain[name] = to_plain(list(content.values()) if is_table else content)
        return plain
    if isinstance(value, np.ndarray):
        return [None if one != one else one for one in value.tolist()]
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    return value


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[Any, Any, bool]]:
    """The fields of a dataclass: type, default (MISSING: there is none), and whether it is a table by id."""
    hints = get_type_hints(kind)
    return {
        one.name: (
            hints[one.name],
            one.default if one.default_factory is dataclasses.MISSING else one.default_factory(),
            _is_table(hints[one.name]),
        )
        for one in dataclasses.fields(kind)
    }


def _is_table(hint: Any) -> bool:
    """Whether a field is a table by id."""
    return get_origin(hint) is Mapping and get_args(hint)[0] is int


def _read(kind: Any, value: Any) -> Any:
    if kind in _ARRAYS:
        return np.array([np.nan if one is None else one for one in value], dtype=_ARRAYS[kind])
    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        fields = _fields(kind)
        return kind(**{name: _read(fields[name][0], content) for name, content in value.items() if name != "kind"})
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        some = [one for one in inner if one is not type(None)]
        named = [one for one in some if isinstance(value, dict) and getattr(one, "kind", None) == value.get("kind")]
        return _read((named or some)[0], value)
    if origin is tuple:
        return tuple(_read(inner[0], one) for one in value)
    if _is_table(kind):
        return {row.id: row for row in (_read(inner[1], one) for one in value)}
    if origin is Mapping:
        return {name: _read(inner[1], one) for name, one in value.items()}
    return float(value) if kind is float else value
