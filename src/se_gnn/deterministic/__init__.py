"""Operators whose sums run in a fixed order on the CPU: the same bits in every run, on any number of threads."""

from se_gnn.deterministic.linear import linear, linear_by_row
from se_gnn.deterministic.rows import rows
from se_gnn.deterministic.threads import one_thread

__all__ = ["linear", "linear_by_row", "one_thread", "rows"]
