"""A graph as a folder: `graph.json`, and one `.npy` file per array; the same format for loading it and for mapping it.

`graph.json` says which of the two, and holds everything that is not an array, the type, shape and digest of each array,
and a digest of itself. No pickle. The files are replaced in one step (`se_gnn.files.commit`): a reader finds the old
graph or the new one. Shapes: N nodes, E edges, F features.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.errors import InputError
from se_gnn.files import (
    check_format,
    commit_files,
    current_path,
    json_bytes,
    parse_json,
    read_current,
    sha256,
    writing_to,
)
from se_gnn.files.commit import Content
from se_gnn.files.npy import FINITE, Array, ArrayInfo, Rule, check_array, load_array, map_array, npy_header
from se_gnn.graph.arrays import row_starts
from se_gnn.graph.columns import NO_TEXT, Column, RawTable, column_from_dict
from se_gnn.graph.edge_values import ARRAYS as EDGE_ARRAYS
from se_gnn.graph.edge_values import EdgeValues, number_rules
from se_gnn.graph.edges import Csr, EdgeReport, Edges
from se_gnn.graph.graph import Graph, MappedFrom
from se_gnn.graph.nodes import Nodes
from se_gnn.graph.rows import MappedSparseRows, Rows, Texts, as_rows
from se_gnn.graph.split import PARTS, Split
from se_gnn.graph.target import Classes, Numbers, Target

HEADER = "graph.json"
ARRAY_FILES = "graph.*.npy"  # also embeddings that models have stored beside a mapped graph
FORMAT, VERSION = "se-gnn-graph", 1
MOST_HEADER = 1 << 28  # bytes: the vocabularies of text columns are in it
PIECE = 8 << 20  # bytes of an array that are written at a time


class Kind(NamedTuple):
    """Types and number of dimensions that an array may have."""

    dtypes: tuple[str, ...]
    dimensions: int = 1


_IDS, _SMALL = Kind(("<i8",)), Kind(("<i4",))
_TEXTS = {".offsets": _IDS, ".text": Kind(("|u1",))}
_CELLS = {".codes": Kind(("<i4",), 2), **_TEXTS}
_PARTS: dict[str, dict[str, Kind]] = {  # of a graph, with the arrays that each is stored as
    "nodes.features": {"": Kind(("<f4", "<f2"), 2), ".data": Kind(("<f4",)), ".indices": _SMALL, ".indptr": _IDS},
    "nodes.names": _TEXTS,
    "nodes.captions": _TEXTS,
    "nodes.raw": _CELLS,
    "nodes.types": {"": _SMALL},
    "edges.ends": {"": Kind(("<i8",), 2)},
    **{
        f"edges.{name}": {"": Kind((np.dtype(dtype).str,), 2 if name == "attributes" else 1)}
        for name, dtype in EDGE_ARRAYS.items()
    },
    "edges.raw": _CELLS,
    "neighbors": {".indptr": _IDS, ".indices": _SMALL, ".edge_ids": _SMALL},  # of a mapped graph
    "labels": {"": _IDS},
    "values": {"": Kind(("<f8",))},
    **{f"split.{part}": {"": _IDS} for part in PARTS},
}
KINDS = {part + piece: kind for part, pieces in _PARTS.items() for piece, kind in pieces.items()}
_OF_VALUES = ("type_names", "type_verbs", "attribute_names")
LOADED = {"nodes.types", "nodes.features.indptr", "labels", "values", *(f"split.{part}" for part in PARTS)}  # always
CUT = {"offsets": "text", "indptr": "indices"}  # arrays of places, and the array that each cuts into rows


def _header(graph: Graph, arrays: Mapping[str, ArrayInfo], *, mapped: bool) -> bytes:
    """The content of `graph.json`: everything that is not an array, sealed by a digest of itself."""
    target, values = graph.target, graph.edge_values
    about = {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "dataset": graph.dataset,
        "mapped": mapped,
        "num_features": graph.num_features,
        "feature_names": graph.feature_names,
        "columns": _as_dicts(graph.columns),
        "node_type_names": graph.node_type_names,
        "raw_columns": getattr(graph.raw, "columns", None),
        "image_shape": graph.image_shape,
        "roles": graph.roles,
        "class_names": target.names if isinstance(target, Classes) else None,  # None: a number is predicted
        "target_type": target.node_type,
        "value_name": target.name if isinstance(target, Numbers) else None,
        "unit": target.unit if isinstance(target, Numbers) else "",
        "merged": dataclasses.asdict(graph.merged),
        "edge_values": None,
        "arrays": {name: arrays[name]._asdict() for name in sorted(arrays)},
    }
    if values is not None:
        about["edge_values"] = {
            "parts": values.edge_data,
            **{name: getattr(values, name) for name in _OF_VALUES},
            "columns": _as_dicts(values.columns),
            "raw_columns": getattr(values.raw, "columns", None),
            "names": values.names,
        }
    return json_bytes({**about, "sha256": _seal(about)}, indent=1)


def _as_dicts(columns: tuple[Column, ...] | None) -> list[dict[str, Any]] | None:
    return None if columns is None else [column.to_dict() for column in columns]


def save_graph(graph: Graph, folder: str | Path, *, mapped: bool | None = None) -> None:
    """Write a graph into a folder, which is created if it is missing.

    Args:
        graph: in memory or mapped; rows of mapped files are copied block by block.
        folder: an earlier graph there is replaced in one step.
        mapped: whether it will be mapped when it is opened; None: as the graph is now.
    """
    with writing_to(folder) as target:
        commit_files(target, graph_files(graph, mapped=mapped), remove=(ARRAY_FILES,))


def load_graph(folder: str | Path) -> Graph:
    """Read a graph back, or map it; a missing, damaged, changed or newer file is an error that names it."""
    path = Path(folder)
    if not path.is_dir():
        raise InputError(f"graph folder {path} does not exist")
    return read_graph(path, read_current(path, HEADER, limit=MOST_HEADER))


def holds_graph(folder: str | Path) -> bool:
    """Whether there is a graph to load."""
    return current_path(Path(folder), HEADER).is_file()


def is_graph_file(name: str) -> bool:
    """Whether a file of a folder belongs to its graph, by its name.

    >>> [is_graph_file(name) for name in ("graph.json", "graph.edges.ends.npy", "graph.png")]
    [True, True, False]
    """
    return name == HEADER or fnmatch.fnmatchcase(name, ARRAY_FILES)


def graph_digest(folder: str | Path) -> str:
    """A digest of a stored graph: of its header, which holds those of its arrays."""
    return sha256(read_current(Path(folder), HEADER, limit=MOST_HEADER))


def digest_of(graph: Graph) -> str:
    """A digest of a graph: that which :func:`graph_digest` finds once it is stored."""
    content = graph_files(graph)[HEADER]
    assert isinstance(content, bytes)
    return sha256(content)


def array_file(name: str) -> str:
    """The file of an array."""
    return f"graph.{name}.npy"


def graph_files(graph: Graph, *, mapped: bool | None = None) -> dict[str, Content]:
    """Name and content of the files of a graph; the same graph gives the same bytes.

    ``mapped``: whether it will be mapped when it is opened; None: as the graph is now.
    """
    mapped = not graph.fits_memory if mapped is None else mapped
    arrays = _arrays_of(graph, mapped=mapped)
    header = _header(graph, {name: one.info() for name, one in arrays.items()}, mapped=mapped)
    files: dict[str, Content] = {
        array_file(name): b"".join(one) if graph.fits_memory else one for name, one in arrays.items()
    }
    return {**files, HEADER: header}


@dataclass(frozen=True, slots=True)
class _Source:
    """An array to be written: the pieces of a `.npy` file, read again each time they are asked for."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterator[Array]]

    @classmethod
    def of(cls, array: Any) -> _Source:
        rows = as_rows(array)
        return cls(rows.dtype, rows.shape, lambda: (block for _, block in rows.blocks(PIECE)))

    def __iter__(self) -> Iterator[bytes]:
        yield npy_header(self.dtype, self.shape)
        yield from (block.tobytes() for block in self._pieces())

    def info(self) -> ArrayInfo:
        digest = hashlib.sha256()
        for block in self._pieces():
            digest.update(block.data)
        return ArrayInfo(self.dtype.str, self.shape, digest.hexdigest())

    def _pieces(self) -> Iterator[Array]:
        return (np.ascontiguousarray(block, self.dtype).reshape(-1).view(np.uint8) for block in self.blocks())


