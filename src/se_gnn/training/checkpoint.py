"""Training that was interrupted goes on to the same bits: state in one file, replaced in one step.

Each epoch draws its randomness from (seed, epoch), so no generator state is kept. No pickle: safetensors with JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from se_gnn.config import Config
from se_gnn.errors import InputError
from se_gnn.graph import AttributedGraph

NAME = "checkpoint.safetensors"
VERSION = "1"


@dataclass(slots=True)
class TrainingState:
    """Everything that the next epoch depends on."""

    parameters: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    best_parameters: dict[str, Tensor]
    best_epoch: int = -1
    history: list[dict[str, Any]] = field(default_factory=list)  # a record an epoch


def fingerprint(graph: AttributedGraph, config: Config, seed: int) -> str:
    """A digest of all that a training run depends on."""
    digest = hashlib.sha256(json.dumps([config.to_dict(), seed, graph.class_names], sort_keys=True).encode())
    matrix: Any = graph.features
    features = [matrix.data, matrix.indices, matrix.indptr] if sp.issparse(matrix) else [matrix]
    for array in [*features, graph.edges, graph.labels, graph.train, graph.val, graph.test]:
        digest.update(f"{array.dtype}{array.shape}".encode())  # where one ends: a node moved to the next part counts
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_checkpoint(folder: Path, state: TrainingState, digest: str) -> None:
    """Write the state; a kill at any moment leaves the old file or the new one, whole."""
    groups = {"model": state.parameters, "adam": state.optimizer, "best": state.best_parameters}
    tensors = {
        f"{group}/{name}": tensor.detach().cpu().contiguous()
        for group, values in groups.items()
        for name, tensor in values.items()
    }
    about = {"version": VERSION, "fingerprint": digest, "best_epoch": str(state.best_epoch)}
    partial = folder / f"{NAME}.partial"  # the same name each time: what a kill leaves is written over
    with partial.open("wb") as file:
        file.write(save(tensors, metadata={**about, "history": json.dumps(state.history)}))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / NAME)


def load_checkpoint(folder: Path, digest: str) -> TrainingState | None:
    """Read the state back, or None where there is none; one of another run is refused."""
    path = folder / NAME
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError) as error:
        raise InputError(f"checkpoint {path} cannot be read: {error}; remove it to start again") from error
    if about.get("version") != VERSION:
        raise InputError(f"checkpoint {path} has version {about.get('version')}, this one reads {VERSION}")
    if about["fingerprint"] != digest:
        raise InputError(
            f"checkpoint {path} belongs to a run with other data, settings or seed; remove it to start again"
        )
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "adam": {}, "best": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition("/")
        groups[group][rest] = tensor
    return TrainingState(
        parameters=groups["model"],
        optimizer=groups["adam"],
        best_parameters=groups["best"],
        best_epoch=int(about["best_epoch"]),
        history=json.loads(about["history"]),
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
