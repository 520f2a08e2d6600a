"""People's own tables, and graphs of other libraries, in and out.

A table of nodes and a table of edges become a graph that knows its columns (`read_tables`), whether they fit into
memory or not. Graphs of PyTorch Geometric, NetworkX, SciPy and `.npz` files that go out and come back are the same
graphs, also after nodes and edges were taken away or put into another order there: what belongs to a node or an edge
travels with it, or is refused.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from se_gnn.tables.edges import EdgeTable as EdgeTable
    from se_gnn.tables.given import read_new_nodes as read_new_nodes
    from se_gnn.tables.imported import Imported as Imported
    from se_gnn.tables.imported import load_import as load_import
    from se_gnn.tables.importer import read_tables as read_tables
    from se_gnn.tables.settings import ImportSettings as ImportSettings
    from se_gnn.tables.settings import Summary as Summary

_HOME = {
    "EdgeTable": "edges", "ImportSettings": "settings", "Imported": "imported", "Summary": "settings",
    "load_import": "imported", "read_new_nodes": "given", "read_tables": "importer",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what needs PyArrow when it is first used: the graphs of other libraries do without."""
    if name not in _HOME:
        raise AttributeError(f"module 'se_gnn.tables' has no attribute {name!r}")
    from se_gnn.optional import require

    require("pyarrow", extra="tables", feature="tables")
    return getattr(importlib.import_module(f"se_gnn.tables.{_HOME[name]}"), name)
