"""A graph as a folder: `graph.json`, and one `.npy` file per array; the same format for loading it and for mapping it.

`graph.json` says which of the two, and holds everything that is not an array, the type, shape and digest of each array,
and a digest of itself. No pickle. The files are replaced in one step (`se_gnn.files.commit`): a reader finds the old
graph or the new one. Shapes: N nodes, E edges, F features.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    pending_note,
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
    pending_note(path)
    return read_graph(path, read_current(path, HEADER, limit=MOST_HEADER))


def holds_graph(folder: str | Path) -> bool:
    """Whether there is a graph to load."""
    return current_path(Path(folder), HEADER).is_file()


def is_graph_file(name: str) -> bool:
    """Whether a file of a folder belongs to its graph, by its name.

    >>> [is_graph_file(name) for name in ("graph.json", "graph.edges.ends.npy", "graph.png")]
    [True, True, False]
    """
    return name == HEADER or (name.startswith("graph.") and name.endswith(".npy"))


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


def graph_files(
    graph: Graph, *, mapped: bool | None = None, written: Mapping[str, tuple[Path, ArrayInfo]] | None = None
) -> dict[str, Content]:
    """Name and content of the files of a graph; the same graph gives the same bytes.

    Args:
        graph: in memory or mapped.
        mapped: whether it will be mapped when it is opened; None: as the graph is now.
        written: arrays that are in files already (`se_gnn.graph.streaming`).
    """
    mapped, known = not graph.fits_memory if mapped is None else mapped, written or {}
    arrays = {name: one for name, one in _arrays_of(graph, mapped=mapped).items() if name not in known}
    infos = {name: info for name, (_, info) in known.items()} | {name: one.info() for name, one in arrays.items()}
    contents: dict[str, Content] = {array_file(name): path for name, (path, _) in known.items()}
    contents |= {array_file(name): b"".join(one) if graph.fits_memory else one for name, one in arrays.items()}
    return {**contents, HEADER: _header(graph, infos, mapped=mapped)}


@dataclass(frozen=True, slots=True)
class _Source:
    """An array to be written: the pieces of a `.npy` file, read again each time they are asked for."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterator[Array]]

    @classmethod
    def of(cls, array: Any) -> _Source:
        rows = as_rows(array)
        return cls(rows.dtype, rows.shape, lambda: (block for _, block in rows.blocks()))

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
            ".indices": _Source(small, (int(indptr[-1]),), lambda: (rows[2] for rows in part.blocks())),
            ".edge_ids": _Source(small, (int(indptr[-1]),), lambda: (rows[3] for rows in part.row_blocks())),
        }
    if not (isinstance(part, Rows) and part.sparse):
        return {"": _Source.of(part)}
    if isinstance(part, MappedSparseRows):
        indptr = part.indptr
    else:
        indptr = row_starts(np.concatenate([np.diff(block.indptr) for _, block in part.blocks()]))
    return {
        ".data": _Source(part.dtype, (int(indptr[-1]),), lambda: (block.data for _, block in part.blocks())),
        ".indices": _Source(small, (int(indptr[-1]),), lambda: (block.indices for _, block in part.blocks())),
        ".indptr": _Source.of(indptr),
    }


def read_graph(folder: Path, header: bytes, *, just_written: bool = False) -> Graph:
    """The graph whose header was read from a folder.

    Args:
        folder: where its arrays are.
        header: content of `graph.json`.
        just_written: by this process, from numbers that it has checked: mapped arrays are not read again.
    """
    path = folder / HEADER
    about = parse_json(header, path)
    check_format(about, path, expected=FORMAT, newest=VERSION)
    if about.pop("sha256", None) != _seal(about):
        raise InputError(f"{path} was changed: it does not have its digest")
    try:
        infos = {name: _info(name, one) for name, one in about["arrays"].items()}
        digest = _digest_of_parts(about)
        files = _Files(folder, infos, _tuples(about), check=not just_written)
        nodes, edges = _read_nodes(files), _read_edges(files)
        return Graph(
            nodes=nodes,
            edges=edges,
            target=_read_target(files),
            split=Split(**{part: files.load(f"split.{part}") for part in PARTS}),
            name=about["name"],
            dataset=about["dataset"],
            _mapped_from=MappedFrom(folder, digest, nodes, edges) if about["mapped"] else None,
        )
    except _FileError:
        raise
    except InputError as error:
        raise InputError(f"the graph in {folder} is not valid: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the graph in {folder} cannot be read: {error}") from error


