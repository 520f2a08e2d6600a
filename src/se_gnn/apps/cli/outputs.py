"""What the commands write: files and folders that nobody loses, records, and folders of Parquet files.

Work that takes long is kept in a folder of its own inside, such as `.training`: an interrupted command resumes from
there, and the model beside it can be used meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import Device, shows_progress
from se_gnn.display.terminal import count
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    import torch

    from se_gnn.graph.arrays import IntArray
    from se_gnn.model import Model

Make = Callable[["IntArray"], bytes]  # the file of some nodes
Record = dict[str, Any]
RECORD_FILES = (".csv", ".jsonl")
FILES = (*RECORD_FILES, ".parquet")
MEMORY = "1GB"  # never what is free: how work is cut into blocks must not differ between processes
TRAINING = ".training"
_PROBE = "probe.txt"


def check_file(out: Path, endings: Sequence[str] = (), *, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that has another format, cannot be written, or would be lost; nothing is written yet."""
    if endings and out.suffix.lower() not in endings:
        raise InputError(f"{option} must end in {' or '.join(endings)}, got {out.name!r}")
    if out.is_dir():
        raise InputError(f"{option} {out} is a folder; name a file")
    if os.path.lexists(out) and not overwrite:
        raise InputError(f"{out} already exists; --overwrite replaces it")
    if not out.parent.is_dir():
        raise InputError(f"{option} {out}: the folder {out.parent} does not exist")
    with contextlib.suppress(FileNotFoundError):
        out.lstat()  # finds a name that is too long


def write_file(out: Path, content: bytes) -> None:
    """Write a whole file in one step."""
    from se_gnn.files import replace_file, writing_to

    with writing_to(out.parent):
        replace_file(out, content)


def write_records(records: Sequence[Record], out: Path) -> None:
    """Write records that all have the same keys, as CSV or JSON lines by the ending of the file name."""
    from se_gnn.results import as_file

    columns = {name: [one[name] for one in records] for name in (records[0] if records else ())}
    write_file(out, as_file(out.suffix.lower(), columns))


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

    check_folder(folder, "graph", is_ours, ours, None, overwrite=overwrite)


def check_folder(
    folder: Path,
    what: str,
    is_ours: Callable[[str], bool],
    finished: bool,
    work: str | None,
    *,
    overwrite: bool,
    resume: bool = False,
) -> None:
    """Refuse an output folder with other files, or with results that the options do not replace.

    ``is_ours`` says which files belong to ``what`` (a "model") that it will hold, and ``finished`` whether it holds one
    already. ``work`` is the folder inside for unfinished work; None: work is never continued.
    """
    from se_gnn.files import visible_names

    if overwrite and resume:
        raise InputError("--overwrite starts again and --resume continues: give only one of them")
    if not folder.is_dir():
        with contextlib.suppress(FileNotFoundError):
            folder.lstat()  # finds a name that is too long
            raise InputError(f"--out {folder} is a file; name a folder")
        return
    foreign = [name for name in visible_names(folder) if name != work and not is_ours(name)]
    if foreign:
        listed = ", ".join(foreign[:3]) + (", ..." if len(foreign) > 3 else "")
        raise InputError(f"{folder} exists and holds other files ({listed}); name another folder")
    begun, noun = work is not None and (folder / work).is_dir(), (work or "").removeprefix(".")
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


def is_shard_folder(out: Path | None) -> bool:
    """Whether a path means a folder: it has no ending, or is a folder whose name is not that of a file."""
    return out is not None and (not out.suffix or (out.suffix.lower() not in FILES and out.is_dir()))


def write_folder(
    kind: str,
    folder: Path,
    graph: Path | None,
    prepare: Callable[[Model], tuple[IntArray, Make]],
    *,
    out: Path,
    shard_nodes: int,
    device: Device,
    overwrite: bool,
    quiet: bool,
    **settings: str,
) -> bool:
    """Write the results of some nodes as a folder of Parquet files; whether this process should report on them.

    One process writes it, or those that `torchrun` starts: each loads the model and embeds the whole graph, then takes
    the next shard that is not taken. Which nodes are compared in which blocks depends only on the shard and the
    ``settings``, so the bytes do not depend on who writes them. ``prepare`` chooses nodes, and says what to write.
    """
    from se_gnn.device import memory_budget
    from se_gnn.files import sha256
    from se_gnn.graph.storage import graph_digest
    from se_gnn.model.facts import versions
    from se_gnn.model.folder import load_model, model_digest
    from se_gnn.optional import require
    from se_gnn.ranks import divided_threads, joined
    from se_gnn.shards import ShardRun, write_shards

    require("pyarrow.parquet", extra="tables", feature="Parquet files")
    shown = shows_progress(quiet)
    with joined() as ranks, announce_compilation(shown=shown and ranks.first):
        divided_threads(ranks.local_size)
        budget = memory_budget(os.environ.get("SE_GNN_MAX_MEMORY") or MEMORY)
        where = rank_device(device.value)
        ids, make = prepare(load_model(folder, graph, device=where, max_memory=budget))
        run = ShardRun(
            kind=kind,
            num_nodes=len(ids),
            shard_nodes=shard_nodes,
            values={
                "model": model_digest(folder),
                "graph": graph_digest(folder if graph is None else graph),
                "nodes": sha256(ids.astype("<i8").tobytes()),
                "max_memory": str(budget),
                "device": where.type,
                **settings,
                **versions(),
                "pyarrow": metadata.version("pyarrow"),
            },
        )
        manifest = write_shards(ranks, out, run, lambda rows: make(ids[rows]), overwrite=overwrite, progress=shown)
    if ranks.first and not quiet:
        say(
            f"Wrote the {kind} of {count(manifest.run.num_nodes, 'node')} to {out}, in "
            f"{count(len(manifest.shards), 'shard')}."
        )
    return ranks.first


def rank_device(device: str) -> torch.device:
    """The device asked for; several processes on a machine take turns in using its CUDA devices."""
    import torch

    from se_gnn.device import resolve_device

    resolved = resolve_device(device)
    if resolved.type == "cuda" and resolved.index is None and "LOCAL_RANK" in os.environ:
        return resolve_device(f"cuda:{int(os.environ['LOCAL_RANK']) % torch.cuda.device_count()}")
    return resolved
