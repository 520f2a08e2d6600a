"""What the commands write: files and folders that nobody loses, and records as CSV or JSON lines.

Work that takes long is kept in a folder of its own inside, such as `.training`: an interrupted command resumes from
there, and the model beside it can be used meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError

Record = dict[str, Any]
RECORD_FILES = (".csv", ".jsonl")
TRAINING = ".training"
IMPORTING = ".importing"
_PROBE = "probe.txt"


def check_file(out: Path, endings: Sequence[str] = (), *, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that has another format, cannot be written, or would be lost; nothing is written yet."""
    if endings and out.suffix.lower() not in endings:
        raise InputError(f"{option} must end in {' or '.join(endings)}, got {out.name!r}")
    try:
        if out.is_dir():
            raise InputError(f"{option} {out} is a folder; name a file")
        if os.path.lexists(out) and not overwrite:
            raise InputError(f"{out} already exists; --overwrite replaces it")
        if not out.parent.is_dir():
            raise InputError(f"{option} {out}: the folder {out.parent} does not exist")
        out.lstat()  # finds a name that is too long
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{option} {out} cannot be written: {error.strerror or error}") from error


def write_file(out: Path, content: bytes) -> None:
    """Write a whole file in one step."""
    from se_gnn.files import replace_file, writing_to

    with writing_to(out.parent):
        replace_file(out, content)


def write_records(records: Sequence[Record], out: Path) -> None:
    """Write records that all have the same keys, as CSV or JSON lines by the ending of the file name."""
    from se_gnn.results import records_as

    write_file(out, records_as(out.suffix.lower(), records))


def check_model_folder(folder: Path, *, overwrite: bool, resume: bool = False, links: bool = False) -> None:
    """Refuse a folder whose files would be lost by a training, of ``links`` or nodes; nothing is written yet."""
    from se_gnn.files import visible_names
    from se_gnn.model.folder import FORMAT, LINKS_FORMAT, is_model_folder

    if is_new_folder(folder, overwrite=overwrite, resume=resume):
        return
    begun = (folder / TRAINING).is_dir()
    if is_model_folder(folder, LINKS_FORMAT if links else FORMAT):
        check_finished(folder, "model", begun=begun, work="training", overwrite=overwrite, resume=resume)
        return
    foreign = [name for name in visible_names(folder) if name != TRAINING]
    if foreign:
        what = "the folder of a model of links" if links else "a model folder"
        raise InputError(f"{folder} exists and is not {what} (it holds {some_names(foreign)}); name another folder")
    check_begun(folder, begun=begun, work="training", overwrite=overwrite, resume=resume)


def check_import_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder whose files would be lost by an import, or would mix with it."""
    from se_gnn.files import visible_names
    from se_gnn.graph.storage import holds_graph, is_graph_file
    from se_gnn.tables.settings import is_import_file

    if is_new_folder(folder, overwrite=overwrite, resume=False):
        return
    found = [name for name in visible_names(folder) if name != IMPORTING]
    ours = holds_graph(folder)  # without a graph, nodes.parquet is somebody's own table
    foreign = [name for name in found if not (ours and (is_graph_file(name) or is_import_file(name)))]
    if foreign:
        raise InputError(
            f"{folder} exists and is not the folder of an import (it holds {some_names(foreign)}); name another folder"
        )
    if found and not overwrite:
        raise InputError(f"{folder} already holds a graph; --overwrite replaces it")


@contextlib.contextmanager
def output_folder(folder: Path, work: str, *, resume: bool) -> Iterator[Path]:
    """Be the only one that writes to the folder; yields the folder for unfinished work, which is removed at the end.

    Without ``resume`` the unfinished work of an earlier command is removed; what is finished in ``folder`` stays.
    """
    from se_gnn.files import locked, remove_tree, replace_file, writing_to
    from se_gnn.files.commit import finish_interrupted

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
                progress.rmdir()  # if nothing was kept there is nothing to resume
            raise
        remove_tree(progress)


def is_new_folder(folder: Path, *, overwrite: bool, resume: bool) -> bool:
    """Whether the output folder does not exist yet; refuse a file in its place, and options that disagree."""
    if overwrite and resume:
        raise InputError("--overwrite starts again and --resume continues: give only one of them")
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
        raise InputError(f"{folder} holds a finished {what}: there is nothing to resume; --overwrite replaces it")
    if not (overwrite or resume):
        more = f", --resume continues the unfinished {work} in it" if begun else ""
        raise InputError(f"{folder} already holds a {what}; --overwrite replaces it{more}")


def check_begun(folder: Path, *, begun: bool, work: str, overwrite: bool, resume: bool) -> None:
    """Refuse a folder with unfinished work, unless the options say what to do with it."""
    if begun and not (overwrite or resume):
        raise InputError(f"{folder} holds an unfinished {work}; --resume continues it, --overwrite starts again")


def some_names(names: list[str]) -> str:
    """The first names of a list, for an error."""
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
