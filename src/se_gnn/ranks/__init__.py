"""Several processes that work on one thing, started by `torchrun`; without it there is one, and nothing to wait for."""

from se_gnn.ranks.joining import divided_threads
from se_gnn.ranks.ranks import Ranks, alone, joined

__all__ = ["Ranks", "alone", "divided_threads", "joined"]
