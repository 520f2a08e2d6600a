"""Files of published data sets: found in a data folder or downloaded, and checked before anything reads them.

The SHA-256 of a file is written in the code. Bytes that do not have it never leave this module, so that a pickle
inside is only ever loaded when it is the published one. Where no SHA-256 is known to us, that of a download is printed,
and only readers that run no code may be given the bytes.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from se_gnn.errors import InputError
from se_gnn.optional import MissingPackage, require

DATA_VARIABLE = "SE_GNN_DATA"
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class RawFile:
    """A published file: its name, where it is published, and the SHA-256 of its bytes."""

    name: str
    url: str | None  # None: not published as a file of its own, ``origin`` says how to get it
    sha256: str | None  # None: not known to us
    origin: str = ""


def read_verified(files: Sequence[RawFile], folder: str, *, data_dir: str | Path | None) -> dict[str, bytes]:
    """The bytes of each file by its name, every one of them checked.

    Args:
        files: what to read.
        folder: where the files lie inside a data folder, such as ``Planetoid/Cora/raw``.
        data_dir: the data folder; else `SE_GNN_DATA`. What is not there is read from the user's cache folder, and
            downloaded to it first where it is missing. The data folder itself is never written to.
    """
    given = _given_folder(data_dir)
    cache = cache_folder() / folder
    contents: dict[str, bytes] = {}
    for file in files:
        candidates = [root / folder / file.name for root in (given,) if root is not None] + [cache / file.name]
        path = next((candidate for candidate in candidates if candidate.is_file()), None)
        if path is None:
            path = cache / file.name
            if file.url is None:
                raise InputError(_how_to_get(files, candidates[0].parent, None))
            try:
                _download(file, path)
            except (OSError, MissingPackage) as error:  # no network, no such page, disk full, read-only cache
                raise InputError(_how_to_get(files, candidates[0].parent, error)) from error
        contents[file.name] = _verified(file, path)
    return contents


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/se-gnn`, or `~/.cache/se-gnn`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "se-gnn"


def _given_folder(data_dir: str | Path | None) -> Path | None:
    source, folder = ("data_dir", data_dir) if data_dir is not None else (DATA_VARIABLE, os.environ.get(DATA_VARIABLE))
    if not folder:
        return None
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise InputError(f"{source} must name an existing folder, got {str(folder)!r}")
    return path


def _verified(file: RawFile, path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    found = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and found != file.sha256:
        remedy = f"download it again from {file.url}" if file.url else file.origin
        raise InputError(
            f"{path} is not the published file and was not opened: its SHA-256 must be {file.sha256}, got {found}; "
            f"delete it and {remedy}"
        )
    return content


def _download(file: RawFile, path: Path) -> None:
    """Download to ``path``; pooch moves it there only when it is complete and has the digest that is known."""
    from tqdm import tqdm

    assert file.url is not None
    pooch: Any = require("pooch", extra="data", feature="downloads")
    pooch.get_logger().setLevel("ERROR")  # what it would say, we say
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    progress = tqdm(total=1, desc=file.name, unit="B", unit_scale=True)  # pooch sets the total; None would be no bar
    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=TIMEOUT_SECONDS)
    try:
        pooch.retrieve(file.url, known_hash=known, fname=path.name, path=path.parent, downloader=downloader)
    except ValueError as error:
        if isinstance(error, OSError):  # requests' own way to say that an answer is no answer
            raise
        raise InputError(
            f"what was downloaded from {file.url} is not the published file and was deleted: its SHA-256 must be "
            f"{file.sha256} ({error})"
        ) from error
    finally:
        progress.close()
    if file.sha256 is None:
        found = pooch.file_hash(str(path), alg="sha256")
        print(f"{file.name} has the SHA-256 {found}; none is known to compare it with", file=sys.stderr)


def _reason(error: Exception) -> str:
    """Why a download failed, in the words of the innermost error."""
    inner = getattr(error.args[0], "reason", None) if error.args else None
    text = str(inner or getattr(error, "strerror", None) or error)
    return text.split("): ", 1)[-1] if inner else text


def _how_to_get(files: Sequence[RawFile], folder: Path, error: Exception | None) -> str:
    """What people do about files that are not there, and were not downloaded because of an ``error``, or never are."""
    names = ", ".join(file.name for file in files)
    if error is None:
        what = f"are missing: {folder} must hold {names}. To get them, {files[0].origin}"
    else:
        them, base = "it" if len(files) == 1 else "them", (files[0].url or "").rsplit("/", 1)[0]
        what = (
            f"are missing and could not be downloaded ({_reason(error)}). Download {names} from {base} and put {them} "
        )
        what += f"into {folder}"
    return f"data files {what}; another data folder is named by data_dir or by the environment variable {DATA_VARIABLE}"
