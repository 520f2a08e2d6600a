"""What is fuzzed: folders and files as others may hand them over, and what reads them.

A target has whole files and a reader; a case is the files with one of them spoiled. Where digests guard them, half of
the cases are sealed again, so that the checks behind the digests are reached.
"""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz.mutations import NASTY, json_text, spoil_bytes, spoil_npy, spoil_tensors, spoil_value
from se_gnn.errors import InputError
from se_gnn.files import sha256
from se_gnn.files.tensors import load_sealed, sealed_tensors
from se_gnn.graph import Graph
from se_gnn.graph.storage import HEADER, array_file, graph_files, load_graph, save_graph
from se_gnn.model import SEGNN, Model, RunFacts
from se_gnn.model.folder import load_model, save_model
from se_gnn.settings import Resolved, Settings
from se_gnn.settings.reading import asked_settings
from se_gnn.training import checkpoint, fit, trainer

Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """Whole files, how to spoil them with knowledge of their format, and who reads them."""

    name: str
    files: Files
    spoil: Callable[[Files, random.Random], Files]
    read: Callable[[Path], object]

    def case(self, draw: random.Random) -> Files:
        """One spoiled set of files."""
        if draw.random() < 0.35:
            name = draw.choice(list(self.files))
            return {**self.files, name: spoil_bytes(self.files[name], draw)}
        return self.spoil(dict(self.files), draw)


def small_graph(*, sparse: bool, tables: bool = False) -> Graph:
    """Twelve nodes, of two classes."""
    import scipy.sparse as sp

    draw = np.random.default_rng(0)
    features = draw.normal(size=(12, 5)).astype(np.float32)
    return Graph.build(
        features=sp.csr_array(np.where(features > 0, features, 0)) if sparse else features,
        edges=draw.integers(0, 12, (20, 2)),
        labels=np.arange(12) % 2,
        train=np.arange(6),
        validation=np.arange(6, 8),
        test=np.arange(8, 12),
        feature_names=[f"f{i}" for i in range(5)],
    )


def _spoil_graph(files: Files, draw: random.Random, *, seal: bool) -> Files:
    about = json.loads(files[HEADER])
    if draw.random() < 0.5:
        name = draw.choice(list(about["arrays"]))
        files[array_file(name)], array = spoil_npy(files[array_file(name)], draw)
        told = {"dtype": array.dtype.str, "shape": list(array.shape), "sha256": sha256(array.tobytes())}
        about["arrays"][name] = told if seal else about["arrays"][name]
    if draw.random() < 0.6:
        about = spoil_value(about, draw)
    if seal and isinstance(about, dict):
        about.pop("sha256", None)
        about["sha256"] = sha256(json.dumps(about, sort_keys=True).encode())
    files[HEADER] = json_text(about, draw)
    return files


def spoil_graph(files: Files, draw: random.Random) -> Files:
    """A graph with other names or arrays, sealed again."""
    return _spoil_graph(files, draw, seal=draw.random() < 0.9)


def spoil_model(files: Files, draw: random.Random) -> Files:
    """A model with other settings, parameters, figures or another graph, sealed again."""
    kind = draw.randrange(5)
    if kind == 0:
        files = _spoil_graph(files, draw, seal=True)
    elif kind == 1:
        files["model.safetensors"] = spoil_tensors(files["model.safetensors"], draw)
    elif kind in (2, 3):
        name = "settings.json" if kind == 2 else "facts.json"
        files[name] = json_text(spoil_value(json.loads(files[name]), draw), draw)
    manifest = json.loads(files["manifest.json"])
    manifest["files"] = {name: sha256(content) for name, content in files.items() if name in manifest["files"]}
    files["manifest.json"] = json_text(spoil_value(manifest, draw) if kind == 4 else manifest, draw)
    return files


def spoil_checkpoint(files: Files, draw: random.Random) -> Files:
    """A checkpoint with other state or history, sealed again."""
    content = files[checkpoint.NAME]
    tensors, about = load_sealed(content, Path())
    if draw.random() < 0.5:
        key = draw.choice(list(about))
        if key == "history" and draw.random() < 0.8:
            about[key] = json_text(spoil_value(json.loads(about[key]), draw), draw).decode()
        else:
            about[key] = draw.choice(("", "x", "-1", "99", "9" * 500, "1e3", "\x00"))
    else:
        name = draw.choice(list(tensors))
        kind = draw.randrange(6)
        if kind == 0:
            del tensors[name]
        elif kind == 1:
            tensors[draw.choice(("model/x", "x", "adam/99/step", "adam/x/step", "best"))] = tensors[name].clone()
        elif kind == 2:
            tensors[name] = tensors[name].to(draw.choice((torch.float64, torch.int64, torch.float16)))
        elif kind == 3:
            tensors[name] = tensors[name].reshape(-1)[:-1].clone()
        else:
            tensors[name] = torch.full_like(tensors[name], draw.choice((float("nan"), float("inf"), 0.0, 1e30)))
    return {checkpoint.NAME: sealed_tensors(tensors, about)}


