"""A kill or a fault at every operation that changes a file, of every command that writes; then what a user types next.

Whatever happens, a reader finds the old one or the new one, whole; the next command goes on and leaves no trace of it.
"""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from faults.commands import SCENARIOS, copy_of
from faults.injector import KilledError, watching

pytestmark = pytest.mark.filterwarnings("default")  # what was found is said as a warning

FAULTS = {
    "disk full": (errno.ENOSPC, True),
    "read-only file system": (errno.EROFS, True),
    "failed operation": (errno.EIO, False),
    "no permission": (errno.EACCES, False),
}


@pytest.fixture(params=list(SCENARIOS))
def scenario(request):
    return SCENARIOS[request.param]


@pytest.fixture
def expected(scenario, prepared, tmp_path):
    """What is there before, and after a run that nothing disturbs; its operations, and all names it leaves."""
    root = copy_of(prepared, tmp_path / "undisturbed")
    old = scenario.look(root)
    with watching(root) as seen:
        result = scenario.run(root)
    assert result.exit_code == 0, result.output
    new = scenario.look(root)
    assert (old is not None) == scenario.before
    assert new is not None
    assert new != old
    return old, new, seen.seen, names(root)


def names(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def next_command(scenario, root):
    """The same command without --overwrite; where it is refused, with the option that its error names first."""
    plain = [text for text in scenario.arguments if text != "--overwrite"]
    options = []
    for _ in range(2):
        result = type(scenario)(**{**vars(scenario), "arguments": plain}).run(root, *options)
        if result.exit_code == 0:
            return
        assert result.exit_code == 2, result.output
        offered = [word for word in ("--resume", "--overwrite") if word in result.stderr]
        assert offered, result.output
        options = offered[:1]
    raise AssertionError(result.output)


def check(scenario, root, expected, where):
    old, new, _, left = expected
    assert scenario.look(root) in (old, new), f"neither the old one nor the new one after {where}"
    next_command(scenario, root)
    assert scenario.look(root) == new, f"the next command did not make the new one after {where}"
    assert names(root) == left, f"something is left after {where}"


def kill_all(scenario, prepared, tmp_path, expected, points, counts):
    for at in points:
        root = copy_of(prepared, tmp_path / "run")
        with pytest.raises(KilledError), watching(root, at):
            scenario.run(root)
        check(scenario, root, expected, f"a kill at {expected[2][at - 1]}")
        counts["kills"] += 1


def disturb_all(scenario, prepared, tmp_path, expected, points, counts):
    for at, fault in points:
        root = copy_of(prepared, tmp_path / "run")
        code, lasting = FAULTS[fault]

        def fail(_, code=code):
            raise OSError(code, os.strerror(code))

        with watching(root, at, fail, lasting=lasting):
            result = scenario.run(root)
        where = f"{fault} at {expected[2][at - 1]}"
        assert result.exit_code in (0, 2), f"{where}: {result.output} {result.exception!r}"
        assert result.exit_code == 0 or result.stderr.startswith("error: "), f"{where}: {result.stderr}"
        check(scenario, root, expected, where)
        counts["faults"] += 1


def vanish_all(scenario, prepared, tmp_path, expected, points, counts):
    """The folder that is written to is moved away by somebody else."""
    for at in points:
        root = copy_of(prepared, tmp_path / "run")
        folder = root / scenario.out if (root / scenario.out).suffix == "" else root

        def vanish(_, folder=folder, away=tmp_path / "away"):
            if folder.exists():
                shutil.rmtree(away, ignore_errors=True)
                folder.rename(away)

        with watching(root, at, vanish):
            result = scenario.run(root)
        where = f"a vanished folder at {expected[2][at - 1]}"
        assert result.exit_code in (0, 2), f"{where}: {result.output} {result.exception!r}"
        if folder == root:
            folder = copy_of(prepared, root)
        elif folder.exists():
            shutil.rmtree(folder)  # made again halfway: a user who moved it away starts anew
        source = root / "old-model"
        if not source.exists():
            shutil.copytree(prepared / "old-model", source)
        next_command(scenario, root)
        assert scenario.look(root) == expected[1], where
        counts["vanished folders"] += 1


def test_a_kill_at_some_operations_leaves_the_old_or_the_new(scenario, prepared, tmp_path, expected, counts):
    kill_all(scenario, prepared, tmp_path, expected, range(1, len(expected[2]) + 1, scenario.stride), counts)


def test_a_fault_at_some_operations_leaves_the_old_or_the_new(scenario, prepared, tmp_path, expected, counts):
    kinds = list(FAULTS)
    points = [(at, kinds[at % 4]) for at in range(1, len(expected[2]) + 1, 2 * scenario.stride - 1)]
    disturb_all(scenario, prepared, tmp_path, expected, points, counts)


def test_a_folder_that_vanishes_is_no_traceback(scenario, prepared, tmp_path, expected, counts):
    vanish_all(scenario, prepared, tmp_path, expected, range(1, len(expected[2]) + 1, 5 * scenario.stride), counts)


@pytest.mark.slow
def test_a_kill_at_every_operation_leaves_the_old_or_the_new(scenario, prepared, tmp_path, expected, counts):
    kill_all(scenario, prepared, tmp_path, expected, range(1, len(expected[2]) + 1), counts)


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_fault_at_every_operation_leaves_the_old_or_the_new(scenario, prepared, tmp_path, expected, counts, fault):
    points = [(at, fault) for at in range(1, len(expected[2]) + 1)]
    disturb_all(scenario, prepared, tmp_path, expected, points, counts)


@pytest.mark.slow
def test_a_folder_that_vanishes_at_any_operation_is_no_traceback(scenario, prepared, tmp_path, expected, counts):
    vanish_all(scenario, prepared, tmp_path, expected, range(1, len(expected[2]) + 1), counts)


@pytest.mark.parametrize("rate", ["1e30", "1e38"])
def test_a_training_that_diverges_leaves_the_old_model(prepared, tmp_path, rate):
    scenario = SCENARIOS["train, over an old one"]
    root = copy_of(prepared, tmp_path / "run")
    old = scenario.look(root)
    features = "temperature=1e-30"  # so that the loss has no finite value
    result = scenario.run(root, "--set", f"learning_rate={rate}", "--set", features)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert scenario.look(root) == old
    assert scenario.run(root).exit_code == 0