def _arrays_of(graph: Graph, *, mapped: bool) -> dict[str, _Source]:
    nodes, edges = graph.nodes, graph.edges
    parts: dict[str, Any] = {
        "nodes.features": nodes.features,
        "nodes.names": nodes.names,
        "nodes.captions": nodes.captions,
        "nodes.raw": nodes.raw,
        "nodes.types": nodes.types,
        "edges.ends": edges.pairs,
        **{f"edges.{name}": getattr(edges.values, name, None) for name in (*EDGE_ARRAYS, "raw")},
        "neighbors": edges.neighbors if mapped else None,
        "values" if graph.predicts_numbers else "labels": graph.target.array,
        **{f"split.{part}": ids for part, ids in graph.split.items()},
    }
    pieces = {part: _pieces_of(value) for part, value in parts.items() if value is not None}
    return {part + piece: source for part, sources in pieces.items() for piece, source in sources.items()}


def _pieces_of(part: Any) -> dict[str, _Source]:
    """The arrays that a part of a graph is stored as, see `_PARTS`."""
    if isinstance(part, RawTable):
        return {".codes": _Source.of(part.codes), **_pieces_of(part.texts)}
    if isinstance(part, tuple):
        part = Texts.of(part)
    if isinstance(part, Texts):
        return {".offsets": _Source.of(part.offsets), ".text": _Source.of(part.text)}
    small = np.dtype(np.int32)
    if isinstance(part, Csr):
        indptr = row_starts(part.degrees)
        return {
            ".indptr": _Source.of(indptr),
            ".indices": _Source(small, (int(indptr[-1]),), lambda: (rows[2] for rows in part.blocks(PIECE))),
            ".edge_ids": _Source(small, (int(indptr[-1]),), lambda: (rows[3] for rows in part.row_blocks(PIECE))),
        }
    if not (isinstance(part, Rows) and part.sparse):
        return {"": _Source.of(part)}
    if isinstance(part, MappedSparseRows):
        indptr = part.indptr
    else:
        indptr = row_starts(np.concatenate([np.diff(block.indptr) for _, block in part.blocks()]))
    return {
        ".data": _Source(part.dtype, (int(indptr[-1]),), lambda: (block.data for _, block in part.blocks(PIECE))),
        ".indices": _Source(small, (int(indptr[-1]),), lambda: (block.indices for _, block in part.blocks(PIECE))),
        ".indptr": _Source.of(indptr),
    }


