"""`--nodes paper=FILE`, `--edges writes:author-paper=FILE`: several types of nodes and edges on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.tables import EdgeTable


def table_path(given: str) -> Path:
    """The file of a table, with a type before it or without."""
    return Path(given) if Path(given).exists() else Path(given.partition("=")[2] or given)


def node_tables(given: list[str], option: str = "--nodes") -> str | dict[str, str]:
    """The one node table, or the table of each node type."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return given[0]
    tables: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or not name.strip() or not path:
            raise InputError(f"{option} must look like paper=FILE if there are several types, got {text!r}")
        if name.strip() in tables:
            raise InputError(f"{option} {name.strip()}=... is given twice; each type has one table")
        tables[name.strip()] = path
    return tables


def edge_tables(given: list[str], option: str = "--edges") -> str | list[EdgeTable]:
    """The one edge table, or the table of each edge type with the node types that it joins, if declared."""
    if len(given) == 1 and ("=" not in given[0] or Path(given[0]).exists()):
        return given[0]
    from se_gnn.tables import EdgeTable

    tables = []
    for text in given:
        what, equals, path = text.partition("=")
        name, colon, joined = what.partition(":")
        types = tuple(one.strip() for one in joined.split("-"))
        if not equals or not name.strip() or not path or (colon and len(types) != 2):
            raise InputError(
                f"{option} must look like writes=FILE or writes:author-paper=FILE if there are several types, got "
                f"{text!r}"
            )
        tables.append(EdgeTable(type=name.strip(), table=path, joins=(types[0], types[1]) if colon else None))
    return tables


def column_by_type(given: str, types: Sequence[str], option: str) -> str | dict[str, str]:
    """The column that an option names, or that of each type; without ``types`` there is one table."""
    if not types or "=" not in given:
        return given
    columns = {}
    for text in given.split(","):
        name, equals, column = (part.strip() for part in text.partition("="))
        if not equals or not column or name not in types:
            shape = ",".join(f"{name}=COLUMN" for name in types)
            raise InputError(f"{option} must look like {shape} or be one column, got {given!r}")
        columns[name] = column
    return columns
