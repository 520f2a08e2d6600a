"""A cache that cannot be written or read is no reason to fail; a forked process is told what is wrong."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings

import numba
import pytest

from se_gnn import compiled_code

SOURCE = "def double(x):\n    return 2 * x\n"


@pytest.fixture
def double(tmp_path, monkeypatch):
    """Declares the same function anew, as a process that starts does, with its cache in a folder of the test."""
    (tmp_path / "double.py").write_text(SOURCE)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(compiled_code, "_said", set())

    def declare():
        return compiled_code.compiled(_module("double", tmp_path, monkeypatch).double)

    return declare


def files(tmp_path, ending):
    return list((tmp_path / "cache").rglob(f"*.{ending}"))


def test_compiled_code_is_kept(double, tmp_path):
    assert double()(4) == 8
    again = double()
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 5, 40])
def test_a_cache_that_was_cut_short_is_compiled_again_with_one_line(double, tmp_path, ending, length):
    double()(4)
    (file,) = files(tmp_path, ending)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.warns(UserWarning, match="is damaged .* and is compiled again"):
        assert double()(4) == 8
    again = double()
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1  # it was mended


@pytest.mark.parametrize("step", ["_save_data", "_save_index"])
def test_two_processes_that_compile_at_once_for_other_types_do_not_mix_them_up(double, monkeypatch, step):
    """One is held up while it keeps its code; the other, which looked when nothing was there, writes meanwhile."""
    one, other = double(), double()
    held_up = getattr(one._cache._cache_file, step)

    def after_the_other(*given):
        monkeypatch.setattr(other._cache._cache_file, "_load_index", dict)
        assert other(1.5) == 3.0
        held_up(*given)

    monkeypatch.setattr(one._cache._cache_file, step, after_the_other)
    assert one(4) == 8
    for _ in range(2):
        again = double()
        assert (again(1.5), again(4)) == (3.0, 8)
    assert sum(again.stats.cache_hits.values()) == 2  # an entry that was lost was compiled again


def test_code_that_was_compiled_for_other_types_is_not_used(double, tmp_path):
    first = double()
    assert (first(4), first(1.5)) == (8, 3.0)
    one, other = files(tmp_path, "nbc")
    content = one.read_bytes(), other.read_bytes()
    one.write_bytes(content[1])
    other.write_bytes(content[0])
    again = double()
    with pytest.warns(UserWarning, match="is damaged .* and is compiled again"):
        assert (again(4), again(1.5)) == (8, 3.0)


CALLS = {
    "a compiled function": ("@numba.njit\ndef given(x):\n    return {} * x\n", "given(x)"),
    "one that calls another": (
        "@numba.njit\ndef last(x):\n    return {} * x\n\n@numba.njit\ndef given(x):\n    return last(x)\n",
        "given(x)",
    ),
    "an intrinsic": (
        "@numba.extending.intrinsic\ndef given(typing, x):\n"
        "    return x(x), lambda context, builder, signature, values: builder.mul(values[0], values[0].type({}))\n",
        "given(x)",
    ),
    "a constant": ("given = {}\n", "given * x"),
}


@pytest.mark.parametrize("call", CALLS)
def test_code_is_compiled_again_after_what_it_calls_has_changed(tmp_path, monkeypatch, call):
    """The file of the function itself is the same; what it takes from elsewhere is not."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    text, used = CALLS[call]

    def declare(factor):
        (tmp_path / "given.py").write_text("import numba\nimport numba.extending\n\n" + text.format(factor))
        given = _module("given", tmp_path, monkeypatch)
        calling = _module("calling", tmp_path, monkeypatch)
        calling.given = given.given  # as `from se_gnn.given import given` does, after the function was declared
        return calling.times

    (tmp_path / "calling.py").write_text(
        f"from se_gnn.compiled_code import compiled\n\n@compiled\ndef times(x):\n    return {used}\n"
    )
    assert declare(20)(4) == 80
    assert declare(300)(4) == 1200


def _module(name, folder, monkeypatch):
    spec = importlib.util.spec_from_file_location(f"se_gnn.{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, f"se_gnn.{name}", module)  # what is kept names its module
    spec.loader.exec_module(module)
    return module


def test_a_cache_that_nowhere_can_be_written_is_said_once(double, monkeypatch):
    monkeypatch.setattr(compiled_code, "ForgivingCache", _nowhere)
    with pytest.warns(UserWarning, match="no cache folder can be written to") as said:
        assert (double()(4), double()(5)) == (8, 10)
    assert len(said) == 1


def _nowhere(_):
    raise RuntimeError("cannot cache function: no locator available")


def test_a_disk_that_is_full_when_compiled_code_is_kept_is_said(double, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled_code.OneFileEach, "save", full)
    with pytest.warns(UserWarning, match="cannot be kept in .*No space left"):
        assert double()(4) == 8


def test_importing_the_package_changes_nothing_in_numba():
    from numba.core import caching, dispatcher

    assert dispatcher.FunctionCache is caching.FunctionCache
    assert type(numba.njit(cache=True)(_nowhere)._cache) is caching.FunctionCache


def test_a_child_that_was_forked_after_use_is_told_and_not_ended(tmp_path):
    code = """
import os, sys
import scipy.sparse as sp
import torch
from se_gnn.errors import InputError
from se_gnn.graph.sparse import SparseMatrix
matrix = SparseMatrix.from_scipy(sp.eye_array(4))
matrix @ torch.ones(4, 2)
child = os.fork()
if child == 0:
    try:
        matrix @ torch.ones(4, 2)
    except InputError as error:
        print(error, flush=True)
        os._exit(7)
    os._exit(0)
status = os.waitpid(child, 0)[1]
matrix @ torch.ones(4, 2)  # the parent goes on
sys.exit(os.waitstatus_to_exitcode(status))
"""
    with warnings.catch_warnings(action="ignore"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert done.returncode == 7, done.stderr
    assert "start processes with multiprocessing.get_context('spawn')" in done.stdout
