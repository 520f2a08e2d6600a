"""An interrupted training resumes and ends with the same bits: its state is one file, replaced in one step.

Each epoch draws its randomness from (seed, epoch), so no generator state is kept. The file is not a pickle but
safetensors with JSON, and has a digest of everything.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
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
from se_gnn.settings import Resolved

NAME = "checkpoint.safetensors"
VERSION = "3"
_ADAM = ("step", "exp_avg", "exp_avg_sq")  # of each parameter
RECORDED = {"loss", "val_accuracy", "val_loss", "seconds"}  # that the next epoch or the result needs


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The best epoch so far: how good it was on validation nodes (better ones larger), and its parameters."""

    epoch: int
    standing: tuple[float, float]
    parameters: dict[str, Tensor]


@dataclass(slots=True)
class TrainingState:
    """Everything that the next epoch depends on."""

    parameters: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    kept: list[Kept]  # the best epoch by all validation nodes, then by those outside each fold of them
    history: list[dict[str, Any]] = field(default_factory=list)  # a record per epoch


def fingerprint(graph: Graph, settings: Mapping[str, Any], seed: int) -> str:
    """A digest of all that a training run depends on."""
    names = graph.numbers.name if graph.predicts_numbers else graph.class_names
    digest = hashlib.sha256(json.dumps([dict(settings), int(seed), names], sort_keys=True).encode())
    matrix: Any = graph.features
    features = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
    values = graph.edge_values
    edge_data = [] if values is None else [getattr(values, part) for part in values.edge_data]
    target = graph.values if graph.predicts_numbers else graph.labels
    for array in [*features, graph.edges.ends, target, graph.train, graph.validation, graph.test, *edge_data]:
        digest.update(f"{array.dtype}{array.shape}".encode())  # where one ends: a node moved to the next part counts
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_checkpoint(folder: Path, state: TrainingState, digest: str) -> None:
    """Write the state; a kill at any moment leaves the old file or the new one, whole."""
    replace_file(folder / NAME, state_bytes(state, digest))


def state_bytes(state: TrainingState, digest: str) -> bytes:
    """The state as a checkpoint holds it, and as another rank is sent it."""
    groups = {"model": state.parameters, "adam": state.optimizer}
    for i, one in enumerate(state.kept):  # an epoch that is the best several times is written several times
        groups[f"kept{i}"] = {name: tensor.clone() for name, tensor in one.parameters.items()}
    tensors = {f"{group}/{name}": tensor for group, values in groups.items() for name, tensor in values.items()}
    about = {"version": VERSION, "fingerprint": digest}
    standings = [[value if math.isfinite(value) else None for value in one.standing] for one in state.kept]
    about["kept"] = json.dumps([[one.epoch, *standing] for one, standing in zip(state.kept, standings)])
    about["history"] = json.dumps([plain_record(record) for record in state.history])
    return sealed_tensors(tensors, about)


def plain_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of an epoch as JSON holds it: a figure that is not defined is None."""
    return {name: known(value) for name, value in record.items()}


def load_checkpoint(
    folder: Path, digest: str, *, like: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> TrainingState | None:
    """Read the state back; None: there is none. The state of another run is refused.

    Args:
        folder: where it was written.
        digest: :func:`fingerprint` of the run that resumes.
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
    """The state that :func:`state_bytes` wrote, bit for bit; ``path`` names its source in errors."""
    state = kept_state(content, path, digest)
    learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]  # not the model's order
    adam = _described(state.optimizer)
    expected: dict[str, Any] = {}
    for i, parameter in enumerate(learned):
        if f"{i}/step" in adam:  # it has had a gradient: Adam keeps a count and two means of its shape
            expected |= {f"{i}/{name}": (parameter.shape, torch.float32) for name in _ADAM}
            expected[f"{i}/step"] = (torch.Size(), torch.float32)
    found = (state.parameters, *(one.parameters for one in state.kept))
    if adam != expected or any(_described(one) != _described(like.state_dict()) for one in found):
        raise InputError(f"{path} cannot be read: it does not hold the state of this model")
    return state


def kept_state(content: bytes, path: Path, digest: str | None = None) -> TrainingState:
    """The same for any model; with a ``digest``, the state of another run is refused."""
    tensors, about = load_sealed(content, path)
    if about.get("version") != VERSION:
        raise InputError(f"{path} has version {about.get('version')}, this one reads {VERSION}")
    if digest is not None and about.get("fingerprint") != digest:
        raise InputError(f"{path} belongs to a run with other data, settings or seed")
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "adam": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition("/")
        groups.setdefault(group, {})[rest] = tensor
    history = _history(about.get("history", ""), path)
    kept = _kept(about.get("kept", ""), len(history), path)
    names = [f"kept{i}" for i in range(len(kept))]
    if groups.keys() != {"model", "adam", *names}:
        raise InputError(f"{path} cannot be read: it does not hold the state of this model")
    best = [Kept(epoch, standing, groups[name]) for name, (epoch, standing) in zip(names, kept)]
    return TrainingState(groups["model"], groups["adam"], best, history)


def _kept(text: str, epochs: int, path: Path) -> list[tuple[int, tuple[float, float]]]:
    """The best epochs, and how good each was; a figure that is not defined was stored as null, and is worst."""
    found = parse_json_value(text.encode(), path)
    rows: list[Any] = found if isinstance(found, list) and found else [None]
    for row in rows:
        numbers = isinstance(row, list) and len(row) == 3 and all(isinstance(one, float | int | None) for one in row)
        if not numbers or not isinstance(row[0], int) or not 0 <= row[0] < epochs:
            raise InputError(f"{path} cannot be read: it must name its best epochs")
    worst = [[-math.inf if value is None else float(value) for value in row[1:]] for row in rows]
    return [(row[0], (figure, minus_loss)) for row, (figure, minus_loss) in zip(rows, worst)]


def _history(text: str, path: Path) -> list[dict[str, Any]]:
    """A record per epoch; a figure that is not defined was stored as null."""
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


def _described(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}


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


def agreed(graph: Graph, settings: Resolved, seed: int) -> dict[str, str]:
    """What all processes must agree on: the seed, each setting by name, and a digest of settings and data."""
    values = {name: json.dumps(value) for name, value in settings.values().items()}
    given = ", ".join(settings.asked.given)
    return {"seed": str(seed), **values, "given": given, "data": fingerprint(graph, settings.values(), seed)}
