"""`--nodes paper=FILE`, `--edges writes:author-paper=FILE`: several kinds of nodes on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from se_gnn.datasets.tables import EdgesOfType
from se_gnn.errors import InputError


def node_tables(given: list[str]) -> dict[str, str] | None:
    """The table of each kind; None where there is one table and no kind is named."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return None
    tables: dict[str, str] = {}
    for text in given:
        kind, equals, path = text.partition("=")
        if not equals or not kind.strip() or not path:
            raise InputError(f"--nodes must look like paper=FILE where there are several kinds, got {text!r}")
        if kind.strip() in tables:
            raise InputError(f"--nodes {kind.strip()}=... is given twice; each kind has one table")
        tables[kind.strip()] = path
    return tables


def edge_tables(given: list[str]) -> list[EdgesOfType]:
    """The table of each type of edges, with the kinds that it joins where they are declared."""
    tables = []
    for text in given:
        what, equals, path = text.partition("=")
        name, colon, joined = what.partition(":")
        kinds = tuple(kind.strip() for kind in joined.split("-"))
        if not equals or not name.strip() or not path or (colon and len(kinds) != 2):
            raise InputError(
                "--edges must look like writes=FILE or writes:author-paper=FILE where there are several kinds, got "
                f"{text!r}"
            )
        declared = (kinds[0], kinds[1]) if colon else None
        tables.append(EdgesOfType(type=name.strip(), table=path, kinds=declared))
    return tables


def id_columns(given: str, kinds: Mapping[str, str] | None) -> dict[str, str] | None:
    """The id column of each kind; None where one name serves all."""
    if kinds is None or "=" not in given:
        return None
    columns = {}
    for text in given.split(","):
        kind, equals, column = (part.strip() for part in text.partition("="))
        if not equals or not column or kind not in kinds:
            raise InputError(
                f"--id must look like {','.join(f'{kind}=COLUMN' for kind in kinds)} or be one column, got {given!r}"
            )
        columns[kind] = column
    missing = next((kind for kind in kinds if kind not in columns), None)
    if missing is not None:
        raise InputError(f"--id names no column for {missing}, got {given!r}")
    return columns