def read_graph(folder: Path, header: bytes) -> Graph:
    """The graph whose header, the content of `graph.json`, was read from a folder."""
    path = folder / HEADER
    about = parse_json(header, path)
    check_format(about, path, expected=FORMAT, newest=VERSION)
    if about.pop("sha256", None) != _seal(about):
        raise InputError(f"{path} was changed: it does not have its digest")
    try:
        digest = _digest_of_parts(about)
        infos = {name: _info(path, name, one) for name, one in about["arrays"].items()}
        about = _tuples(about)
        arrays = _read_arrays(folder, infos, about)
        return _graph_of(folder, about, arrays, digest)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the graph in {folder} cannot be read: {error}") from error


def _digest_of_parts(about: Mapping[str, Any]) -> str:
    """A digest of features and edges: names, labels and split may change, and embeddings stay."""
    read = ("nodes.features", "nodes.types", "edges.", "neighbors.")
    arrays = {name: one for name, one in about["arrays"].items() if name.startswith(read)}
    return _seal({"arrays": arrays, "edge_values": about["edge_values"]})


def _info(path: Path, name: str, one: Mapping[str, Any]) -> ArrayInfo:
    if name not in KINDS:
        raise InputError(f"{path} is not valid: {name} is not an array of a graph")
    info = ArrayInfo(str(one["dtype"]), tuple(map(int, one["shape"])), str(one["sha256"]))
    dtypes, dimensions = KINDS[name]
    if info.dtype not in dtypes or len(info.shape) != dimensions:
        raise InputError(
            f"{path} is not valid: {name} must be {' or '.join(dtypes)} with {dimensions} dimensions, got {info.dtype} "
            f"of shape {info.shape}"
        )
    return info


