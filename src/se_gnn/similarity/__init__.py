"""How similar two nodes are, Eq. (2)-(7), and which cases are nearest.

Everything outside asks a :class:`Similarity`; which backend computes the answer is decided in `backend.py` alone.
"""

from se_gnn.similarity.backend import Nearest, can_record, top
from se_gnn.similarity.comparison import Matches, combine
from se_gnn.similarity.items import Items, items_of
from se_gnn.similarity.measure import Measure, measure_named
from se_gnn.similarity.similarity import Similarities, Similarity, who_votes

__all__ = [
    "Items",
    "Matches",
    "Measure",
    "Nearest",
    "Similarities",
    "Similarity",
    "can_record",
    "combine",
    "items_of",
    "measure_named",
    "top",
    "who_votes",
]
