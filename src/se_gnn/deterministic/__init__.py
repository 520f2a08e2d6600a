"""Operators whose sums run in a fixed order on the CPU: the same bits in every run, on any number of threads."""

from se_gnn.deterministic.layers import linear, linear_by_row, one_thread, rows

__all__ = ["linear", "linear_by_row", "one_thread", "rows"]
