"""One edge table per type, each between two kinds of nodes. Shapes: E edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.tables.edges import Edges
from se_gnn.datasets.tables.read import Table, such_rows
from se_gnn.datasets.tables.values import Reading, as_names
from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EdgesOfType:
    """The edges of one type.

    Args:
        type: what people see, a verb at best: "writes".
        table: one row per edge: a path, a DataFrame, or an Arrow table.
        kinds: the kind of its sources and the kind of its targets; None: found from the ids.
    """

    type: str
    table: Any
    kinds: tuple[str, str] | None = None


def kinds_of_ends(
    given: EdgesOfType, table: Table, ends: tuple[str, str], ids: Mapping[str, pa.Array]
) -> tuple[str, str]:
    """The kinds that an edge table joins: as declared, or those that have the most of its ids."""
    if given.kinds is not None:
        unknown = next((kind for kind in given.kinds if kind not in ids), None)
        if unknown is not None:
            raise InputError(
                f"edges {given.type!r} join {' and '.join(given.kinds)}, but there are no nodes of kind {unknown!r}; "
                f"kinds are {', '.join(ids)}"
            )
        return given.kinds
    source, target = (_kind_of(given, table, end, ids) for end in ends)
    return source, target


def _kind_of(given: EdgesOfType, table: Table, end: str, ids: Mapping[str, pa.Array]) -> str:
    names = as_names(table, end, Reading())
    found = {kind: pc.sum(pc.is_in(names, value_set=known)).as_py() or 0 for kind, known in ids.items()}
    most = max(found.values())
    best = [kind for kind, count in found.items() if count == most]
    if most == 0:
        raise InputError(
            f"{table.name}, column {end!r}: no value is the id of a node, the first is {names[0].as_py()!r}; "
            f"the kinds of nodes are {', '.join(ids)}"
        )
    if len(best) > 1:
        raise InputError(
            f"{table.name}, column {end!r} holds ids of {' and of '.join(best)}; declare which kinds its edges join: "
            f"--edges {given.type}:{best[0]}-{best[1]}=FILE"
        )
    return best[0]


def read_typed_edges(
    given: EdgesOfType,
    table: Table,
    ends: tuple[str, str],
    ids: Mapping[str, pa.Array],
    first: Mapping[str, int],
    *,
    drop_dangling: bool,
) -> Edges:
    """Edges of one type between positions in the graph of all kinds.

    Each end is looked up among the nodes of its kind: ids of two kinds may be the same. An end that is a node of
    another kind is an error, for nothing was said about edges between those kinds.
    """
    kinds = kinds_of_ends(given, table, ends, ids)
    places = [_places(table, end, ids[kind]) for end, kind in zip(ends, kinds)]
    for end, kind, place in zip(ends, kinds, places):
        lost = np.flatnonzero(place < 0)
        if len(lost):
            _check_lost(given, table, end, kind, kinds, lost, ids, drop_dangling=drop_dangling)
    rows = np.flatnonzero((places[0] >= 0) & (places[1] >= 0))
    pairs = np.stack([place[rows] + first[kind] for place, kind in zip(places, kinds)], axis=1)
    return Edges(pairs, rows, len(table), len(table) - len(rows))


def _places(table: Table, end: str, ids: pa.Array) -> IntArray:
    names = as_names(table, end, Reading())
    found = pc.fill_null(pc.index_in(names, value_set=ids), -1).to_numpy(zero_copy_only=False)
    return np.asarray(found, np.int64)


def _check_lost(
    given: EdgesOfType,
    table: Table,
    end: str,
    kind: str,
    kinds: tuple[str, str],
    lost: IntArray,
    ids: Mapping[str, pa.Array],
    *,
    drop_dangling: bool,
) -> None:
    """Refuse ends that are nodes of another kind, and those that are no nodes unless they are to be left out."""
    names = as_names(table, end, Reading()).take(pa.array(lost))
    for other, known in ids.items():
        there = pc.is_in(names, value_set=known).to_numpy(zero_copy_only=False)
        if other != kind and there.any():
            place = int(np.flatnonzero(there)[0])
            name = names[place].as_py()
            raise table.error(
                end,
                int(lost[place]),
                f"{name!r} is a node of kind {other}, but edges {given.type!r} join {kinds[0]} and {kinds[1]}; edges "
                "between other kinds are a type of their own",
            )
    if not drop_dangling:
        name = names[0].as_py()
        raise table.error(
            end,
            int(lost[0]),
            f"there is no {kind} {name!r} ({such_rows(len(lost))}); --set drop_dangling=true leaves them out",
        )