CELLS = ("", " ", "a", "A", "1", "1.0", "01", "-1", "1e999", "1e308", "nan", "inf", "9" * 400, "=1+1", "\u202e",
         "2020-01-01", "9999-99-99", "true", "1,5", '"', "$5", "12%", "\x07", "x" * 3000, "n1", "n2")  # fmt: skip


def spoil_csv(files: Files, draw: random.Random) -> Files:
    """Tables with other cells, rows, columns and headers."""
    name = draw.choice(list(files))
    rows = [line.split(",") for line in files[name].decode().splitlines()]
    for _ in range(draw.choice((1, 1, 2, 10))):
        row = draw.randrange(len(rows))
        place = draw.randrange(len(rows[row])) if rows[row] else 0
        kind = draw.randrange(8)
        if kind < 4 and rows[row]:
            rows[row][place] = draw.choice(CELLS)
        elif kind == 4:
            rows[row] = rows[row][:place]
        elif kind == 5:
            rows.insert(row, list(rows[row]))
        elif kind == 6 and len(rows) > 1:
            del rows[row]
        else:
            column, value = draw.randrange(4), draw.choice(CELLS)
            rows = [[value if i == column else cell for i, cell in enumerate(line)] for line in rows]
    end = draw.choice(("\n", "\n", "\n", "\r\n", "\n\n", "\r"))
    return {**files, name: end.join(",".join(row) for row in rows).encode("utf-8", "replace")}


