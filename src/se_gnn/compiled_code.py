"""Compiled code and its cache: what cannot be kept or read back is compiled again, and a forked process is told.

Numba ends with a traceback where its cache is read-only or was cut short, and ends the whole process where compiled
code runs in threads after a fork: the threads of GNU OpenMP do not survive one. Two processes that compile a function
at the same time, each for other types, may write to one file of its cache: what is then loaded was compiled for other
types, and computes nonsense without a word. And of the files that a function is made of, numba watches the one it
stands in, not those it calls. What is done about it here concerns the functions of this package alone.
`se_gnn.graph` imports this module before the first of them is declared.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NoReturn

from numba.core import caching
from numba.core import dispatcher as _typed
from numba.np.ufunc import parallel as _parallel

from se_gnn.errors import InputError

dispatcher: Any = _typed  # numba's types do not name what is used here
parallel: Any = _parallel
_original: Any = dispatcher.FunctionCache
_files: Any = caching.IndexDataCacheFile


class OneFileEach(_files):
    """Files of a cache: code that was compiled for some types has a file of its own, named by what it is."""

    def save(self, key: Any, data: Any) -> None:
        """Write the code, then its entry in the index; of two processes one may lose its entry, and compiles again."""
        name = self._data_name_pattern.replace("{number:d}", hashlib.sha256(repr(key).encode()).hexdigest()[:32])
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


class ForgivingCache(_original):
    """A cache that never is the reason why something fails."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = OneFileEach(self._cache_path, self._impl.filename_base, source_stamp=None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function, or None where there is none that can be read."""
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


def install() -> None:
    """Make the compiled functions of this package forgiving."""
    if dispatcher.FunctionCache is _original:
        dispatcher.FunctionCache = _cache_of
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_refuse_in_child)


def _cache_of(py_func: Callable[..., Any]) -> Any:
    if py_func.__module__.partition(".")[0] != "se_gnn":
        return _original(py_func)
    try:
        return ForgivingCache(py_func)
    except RuntimeError:  # no place that can be written to
        _say_once("compiled code cannot be kept, no cache folder can be written to: every run compiles it again")
        return caching.NullCache()


def _refuse_in_child() -> None:
    """After a fork: compiled functions that run in threads say what is wrong, before they end the process."""
    if not parallel._is_initialized or parallel._threading_layer == "tbb":
        return
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "se_gnn"]:
        for name, value in list(vars(module).items()):
            if isinstance(value, dispatcher.Dispatcher) and value.targetoptions.get("parallel"):
                setattr(module, name, _refuse)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise InputError(
        "this process was forked from one that had used se-gnn, whose threads a fork does not copy: start processes "
        "with multiprocessing.get_context('spawn'), or fork before the first use"
    )


_said: set[str] = set()


def _say_once(text: str) -> None:
    kind = text[:40]  # one line, not one per function
    if kind not in _said:
        _said.add(kind)
        warnings.warn(text, stacklevel=3)


install()
