"""Data as people see it: values of a table, rows of a node, texts that are safe to print."""

from se_gnn.display.cells import from_csv_cell, to_csv_cell
from se_gnn.display.columns import show_value
from se_gnn.display.rows import node_values
from se_gnn.display.shorten import shorten
from se_gnn.display.terminal import printable, printable_name

__all__ = [
    "from_csv_cell",
    "node_values",
    "printable",
    "printable_name",
    "shorten",
    "show_value",
    "to_csv_cell",
]
