"""The folder that a command writes to: nobody's files are lost, and what is there stays until the new is whole.

Work that takes long is kept in a folder of its own inside, such as `.training`: an interrupted command goes on from
there, and the model beside it can be used meanwhile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from se_gnn.errors import InputError
from se_gnn.files import locked, remove_tree, replace_file, visible_names, writing_to
from se_gnn.files.commit import finish_interrupted
from se_gnn.graph.storage import is_graph_file
from se_gnn.model.folder import is_model_folder

TRAINING = ".training"
_PROBE = "probe.txt"


def check_model_folder(folder: Path, *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder whose files would be lost by a training; nothing is written yet."""
    if is_new_folder(folder, overwrite=overwrite, resume=resume):
        return
    begun = (folder / TRAINING).is_dir()
    if is_model_folder(folder):
        check_finished(folder, "model", begun=begun, work="training", overwrite=overwrite, resume=resume)
        return
    foreign = [name for name in visible_names(folder) if name != TRAINING]
    if foreign:
        raise InputError(
            f"{folder} exists and is not a model folder (it holds {some_names(foreign)}); name another folder"
        )
    check_begun(folder, begun=begun, work="training", overwrite=overwrite, resume=resume)


def check_import_folder(folder: Path, ours: tuple[str, ...], *, overwrite: bool) -> None:
    """Refuse a folder whose files would be lost by an import, or that it would mix with."""
    if is_new_folder(folder, overwrite=overwrite, resume=False):
        return
    found = visible_names(folder)
    foreign = [name for name in found if name not in ours and not is_graph_file(name)]
    if foreign:
        raise InputError(
            f"{folder} exists and is not the folder of an import (it holds {some_names(foreign)}); name another folder"
        )
    if found and not overwrite:
        raise InputError(f"{folder} already holds a graph; --overwrite replaces it")


@contextlib.contextmanager
def output_folder(folder: Path, work: str, *, resume: bool) -> Iterator[Path]:
    """Be the only one that writes to the folder; yields the folder for work in progress, which goes when all is done.

    Without ``resume`` the work of an earlier command is removed; what is finished in ``folder`` stays.
    """
    with writing_to(folder), locked(folder):
        finish_interrupted(folder)
        progress = folder / work
        if not resume or progress.is_symlink():
            remove_tree(progress)
        progress.mkdir(exist_ok=True)
        try:
            replace_file(progress / _PROBE, b"can this folder be written to?\n")
            (progress / _PROBE).unlink()
            yield progress
        except BaseException:
            with contextlib.suppress(OSError):
                progress.rmdir()  # where nothing was kept there is nothing to resume
            raise
        remove_tree(progress)


def is_new_folder(folder: Path, *, overwrite: bool, resume: bool) -> bool:
    """Whether the folder to write to is still to be made; refuse a file in its place, and options that disagree."""
    if overwrite and resume:
        raise InputError("--overwrite starts again and --resume goes on: give one of them")
    try:
        if folder.is_dir():
            return False
        if folder.exists() or folder.is_symlink():
            raise InputError(f"--out {folder} is a file; name a folder")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"--out {str(folder)!r} cannot be a folder: {getattr(error, 'strerror', None) or error}"
        ) from error
    return True


def check_finished(folder: Path, what: str, *, begun: bool, work: str, overwrite: bool, resume: bool) -> None:
    """Refuse to replace something finished, or to resume it, unless the options say so."""
    if resume and not begun:
        raise InputError(f"{folder} holds a finished {what}, nothing to resume; --overwrite makes it again")
    if not (overwrite or resume):
        more = f", and an unfinished {work} that --resume goes on with" if begun else ""
        raise InputError(f"{folder} already holds a {what}; --overwrite replaces it{more}")


def check_begun(folder: Path, *, begun: bool, work: str, overwrite: bool, resume: bool) -> None:
    """Refuse a folder with unfinished work, unless the options say what to do with it."""
    if begun and not (overwrite or resume):
        raise InputError(f"{folder} holds an unfinished {work}; --resume goes on with it, --overwrite starts again")


def some_names(names: list[str]) -> str:
    """The first names of a list, for an error."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
