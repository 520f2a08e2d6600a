"""Kernels for Eq. (3)-(6), behind one call: nobody outside knows which one runs."""

from se_gnn.similarity.kernels.structure import (
    EdgeMatching,
    can_record,
    match_edges,
    structure_similarity,
    structure_with_matches,
)

__all__ = ["EdgeMatching", "can_record", "match_edges", "structure_similarity", "structure_with_matches"]
