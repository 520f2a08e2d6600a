"""What the commands write: files and folders that nobody loses, and records as CSV or JSON lines.

Work that takes long is kept in a folder of its own inside, such as `.training`: an interrupted command resumes from
there, and the model beside it can be used meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
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
    from se_gnn.model.folder import FORMAT, LINKS_FORMAT, is_model_folder

    finished = is_model_folder(folder, LINKS_FORMAT if links else FORMAT)
    check_folder(folder, "model", lambda name: finished, finished, TRAINING, overwrite=overwrite, resume=resume)


def check_import_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder whose files would be lost by an import, or would mix with it."""
    from se_gnn.graph.storage import holds_graph, is_graph_file
    from se_gnn.tables.settings import is_import_file

    ours = holds_graph(folder)  # without a graph, nodes.parquet is somebody's own table

    def is_ours(name: str) -> bool:
        return ours and (is_graph_file(name) or is_import_file(name))

    check_folder(folder, "graph", is_ours, ours, IMPORTING, overwrite=overwrite)


def check_folder(
    folder: Path,
    what: str,
    is_ours: Callable[[str], bool],
    finished: bool,
    work: str,
    *,
    overwrite: bool,
    resume: bool | None = None,
) -> None:
    """Refuse an output folder with other files, or with results that the options do not replace.

    Args:
        folder: where to write.
        what: that it will hold: "model".
        is_ours: whether a file in it, by its name, belongs to such a result.
        finished: whether it holds one already.
        work: the folder inside for unfinished work, such as ``.training``.
        overwrite: replace what is there.
        resume: continue unfinished work; None: that is not possible, and it is replaced.
    """
    from se_gnn.files import visible_names

    if overwrite and resume:
        raise InputError("--overwrite starts again and --resume continues: give only one of them")
    try:
        if not folder.is_dir():
            if folder.exists() or folder.is_symlink():
                raise InputError(f"--out {folder} is a file; name a folder")
            return
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"--out {str(folder)!r} cannot be a folder: {getattr(error, 'strerror', None) or error}"
        ) from error
    foreign = [name for name in visible_names(folder) if name != work and not is_ours(name)]
    if foreign:
        listed = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise InputError(f"{folder} exists and holds other files ({listed}); name another folder")
    begun, noun = resume is not None and (folder / work).is_dir(), work.removeprefix(".")
    if finished and resume and not begun:
        raise InputError(f"{folder} holds a finished {what}: there is nothing to resume; --overwrite replaces it")
    if overwrite or resume:
        return
    if finished:
        more = f", --resume continues the unfinished {noun} in it" if begun else ""
        raise InputError(f"{folder} already holds a {what}; --overwrite replaces it{more}")
    if begun:
        raise InputError(f"{folder} holds an unfinished {noun}; --resume continues it, --overwrite starts again")


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
