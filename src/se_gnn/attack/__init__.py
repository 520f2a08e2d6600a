"""Attacks on the edges of a graph, to see what a model stands."""

from se_gnn.attack.config import MetattackConfig
from se_gnn.attack.metattack import metattack

__all__ = ["MetattackConfig", "metattack"]
