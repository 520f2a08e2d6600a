"""Data as people see it: values of a table, rows of a node, texts that are safe to print.

Names are imported at use: printing a text must not take the time to load arrays.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from se_gnn.display.cells import from_csv_cell, to_csv_cell
    from se_gnn.display.columns import show_value
    from se_gnn.display.rows import node_values
    from se_gnn.display.short_names import shorten
    from se_gnn.display.terminal import printable, printable_name

_HOME = {
    "from_csv_cell": "cells",
    "to_csv_cell": "cells",
    "show_value": "columns",
    "node_values": "rows",
    "shorten": "short_names",
    "printable": "terminal",
    "printable_name": "terminal",
}

__all__ = [
    "from_csv_cell",
    "node_values",
    "printable",
    "printable_name",
    "shorten",
    "show_value",
    "to_csv_cell",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
