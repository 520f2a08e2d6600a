"""`python -m lab`: its help, and misuses that end in one clear line on stderr and exit code 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from lab.commands import app

HEAVY = ("torch", "numba", "scipy", "sklearn", "numpy", "pyarrow", "pandas")
ROOT = Path(__file__).resolve().parents[2]
COMMANDS = list(typer.main.get_command(app).commands)

# arguments, and a part of the line that is said
MISUSES: list[tuple[tuple[str, ...], str]] = [
    (("atack",), "No such command 'atack'"),
    (("attack", "{toy}", "--out", "{toy}"), "graph"),
    (("attack", "{toy}", "--out", "{out}", "--rate", "-1"), "Invalid value for '--rate'"),
    (("attack", "{toy}", "--out", "{out}", "--method", "nuke"), "'nuke' is not one of"),
    (("attack", "{toy}", "--out", "{out}", "--seed", str(2**64)), "Invalid value for '--seed'"),
    (("attack", "{toy}", "--out", "{out}", "--method", "random", "--keep-degrees"), "belong to metattack"),
    (("attack", "{toy}", "--out", "x" * 300), "File name too long"),
    (("train", "sin-cora", "--out", "{out}"), "(did you mean 'syn-cora'?)"),
    (("rate", "{toy}", "--out", "{out}"), "is not a model folder"),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: " ".join(misuse[0])[:60])
def test_a_misuse_is_one_clear_line_and_exit_code_2(run, toy, tmp_path, misuse):
    arguments, text = misuse
    result = run(*(argument.format(toy=toy, out=tmp_path / "out") for argument in arguments))
    assert result.exit_code == 2, result.output
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert result.stderr.startswith("error: ")
    assert text in result.stderr
    assert not (tmp_path / "out").exists()


def test_help_lists_the_commands_and_each_has_an_example_that_fits_80_columns(run):
    whole = run("--help").output
    for command in COMMANDS:
        assert f"\n  {command} " in whole
        shown = run(command, "--help").output
        assert f"Example:\n    python -m lab {command}" in shown.replace("Examples:", "Example:")
        assert max(map(len, shown.splitlines())) <= 80


def test_data_sets_of_the_lab_are_listed_beside_the_others(run):
    listed = run("datasets").output
    assert all(f"\n  {name} " in listed for name in ("digits", "cora", "syn-cora", "citeseer-metattack-RATE", "acm"))


def test_the_lab_runs_as_a_module_and_its_help_imports_nothing_heavy():
    code = (
        "import runpy, sys; sys.argv = ['lab', '--help']\n"
        "try: runpy.run_module('lab', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: python -m lab [OPTIONS] COMMAND")
    assert "HEAVY []" in done.stdout
