"""How commands are declared and run: options that only some calls read, errors in one line, Ctrl-C, closed streams.

Exit codes: 0 fine, 1 unexpected (with its traceback), 2 a user's mistake, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from se_gnn import __version__
from se_gnn.display.text import printable
from se_gnn.errors import InputError, shortened
from se_gnn.progress import patient_interrupt

MISTAKE, INTERRUPTED = 2, 130
NEW_OBJECTS = 50_000  # between garbage collections; Python's 700 would search PyTorch's modules while they are loaded
_BOUNDS = re.compile(r"; [\d.<=]*x[<>]=?[\d.]+(?=\])| *\[[\d.<=]*x[<>]=?[\d.]+\]")  # of numbers; an error names them
QUIET = ("--quiet", "-q")  # an option of commands that may also stand before the command
_UsageError: Any = typer.BadParameter.__base__  # Click's, which Typer brings under one name or another


@dataclass(frozen=True, slots=True)
class Only:
    """Marks an option that only some calls read: elsewhere it is an error, and --help lists it under a heading."""

    situation: str  # which calls, as "with --coverage"; "without ..." are the ordinary calls, which have no heading
    holds: Callable[[Mapping[str, Any]], bool]  # whether a call with these values is one of them


def beside(option: str) -> Only:
    """Marks an option that is read only beside another one."""
    return Only(f"with {option}", lambda values: _is_given(values, option))


def without(option: str) -> Only:
    """Marks an option that is not read beside another one."""
    return Only(f"without {option}", lambda values: not _is_given(values, option))


def _is_given(values: Mapping[str, Any], option: str) -> bool:
    value = values[option.removeprefix("--").replace("-", "_")]
    return value is not None and value is not False and value != []


class Command(TyperCommand):
    """A command whose --help lists options under headings."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Names of the arguments, without braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options, then those that only some calls read."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        marks = _marks(self.callback)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            record = (record[0].partition(" <")[0] if is_argument else record[0], _BOUNDS.sub("", record[1]))
            heading = "Arguments" if is_argument else "Options"
            if panel := getattr(parameter, "rich_help_panel", None):
                heading = panel
            elif some := [one for one in marks.get(parameter.name, ()) if not one.situation.startswith("without ")]:
                heading = f"Only {some[0].situation}"
            sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """Turns a user's mistake into one line on stderr; anything unexpected keeps its traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; show the help if nothing is given."""
        end = args.index("--") if "--" in args else len(args)
        quiet = [arg for arg in args[:end] if arg in QUIET]
        with _mistakes_in_a_line(ctx) if args else contextlib.nullcontext():
            return super().parse_args(ctx, [*(arg for arg in args[:end] if arg not in QUIET), *quiet, *args[end:]])

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with warnings.catch_warnings(), patient_interrupt(), _mistakes_in_a_line(ctx):
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                _say("\ninterrupted")
                raise typer.Exit(INTERRUPTED) from error

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under their headings, in the order in which they were added."""
        sections: dict[str, list[tuple[str, str]]] = {"Commands": []}
        limit = formatter.width - 6 - max(map(len, self.commands))
        for name, command in sorted(self.commands.items(), key=lambda item: not hasattr(item[1], "commands")):
            heading = getattr(command, "rich_help_panel", None)
            section = sections.setdefault(heading if isinstance(heading, str) else "Commands", [])
            section.append((name, command.get_short_help_str(limit)))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def command_group(name: str, *, about: str, epilog: str, begin: Callable[[], None] | None = None) -> typer.Typer:
    """Commands under one name, without any yet; ``begin`` runs before each of them."""
    group = typer.Typer(
        name=name,
        cls=Group,
        help=about,
        epilog=epilog,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # plain help: quick, and the same in every terminal
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @group.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        if begin is not None:
            begin()

    return group


def add_command(
    group: typer.Typer,
    function: Callable[..., None],
    *,
    epilog: str,
    name: str | None = None,
    heading: str | None = None,
) -> None:
    """Make a function a command; an option that this call does not read is an error."""
    signature, marks = inspect.signature(function, eval_str=True), _marks(function)

    @functools.wraps(function)
    def call(context: typer.Context, **given: Any) -> None:
        for one in context.command.params:
            source = context.get_parameter_source(one.name or "")
            for only in marks.get(one.name, ()) if source is not None and source.name == "COMMANDLINE" else ():
                if not only.holds(given):
                    raise InputError(f"{one.opts[0]} has an effect only {only.situation}: leave it out")
        function(**given)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *signature.parameters.values()]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    group.command(name, cls=Command, epilog=epilog, rich_help_panel=heading)(call)


def run(commands: typer.Typer, name: str) -> None:
    """Run the command that this process was started with."""
    # Threads of PyTorch and numba that wait for each other must not spin for long: beside another busy process they
    # keep the threads they wait for from running. Read when PyTorch is first loaded; the user's own setting stays.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    _open_standard_streams()
    gc.set_threshold(NEW_OBJECTS)
    try:
        commands(prog_name=name)
    finally:
        gc.freeze()  # the process ends: another search through everything that was loaded would take most of a second


def _marks(function: Any) -> dict[str | None, tuple[Only, ...]]:
    """The situations in which each parameter of a command is read, if only in some."""
    hints = get_type_hints(function, include_extras=True)
    found = {name: tuple(one for one in get_args(hint)[1:] if isinstance(one, Only)) for name, hint in hints.items()}
    return {name: marks for name, marks in found.items() if marks}


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"se-gnn {__version__}")
        raise typer.Exit


@contextlib.contextmanager
def _mistakes_in_a_line(ctx: Any) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        _say(f"error: {_one_line(str(error))}")
        raise typer.Exit(MISTAKE) from error
    except OSError as error:  # a name that is too long, a folder without permission, a disk that is full or gone
        if error.errno == errno.EPIPE:  # the reader of our output is gone, as with `head`: not a mistake
            raise
        where = "" if error.filename is None else f"{shortened(error.filename, quoted=False)}: "
        _say(f"error: {where}{error.strerror or error}")
        raise typer.Exit(MISTAKE) from error
    except _UsageError as error:  # an option that is missing, unknown, or has a bad value
        where = getattr(error, "ctx", None) or ctx
        _say(f"error: {_one_line(error.format_message())} (see {where.command_path} --help)")
        raise typer.Exit(MISTAKE) from error


def say(text: str, *, err: bool = False) -> None:
    """Print a text. Control characters, which a name from a table may contain, are shown and not obeyed."""
    typer.echo(printable(text), err=err)


def _say(text: str) -> None:
    """A line on stderr; if that is closed, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError):
        say(text, err=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}")


def _open_standard_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise the next file that is opened would take its number, and everything printed would end up in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 (open until the end)
