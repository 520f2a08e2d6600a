"""No option is ignored: given in a call that does not read it, it is an error. Few options, the common ones first."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import typer

from se_gnn.apps.cli import app
from se_gnn.apps.cli.commands import _marks

COMMAND = typer.main.get_command(app)
MOST_OPTIONS = 110
ROLES = ("--nodes", "n.csv", "--edges", "e.csv", "--id", "a", "--label", "b", "--out", "g")
CALLS = [
    ("report", "missing", "--out", "page.html"),
    ("predict", "model", "--out", "p.csv"),
    ("predict", "model", "--out", "folder"),
    ("predict", "model", "--out", "p.csv", "--pairs", "pairs.csv"),
    ("explain", "model", "--node", "a"),
    ("explain", "model", "--out", "folder"),
    ("explain", "model", "--pair", "a,b"),
    ("report", "model", "--out", "page.html", "--pair", "a,b"),
    ("recommend", "model", "--nodes", "a"),
    ("labels", "audit", "model"),
    ("labels", "audit", "model", "--out", "a.csv", "--quiet"),
    ("labels", "suggest", "model"),
    ("labels", "certify", "model"),
    ("import", *ROLES, "--column", "part=split"),
    ("import", "--nodes", "n.parquet", "--edges", "e.parquet", "--id", "a", "--out", "g", "--target-number", "c"),
    ("train", "{graph}", "--out", "model", "--task", "links"),
    ("tune", "{graph}", "--out", "search"),
]  # between them, every marked option is given where nothing reads it


def commands(command=COMMAND, path=()):
    """All commands with their paths."""
    found = [(path, command)] if path else []
    for name, one in getattr(command, "commands", {}).items():
        found += commands(one, (*path, name))
    return found


def options(command):
    return [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts]


def marked():
    """Every option that only some calls read, with its command."""
    found = []
    for path, command in commands():
        marks = {} if hasattr(command, "commands") else _marks(command.callback)
        found += [(path, command, option) for option in options(command) if option.name in marks]
    return found


def given(option, command):
    """The option with some value of its type."""
    if option.is_flag:
        return [option.opts[0]]
    hint = get_type_hints(command.callback)[option.name]
    types = get_args(hint) or (hint,)
    if issubclass(types[0], StrEnum):
        return [option.opts[0], next(iter(types[0])).value]
    return [option.opts[0], {int: "1", float: "0.5"}.get(types[0], "x=ignore")]


@pytest.mark.parametrize(
    ("path", "command", "option"),
    [pytest.param(*one, id=f"{' '.join(one[0])} {getattr(one[2], 'name', one[2])}") for one in marked()],
)
def test_an_option_that_a_call_does_not_read_is_refused(run, path, command, option, tmp_path, monkeypatch):
    from se_gnn.graph.storage import save_graph
    from strategies import random_graph

    monkeypatch.chdir(tmp_path)
    save_graph(random_graph(1), tmp_path / "graph")
    texts, text = [], given(option, command)
    for call in CALLS:
        if call[: len(path)] == path:
            arguments = [one.format(graph=tmp_path / "graph") for one in call]
            if text[0] not in arguments:
                result = run(*arguments, *text)
                texts.append(result.stderr)
                assert result.exit_code == 2, result.output  # there is no model, so every call ends with an error
    assert any(f"error: {text[0]} has an effect only " in told for told in texts), texts


@pytest.mark.parametrize(
    "call", [("datasets", "--quiet"), ("--quiet", "verify", "x"), ("labels", "history", "x", "-q")]
)
def test_an_option_of_every_command_is_refused_by_those_that_have_no_use_for_it(run, call):
    result = run(*call)
    assert result.exit_code == 2
    assert "No such option: " in result.stderr


def test_options_of_every_command_stand_before_or_behind_it(run, model):
    for arguments in (("--quiet", "predict", model), ("predict", model, "--quiet"), ("predict", "-q", model)):
        out = Path(model).parent / "p.csv"
        result = run(*arguments, "--out", out, "--overwrite")
        assert (result.exit_code, result.output) == (0, "")


def test_there_are_not_too_many_options():
    own = sum(len(options(command)) for _, command in [((), COMMAND), *commands()])
    assert own <= MOST_OPTIONS


def test_the_commands_that_everybody_needs_stand_first(run):
    first = run("--help").output.partition("Commands:")[2].partition("More commands:")[0]
    names = [line.split()[0] for line in first.splitlines() if line.strip()]
    assert names == ["start", "import", "train", "predict", "explain", "report", "serve"]


def test_help_lists_options_of_one_situation_under_a_heading(run):
    text = run("predict", "--help").output
    assert "--new-edges" in text.partition("Only with --new-nodes:")[2].partition("\nLess ")[0]
    assert "--device" in text.partition("Less common options:")[2]
    assert "--set" in run("explain", "--help").output.partition("Only with --out:")[2]
