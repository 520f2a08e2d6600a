"""The folder that a training writes to: nobody's files are lost."""

from __future__ import annotations

from pathlib import Path

from se_gnn.apps.cli.arguments import is_new_folder
from se_gnn.errors import InputError
from se_gnn.graph.store import replace_file, writing_to
from se_gnn.model.folder import EPOCHS, MODEL_FILES, is_model_folder
from se_gnn.training.checkpoint import NAME as CHECKPOINT

_OURS = (*MODEL_FILES, CHECKPOINT)
_OF_A_TRAINING = (EPOCHS, CHECKPOINT)  # a folder with a stored graph alone has none of them


def check_output_folder(folder: Path, *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder whose files would be lost; nothing is written yet."""
    if is_new_folder(folder, overwrite=overwrite, resume=resume):
        return
    if is_model_folder(folder):
        if resume:
            raise InputError(f"{folder} holds a finished model, nothing to resume; --overwrite trains it again")
        if not overwrite:
            raise InputError(f"{folder} already holds a model; --overwrite replaces it")
        return
    found = sorted(path.name for path in folder.iterdir())
    begun = any(name in _OF_A_TRAINING for name in found)
    foreign = [name for name in found if not (_is_ours(name) if begun else _is_partial(name))]
    if foreign:
        raise InputError(
            f"{folder} exists and is not a model folder (it holds {', '.join(foreign[:3])}"
            f"{', ...' if len(foreign) > 3 else ''}); name another folder"
        )
    if found and not (overwrite or resume):
        raise InputError(f"{folder} holds an unfinished training; --resume goes on with it, --overwrite starts again")


def prepare_output_folder(folder: Path, *, overwrite: bool) -> None:
    """Make the folder, make sure that it can be written to, and remove the model that is to be replaced."""
    with writing_to(folder):
        probe = folder / f".{EPOCHS}.probe.partial"
        replace_file(probe, b"can this folder be written to?\n")
        probe.unlink()
        if overwrite:
            for path in list(folder.iterdir()):
                if _is_ours(path.name):
                    path.unlink()


def _is_ours(name: str) -> bool:
    return name in _OURS or _is_partial(name)


def _is_partial(name: str) -> bool:
    """What a kill left half written of one of our files."""
    return name.endswith(".partial") and any(known in name for known in _OURS)