def _digest_of_parts(about: Mapping[str, Any]) -> str:
    """A digest of features and edges: names, labels and split may change, and embeddings stay."""
    read = ("nodes.features", "nodes.types", "edges.", "neighbors.")
    arrays = {name: one for name, one in about["arrays"].items() if name.startswith(read)}
    return _seal({"arrays": arrays, "edge_values": about["edge_values"]})


class _FileError(InputError):
    """A file is missing, damaged or changed; the text names it."""


@dataclass(frozen=True, slots=True)
class _Files:
    """The arrays of a stored graph, loaded or mapped as its header says."""

    folder: Path
    infos: Mapping[str, ArrayInfo]
    about: Mapping[str, Any]
    check: bool

    @property
    def mapped(self) -> bool:
        """Whether rows are mapped, not loaded."""
        return bool(self.about["mapped"])

    def load(self, name: str) -> Any:
        """An array in memory."""
        return self._try(load_array, name)

    def rows(self, name: str, what: str, rule: Rule | None = None) -> Any:
        """An array in memory, or mapped rows; ``what`` is what an error calls them."""
        found = self.array(name, rule)
        return as_rows(found, f"{what} of {self.about['name']}") if self.mapped else found

    def array(self, name: str, rule: Rule | None = None) -> Array:
        """An array in memory, or a mapped one, whose numbers have their digest and follow a rule."""
        if self.mapped and self.check:
            self._try(check_array, name, rule)
        found: Array = self._try(map_array, name) if self.mapped else self.load(name)
        return found

    def ascending(self, name: str, last: int) -> Array:
        """Places that ascend from 0 to ``last``."""
        found = self.array(name, Rule.between(0, last))
        if not len(found) or found[0] != 0 or found[-1] != last or (np.diff(found) < 0).any():
            path = current_path(self.folder, array_file(name))
            raise _FileError(f"{path} is damaged: its numbers must ascend from 0 to {last:,}")
        return found

    def texts(self, name: str) -> Texts:
        """Texts in memory or mapped."""
        text: Any = self.array(f"{name}.text")
        return Texts(self.ascending(f"{name}.offsets", len(text)), text, verified=True)

    def names(self, name: str) -> Sequence[str] | None:
        """The texts of the nodes, in memory as a tuple; None: there are none."""
        if f"{name}.text" not in self.infos:
            return None
        return self.texts(name) if self.mapped else tuple(self.texts(name))

    def cells(self, name: str, columns: tuple[str, ...] | None, what: str) -> RawTable | None:
        """The rows of a table; None: there are none."""
        if columns is None:
            return None
        texts = self.texts(name)
        codes = self.rows(f"{name}.codes", what, Rule.between(NO_TEXT, len(texts) - 1))
        return RawTable(columns=columns, codes=codes, texts=texts, verified=self.mapped)

    def _try(self, read: Callable[..., Any], name: str, *more: Any) -> Any:
        try:
            return read(current_path(self.folder, array_file(name)), self.infos[name], *more)
        except InputError as error:
            raise _FileError(str(error)) from error


def _read_target(files: _Files) -> Target:
    about = files.about
    if about["class_names"] is not None:
        return Classes(labels=files.load("labels"), names=about["class_names"], node_type=about["target_type"])
    name, unit = about["value_name"], about["unit"]
    return Numbers(values=files.load("values"), name=name, unit=unit, node_type=about["target_type"])


