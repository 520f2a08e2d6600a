"""Settings from a TOML file and from assignments on the command line: flat, by name, as everywhere."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError, shortened
from se_gnn.files import SMALL, read_file
from se_gnn.settings.presets import DEFAULT_PRESET
from se_gnn.settings.sections import OWNERS
from se_gnn.settings.settings import Settings

QUICK = {"portfolio": False, "members": 1}  # one recipe, a single model


def asked_settings(
    preset: str | None, file: str | Path | None, assignments: Iterable[str], *, quick: bool = False
) -> Settings:
    """What a command was given: a preset, a TOML file that may name one, and assignments, which go over the file.

    With ``quick`` one recipe and a single model are trained, unless the file or the assignments say otherwise.
    """
    in_file = {} if file is None else read_toml(file)
    named = in_file.pop("preset", None)
    if preset is not None and named is not None and named != preset:
        raise InputError(f"--preset {preset} contradicts {file}, which says preset = {shortened(named)}: give one")
    settings = Settings(preset or (DEFAULT_PRESET if named is None else named))
    if quick and settings.preset != DEFAULT_PRESET:
        raise InputError(f"--quick has no effect with the preset {settings.preset}, which trains one run: leave it out")
    if quick:
        settings = settings.with_given(QUICK, "command line")
    return settings.with_given(in_file, "toml").with_given(read_assignments(assignments), "command line")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The values of a TOML file by name, `preset` among them. Settings stand at the top level, not in tables."""
    if not os.path.lexists(path):
        raise InputError(f"config file {path} does not exist")
    try:
        content = read_file(Path(path), limit=SMALL)
    except InputError as error:
        raise InputError(f"config file {error}") from error
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number of too many digits, nested too deep
        raise InputError(f"config file {path} is not valid TOML: {shortened(str(error), 200, quoted=False)}") from error
    for name, value in values.items():
        if isinstance(value, dict | list) and name not in OWNERS and name != "preset":
            raise InputError(f"config file {path}: write settings at the top level, as hops = 1, not under [{name}]")
    return values


def read_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """The values of NAME=VALUE texts, written as in TOML (bare words allowed).

    >>> read_assignments(["num_nearest=7", "measure=distance", "patience=none"])
    {'num_nearest': 7, 'measure': 'distance', 'patience': 'none'}
    """
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not (name and equals):
            raise InputError(f"a setting must look like num_nearest=20, got {shortened(assignment)}")
        value = _parsed(text)
        if name in found and found[name] != value:
            raise InputError(f"{name} is set twice: to {shortened(found[name])} and to {shortened(value)}")
        found[name] = value
    return found


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # not TOML, or a number of more digits than Python reads
        return text
