"""How commands are declared and run: options of every command, options that only some calls read, errors in one line.

Exit codes: 0 fine, 1 unexpected (with its traceback), 2 a user's mistake, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from se_gnn import __version__
from se_gnn.apps.cli.interrupt import patient_interrupt
from se_gnn.apps.cli.output import say
from se_gnn.errors import InputError, shortened

MISTAKE, INTERRUPTED = 2, 130
NEW_OBJECTS = 50_000  # between two looks for garbage; Python's 700 look through PyTorch's modules while they are loaded
_UsageError: Any = typer.BadParameter.__base__  # Click's, which Typer brings under one name or another
_SHARED = {
    "quiet": ("--quiet", "-q"),
    "progress": ("--progress",),
}  # options of the group, accepted after a command too


@dataclass(frozen=True, slots=True)
class Only:
    """Marks an option that only some calls read: elsewhere it is an error, and --help lists it under a heading.

    Attributes:
        situation: which calls, as "with --coverage".
        holds: whether a call with these values is one of them.
    """

    situation: str
    holds: Callable[[Mapping[str, Any]], bool]


def beside(option: str, name: str | None = None) -> Only:
    """Marks an option that is read only beside another one."""
    other = name or option.removeprefix("--").replace("-", "_")
    return Only(f"with {option}", lambda values: values[other] not in (None, False, []))


class Command(TyperCommand):
    """A command whose --help lists options under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, options, then those of special situations, and those that are seldom needed."""
        sections: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        marks = _marks(self.callback)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            heading = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if panel := getattr(parameter, "rich_help_panel", None):
                heading = panel
            if only := marks.get(parameter.name):
                heading = f"Only {only[0].situation}"
            sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class Group(TyperGroup):
    """Turns a user's mistake into one line on stderr; anything unexpected keeps its traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before a command; without anything there is the help."""
        if not args:
            return super().parse_args(ctx, args)
        with _mistakes_in_a_line(ctx):
            return super().parse_args(ctx, _shared_first(args))

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
        sections: dict[str, list[tuple[str, str]]] = {}
        limit = formatter.width - 6 - max(map(len, self.commands))
        for name, command in self.commands.items():
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
        context: typer.Context,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")] = False,
        progress: Annotated[
            bool, typer.Option("--progress", help="Show progress on stderr even when it is not a terminal.")
        ] = False,
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ) -> None:
        if quiet and progress:
            raise InputError("--quiet prints nothing and --progress shows bars: give one of them")
        context.obj = {"quiet": quiet, "progress": progress}
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
    """Make a function a command; its parameters `quiet` and `progress` come from the options of the group."""
    signature = inspect.signature(function, eval_str=True)
    shared = [one for one in _SHARED if one in signature.parameters]

    @functools.wraps(function)
    def call(context: typer.Context, **given: Any) -> None:
        flags: Mapping[str, bool] = context.obj
        sources = {one: context.get_parameter_source(one) for one in given}
        chosen = [one for one, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
        chosen += [one for one, value in flags.items() if value]
        options = {one.name: one.opts[0] for one in context.command.params} | {
            one: names[0] for one, names in _SHARED.items()
        }
        values = {**given, **{one: flags[one] for one in shared}}
        for one in chosen:
            if one not in values:
                raise InputError(f"{options[one]} has no effect on `{context.command_path}`: leave it out")
            for only in _marks(function).get(one, ()):
                if not only.holds(values):
                    raise InputError(f"{options[one]} has an effect only {only.situation}: leave it out")
        function(**values)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = [parameter for one, parameter in signature.parameters.items() if one not in shared]
    call.__signature__ = signature.replace(parameters=[context, *own])  # type: ignore[attr-defined]
    group.command(name, cls=Command, epilog=epilog, rich_help_panel=heading)(call)


def run(commands: typer.Typer, name: str) -> None:
    """Run the command that this process was started with."""
    from se_gnn.apps.cli.streams import open_standard_streams

    # Threads of PyTorch and numba that wait for each other must not spin for long: beside another busy process they
    # keep the threads they wait for from running. Read when PyTorch is first loaded; the user's own setting stays.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    open_standard_streams()
    gc.set_threshold(NEW_OBJECTS)
    try:
        commands(prog_name=name)
    finally:
        gc.freeze()  # the process ends: to look through all that was loaded once more would take most of a second


def _marks(function: Any) -> dict[str, tuple[Only, ...]]:
    """The situations in which each parameter of a command is read, if only in some."""
    hints = get_type_hints(function, include_extras=True)
    found = {name: tuple(one for one in get_args(hint)[1:] if isinstance(one, Only)) for name, hint in hints.items()}
    return {name: marks for name, marks in found.items() if marks}


def _shared_first(args: list[str]) -> list[str]:
    """Options of the group may stand behind a command; it reads them before."""
    names = [name for some in _SHARED.values() for name in some]
    end = args.index("--") if "--" in args else len(args)
    front = [arg for arg in args[:end] if arg in names]
    return [*front, *(arg for arg in args[:end] if arg not in names), *args[end:]]


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
        if error.errno == errno.EPIPE:  # the reader of our output has gone, as `head` does: no mistake
            raise
        where = "" if error.filename is None else f"{shortened(error.filename, quoted=False)}: "
        _say(f"error: {where}{error.strerror or error}")
        raise typer.Exit(MISTAKE) from error
    except _UsageError as error:  # an option that is missing, unknown, or has a bad value
        where = getattr(error, "ctx", None) or ctx
        _say(f"error: {_one_line(error.format_message())} (see {where.command_path} --help)")
        raise typer.Exit(MISTAKE) from error


def _say(text: str) -> None:
    """A line on stderr; where that is closed, the exit code has to do."""
    with contextlib.suppress(OSError, ValueError):
        say(text, err=True)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _say(f"warning: {message}")
