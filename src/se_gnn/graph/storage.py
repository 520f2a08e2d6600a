"""A graph as a folder: `graph.json`, and one `.npy` file per array; the same format for loading it and for mapping it.

`graph.json` says which of the two, holds everything that is no array, the type, shape and digest of each array, and a
digest of itself. No pickle. The files are replaced in one step (`se_gnn.files.commit`): a reader finds the old graph or
the new one. Shapes: N nodes, E edges, F features.
"""

from __future__ import annotations

import dataclasses
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
    pending_note,
    read_current,
    sha256,
    writing_to,
)
from se_gnn.files.commit import Content
from se_gnn.files.npy import FINITE, POSITIVE, Array, ArrayInfo, Rule, check_array, load_array, map_array, npy_header
from se_gnn.graph.columns import NO_TEXT, RawTable, column_from_dict
from se_gnn.graph.edge_values import ARRAYS as EDGE_ARRAYS
from se_gnn.graph.edge_values import EdgeValues
from se_gnn.graph.edges import Csr, EdgeReport, Edges
from se_gnn.graph.graph import Graph, MappedFrom
from se_gnn.graph.nodes import Nodes
from se_gnn.graph.rows import MappedRows, MappedSparseRows, Rows, Texts, as_rows
from se_gnn.graph.split import PARTS, Split
from se_gnn.graph.target import Classes, Numbers, Target

HEADER = "graph.json"
ARRAY_FILES = "graph.*.npy"  # also embeddings that models have stored beside a mapped graph
FORMAT, VERSION = "se-gnn-graph", 1
MOST_HEADER = 1 << 28  # bytes: the vocabularies of text columns are in it
TEXT_BLOCK = 1 << 16  # texts that are encoded at a time


class Kind(NamedTuple):
    """Types and number of dimensions that an array may have."""

    dtypes: tuple[str, ...]
    dimensions: int = 1


_IDS, _SMALL = Kind(("<i8",)), Kind(("<i4",))
_TEXTS = {"offsets": _IDS, "text": Kind(("|u1",))}
_CELLS = {"codes": Kind(("<i4",), 2), **_TEXTS}
KINDS: dict[str, Kind] = {
    "nodes.features": Kind(("<f4", "<f2"), 2),
    "nodes.features.data": Kind(("<f4",)),
    "nodes.features.indices": _SMALL,
    "nodes.features.indptr": _IDS,
    "nodes.types": _SMALL,
    "edges.ends": Kind(("<i8",), 2),
    "neighbors.indptr": _IDS,
    "neighbors.indices": _SMALL,
    "neighbors.edge_ids": _SMALL,
    "labels": _IDS,
    "values": Kind(("<f8",)),
}
KINDS |= {f"nodes.{what}.{part}": kind for what in ("names", "captions") for part, kind in _TEXTS.items()}
KINDS |= {f"{what}.raw.{part}": kind for what in ("nodes", "edges") for part, kind in _CELLS.items()}
KINDS |= {f"split.{part}": _IDS for part in PARTS}
KINDS |= {
    f"edges.{name}": Kind((np.dtype(dtype).str,), 2 if name == "attributes" else 1)
    for name, dtype in EDGE_ARRAYS.items()
}


def header_bytes(about: Mapping[str, Any], arrays: Mapping[str, ArrayInfo]) -> bytes:
    """The content of `graph.json`, sealed by a digest of itself.

    Args:
        about: everything that is no array, as :func:`about_graph` gives it; what is left out is as in a graph that has
            no more than features, edges and classes.
        arrays: type, shape and digest of each array; `neighbors.*` are among those of a mapped graph.
    """
    whole = {"format": FORMAT, "version": VERSION, **_BARE, **about}
    if whole["columns"] is not None:
        whole["columns"] = [column.to_dict() for column in whole["columns"]]
    whole |= {"merged": dataclasses.asdict(whole["merged"]), "arrays": {n: arrays[n]._asdict() for n in sorted(arrays)}}
    return json_bytes({**whole, "sha256": _seal(whole)}, indent=1)


