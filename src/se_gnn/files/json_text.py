"""JSON that somebody else may have written, as one value or as lines: of bounded depth, with plain numbers and text."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from se_gnn.errors import InputError, shortened
from se_gnn.files.reading import LARGE, read_file
from se_gnn.files.writing import write_all

MAX_DEPTH = 64  # ours have fewer than ten levels
Record = TypeVar("Record")
APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

_STORED_AS: dict[Any, tuple[type, ...]] = {float: (int, float), Mapping: (dict,)}
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)  # strings whole: brackets in them do not count
_HALF_CHARACTER = re.compile(rb"\\u[dD][89abAB]|\\u[dD][c-fC-F]")


def json_bytes(values: Any, *, indent: int | None = 2) -> bytes:
    """JSON text with a line end; a number that JSON does not know is an error."""
    return (json.dumps(values, indent=indent, allow_nan=False) + "\n").encode()


def parse_json(content: bytes, path: Path) -> dict[str, Any]:
    """A JSON object; ``path`` is where it came from."""
    value = parse_json_value(content, path)
    if not isinstance(value, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(value).__name__}")
    return value


def parse_json_value(content: bytes, path: Path) -> Any:
    """Any JSON value; ``path`` is where it came from."""
    if _depth(content) > MAX_DEPTH:
        raise InputError(f"{path} must have at most {MAX_DEPTH} levels of JSON, got more")
    try:
        value = json.loads(content, parse_constant=_refuse_constant)
        if _HALF_CHARACTER.search(content):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{path} is damaged: it holds half of a character") from error
    except (ValueError, RecursionError) as error:  # deep, in an encoding whose brackets were not seen
        raise InputError(f"{path} is truncated or damaged: it is not valid JSON ({error})") from error
    return value


def check_format(about: dict[str, Any], path: Path, *, expected: str, newest: int) -> None:
    """Refuse what is not ours, and what a later version of us wrote."""
    if about.get("format") != expected:
        raise InputError(
            f"{path} was not written by se-gnn: format must be {expected!r}, got {shortened(about.get('format'))}"
        )
    version = about.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"{path} has no version that can be read, got {shortened(version)}")
    if version > newest:
        raise InputError(f"{path} was written by a newer version ({shortened(version)}), this one reads up to {newest}")


def _depth(content: bytes) -> int:
    """Levels of brackets."""
    if content.count(b"[") + content.count(b"{") <= MAX_DEPTH:
        return 0  # cannot be deeper than that
    firsts = (content[token.start() : token.start() + 1] for token in _TOKENS.finditer(content))
    return max(itertools.accumulate((first in b"[{") - (first in b"]}") for first in firsts), default=0)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def json_line(record: dict[str, Any]) -> bytes:
    """A record as a line."""
    return json_bytes(record, indent=None)


def read_record(kind: type[Record], value: Any) -> Record:
    """A dataclass from the JSON of its `asdict`: it must have all fields, and no others, each of the right type."""
    found: Record = _read_as(kind, value, "it")
    return found


def _read_as(kind: Any, value: Any, name: str) -> Any:
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        if value.keys() != hints.keys():
            raise InputError(f"{name} must have the fields {', '.join(hints)}, got {shortened(sorted(value), 200)}")
        return kind(**{field: _read_as(hint, value[field], field) for field, hint in hints.items()})  # type: ignore[operator]
    if origin is UnionType or origin is Union:
        return None if value is None and type(None) in inner else _read_as(inner[0], value, name)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read_as(inner[0], one, name) for one in value)
    allowed = value in inner if origin is Literal else type(value) in _STORED_AS.get(origin, (origin,))
    if not allowed:
        raise InputError(f"{name} has a value of the wrong type: {shortened(value)}")
    return value


def append_line(path: Path, line: bytes) -> None:
    """Write a line, with its end, behind the others; a file that is missing is made, a symbolic link not followed."""
    descriptor = os.open(path, APPENDING, 0o666)
    try:
        write_all(descriptor, line)
    finally:
        os.close(descriptor)


def read_json_lines(path: Path, *, limit: int = LARGE) -> list[dict[str, Any]]:
    """The records of a file; an error names the line."""
    return parse_json_lines(read_file(path, limit=limit), path)


def parse_json_lines(content: bytes, path: Path) -> list[dict[str, Any]]:
    """The records of a content; ``path`` is where it came from. An error names the line."""
    records = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                records.append(parse_json(line, path))
            except InputError as error:
                raise InputError(f"line {number} of {error}") from error
    return records
