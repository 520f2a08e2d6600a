"""Operators whose sums run in a fixed order on the CPU: the same bits in every run, on any number of threads."""

from se_gnn.fixed_order.linear import linear
from se_gnn.fixed_order.rows import rows
from se_gnn.fixed_order.threads import one_thread

__all__ = ["linear", "one_thread", "rows"]