_BARE: dict[str, Any] = {
    "name": "graph", "dataset": None, "mapped": False, "num_features": 0, "feature_names": None, "columns": None,
    "node_type_names": (), "raw_columns": None, "image_shape": None, "roles": (), "class_names": None,
    "target_type": None, "value_name": None, "unit": "", "merged": EdgeReport(), "edge_values": None,
}  # fmt: skip
_OF_GRAPH = (
    "name", "dataset", "num_features", "feature_names", "columns", "node_type_names", "image_shape", "roles", "merged",
)  # fmt: skip


def about_graph(graph: Graph, *, mapped: bool) -> dict[str, Any]:
    """Everything about a graph that is no array. ``mapped``: it is mapped when it is opened."""
    nodes, values = graph.nodes, graph.edge_values
    return {
        **{name: getattr(graph, name) for name in _OF_GRAPH},
        **about_target(graph.target),
        "mapped": mapped,
        "raw_columns": None if nodes.raw is None else nodes.raw.columns,
        "edge_values": None if values is None else about_values(values),
    }


def about_target(target: Target) -> dict[str, Any]:
    """What is predicted: classes, or a number, which has no ``class_names``."""
    if isinstance(target, Numbers):
        return {"target_type": target.node_type, "value_name": target.name, "unit": target.unit}
    return {"target_type": target.node_type, "class_names": target.names}


