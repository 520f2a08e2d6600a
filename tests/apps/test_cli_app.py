import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import se_gnn
from se_gnn import datasets
from se_gnn.apps.cli import app
from se_gnn.errors import InputError

HEAVY = ("torch", "numba", "scipy", "sklearn", "numpy", "pyarrow", "pandas")


def commands() -> list[str]:
    """All commands as they are typed, those of a group behind its name."""
    found = []
    for name, command in typer.main.get_command(app).commands.items():
        found += [f"{name} {inner}" for inner in getattr(command, "commands", [])] or [name]
    return found


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["datasets"], ["--version"]])
def test_help_version_and_list_import_nothing_heavy(arguments):
    done = python(
        f"import sys; sys.argv = ['se-gnn', *{arguments!r}]\n"
        "from se_gnn.apps.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stdout


def test_a_command_that_ends_does_not_look_through_everything_for_garbage():
    done = python(
        "import gc, sys; sys.argv = ['se-gnn', '--version']\n"
        "from se_gnn.apps.cli import main\n"
        "try: main()\n"
        "except SystemExit: print('LEFT', len(gc.get_objects()), 'FROZEN', gc.get_freeze_count())"
    )
    left, frozen = (int(number) for number in done.stdout.split("LEFT ")[1].split(" FROZEN "))
    assert left < 1000 < frozen


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "se_gnn", "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: se-gnn [OPTIONS] COMMAND")


def test_help_of_every_command_has_an_example_and_fits_80_columns(run):
    for command in [*commands(), "labels"]:
        result = run(*command.split(), "--help")
        assert result.exit_code == 0
        assert f"Example:\n    se-gnn {command}" in result.output.replace("Examples:", "Example:")
        assert max(map(len, result.output.splitlines())) <= 80


def test_the_page_about_the_command_line_lists_every_command():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    listed = re.findall(r"^se-gnn ([a-z-]+(?: [a-z]+)?)  ", page.split("```")[1], flags=re.MULTILINE)
    assert sorted(listed) == sorted(commands())


def test_version_names_the_program(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"se-gnn {se_gnn.__version__}\n"


def test_no_command_shows_the_help(run):
    assert "Commands:" in run().output


def test_unknown_command_and_unknown_option_exit_with_2_and_no_traceback(run):
    for arguments in (["trian"], ["train", "digits", "--out", "x", "--colour"], ["train"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.output


def test_datasets_lists_every_data_set_within_80_columns(run):
    result = run("datasets")
    assert result.exit_code == 0
    for info in datasets.dataset_infos():
        assert info.name in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def _raising(monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(datasets, "dataset_infos", fail)


def test_a_users_mistake_is_one_line_on_stderr_and_exit_code_2(run, monkeypatch):
    _raising(monkeypatch, InputError("seed must be at least 0, got -1"))
    result = run("datasets")
    assert result.exit_code == 2
    assert result.stderr == "error: seed must be at least 0, got -1\n"
    assert result.stdout == ""


def test_an_interrupt_exits_with_130(run, monkeypatch):
    _raising(monkeypatch, KeyboardInterrupt())
    result = run("datasets")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


def test_an_unexpected_error_keeps_its_traceback_and_exits_with_1():
    done = python(
        "import sys; sys.argv = ['se-gnn', 'datasets']\n"
        "from se_gnn import datasets\n"
        "def fail(): raise RuntimeError('a bug')\n"
        "datasets.dataset_infos = fail\n"
        "from se_gnn.apps.cli import main\n"
        "main()"
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "RuntimeError: a bug" in done.stderr


def test_warnings_are_one_line_without_source_code():
    done = python(
        "import sys, warnings; sys.argv = ['se-gnn', 'datasets']\n"
        "from se_gnn import datasets\n"
        "def warn(): warnings.warn('a class has one node'); return ()\n"
        "datasets.dataset_infos = lambda real=datasets.dataset_infos: (warn(), real())[1]\n"
        "from se_gnn.apps.cli import main\n"
        "main()"
    )
    assert done.returncode == 0
    assert done.stderr == "warning: a class has one node\n"
