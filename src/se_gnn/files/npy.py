"""Arrays that need not fit the memory: `.npy` files that are checked, and read by mapping."""

from __future__ import annotations

import hashlib
import io
import itertools
import mmap
from collections.abc import Callable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from se_gnn.errors import InputError

BLOCK = 16 << 20  # bytes that are read at a time to make a digest
WINDOW = 64 << 20  # bytes of a mapped file whose pages are held at a time while rows are taken from it

Array = npt.NDArray[Any]


class ArrayInfo(NamedTuple):
    """What a stored array must be."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str  # of the numbers, without the header


def npy_header(dtype: npt.DTypeLike, shape: tuple[int, ...]) -> bytes:
    """The first bytes of a `.npy` file."""
    text = io.BytesIO()
    about = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(text, about)
    return text.getvalue()


def map_array(path: Path, info: ArrayInfo) -> Array:
    """A stored array without reading it; type, shape and size of the file must be those that are expected."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} must be a regular file")  # a pipe would be waited for without end
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError(f"{path} is missing") from error
    except (OSError, ValueError, EOFError, SyntaxError, TokenError, RecursionError) as error:  # of its header
        raise InputError(f"{path} is truncated or damaged: {error}") from error
    if (array.dtype.str, array.shape) != (info.dtype, info.shape) or not array.flags.c_contiguous:
        raise InputError(f"{path} must hold {info.dtype} of shape {info.shape}, got {array.dtype.str} of {array.shape}")
    if path.stat().st_size != array.nbytes + getattr(array, "offset", 0):
        raise InputError(f"{path} is truncated or longer than it was written")
    return array


class Rule(NamedTuple):
    """What each number of an array must be; a digest does not prove it, because it can be forged as well."""

    words: str
    wrong: Callable[[Array], npt.NDArray[np.bool_]]  # whether each number breaks the rule

    @classmethod
    def between(cls, low: int, high: int, words: str = "") -> Rule:
        """At least ``low`` and at most ``high``."""
        return cls(words or f"between {low:,} and {high:,}", lambda given: (given < low) | (given > high))


FINITE = Rule("finite", lambda given: ~np.isfinite(given))
POSITIVE = Rule("a finite number above 0", lambda given: ~(np.isfinite(given) & (given > 0)))


def check_array(path: Path, info: ArrayInfo, rule: Rule | None = None) -> None:
    """Compare a stored array with what it must be: type, shape, size, digest, and a rule for its numbers."""
    for _ in _checked(path, info, rule):
        pass


def load_array(path: Path, info: ArrayInfo, rule: Rule | None = None) -> Array:
    """A stored array in memory, checked as by :func:`check_array`."""
    blocks = [*_checked(path, info, rule)]
    found: Array = blocks[0] if len(blocks) == 1 else np.concatenate([np.empty(0, info.dtype), *blocks])
    return found.reshape(info.shape)


def _checked(path: Path, info: ArrayInfo, rule: Rule | None) -> Iterator[Array]:
    """The numbers of a stored array, some megabytes at a time; what is wrong with them is an error at the end."""
    offset, dtype = int(getattr(map_array(path, info), "offset", 0)), np.dtype(info.dtype)
    digest, broken = hashlib.sha256(), False
    with path.open("rb") as file:
        file.seek(offset)
        while len(block := np.fromfile(file, dtype, BLOCK // dtype.itemsize)):
            digest.update(block.data)
            broken = broken or (rule is not None and bool(rule.wrong(block).any()))
            yield block
    if digest.hexdigest() != info.sha256:
        raise InputError(f"{path} is truncated or was changed: it does not have the digest that was written with it")
    if rule is not None and broken:
        raise InputError(f"{path} is damaged: its numbers must be {rule.words}")


def read_rows(array: Array, low: int, high: int) -> Array:
    """Some rows of a mapped array by reading the file: what is read leaves no pages of the file in this process."""
    if not isinstance(array, np.memmap):
        return array[low:high]
    if array.filename is None:  # a file without a name is read through its pages
        found: Array = np.array(array[low:high])
        forget(array)
        return found
    row = array.dtype.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    with open(array.filename, "rb") as file:  # noqa: PTH123 - a name that NumPy keeps
        count = (high - low) * (row // array.dtype.itemsize)
        found = np.fromfile(file, array.dtype, count, offset=array.offset + low * row)
    return found.reshape(high - low, *array.shape[1:])


def take_rows(array: Array, rows: npt.NDArray[np.int64]) -> Array:
    """``array[rows]`` of a mapped array, ``rows`` ascending; pages of one window of the file are held at a time."""
    found = np.empty((len(rows), *array.shape[1:]), array.dtype)
    firsts = np.arange(0, len(array), max(1, WINDOW // max(1, array.strides[0])))  # a table may have no columns
    bounds = [*np.searchsorted(rows, firsts).tolist(), len(rows)]
    for low, high in itertools.pairwise(bounds):
        if low < high:
            found[low:high] = array[rows[low:high]]
            forget(array)
    return found


def forget(*arrays: Array) -> None:
    """Give the pages of mapped arrays back to the system; what is looked at again comes from the file again."""
    for array in arrays:
        mapping = getattr(array, "_mmap", None)
        if mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