def save_graph(graph: Graph, folder: str | Path, *, mapped: bool | None = None) -> None:
    """Write a graph into a folder, which is made where it is missing.

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
        rows = MappedRows(array, "") if isinstance(array, np.memmap) else as_rows(array)
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
    nodes, values = graph.nodes, graph.edge_values
    found = _feature_arrays(nodes.features) | _text_arrays("nodes.names", nodes.names)
    if nodes.captions is not None:
        found |= _text_arrays("nodes.captions", nodes.captions)
    if nodes.raw is not None:
        found |= _cell_arrays("nodes.raw", nodes.raw)
    plain: dict[str, Any] = {"edges.ends": graph.edges.pairs}
    plain |= {"values": graph.values} if graph.predicts_numbers else {"labels": graph.labels}
    plain |= {f"split.{part}": ids for part, ids in graph.split.items()}
    if nodes.types is not None:
        plain["nodes.types"] = nodes.types
    if values is not None:
        plain |= {f"edges.{name}": getattr(values, name) for name in values.edge_data}
        if values.raw is not None:
            found |= _cell_arrays("edges.raw", values.raw)
    found |= {name: _Source.of(array) for name, array in plain.items()}
    return found | (_neighbor_arrays(graph.neighbors(), graph.num_edges) if mapped else {})


def _feature_arrays(rows: Rows) -> dict[str, _Source]:
    name = "nodes.features"

    def blocks() -> Iterator[Any]:
        return (block for _, block in rows.blocks())

    if not rows.sparse:
        return {name: _Source.of(rows)}
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(block.indptr) for block in blocks()]))])
    shape = (int(indptr[-1]),)
    return {
        f"{name}.data": _Source(rows.dtype, shape, lambda: (block.data for block in blocks())),
        f"{name}.indices": _Source(np.dtype(np.int32), shape, lambda: (block.indices for block in blocks())),
        f"{name}.indptr": _Source.of(indptr.astype(np.int64)),
    }


def _text_arrays(name: str, texts: Any) -> dict[str, _Source]:
    """Texts in memory or in files, as bytes one after the other and where each begins."""
    if isinstance(texts, tuple):
        texts = Texts.of(texts)
    if type(texts) is Texts:
        return {f"{name}.offsets": _Source.of(texts.offsets), f"{name}.text": _Source.of(texts.text)}
    sizes = [np.diff(block.offsets) for block in _encoded(texts)]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes]))]).astype(np.int64)
    text = _Source(np.dtype(np.uint8), (int(offsets[-1]),), lambda: (block.text for block in _encoded(texts)))
    return {f"{name}.offsets": _Source.of(offsets), f"{name}.text": text}


def _encoded(texts: Any) -> Iterator[Texts]:
    for low in range(0, len(texts), TEXT_BLOCK):
        yield Texts.of(texts[low : low + TEXT_BLOCK])


def _cell_arrays(name: str, raw: RawTable) -> dict[str, _Source]:
    return {f"{name}.codes": _Source.of(raw.codes), **_text_arrays(name, raw.texts)}


def _neighbor_arrays(csr: Csr, num_edges: int) -> dict[str, _Source]:
    indptr = np.concatenate([[0], np.cumsum(csr.degrees)]).astype(np.int64)
    small, shape = np.dtype(np.int32), (2 * num_edges,)
    if csr.later is None:
        return {
            "neighbors.indptr": _Source.of(indptr),
            "neighbors.indices": _Source.of(csr.indices),
            "neighbors.edge_ids": _Source.of(csr.edge_ids),
        }
    return {
        "neighbors.indptr": _Source.of(indptr),
        "neighbors.indices": _Source(small, shape, lambda: (rows[2] for rows in csr.row_blocks())),
        "neighbors.edge_ids": _Source(small, shape, lambda: (rows[3] for rows in csr.row_blocks())),
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
        about = {name: _plain(value) for name, value in about.items()}
        about["columns"] = _columns(about["columns"])
        files = open_files(about, infos)
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

    def __contains__(self, name: str) -> bool:
        return name in self.infos

    def load(self, name: str) -> Any:
        """An array in memory."""
        return self._try(load_array, name)

    def rows(self, name: str, what: str, rule: Rule | None = None) -> Any:
        """An array in memory, or mapped rows; ``what`` is what an error calls them."""
        if not self.mapped:
            return self.load(name)
        return MappedRows(self.map(name, rule), f"{what} of {self.about['name']}")

    def map(self, name: str, rule: Rule | None = None) -> Array:
        """A mapped array, whose numbers have their digest and follow a rule."""
        if self.check:
            self._try(check_array, name, rule)
        found: Array = self._try(map_array, name)
        return found

    def map_ascending(self, name: str, last: int) -> Array:
        """A mapped array of places that ascend from 0 to ``last``."""
        found = self.map(name, Rule.between(0, last))
        if not len(found) or found[0] != 0 or found[-1] != last or (np.diff(found) < 0).any():
            path = current_path(self.folder, array_file(name))
            raise _FileError(f"{path} is damaged: its numbers must ascend from 0 to {last:,}")
        return found

    def texts(self, name: str) -> Texts:
        """Texts in memory or mapped."""
        if not self.mapped:
            return Texts(self.load(f"{name}.offsets"), self.load(f"{name}.text"))
        text = self.map(f"{name}.text")
        return Texts(self.map_ascending(f"{name}.offsets", len(text)), text, verified=True)

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
    about, mapped = files.about, files.mapped
    names = files.texts("nodes.names")
    captions = files.texts("nodes.captions") if "nodes.captions.offsets" in files else None
    return Nodes(
        features=as_rows(_read_features(files)),
        names=names if mapped else tuple(names),
        feature_names=about["feature_names"],
        columns=about["columns"],
        captions=captions if mapped or captions is None else tuple(captions),
        raw=_read_cells(files, "nodes.raw", about["raw_columns"], "cells"),
        types=files.load("nodes.types") if "nodes.types" in files else None,
        type_names=about["node_type_names"],
        image_shape=about["image_shape"],
        roles=tuple((role, column) for role, column in about["roles"]),
        verified=mapped,
    )


def _read_features(files: _Files) -> Any:
    name, width = "nodes.features", files.about["num_features"]
    if name in files:
        found = files.rows(name, "features", FINITE)
        if found.shape[1] != width:
            raise InputError(f"{name} must have {width} columns, got {found.shape[1]}")
        return found.astype(np.float32, copy=False) if isinstance(found, np.ndarray) else found
    indptr = files.load(f"{name}.indptr")
    if not len(indptr):
        raise InputError(f"{name}.indptr must have an entry more than there are nodes, it is empty")
    if not files.mapped:
        parts = (files.load(f"{name}.data"), files.load(f"{name}.indices"), indptr)
        matrix = sp.csr_array(parts, shape=(len(indptr) - 1, width))
        matrix.check_format(full_check=True)
        return matrix
    data = files.map(f"{name}.data", FINITE)
    indices = files.map(f"{name}.indices", Rule.between(0, width - 1))
    if indptr[0] != 0 or indptr[-1] != len(data) or len(data) != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError(f"{name}.indptr must ascend from 0 to {len(data)}, the number of stored values")
    return MappedSparseRows(data, indices, indptr, width, f"features of {files.about['name']}")


def _read_cells(files: _Files, name: str, columns: tuple[str, ...] | None, what: str) -> RawTable | None:
    if columns is None:
        return None
    texts = files.texts(name)
    codes = files.rows(f"{name}.codes", what, Rule.between(NO_TEXT, len(texts) - 1))
    return RawTable(columns=columns, codes=codes, texts=texts, verified=files.mapped)


def _read_edges(files: _Files) -> Edges:
    about = files.about
    num_nodes = files.infos["values" if about["class_names"] is None else "labels"].shape[0]
    pairs = files.rows("edges.ends", "edges", Rule.between(0, num_nodes - 1))
    csr = None
    if files.mapped:
        indices = files.map("neighbors.indices", Rule.between(0, num_nodes - 1))
        edge_ids = files.map("neighbors.edge_ids", Rule.between(0, len(pairs) - 1))
        csr = Csr(files.map_ascending("neighbors.indptr", 2 * len(pairs)), indices, edge_ids)
        if len(csr) != num_nodes or len(indices) != 2 * len(pairs) or len(edge_ids) != 2 * len(pairs):
            raise InputError(
                f"neighbors must be those of {num_nodes} nodes and {len(pairs)} edges, got {len(csr)} nodes"
            )
    values = None if about["edge_values"] is None else _read_values(files, about["edge_values"])
    merged = EdgeReport(**about["merged"])
    return Edges(
        pairs=as_rows(pairs), num_nodes=num_nodes, values=values, merged=merged, csr=csr, verified=files.mapped
    )


def about_values(values: EdgeValues) -> dict[str, Any]:
    """What is known of what edges carry, besides arrays, as plain values."""
    return {
        "parts": values.edge_data,
        "type_names": values.type_names,
        "type_verbs": values.type_verbs,
        "attribute_names": values.attribute_names,
        "columns": None if values.columns is None else [column.to_dict() for column in values.columns],
        "raw_columns": None if values.raw is None else values.raw.columns,
        "names": values.names,
    }


def _read_values(files: _Files, about: Mapping[str, Any]) -> EdgeValues:
    rules = {
        "direction": Rule.between(-1, 1),
        "weight": POSITIVE,
        "type": Rule.between(0, len(about["type_names"]) - 1),
        "attributes": FINITE,
        "time": None,
    }
    found: dict[str, Any] = {
        part: files.rows(f"edges.{part}", "edge values", rules[part]) for part in about["parts"] if part in rules
    }
    found["raw"] = _read_cells(files, "edges.raw", _plain(about["raw_columns"]), "cells of edges")
    found["columns"] = _columns(about["columns"])
    for name in ("type_names", "type_verbs", "attribute_names"):
        found[name] = _plain(about[name])
    names = tuple((part, column) for part, column in about["names"])
    return EdgeValues(**found, names=names, verified=files.mapped)


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


def _columns(columns: Any) -> Any:
    return None if columns is None else tuple(map(column_from_dict, columns))


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _seal(about: Mapping[str, Any]) -> str:
    return sha256(json.dumps(about, sort_keys=True).encode())