def spoil_parquet(files: Files, draw: random.Random) -> Files:
    """Tables of any types."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = parquet.read_table(io.BytesIO(files["nodes.parquet"]))
    n = table.num_rows
    values: list[Any] = [
        [float("inf")] * n, [1e300] * n, [float(i) for i in range(n)], [2**63 - 1 - i for i in range(n)], [None] * n,
        [f"n{i}" for i in range(n)], [b"\xff\xfe"] * n, [[1, 2]] * n, [{"a": 1}] * n, [True, False] * (n // 2),
        [""] * n, [float("nan")] * n, ["x" * 5000] * n, [i % 3 for i in range(n)],
    ]  # fmt: skip
    place = draw.randrange(table.num_columns)
    column: Any = pa.array(draw.choice(values))
    types = (
        pa.float32(),
        pa.decimal128(30, 3),
        pa.timestamp("ns"),
        pa.date32(),
        pa.large_string(),
        pa.int8(),
        pa.duration("s"),
    )
    try:
        column = column.cast(draw.choice(types)) if draw.random() < 0.4 else column
        column = column.dictionary_encode() if draw.random() < 0.2 else column
        column = column.slice(0, n)
        table = table.set_column(place, table.column_names[place], column)
        sink = io.BytesIO()
        parquet.write_table(table, sink)
    except (pa.ArrowException, ValueError, NotImplementedError):
        return files
    return {**files, "nodes.parquet": sink.getvalue()}


def spoil_toml(files: Files, draw: random.Random) -> Files:
    """Settings with other keys and values."""
    lines = files["settings.toml"].decode().splitlines()
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(lines))
        key = lines[place].partition(" = ")[0]
        words = ("inf", "-inf", "nan", "1979-05-27", "[1, 2]", "{a = 1}", "0x7f", "1_000", "'x'", "[" * 900, "9" * 4000)
        nasty = draw.choice(NASTY)
        text = draw.choice(words) if draw.random() < 0.5 or nasty is None else json.dumps(nasty)
        lines[place] = draw.choice((f"{key} = {text}", f"{key}.x = {text}", lines[place] + "x", f"[{key}]", "", key))
    return {"settings.toml": "\n".join(lines).encode("utf-8", "replace")}


def spoil_commit(files: Files, draw: random.Random) -> Files:
    """A folder whose write was interrupted, with another record."""
    record = json.loads(files[".commit/commit.json"])
    files[".commit/commit.json"] = json_text(spoil_value(record, draw), draw)
    if draw.random() < 0.5:
        name = draw.choice((".commit/graph.json", ".commit/graph.labels.npy"))
        files[name] = spoil_bytes(files[name], draw)
    return files


def read_model(folder: Path) -> object:
    """Load a model and let it predict."""
    trained = load_model(folder)
    probabilities = trained.predict().probabilities
    if not np.isfinite(probabilities).all():
        raise AssertionError("a model that loads predicts NaN")
    return trained


ASKED = Settings.of("paper", hidden_size=4, num_nearest=3, epochs=3)


def read_checkpoint(folder: Path) -> object:
    """Go on with a training."""
    return fit(small_graph(sparse=False), ASKED, folder=folder)


def read_tables(folder: Path) -> object:
    """Import two tables."""
    from se_gnn.tables import ImportSettings, read_tables

    nodes = folder / "nodes.csv" if (folder / "nodes.csv").exists() else folder / "nodes.parquet"
    return read_tables(nodes, folder / "edges.csv", ImportSettings(id="id", label="class"))


def read_settings(folder: Path) -> object:
    """Read settings, and write them again."""
    asked = asked_settings(None, folder / "settings.toml", [])
    return Resolved.from_dict(asked.resolve().to_dict()).asked.to_toml()


def targets(work: Path) -> list[Target]:
    """All targets; ``work`` is a folder to make their files in."""
    made = []
    for sparse in (False, True):
        graph = small_graph(sparse=sparse)
        kind = "sparse" if sparse else "dense"
        made.append(Target(f"graph, {kind}", graph_files(graph), spoil_graph, load_graph))
        save_graph(graph, work / f"{kind}-mapped", mapped=True)
        made.append(Target(f"mapped graph, {kind}", _content(work / f"{kind}-mapped"), spoil_graph, load_graph))
        model = SEGNN(5, ASKED.resolve(), generator=torch.Generator().manual_seed(1))
        save_model(Model(model, graph, model.settings, RunFacts(seed=3, validation={"accuracy": 0.5})), work / kind)
        made.append(Target(f"model, {kind}", _content(work / kind), spoil_model, read_model))
    graph = small_graph(sparse=False)
    pending = {f".commit/{name}": content for name, content in graph_files(graph).items()}
    digests = {name: sha256(content) for name, content in graph_files(graph).items()}
    record = {"format": "se-gnn-commit", "version": 1, "files": digests, "remove": ["attack.json"]}
    pending[".commit/commit.json"] = json.dumps(record).encode()
    made.append(Target("interrupted write", {**graph_files(graph), **pending}, spoil_commit, load_graph))
    made.append(Target("checkpoint", _checkpoint(work / "run"), spoil_checkpoint, read_checkpoint))
    made.append(Target("settings", {"settings.toml": _every_setting()}, spoil_toml, read_settings))
    return made + _table_targets()


UNREAD = ("scale_init", "choose_vote", "read_values", "value_scale")  # of `best`, once all others are given


def _every_setting() -> bytes:
    values = Settings.of("best").resolve().values()
    given = {name: "none" if value is None else value for name, value in values.items() if name not in UNREAD}
    return Settings.of("best", **given).to_toml().encode()


def _checkpoint(folder: Path) -> Files:
    step, trainer.SECONDS_BETWEEN_CHECKPOINTS = trainer.TrainingRun.step, 0.0

    class StoppedError(Exception):
        pass

    def stop(run: trainer.TrainingRun) -> dict[str, Any]:
        if run.epoch == 2:
            raise StoppedError
        return step(run)

    trainer.TrainingRun.step = stop  # type: ignore[method-assign]
    try:
        read_checkpoint(folder)
    except StoppedError:
        pass
    finally:
        trainer.TrainingRun.step = step  # type: ignore[method-assign]
        trainer.SECONDS_BETWEEN_CHECKPOINTS = 5.0
    return {checkpoint.NAME: (folder / checkpoint.NAME).read_bytes()}


def _table_targets() -> list[Target]:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    n = 16
    nodes = pa.table(
        {
            "id": [f"n{i}" for i in range(n)],
            "amount": [i * 1.5 for i in range(n)],
            "kind": ["ab"[i % 2] for i in range(n)],
            "class": ["xy"[i % 2] for i in range(n)],
        }
    )
    edges = pa.table({"source": [f"n{i}" for i in range(n)], "target": [f"n{(i * 3 + 1) % n}" for i in range(n)]})
    sinks = [io.BytesIO() for _ in range(3)]
    csv.write_csv(nodes, sinks[0])
    csv.write_csv(edges, sinks[1])
    parquet.write_table(nodes, sinks[2])
    plain = {"nodes.csv": sinks[0].getvalue().replace(b'"', b""), "edges.csv": sinks[1].getvalue().replace(b'"', b"")}
    return [
        Target("tables, CSV", plain, spoil_csv, read_tables),
        Target("tables, Parquet", {"nodes.parquet": sinks[2].getvalue(), "edges.csv": plain["edges.csv"]},
               spoil_parquet, read_tables),
    ]  # fmt: skip


def _content(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_case(files: Files, folder: Path) -> None:
    """Lay the files out, alone in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


__all__ = ["InputError", "Target", "targets", "write_case"]
