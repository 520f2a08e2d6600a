"""A graph that is larger than memory: its arrays are files, mapped and not loaded.

Everything was checked when it was imported; a graph that is opened is compared by the sizes and the digests of its
files, which are read once for that. Shapes: N nodes, E undirected edges, F features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError
from se_gnn.files import SMALL, check_format, json_bytes, parse_json, read_file, sha256
from se_gnn.files.npy import ArrayInfo, check_array, map_array
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.edge_list import EdgeReport
from se_gnn.graph.graph import Graph
from se_gnn.graph.labels import UNKNOWN
from se_gnn.graph.split import PARTS

HEADER = "mapped.json"
ARRAYS = "arrays"
FORMAT, VERSION = "se-gnn-mapped-graph", 1
NAMES = ("ids", "features", "labels", "edges", "indptr", "indices", "edge_ids", *PARTS)
_DTYPES: dict[str, tuple[str, ...]] = {
    "ids": ("<i8",), "features": ("<f4", "<f2"), "labels": ("<i8",), "edges": ("<i8",), "indptr": ("<i8",),
    "indices": ("<i4",), "edge_ids": ("<i4",), **dict.fromkeys(PARTS, ("<i8",)),
}  # fmt: skip


class NumberedNames(Sequence[str]):
    """Names of nodes whose ids are whole numbers, made when they are asked for."""

    def __init__(self, ids: IntArray) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, node: int) -> str: ...
    @overload
    def __getitem__(self, node: slice) -> Sequence[str]: ...
    def __getitem__(self, node: int | slice) -> str | Sequence[str]:
        return NumberedNames(self.ids[node]) if isinstance(node, slice) else str(self.ids[node])

    def __iter__(self) -> Iterator[str]:
        return (str(number) for number in self.ids)


class NumberedPositions(Mapping[str, int]):
    """Where the node of a name stands; all ids are looked through, without a table of them in memory."""

    def __init__(self, ids: IntArray) -> None:
        self.ids = ids

    def __getitem__(self, name: str) -> int:
        try:
            found = np.flatnonzero(self.ids == int(name))
        except (ValueError, OverflowError) as error:
            raise KeyError(name) from error
        if not len(found) or str(self.ids[found[0]]) != name:
            raise KeyError(name)
        return int(found[0])

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return iter(NumberedNames(self.ids))


@dataclass(frozen=True, eq=False, kw_only=True)
class MappedGraph(Graph):
    r"""As :class:`Graph`, with the arrays of a folder that :func:`open_mapped` mapped.

    Shapes:
        - **indptr:** :math:`(N + 1,)`
        - **indices** (neighbors of each node, ascending), **edge_ids** (by which edge): :math:`(2 E,)`
    """

    indptr: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))
    indices: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    edge_ids: npt.NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))

    def __post_init__(self) -> None:
        """Nothing: the import has checked it."""

    @cached_property
    def degrees(self) -> IntArray:
        """Number of edges at each node, [N]."""
        return np.diff(self.indptr)

    @property
    def neighbor_arrays(self) -> tuple[Any, Any, Any]:
        """Neighbors and edges of each node as arrays in CSR form."""
        return self.indptr, self.indices, self.edge_ids

    def check_trainable(self) -> None:
        """Refuse it: an epoch needs all of the graph in memory, again and again."""
        raise InputError(
            f"{self.name} is mapped from files, to predict on: train on a part of it that fits the memory, made with "
            "se-gnn import"
        )

    @cached_property
    def _ids(self) -> Any:
        names: Any = self.node_names
        return NumberedPositions(names.ids)


def write_header(folder: Path, about: dict[str, Any], arrays: Mapping[str, ArrayInfo]) -> bytes:
    """The content of the header: what the graph is called, its classes, and what each array must be."""
    listed = {name: {"dtype": i.dtype, "shape": list(i.shape), "sha256": i.sha256} for name, i in arrays.items()}
    whole = {"format": FORMAT, "version": VERSION, **about, "arrays": listed}
    return json_bytes({**whole, "sha256": _seal(whole)})


def holds_mapped(folder: Path) -> bool:
    """Whether there is a mapped graph."""
    return (folder / HEADER).is_file()


def mapped_digest(folder: Path) -> str:
    """A digest of the graph: of its header, which holds those of its arrays."""
    return sha256(read_file(folder / HEADER, limit=SMALL))


def open_mapped(folder: Path, *, just_written: bool = False) -> MappedGraph:
    """Map the arrays of a folder; nothing is copied. Files that were changed are an error that names one.

    Args:
        folder: with a mapped graph.
        just_written: by this process, from numbers that it has checked: they are not read again.
    """
    about, infos = _read_header(folder)
    if not just_written:
        _check_arrays(folder, about, infos)
    arrays: dict[str, Any] = {name: map_array(folder / ARRAYS / f"{name}.npy", infos[name]) for name in NAMES}
    try:
        num_nodes, num_edges = int(about["num_nodes"]), int(about["num_edges"])
        shapes = {
            "ids": (num_nodes,), "features": (num_nodes, int(about["num_features"])), "labels": (num_nodes,),
            "edges": (num_edges, 2), "indptr": (num_nodes + 1,), "indices": (2 * num_edges,),
            "edge_ids": (2 * num_edges,),
        }  # fmt: skip
        for name, shape in shapes.items():
            if arrays[name].shape != shape or arrays[name].dtype.str not in _DTYPES[name]:
                raise ValueError(f"{name} must have shape {shape}, got {arrays[name].shape}")
        names: Any = NumberedNames(arrays.pop("ids"))
        parts: dict[str, Any] = {part: np.array(arrays.pop(part)) for part in PARTS}
        return MappedGraph(
            **arrays, **parts, node_names=names, class_names=tuple(map(str, about["class_names"])),
            feature_names=tuple(map(str, about["feature_names"])), name=str(about["name"]),
            merged=EdgeReport(**about["merged"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / HEADER} is damaged: {error}") from error


def _check_arrays(folder: Path, about: dict[str, Any], infos: Mapping[str, ArrayInfo]) -> None:
    """Compare every number with its digest, and every place that is named with the places there are."""
    try:
        num_nodes, num_edges = int(about["num_nodes"]), int(about["num_edges"])
        num_classes = len(about["class_names"])
    except (KeyError, TypeError, ValueError) as error:
        told = "it must tell how many nodes, edges and classes there are"
        raise InputError(f"{folder / HEADER} is damaged: {told}") from error
    nodes, ids = range(num_nodes), range(num_edges)
    within: dict[str, range] = {"edges": nodes, "indices": nodes, "edge_ids": ids, "indptr": range(2 * num_edges + 1),
              "labels": range(UNKNOWN, num_classes), **dict.fromkeys(PARTS, nodes)}  # fmt: skip
    for name in NAMES:
        check_array(folder / ARRAYS / f"{name}.npy", infos[name], within.get(name))
    path = folder / ARRAYS / "indptr.npy"
    starts = map_array(path, infos["indptr"])
    if not len(starts) or starts[0] != 0 or starts[-1] != 2 * num_edges or (np.diff(starts) < 0).any():
        raise InputError(f"{path} is damaged: its numbers must ascend from 0 to {2 * num_edges:,}")


def _read_header(folder: Path) -> tuple[dict[str, Any], dict[str, ArrayInfo]]:
    path = folder / HEADER
    about = parse_json(read_file(path, limit=SMALL), path)
    check_format(about, path, expected=FORMAT, newest=VERSION)
    if about.pop("sha256", None) != _seal(about):
        raise InputError(f"{path} was changed: it does not have its digest")
    try:
        infos = {
            name: ArrayInfo(str(about["arrays"][name]["dtype"]), tuple(map(int, about["arrays"][name]["shape"])),
                            str(about["arrays"][name]["sha256"]))
            for name in NAMES
        }  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is damaged: it must describe the arrays {', '.join(NAMES)}") from error
    return about, infos


def _seal(about: dict[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True).encode())