def _read_nodes(files: _Files) -> Nodes:
    about = files.about
    return Nodes(
        feature_names=about["feature_names"],
        columns=_as_columns(about["columns"]),
        type_names=about["node_type_names"],
        image_shape=about["image_shape"],
        roles=about["roles"],
        features=as_rows(_read_features(files)),
        names=files.names("nodes.names") or (),
        captions=files.names("nodes.captions"),
        raw=files.cells("nodes.raw", about["raw_columns"], "cells"),
        types=files.load("nodes.types") if "nodes.types" in files.infos else None,
        verified=files.mapped,
    )


def _read_features(files: _Files) -> Any:
    name, width = "nodes.features", files.about["num_features"]
    if name in files.infos:
        found = files.rows(name, "features", FINITE)
        if found.shape[1] != width:
            raise InputError(f"{name} must have {width} columns, got {found.shape[1]}")
        return found.astype(np.float32, copy=False) if isinstance(found, np.ndarray) else found
    data = files.array(f"{name}.data", FINITE)
    indices = files.array(f"{name}.indices", Rule.between(0, width - 1))
    indptr = files.load(f"{name}.indptr")
    ends = (indptr[:1].tolist(), indptr[-1:].tolist())
    if ends != ([0], [len(data)]) or len(data) != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError(f"{name}.indptr must ascend from 0 to {len(data)}, the number of stored values")
    if files.mapped:
        return MappedSparseRows(data, indices, indptr, width, f"features of {files.about['name']}")
    matrix = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))
    matrix.check_format(full_check=True)
    return matrix


def _read_edges(files: _Files) -> Edges:
    about = files.about
    num_nodes = files.infos["values" if about["class_names"] is None else "labels"].shape[0]
    pairs = files.rows("edges.ends", "edges", Rule.between(0, num_nodes - 1))
    return Edges(
        pairs=as_rows(pairs),
        num_nodes=num_nodes,
        values=None if about["edge_values"] is None else _read_values(files, about["edge_values"]),
        merged=EdgeReport(**about["merged"]),
        csr=_read_neighbors(files, num_nodes, len(pairs)) if files.mapped else None,
        verified=files.mapped,
    )


def _read_neighbors(files: _Files, num_nodes: int, num_edges: int) -> Csr:
    indices = files.array("neighbors.indices", Rule.between(0, num_nodes - 1))
    edge_ids = files.array("neighbors.edge_ids", Rule.between(0, num_edges - 1))
    csr = Csr(files.ascending("neighbors.indptr", 2 * num_edges), indices, edge_ids)
    if len(csr) != num_nodes or len(indices) != 2 * num_edges or len(edge_ids) != 2 * num_edges:
        raise InputError(f"neighbors must be those of {num_nodes} nodes and {num_edges} edges, got {len(csr)} nodes")
    return csr


def _read_values(files: _Files, about: Mapping[str, Any]) -> EdgeValues:
    rules = number_rules(len(about["type_names"]))
    return EdgeValues(
        **{part: files.rows(f"edges.{part}", "edge values", rules.get(part)) for part in about["parts"]},
        **{name: about[name] for name in (*_OF_VALUES, "names")},
        columns=_as_columns(about["columns"]),
        raw=files.cells("edges.raw", about["raw_columns"], "cells of edges"),
        verified=files.mapped,
    )


def _info(name: str, one: Mapping[str, Any]) -> ArrayInfo:
    if name not in KINDS:
        raise InputError(f"{name} is not an array of a graph")
    info = ArrayInfo(str(one["dtype"]), tuple(map(int, one["shape"])), str(one["sha256"]))
    dtypes, dimensions = KINDS[name]
    if info.dtype not in dtypes or len(info.shape) != dimensions:
        raise InputError(
            f"{name} must be {' or '.join(dtypes)} with {dimensions} dimensions, got {info.dtype} of shape {info.shape}"
        )
    return info


def _as_columns(columns: Any) -> tuple[Column, ...] | None:
    return None if columns is None else tuple(map(column_from_dict, columns))


def _tuples(value: Any) -> Any:
    """JSON with tuples in place of lists, as the parts of a graph hold them."""
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _seal(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True).encode())
