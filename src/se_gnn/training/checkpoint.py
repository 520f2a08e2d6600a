"""Training that was interrupted goes on to the same bits: state in one file, replaced in one step.

Each epoch draws its randomness from (seed, epoch), so no generator state is kept. No pickle: safetensors with JSON, and
a digest of all of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.files import read_file, replace_file
from se_gnn.files.json_text import parse_json_value
from se_gnn.files.tensors import load_sealed, sealed_tensors
from se_gnn.graph import Graph
from se_gnn.number_format import known

NAME = "checkpoint.safetensors"
VERSION = "2"
_ADAM = ("step", "exp_avg", "exp_avg_sq")  # of each parameter
RECORDED = {"loss", "val_accuracy", "val_loss", "seconds"}  # that the next epoch, or the result, asks for


@dataclass(slots=True)
class TrainingState:
    """Everything that the next epoch depends on."""

    parameters: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    best_parameters: dict[str, Tensor]
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)  # a record per epoch


def fingerprint(graph: Graph, settings: Mapping[str, Any], seed: int) -> str:
    """A digest of all that a training run depends on."""
    digest = hashlib.sha256(json.dumps([dict(settings), int(seed), graph.class_names], sort_keys=True).encode())
    matrix: Any = graph.features
    features = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
    values = graph.edge_values
    carried = [] if values is None else [getattr(values, part) for part in values.carried]
    for array in [*features, graph.edges.ends, graph.labels, graph.train, graph.validation, graph.test, *carried]:
        digest.update(f"{array.dtype}{array.shape}".encode())  # where one ends: a node moved to the next part counts
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_checkpoint(folder: Path, state: TrainingState, digest: str) -> None:
    """Write the state; a kill at any moment leaves the old file or the new one, whole."""
    replace_file(folder / NAME, state_bytes(state, digest))


def state_bytes(state: TrainingState, digest: str) -> bytes:
    """The state as a checkpoint holds it, and as another rank is sent it."""
    groups = {"model": state.parameters, "adam": state.optimizer, "best": state.best_parameters}
    tensors = {f"{group}/{name}": tensor for group, values in groups.items() for name, tensor in values.items()}
    about = {"version": VERSION, "fingerprint": digest, "best_epoch": str(state.best_epoch)}
    about["history"] = json.dumps([{name: known(value) for name, value in record.items()} for record in state.history])
    return sealed_tensors(tensors, about)


def load_checkpoint(
    folder: Path, digest: str, *, like: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState | None:
    """Read the state back, or None where there is none; one of another run is refused.

    Args:
        folder: where it was written.
        digest: :func:`fingerprint` of the run that wants to go on.
        like: the model of that run, whose names and shapes the state must have.
        optimizer: of its parameters, in its own order.
    """
    path = folder / NAME
    if not os.path.lexists(path):
        return None
    try:
        return state_from_bytes(read_file(path), digest, like=like, optimizer=optimizer, path=path)
    except InputError as error:
        raise InputError(f"checkpoint {error}; remove it to start again") from error


def state_from_bytes(
    content: bytes, digest: str, *, like: torch.nn.Module, optimizer: torch.optim.Optimizer, path: Path
) -> TrainingState:
    """What :func:`state_bytes` made, bit for bit; ``path`` is where it is from, for errors."""
    tensors, about = load_sealed(content, path)
    _check_run(about, digest, path)
    return _state(tensors, about, like, optimizer, path)


def _check_run(about: dict[str, str], digest: str, path: Path) -> None:
    if about.get("version") != VERSION:
        raise InputError(f"{path} has version {about.get('version')}, this one reads {VERSION}")
    if about.get("fingerprint") != digest:
        raise InputError(f"{path} belongs to a run with other data, settings or seed")


def _state(
    tensors: dict[str, Tensor],
    about: dict[str, str],
    like: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    path: Path,
) -> TrainingState:
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "adam": {}, "best": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    history = _history(about.get("history", ""), path)
    best = about.get("best_epoch", "")
    expected = like.state_dict()
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]  # not the model's order
    fits = len(groups) == 3 and all(_same_shapes(groups[group], expected) for group in ("model", "best"))
    known_best = best.isdecimal() and len(best) < 10 and int(best) < len(history)
    if not (fits and known_best and _fits_optimizer(groups["adam"], learned)):
        raise InputError(f"{path} cannot be read: it does not hold the state of this model")
    return TrainingState(
        parameters=groups["model"],
        optimizer=groups["adam"],
        best_parameters=groups["best"],
        best_epoch=int(best),
        history=history,
    )


def _history(text: str, path: Path) -> list[dict[str, Any]]:
    """A record per epoch; a value that is not known was stored as null."""
    records = parse_json_value(text.encode(), path)
    if not isinstance(records, list):
        raise InputError(f"{path} cannot be read: its history must be a list")
    for epoch, record in enumerate(records):
        if not isinstance(record, dict) or record.get("epoch") != epoch or not record.keys() >= RECORDED:
            raise InputError(f"{path} cannot be read: its history must have a record per epoch")
        for name, value in record.items():
            record[name] = math.nan if value is None else value
            if not isinstance(value, float | int | None) or abs(value or 0) > 1e300:
                raise InputError(f"{path} cannot be read: {name} of epoch {epoch} must be a number")
    return records


def _same_shapes(found: Mapping[str, Tensor], like: Mapping[str, Tensor]) -> bool:
    return found.keys() == like.keys() and all(
        (found[name].shape, found[name].dtype) == (like[name].shape, like[name].dtype) for name in like
    )


def _fits_optimizer(found: Mapping[str, Tensor], parameters: Sequence[Tensor]) -> bool:
    """Adam keeps a count and two means of the shape of each parameter that has had a gradient."""
    shapes = {
        f"{index}/{name}": torch.Size() if name == "step" else tensor.shape
        for index, tensor in enumerate(parameters)
        for name in _ADAM
    }
    whole = all(found.keys() >= {f"{key.partition('/')[0]}/{name}" for name in _ADAM} for key in found)
    return whole and all(
        name in shapes and tensor.shape == shapes[name] and tensor.dtype == torch.float32
        for name, tensor in found.items()
    )


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """State of Adam as named tensors."""
    return {
        f"{index}/{name}": value
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put the named tensors back."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, _, name = key.partition("/")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
