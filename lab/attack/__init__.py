"""Noise and attacks on the edges of a graph, to see what a model can stand."""

from lab.attack.config import MetattackConfig
from lab.attack.metattack import metattack
from lab.attack.noise import add_random_edges, flip_pairs

__all__ = ["MetattackConfig", "add_random_edges", "flip_pairs", "metattack"]
