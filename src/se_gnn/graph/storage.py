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
_OF_NODES = {  # by the name in the header, the field of `Nodes`
    "feature_names": "feature_names",
    "columns": "columns",
    "node_type_names": "type_names",
    "image_shape": "image_shape",
    "roles": "roles",
}
_OF_VALUES = ("type_names", "type_verbs", "attribute_names")


def header_bytes(about: Mapping[str, Any], arrays: Mapping[str, ArrayInfo]) -> bytes:
    """The content of `graph.json`, sealed by a digest of itself.

    Args:
        about: everything that is not an array, as :func:`about_graph` gives it; what is left out is as in a graph that
            has features, edges and classes alone.
        arrays: type, shape and digest of each array; `neighbors.*` are among those of a mapped graph.
    """
    whole = {"format": FORMAT, "version": VERSION, **_BARE, **about}
    whole |= {"columns": _as_dicts(whole["columns"]), "merged": dataclasses.asdict(whole["merged"])}
    whole["arrays"] = {name: arrays[name]._asdict() for name in sorted(arrays)}
    return json_bytes({**whole, "sha256": _seal(whole)}, indent=1)


_BARE: dict[str, Any] = {
    "name": "graph", "dataset": None, "mapped": False, "num_features": 0, "feature_names": None, "columns": None,
    "node_type_names": (), "raw_columns": None, "image_shape": None, "roles": (), "class_names": None,
    "target_type": None, "value_name": None, "unit": "", "merged": EdgeReport(), "edge_values": None,
}  # fmt: skip


def about_graph(graph: Graph, *, mapped: bool) -> dict[str, Any]:
    """Everything about a graph that is not an array. ``mapped``: whether it is mapped when it is opened."""
    return {
        **{name: getattr(graph, name) for name in ("name", "dataset", "num_features", "merged")},
        **{name: getattr(graph.nodes, field) for name, field in _OF_NODES.items()},
        **about_target(graph.target),
        "mapped": mapped,
        "raw_columns": None if graph.raw is None else graph.raw.columns,
        "edge_values": None if graph.edge_values is None else about_values(graph.edge_values),
    }


def about_target(target: Target) -> dict[str, Any]:
    """What is predicted: classes, or a number, which has no ``class_names``."""
    if isinstance(target, Numbers):
        return {"target_type": target.node_type, "value_name": target.name, "unit": target.unit}
    return {"target_type": target.node_type, "class_names": target.names}


def about_values(values: EdgeValues) -> dict[str, Any]:
    """What is known of the data of edges, besides arrays, as plain values."""
    return {
        "parts": values.edge_data,
        **{name: getattr(values, name) for name in _OF_VALUES},
        "columns": _as_dicts(values.columns),
        "raw_columns": None if values.raw is None else values.raw.columns,
        "names": values.names,
    }


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


def graph_files(graph: Graph, *, mapped: bool | None = None) -> dict[str, Content]:
    """Name and content of the files of a graph; the same graph gives the same bytes."""
    mapped = not graph.fits_memory if mapped is None else mapped
    arrays = _arrays_of(graph, mapped=mapped)
    header = header_bytes(about_graph(graph, mapped=mapped), {name: one.info() for name, one in arrays.items()})
    contents = {array_file(name): b"".join(one) if graph.fits_memory else one for name, one in arrays.items()}
    return {**contents, HEADER: header}


def graph_arrays(graph: Graph) -> tuple[bytes, dict[str, Array]]:
    """The header and the arrays of a graph in memory, by name; :func:`graph_from_arrays` makes the graph again."""
    _ = graph.nodes.features.whole(), graph.edges.pairs.whole()  # refused where they are mapped
    sources = _arrays_of(graph, mapped=False)
    header = header_bytes(about_graph(graph, mapped=False), {name: source.info() for name, source in sources.items()})
    return header, {name: source.read() for name, source in sources.items()}


def graph_from_arrays(header: bytes, arrays: Mapping[str, Array], *, where: Path) -> Graph:
    """The graph that :func:`graph_arrays` took apart; ``where`` is the file that errors name."""
    return _read_graph(header, where, lambda about, infos: _Held(where, infos, about, False, arrays))


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

    def read(self) -> Array:
        return np.concatenate([*self.blocks(), np.empty((0, *self.shape[1:]), self.dtype)]).astype(self.dtype)

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
    return _read_graph(header, folder, lambda about, infos: _Files(folder, infos, about, not just_written))


def _read_graph(
    header: bytes, where: Path, open_files: Callable[[dict[str, Any], dict[str, ArrayInfo]], _Files]
) -> Graph:
    path = where / HEADER if where.is_dir() else where
    about = parse_json(header, path)
    check_format(about, path, expected=FORMAT, newest=VERSION)
    if about.pop("sha256", None) != _seal(about):
        raise InputError(f"{path} was changed: it does not have its digest")
    try:
        infos = {name: _info(name, one) for name, one in about["arrays"].items()}
        digest = _digest_of_parts(about)
        files = open_files(_tuples(about), infos)
        nodes, edges = _read_nodes(files), _read_edges(files)
        return Graph(
            nodes=nodes,
            edges=edges,
            target=_read_target(files),
            split=Split(**{part: files.load(f"split.{part}") for part in PARTS}),
            name=about["name"],
            dataset=about["dataset"],
            _mapped_from=MappedFrom(where, digest, nodes, edges) if about["mapped"] else None,
        )
    except _FileError:
        raise
    except InputError as error:
        raise InputError(f"the graph in {where} is not valid: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the graph in {where} cannot be read: {error}") from error


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


@dataclass(frozen=True, slots=True)
class _Held(_Files):
    """Arrays that are in memory already."""

    arrays: Mapping[str, Array]

    def load(self, name: str) -> Any:
        """An array that is as its header says."""
        found, info = np.ascontiguousarray(self.arrays[name]), self.infos[name]
        if (found.dtype.str, found.shape) != (info.dtype, info.shape):
            raise InputError(
                f"{name} must hold {info.dtype} of shape {info.shape}, got {found.dtype.str} of {found.shape}"
            )
        if sha256(found.tobytes()) != info.sha256:
            raise InputError(f"{name} was changed: it does not have the digest that was written with it")
        return found


def _read_target(files: _Files) -> Target:
    about = files.about
    if about["class_names"] is not None:
        return Classes(labels=files.load("labels"), names=about["class_names"], node_type=about["target_type"])
    name, unit = about["value_name"], about["unit"]
    return Numbers(values=files.load("values"), name=name, unit=unit, node_type=about["target_type"])


def _read_nodes(files: _Files) -> Nodes:
    about = files.about
    plain = {field: about[name] for name, field in _OF_NODES.items()}
    return Nodes(
        **{**plain, "columns": _as_columns(about["columns"])},
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
