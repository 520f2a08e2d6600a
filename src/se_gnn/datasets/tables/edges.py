"""An edge table: two columns that name nodes. Shapes: E edges as given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from se_gnn.datasets.tables.read import Table
from se_gnn.datasets.tables.values import Reading, as_names
from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray

LISTED = 10  # dangling edges that an error shows
DROP = "--set drop_dangling=true leaves these edges out."


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges between nodes of the node table, as given but for dangling ones."""

    pairs: IntArray  # [E, 2]
    rows: IntArray  # [E], of the edge table
    given: int
    dangling: int  # left out


def read_edges(
    table: Table, source: str, target: str, ids: pa.Array, *, nodes: str, drop_dangling: bool = False, hint: str = DROP
) -> Edges:
    """Row of the node table that each end of each edge names; ``nodes`` is what errors call that table.

    ``hint`` is what an error about dangling edges ends with.
    """
    ends = {column: as_names(table, column, Reading()) for column in (source, target)}
    rows = [pc.fill_null(pc.index_in(end, value_set=ids), -1).to_numpy(zero_copy_only=False) for end in ends.values()]
    pairs = np.stack(rows, axis=1).astype(np.int64)
    lost = np.flatnonzero((pairs < 0).any(axis=1))
    if not len(lost):
        return Edges(pairs, np.arange(len(pairs)), len(pairs), 0)
    if len(lost) == len(pairs):
        known, seen = ids[0].as_py(), ends[source][0].as_py()
        raise InputError(
            f"{table.name}: no edge joins two nodes of {nodes}; column {source!r} holds names such as {seen!r}, the "
            f"nodes are called {known!r} and so on; are these the right columns?"
        )
    if not drop_dangling:
        raise InputError(_listing(table, ends, pairs, lost, nodes, hint))
    kept = np.setdiff1d(np.arange(len(pairs)), lost)
    return Edges(pairs[kept], kept, len(pairs), len(lost))


def _listing(table: Table, ends: dict[str, pa.Array], pairs: IntArray, lost: IntArray, nodes: str, hint: str) -> str:
    name_or_names = "names" if len(lost) == 1 else "name"
    first = f"{table.name}: {len(lost):,} of {len(pairs):,} edges {name_or_names} a node that {nodes} does not have:"
    lines = []
    for row in lost[:LISTED]:
        for place, (column, names) in enumerate(ends.items()):
            if pairs[row, place] < 0:
                name = names[int(row)].as_py()
                shown = "no name at all" if name is None else repr(name)
                lines.append(f"  row {row + 1}, column {column!r}: {shown}")
    if len(lost) > LISTED:
        lines.append(f"  and {len(lost) - LISTED:,} more rows")
    listed = ";\n".join(lines)  # which reads well on one line, too
    return f"{first}\n{listed}.\nRows are counted without the header. {hint}"
