"""GraphXAI's graphs and metrics (https://github.com/mims-harvard/GraphXAI), for our explanations and for others."""

from lab.graphxai.comparison import DRAWN, GRAPHS, METRICS, NAMES, PERTURBED, ROLLOUTS, Setting, compare, prepare
from lab.graphxai.load import WHERE, load_graphxai

__all__ = [
    "DRAWN",
    "GRAPHS",
    "METRICS",
    "NAMES",
    "PERTURBED",
    "ROLLOUTS",
    "WHERE",
    "Setting",
    "compare",
    "load_graphxai",
    "prepare",
]
