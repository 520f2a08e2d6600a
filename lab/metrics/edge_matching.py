"""Whether the edges of a local graph are matched with their counterparts. Shapes: E edges, M edges of a local graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.graph.arrays import IntArray

Value = TypeVar("Value", bound=np.generic)


def edge_matching_accuracy(
    roles: Sequence[IntArray], matched_roles: Sequence[IntArray], *, weighting: Literal["motif", "local"] = "motif"
) -> float:
    r"""Share of the motif edges that are matched with an edge of their own role.

    Args:
        roles: for each target, the roles of the edges of its local graph, 0 for an edge outside of every motif.
        matched_roles: for each target, the roles of the edges they were matched with in the local graph of its
            nearest labeled node.
        weighting: ``motif`` counts every motif edge once. ``local`` is what the authors' script computes: the share of
            right matches among the motif edges of a target, 1 where it has none, averaged over the targets with the
            number of *all* edges of their local graphs as weights.

    Shapes:
        - **roles[t]**, **matched_roles[t]:** :math:`(M_t,)`

    >>> roles, matched = [np.array([1, 2, 0, 0]), np.array([3])], [np.array([1, 1, 0, 2]), np.array([3])]
    >>> round(edge_matching_accuracy(roles, matched), 4), edge_matching_accuracy(roles, matched, weighting="local")
    (0.6667, 0.6)
    """
    if weighting not in ("motif", "local"):
        raise InputError(f"weighting must be motif or local, got {weighting!r}")
    sizes, counts, right = [], [], []
    for target, (own, other) in enumerate(zip(roles, matched_roles, strict=True)):
        if len(own) != len(other):
            raise InputError(f"every edge of target {target} needs its match, got {len(own)} and {len(other)} roles")
        of_motif = np.asarray(own) > 0
        sizes.append(len(own))
        counts.append(of_motif.sum())
        right.append((of_motif & (np.asarray(own) == np.asarray(other))).sum())
    size, count, hits = (np.array(values, dtype=np.float64) for values in (sizes, counts, right))
    if not count.sum():
        raise InputError("edge matching accuracy needs at least one motif edge, got none")
    if weighting == "motif":
        return float(hits.sum() / count.sum())
    share = np.divide(hits, count, out=np.ones_like(hits), where=count > 0)
    return float((size * share).sum() / size.sum())


def values_of_edges(all_edges: IntArray, values: npt.NDArray[Value], edges: Any) -> npt.NDArray[Value]:
    """What belongs to some edges, given by their ends in any direction; ``values`` belong to ``all_edges``, canonical.

    >>> values_of_edges(np.array([[0, 1], [0, 2], [1, 2]]), np.array([7, 8, 9]), [[2, 1], [0, 1]]).tolist()
    [9, 7]
    """
    wanted = np.sort(np.asarray(edges, dtype=np.int64).reshape(-1, 2), axis=1)
    width = max(all_edges.max(initial=0), wanted.max(initial=0)) + 1
    keys, asked = all_edges @ [width, 1], wanted @ [width, 1]
    found = np.searchsorted(keys, asked)
    missing = (found == len(keys)) | (keys[np.minimum(found, len(keys) - 1)] != asked) if len(keys) else asked >= 0
    if missing.any():
        u, v = wanted[missing][0]
        raise InputError(f"({u}, {v}) is not an edge of the graph ({int(missing.sum())} such pairs)")
    out: npt.NDArray[Value] = values[found]
    return out