def _read_arrays(folder: Path, infos: Mapping[str, ArrayInfo], about: Mapping[str, Any]) -> dict[str, Array]:
    """All arrays, in memory or mapped, as the header says; their numbers have their digest and follow their rule."""
    rules, found = _rules(infos, about), dict[str, Array]()
    for name, info in infos.items():
        path, rule = current_path(folder, array_file(name)), rules.get(name)
        if not about["mapped"] or name in LOADED:
            found[name] = load_array(path, info, rule)
            found[name].setflags(write=name.startswith("nodes.features."))  # SciPy may sort them
        else:
            check_array(path, info, rule)
            found[name] = map_array(path, info)
        whole, _, piece = name.rpartition(".")
        if piece in CUT:
            places, last = found[name], infos[f"{whole}.{CUT[piece]}"].shape[0]
            if not len(places) or places[0] != 0 or places[-1] != last or (np.diff(places) < 0).any():
                raise InputError(f"{path} is damaged: its numbers must ascend from 0 to {last:,}")
    return found


def _rules(infos: Mapping[str, ArrayInfo], about: Mapping[str, Any]) -> dict[str, Rule]:
    """What the numbers of the arrays must be, so that none points to what is not there."""
    values = about["edge_values"]
    nodes = Rule.between(0, infos["labels" if about["value_name"] is None else "values"].shape[0] - 1)
    rules = {
        "nodes.features": FINITE,
        "nodes.features.data": FINITE,
        "nodes.features.indices": Rule.between(0, about["num_features"] - 1),
        "edges.ends": nodes,
        "neighbors.indices": nodes,
        "neighbors.edge_ids": Rule.between(0, infos["edges.ends"].shape[0] - 1),
        **{f"edges.{part}": rule for part, rule in number_rules(len(values["type_names"]) if values else 0).items()},
    }
    for part in ("nodes.raw", "edges.raw"):
        if f"{part}.offsets" in infos:
            rules[f"{part}.codes"] = Rule.between(NO_TEXT, infos[f"{part}.offsets"].shape[0] - 2)
    return rules


