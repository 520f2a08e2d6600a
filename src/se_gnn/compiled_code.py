"""The decorator of compiled functions: their cache never is the reason why something fails, and forks are refused.

Numba ends with a traceback where its cache is read-only or was cut short, and ends the whole process where compiled
code runs in threads after a fork: the threads of GNU OpenMP do not survive one. Two processes that compile a function
at the same time, each for other types, may write to one file of its cache: what is then loaded was compiled for other
types, and silently computes nonsense. And of the files that a function is made of, numba watches the one it stands in,
not those it calls. :func:`compiled` takes care of all of it, for the functions it is put on and for no others.

Importing this module registers one function that runs in forked processes, and changes nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, overload

import numba
from numba.core import caching
from numba.np.ufunc import parallel as _parallel

from se_gnn.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
_threads: Any = _parallel  # numba's types do not name what is used here
_functions: Any = caching.FunctionCache
_files: Any = caching.IndexDataCacheFile


@overload
def compiled(function: Function, /) -> Function: ...
@overload
def compiled(**options: Any) -> Callable[[Function], Function]: ...
def compiled(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Compile a function when it is called, keep the code in a cache folder, and let other threads run meanwhile.

    Options are those of `numba.njit`. With ``parallel=True`` the function runs in threads, is called from Python only,
    and refuses to run in a process that was forked from one that had used such threads.
    """
    if function is None:
        return functools.partial(compiled, **options)
    dispatcher = numba.njit(**{"nogil": True, **options})(function)
    dispatcher._cache = _cache_of(function)
    if not options.get("parallel"):
        return dispatcher

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        if _lost_threads:
            raise InputError(
                "this process was forked from one that had used se-gnn, whose threads a fork does not copy: start "
                "processes with multiprocessing.get_context('spawn'), or fork before the first use"
            )
        return dispatcher(*args)

    checked: Any = run
    checked.dispatcher = dispatcher  # numba's own object, which knows what was compiled
    return checked


class OneFileEach(_files):
    """Files of a cache: code that was compiled for some types has a file of its own, named by what it is."""

    def save(self, key: Any, data: Any) -> None:
        """Write the code, then its entry in the index; of two processes one may lose its entry, and compiles again."""
        name = self._data_name_pattern.replace("{number:d}", hashlib.sha256(repr(key).encode()).hexdigest()[:32])
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


class ForgivingCache(_functions):
    """A cache that never is the reason why something fails."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = OneFileEach(self._cache_path, self._impl.filename_base, source_stamp=None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None if there is none that can be read."""
        self._cache_file._source_stamp = source_stamp(self._py_func)  # not before: what it calls is declared by now
        try:
            found = super().load_overload(sig, target_context)
            if found is not None and found.signature.args != sig:
                raise TypeError(f"compiled for {found.signature.args}, not {sig}")
            return found
        except Exception as error:  # whatever a damaged pickle raises
            _say_once(f"compiled code in {self.cache_path} is damaged ({type(error).__name__}) and is compiled again")
            with contextlib.suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, where that is possible."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, ValueError) as error:
            _say_once(f"compiled code cannot be kept in {self.cache_path} ({error}); the next run compiles it again")


def source_stamp(function: Callable[..., Any]) -> tuple[str, ...]:
    """All that the code of a function is made of: files by their time and size, and constants by their value."""
    parts: set[str] = set()
    seen: set[CodeType] = set()
    waiting = [function]
    while waiting:
        function = waiting.pop()
        code = function.__code__
        if code in seen:
            continue
        seen.add(code)
        with contextlib.suppress(OSError):
            file = Path(code.co_filename).stat()
            parts.add(f"{function.__module__} {file.st_mtime_ns} {file.st_size}")
        for name in _names(code):
            value = function.__globals__.get(name)
            value = getattr(value, "py_func", getattr(value, "_defn", value))  # of compiled code and of an intrinsic
            value = getattr(value, "__wrapped__", value)  # what writes the code of the intrinsic
            if isinstance(value, FunctionType) and value.__module__.partition(".")[0] == "se_gnn":
                waiting.append(value)
            elif isinstance(value, int | float | str | tuple):
                parts.add(f"{name} = {value!r}")
    return tuple(sorted(parts))


def _names(code: CodeType) -> Iterator[str]:
    """Names a function uses, with those of the functions that are written inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _cache_of(function: Callable[..., Any]) -> Any:
    try:
        return ForgivingCache(function)
    except RuntimeError:  # no place that can be written to
        _say_once("compiled code cannot be kept, no cache folder can be written to: every run compiles it again")
        return caching.NullCache()


_lost_threads = False


def _after_fork() -> None:
    """In a forked process: remember whether the threads that compiled functions run in were left behind."""
    global _lost_threads
    _lost_threads = bool(_threads._is_initialized) and _threads._threading_layer != "tbb"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_said: set[str] = set()


def _say_once(text: str) -> None:
    start = text[:40]  # one line, not one per function
    if start not in _said:
        _said.add(start)
        warnings.warn(text, stacklevel=3)
