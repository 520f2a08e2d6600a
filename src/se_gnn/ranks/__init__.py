"""Several processes that work on one thing, started by `torchrun`; without it there is one, and nothing to wait for."""

from se_gnn.ranks.ranks import Ranks, alone, joined
from se_gnn.ranks.threads import divided_threads

__all__ = ["Ranks", "alone", "divided_threads", "joined"]
