"""A trained model as a folder: parameters, settings, figures and the graph, sealed by a manifest.

What is needed to predict and to explain is inside; no original file, no pickle. The files are replaced in one step, and
the manifest names the SHA-256 of each: a folder that was cut short or edited does not load. What the settings ask for
is compared with the parameters before a module is built, so that no file can ask for more memory than it
has bytes.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch

from se_gnn.encoder.outputs import OutputEncoder
from se_gnn.errors import InputError
from se_gnn.files import (
    SMALL,
    check_format,
    commit_files,
    current_path,
    json_bytes,
    json_line,
    locked,
    parse_json,
    parse_json_lines,
    read_current,
    sha256,
    writing_to,
)
from se_gnn.files.json_text import read_record
from se_gnn.files.reading import LARGE
from se_gnn.files.tensors import load_tensors
from se_gnn.graph import Graph, storage
from se_gnn.model.facts import RunFacts
from se_gnn.model.model import Model, StoredIn
from se_gnn.model.segnn import SEGNN
from se_gnn.settings import AgreementObjective, Resolved

MANIFEST = "manifest.json"
PARAMETERS = "model.safetensors"
SETTINGS = "settings.json"
FACTS = "facts.json"
EPOCHS = "metrics.jsonl"  # a line per epoch, written by the trainer
HISTORY = "memory.jsonl"  # a line per edit of the labeled nodes
FORMAT, LINKS_FORMAT = "se-gnn-model", "se-gnn-links"
VERSION = 1

Stored = TypeVar("Stored")
NEEDED = (PARAMETERS, SETTINGS, FACTS, storage.HEADER)
MODEL_FILES = (MANIFEST, *NEEDED, EPOCHS, HISTORY, storage.ARRAY_FILES)
_LIMITS = {storage.HEADER: storage.MOST_HEADER, **dict.fromkeys((PARAMETERS, EPOCHS, HISTORY), LARGE)}


def save_model(trained: Model, folder: str | Path, *, epochs: bytes | None = None) -> None:
    """Write a model into a folder, in one step over what it holds of an earlier one; other files are left alone.

    ``epochs`` is the content of `metrics.jsonl`, the log of the run that trained it. Refused if the model was loaded
    from this folder, or saved there before, and others have changed it since.
    """
    files = {
        PARAMETERS: trained.encoder.to_bytes(),
        SETTINGS: json_bytes(trained.settings.to_dict()),
        FACTS: json_bytes(dataclasses.asdict(trained.facts)),
    }
    if epochs is not None:
        files[EPOCHS] = epochs
    if trained.history:
        files[HISTORY] = b"".join(json_line(entry) for entry in trained.history)
    sealed = seal(files, trained.graph)
    with writing_to(folder) as path, locked(path):
        _check_unchanged(trained, path, files.get(HISTORY, b""))
        commit_files(path, sealed, remove=MODEL_FILES)
        digest = sha256(sealed[MANIFEST])
        if trained.stored is None:
            object.__setattr__(trained, "stored", StoredIn(os.path.realpath(path), digest))
        elif trained.stored.folder == os.path.realpath(path):
            trained.stored.saved.add(digest)


def seal(files: dict[str, bytes], graph: Graph, form: str = FORMAT) -> dict[str, Any]:
    """The files of a model with those of its graph, and a manifest that names the digests of its own."""
    of_graph = storage.graph_files(graph)
    header: Any = of_graph[storage.HEADER]  # which holds the digests of the graph's arrays
    own = {**files, storage.HEADER: header}
    digests = {name: sha256(content) for name, content in own.items()}
    return {**of_graph, **own, MANIFEST: json_bytes({"format": form, "version": VERSION, "files": digests})}


def _check_unchanged(trained: Model, path: Path, history: bytes) -> None:
    """Refuse to replace what others have saved since the model was loaded; its own earlier states may be replaced.

    Two edits of the same loaded model conflict: the history of one does not begin with that of the other.
    """
    stored = trained.stored
    if stored is None or stored.folder != os.path.realpath(path) or not is_model_folder(path):
        return
    now = model_digest(path)
    before = read_current(path, HISTORY, limit=LARGE) if current_path(path, HISTORY).exists() else b""
    if now != stored.digest and not (now in stored.saved and history.startswith(before)):
        raise InputError(
            f"{path} has changed since this model was loaded: saving would undo what was saved there meanwhile; load "
            "it again and repeat the edit, or save to another folder"
        )


def read_epochs(folder: str | Path) -> bytes | None:
    """The log of the run that trained a model, to be kept beside a changed one; None where there is none."""
    path = Path(folder)
    return read_current(path, EPOCHS, limit=LARGE) if current_path(path, EPOCHS).exists() else None


def load_model(
    folder: str | Path,
    graph: str | Path | None = None,
    *,
    device: torch.device | str = "cpu",
    max_memory: int | str | None = None,
) -> Model:
    """Read a model back, after every file has been checked against the manifest.

    ``graph`` is the folder of another graph that it is to work on. An error names the file that is missing, truncated,
    changed, or of a newer version, that does not fit the others, or whose parameters are not finite.
    """
    path = Path(folder)
    files = unseal(path, optional=(EPOCHS, HISTORY))
    if HISTORY not in files and current_path(path, HISTORY).exists():
        raise InputError(f"{path / HISTORY} is the history of another model: {MANIFEST} does not name it; remove it")
    settings = _read(Resolved.from_dict, files, path / SETTINGS)
    facts = _read(partial(read_record, RunFacts), files, path / FACTS)
    own = storage.read_graph(path, files[storage.HEADER])
    encoder = _encoder(files[PARAMETERS], own, settings, path, device)
    history = tuple(parse_json_lines(files.get(HISTORY, b""), path / HISTORY))
    stored = StoredIn(os.path.realpath(path), sha256(files[MANIFEST]))
    trained = Model(encoder, own, settings, facts, history=history, max_memory=max_memory, stored=stored)
    return trained if graph is None else trained.with_graph(storage.load_graph(graph))


def _encoder(
    stored: bytes, graph: Graph, settings: Resolved, path: Path, device: torch.device | str
) -> SEGNN | OutputEncoder:
    tensors = load_tensors(stored, path / PARAMETERS)
    if isinstance(settings.objective, AgreementObjective):
        return OutputEncoder.from_tensors(tensors, graph, settings, str(path / PARAMETERS))
    _check_parameters(tensors, graph, settings, path)
    encoder = SEGNN.for_graph(graph, settings)
    encoder.load_state_dict(tensors)
    return encoder.to(device).eval()


def model_digest(folder: str | Path) -> str:
    """A digest of all files of a model: of the manifest, which holds those of the others."""
    return sha256(read_current(Path(folder), MANIFEST, limit=SMALL))


def is_model_folder(folder: str | Path, form: str = FORMAT) -> bool:
    """Whether a finished model is there, be it whole or damaged."""
    path = Path(folder)
    try:
        about = parse_json(read_current(path, MANIFEST, limit=SMALL), path / MANIFEST)
    except InputError:
        return False
    return about.get("format") == form


def is_links_folder(folder: str | Path) -> bool:
    """Whether a finished model of links is there."""
    return is_model_folder(folder, LINKS_FORMAT)


def unseal(
    path: Path, form: str = FORMAT, needed: Sequence[str] = NEEDED, optional: Sequence[str] = ()
) -> dict[str, bytes]:
    """The manifest and the content of each file, as the manifest says it must be."""
    if not path.exists():
        raise InputError(f"model folder {path} does not exist")
    if not path.is_dir():
        raise InputError(f"{path} is not a model folder but a file")
    if not current_path(path, MANIFEST).exists():
        raise InputError(f"{path} is not a model folder, or its training has not ended: {MANIFEST} is missing")
    sealed = read_current(path, MANIFEST, limit=SMALL)
    manifest = parse_json(sealed, path / MANIFEST)
    if form == FORMAT and manifest.get("format") == LINKS_FORMAT:
        raise InputError(
            f"{path} holds a model of links, and this is about nodes: ask for pairs with predict --pairs, explain "
            "--pair, report --pair or se-gnn recommend"
        )
    check_format(manifest, path / MANIFEST, expected=form, newest=VERSION)
    digests = manifest.get("files")
    if not isinstance(digests, dict) or not all(name in digests for name in needed):
        raise InputError(f"{path / MANIFEST} is damaged: it must name the files {', '.join(needed)}")
    listed = [name for name in (*needed, *optional) if name in digests]  # never a path that the manifest made up
    files = {name: read_current(path, name, limit=_LIMITS.get(name, SMALL)) for name in listed}
    for name, content in files.items():
        if sha256(content) != digests[name]:
            raise InputError(f"{path / name} is truncated or was changed: it does not have the digest in {MANIFEST}")
    return {**files, MANIFEST: sealed}


def _read(parse: Callable[[dict[str, Any]], Stored], files: dict[str, bytes], path: Path) -> Stored:
    try:
        return parse(parse_json(files[path.name], path))
    except InputError as error:
        raise InputError(f"{path} cannot be used: {error}") from error


def _check_parameters(found: dict[str, torch.Tensor], graph: Graph, settings: Resolved, path: Path) -> None:
    """Names, shapes and types are those that the settings ask for; nothing is allocated."""
    where = f"{path / PARAMETERS} does not fit {SETTINGS}"
    layers, members = settings.encoder.num_layers, settings.encoder.members
    if layers * members > len(found):  # before a million modules are made
        raise InputError(
            f"{where}: num_layers is {layers:,} and members {members:,}, but there are {len(found)} tensors"
        )
    try:
        with torch.device("meta"):  # shapes without memory
            expected = SEGNN.for_graph(graph, settings).state_dict()
    except (RuntimeError, OverflowError, TypeError) as error:
        raise InputError(f"{where}: hidden_size {settings.encoder.hidden_size} is too large") from error
    if found.keys() != expected.keys():
        missing, extra = sorted(expected.keys() - found.keys()), sorted(found.keys() - expected.keys())
        raise InputError(f"{where}: missing tensors {missing[:5] or 'none'}, unknown {extra[:5] or 'none'}")
    for name, tensor in expected.items():
        wanted, given = ((one.dtype, tuple(one.shape)) for one in (tensor, found[name]))
        if wanted != given:
            raise InputError(
                f"{where}: tensor {name} must be {wanted[0]} of shape {wanted[1]}, got {given[0]} of shape {given[1]}"
            )
