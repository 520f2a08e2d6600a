"""Ctrl-C in the middle of a compilation waits for its end, elsewhere it comes at once."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from se_gnn.progress import patient_interrupt


@pytest.fixture(autouse=True)
def usual():
    """A shell may have told the tests to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_within(module):
    """A function of a module that is interrupted while it runs."""
    namespace = {"__name__": module, "signal": signal}
    exec("def compiled():\n    signal.raise_signal(signal.SIGINT)\n    return 'whole'", namespace)
    return namespace["compiled"]


@pytest.mark.parametrize("module", ["numba.core.compiler", "llvmlite.binding.ffi"])
def test_a_compilation_ends_before_the_interrupt(module):
    results = []

    def work():
        results.append(interrupted_within(module)())
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt), patient_interrupt():
        work()
    assert results == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("module", ["se_gnn.training", "numbalike"])
def test_elsewhere_it_comes_at_once(module):
    result = "interrupted"
    with pytest.raises(KeyboardInterrupt), patient_interrupt():
        result = interrupted_within(module)()
    assert result == "interrupted"


def test_an_ignored_interrupt_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with patient_interrupt():
        assert interrupted_within("se_gnn.training")() == "whole"


def test_in_another_thread_nothing_is_changed():
    seen = []

    def work():
        with patient_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