def _graph_of(folder: Path, about: Mapping[str, Any], arrays: Mapping[str, Array], digest: str) -> Graph:
    """The graph of a header and arrays that were read; parts that do not fit each other are refused."""
    mapped = about["mapped"]

    def rows(name: str, what: str) -> Any:
        return as_rows(arrays[name], f"{what} of {about['name']}") if mapped else arrays[name]

    def names(name: str) -> Any:
        return (_texts(arrays, name) if mapped else tuple(_texts(arrays, name))) if f"{name}.text" in arrays else None

    def cells(part: str, columns: tuple[str, ...] | None) -> RawTable | None:
        if columns is None:
            return None
        return RawTable(
            columns=columns, codes=rows(f"{part}.codes", f"cells of {part[:5]}"), texts=_texts(arrays, part)
        )

    def values(about: Mapping[str, Any]) -> EdgeValues:
        return EdgeValues(
            **{part: rows(f"edges.{part}", "edge values") for part in about["parts"]},
            **{name: about[name] for name in (*_OF_VALUES, "names")},
            columns=_as_columns(about["columns"]),
            raw=cells("edges.raw", about["raw_columns"]),
            verified=True,
        )

    try:
        target = _target_of(about, arrays)
        nodes = Nodes(
            feature_names=about["feature_names"],
            columns=_as_columns(about["columns"]),
            type_names=about["node_type_names"],
            image_shape=about["image_shape"],
            roles=about["roles"],
            features=_features_of(about, arrays),
            names=names("nodes.names") or (),
            captions=names("nodes.captions"),
            raw=cells("nodes.raw", about["raw_columns"]),
            types=arrays.get("nodes.types"),
            verified=mapped,
        )
        edges = Edges(
            pairs=as_rows(arrays["edges.ends"], f"edges of {about['name']}"),
            num_nodes=len(target),
            values=None if about["edge_values"] is None else values(about["edge_values"]),
            merged=EdgeReport(**about["merged"]),
            csr=_neighbors_of(arrays, len(target)) if mapped else None,
        )
        return Graph(
            nodes=nodes,
            edges=edges,
            target=target,
            split=Split(**{part: arrays[f"split.{part}"] for part in PARTS}),
            name=about["name"],
            dataset=about["dataset"],
            _mapped_from=MappedFrom(folder, digest, nodes, edges) if mapped else None,
        )
    except InputError as error:
        raise InputError(f"the graph in {folder} is not valid: {error}") from error


def _target_of(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> Target:
    if about["class_names"] is not None:
        return Classes(labels=arrays["labels"], names=about["class_names"], node_type=about["target_type"])
    name, unit = about["value_name"], about["unit"]
    return Numbers(values=arrays["values"], name=name, unit=unit, node_type=about["target_type"])


def _texts(arrays: Mapping[str, Array], name: str) -> Texts:
    return Texts(arrays[f"{name}.offsets"], arrays[f"{name}.text"])


def _features_of(about: Mapping[str, Any], arrays: Mapping[str, Array]) -> Rows:
    name, width, what = "nodes.features", about["num_features"], f"features of {about['name']}"
    if name in arrays:
        found = arrays[name]
        if found.shape[1] != width:
            raise InputError(f"{name} must have {width} columns, got {found.shape[1]}")
        return as_rows(found if about["mapped"] else found.astype(np.float32, copy=False), what)
    data, indices, indptr = (arrays[f"{name}.{piece}"] for piece in ("data", "indices", "indptr"))
    if len(data) != len(indices):
        raise InputError(f"{name} must have as many values as columns, got {len(data)} and {len(indices)}")
    if about["mapped"]:
        return MappedSparseRows(data, indices, indptr, width, what)
    matrix = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    matrix.check_format(full_check=True)
    return as_rows(matrix)


def _neighbors_of(arrays: Mapping[str, Array], num_nodes: int) -> Csr:
    csr = Csr(arrays["neighbors.indptr"], arrays["neighbors.indices"], arrays["neighbors.edge_ids"])
    num_edges = len(arrays["edges.ends"])
    if len(csr) != num_nodes or len(csr.indices) != 2 * num_edges or len(csr.edge_ids) != 2 * num_edges:
        raise InputError(f"neighbors must be those of {num_nodes} nodes and {num_edges} edges, got {len(csr)} nodes")
    return csr


def _as_columns(columns: Any) -> tuple[Column, ...] | None:
    return None if columns is None else tuple(map(column_from_dict, columns))


def _tuples(value: Any) -> Any:
    """JSON with tuples in place of lists, as the parts of a graph hold them."""
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _seal(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True).encode())
