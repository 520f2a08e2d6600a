"""Nodes as people name them: an integer is a position, a string is a name, a boolean mask has one entry per node.

No guessing between the two: in a table whose ids are 1, 2, 3, ... the name "1" is the node at position 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError, did_you_mean

CLOSE_AMONG = 10_000  # names that are looked through for a close one


def position_of(node: Any, names: Sequence[str], ids: Mapping[str, int]) -> int:
    """Position of one node given by position (an integer) or by name (a string).

    >>> names = ("1", "2", "3")
    >>> ids = {name: i for i, name in enumerate(names)}
    >>> position_of(1, names, ids), position_of("1", names, ids)
    (1, 0)
    """
    if isinstance(node, str):
        found = ids.get(str(node))
        if found is None:
            shown = ", ".join(names[:3])
            raise InputError(
                f"unknown node {str(node)!r}{did_you_mean(node, names[:CLOSE_AMONG])}; "
                f"the graph has {len(names):,} nodes: {shown}, ..."
            )
        return found
    if isinstance(node, bool | np.bool_) or not isinstance(node, int | np.integer):
        raise InputError(f"a node must be a position (a whole number) or a name (text), got {_plain(node)!r}")
    if not 0 <= node < len(names):
        raise InputError(f"unknown node {int(node)}: positions go from 0 to {len(names) - 1:,}; names are text")
    return int(node)


def positions_of(nodes: Any, names: Sequence[str], ids: Mapping[str, int]) -> npt.NDArray[np.int64]:
    """Positions of some nodes, in their order: positions, names, or a boolean mask with one entry per node.

    >>> names = ("a", "b", "c")
    >>> ids = {name: i for i, name in enumerate(names)}
    >>> [positions_of(nodes, names, ids).tolist() for nodes in (["c", 0], [True, False, True], "b")]
    [[2, 0], [0, 2], [1]]
    """
    if isinstance(nodes, str | int | np.integer):
        nodes = [nodes]
    if not isinstance(nodes, np.ndarray) and _is_mixed(nodes):
        array = np.empty(len(nodes), dtype=object)  # `asarray` would turn the positions of a mixed list into text
        array[:] = nodes
    else:
        array = np.asarray(nodes)
    if array.ndim != 1:
        raise InputError(f"nodes must be a list of positions or names, got shape {array.shape}")
    if array.dtype == bool:
        if len(array) != len(names):
            raise InputError(f"a mask must have one entry per node ({len(names):,}), got {len(array):,}")
        return np.flatnonzero(array).astype(np.int64)
    if array.dtype.kind in "iu":
        outside = array[(array < 0) | (array >= len(names))]
        if len(outside):
            position_of(int(outside[0]), names, ids)  # says what is wrong with it
        return array.astype(np.int64)
    return np.array([position_of(node, names, ids) for node in array.tolist()], dtype=np.int64)


def _is_mixed(nodes: Any) -> bool:
    return isinstance(nodes, list | tuple) and _has_text(nodes)


def _has_text(nodes: Iterable[Any]) -> bool:
    return any(isinstance(node, str) for node in nodes)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
