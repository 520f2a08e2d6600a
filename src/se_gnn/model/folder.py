"""A trained model as a folder: parameters, settings, figures and the graph, sealed by a manifest.

What is needed to predict and to explain is inside; no original file, no pickle. The manifest is written last and names
the SHA-256 of each file: a folder that was written in part, cut short or edited does not load.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from se_gnn.config import Config
from se_gnn.errors import InputError
from se_gnn.graph import store
from se_gnn.graph.store import check_format, parse_json, read_file, replace_file, sha256, writing_to
from se_gnn.model.segnn import SEGNN
from se_gnn.model.trained import TrainedModel

MANIFEST = "manifest.json"
PARAMETERS = "model.safetensors"
CONFIG = "config.json"
METRICS = "metrics.json"
EPOCHS = "metrics.jsonl"  # a line an epoch, written by the trainer
FORMAT = "se-gnn-model"
VERSION = 1

_NEEDED = (PARAMETERS, CONFIG, METRICS, store.ARRAYS, store.NAMES)
MODEL_FILES = (MANIFEST, *_NEEDED, EPOCHS)


def save_model(trained: TrainedModel, folder: str | Path) -> None:
    """Write a model into a folder, over what it holds of an earlier one; other files in it are left alone."""
    parameters = {name: tensor.detach().cpu().contiguous() for name, tensor in trained.model.state_dict().items()}
    files = {
        PARAMETERS: save(parameters),
        CONFIG: _json(trained.config.to_dict()),
        METRICS: _json(trained.metrics),
        **store.graph_files(trained.graph),
    }
    with writing_to(folder) as path:
        for name, content in files.items():
            replace_file(path / name, content)
        digests = {name: sha256(content) for name, content in files.items()}
        if (path / EPOCHS).is_file():
            digests[EPOCHS] = sha256((path / EPOCHS).read_bytes())
        replace_file(path / MANIFEST, _json({"format": FORMAT, "version": VERSION, "files": digests}))


def load_model(folder: str | Path, device: torch.device | str = "cpu") -> TrainedModel:
    """Read a model back, after every file has been checked against the manifest.

    Raises:
        InputError: a file is missing, truncated, changed, or of a newer version; the text names it.
    """
    path = Path(folder)
    files = _verified_files(path)
    try:
        config = Config.from_dict(parse_json(files[CONFIG], path / CONFIG))
    except InputError as error:
        raise InputError(f"{path / CONFIG} cannot be used: {error}") from error
    graph = store.graph_from_files(files, where=path)
    model = SEGNN(graph.num_features, config)
    try:
        parameters = load(files[PARAMETERS])
    except SafetensorError as error:
        raise InputError(f"{path / PARAMETERS} cannot be read: {error}") from error
    _check_parameters(parameters, model.state_dict(), path)
    model.load_state_dict(parameters)
    model.to(device).eval()
    return TrainedModel(model, graph, parse_json(files[METRICS], path / METRICS))


def load_model_on(folder: str | Path, graph: str | Path | None) -> TrainedModel:
    """A model on the graph that was stored in another folder, or on its own (None)."""
    trained = load_model(folder)
    return trained if graph is None else trained.on(store.load_graph(graph))


def is_model_folder(folder: str | Path) -> bool:
    """Whether a finished model is there, be it whole or damaged."""
    path = Path(folder) / MANIFEST
    try:
        return path.is_file() and json.loads(path.read_bytes()).get("format") == FORMAT
    except (ValueError, AttributeError):
        return False


def _verified_files(path: Path) -> dict[str, bytes]:
    """The content of each needed file, as the manifest says it must be."""
    if not path.exists():
        raise InputError(f"model folder {path} does not exist")
    if not path.is_dir():
        raise InputError(f"{path} is not a model folder but a file")
    if not (path / MANIFEST).exists():
        raise InputError(f"{path} is not a model folder, or its training has not ended: {MANIFEST} is missing")
    manifest = parse_json(read_file(path / MANIFEST), path / MANIFEST)
    check_format(manifest, path / MANIFEST, expected=FORMAT, newest=VERSION)
    digests = manifest.get("files")
    if not isinstance(digests, dict) or not all(name in digests for name in _NEEDED):
        raise InputError(f"{path / MANIFEST} is damaged: it must name the files {', '.join(_NEEDED)}")
    listed = [name for name in (*_NEEDED, EPOCHS) if name in digests]  # never a path that the manifest made up
    files = {name: read_file(path / name) for name in listed}
    for name, content in files.items():
        if sha256(content) != digests[name]:
            raise InputError(f"{path / name} is truncated or was changed: it does not have the digest in {MANIFEST}")
    return files


def _check_parameters(found: dict[str, Tensor], expected: dict[str, Tensor], path: Path) -> None:
    """Names, shapes and types are those that the settings ask for."""
    if found.keys() != expected.keys():
        missing, extra = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
        raise InputError(
            f"{path / PARAMETERS} does not fit {CONFIG}: missing tensors {missing or 'none'}, unknown {extra or 'none'}"
        )
    for name, tensor in expected.items():
        got = found[name]
        if got.shape != tensor.shape or got.dtype != tensor.dtype:
            raise InputError(
                f"{path / PARAMETERS} does not fit {CONFIG}: tensor {name} must be {tensor.dtype} of shape "
                f"{tuple(tensor.shape)}, got {got.dtype} of shape {tuple(got.shape)}"
            )


def _json(values: dict[str, Any]) -> bytes:
    return (json.dumps(values, indent=2, allow_nan=False) + "\n").encode()
