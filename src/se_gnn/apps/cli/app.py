"""The commands under one name, and what happens to their errors.

Exit codes: 0 fine, 1 unexpected (with its traceback), 2 a user's mistake, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import warnings
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from se_gnn import __version__
from se_gnn.apps.cli.audit import audit
from se_gnn.apps.cli.certify import certify
from se_gnn.apps.cli.datasets import datasets
from se_gnn.apps.cli.evaluate import evaluate
from se_gnn.apps.cli.explain import explain
from se_gnn.apps.cli.import_large import import_large
from se_gnn.apps.cli.import_tables import import_tables
from se_gnn.apps.cli.interrupt import patient_interrupt
from se_gnn.apps.cli.memory import memory
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.predict import predict
from se_gnn.apps.cli.report import report
from se_gnn.apps.cli.serve import serve
from se_gnn.apps.cli.streams import open_standard_streams
from se_gnn.apps.cli.suggest import suggest
from se_gnn.apps.cli.train import train
from se_gnn.apps.cli.tune import tune
from se_gnn.apps.cli.verify import verify
from se_gnn.errors import InputError, shortened

MISTAKE, INTERRUPTED = 2, 130
NEW_OBJECTS = 50_000  # between two looks for garbage; Python's 700 look through PyTorch's modules while they are loaded
_UsageError: Any = typer.BadParameter.__base__  # Click's, which Typer brings under one name or another


class Group(TyperGroup):
    """Turns a user's mistake into one line on stderr; anything unexpected keeps its traceback."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before a command; without anything there is the help."""
        if not args:
            return super().parse_args(ctx, args)
        with _mistakes_in_a_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        with warnings.catch_warnings(), patient_interrupt(), _mistakes_in_a_line(ctx):
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                _say("\ninterrupted")
                raise typer.Exit(INTERRUPTED) from error


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


def command_group(name: str, *, about: str, epilog: str) -> typer.Typer:
    """Commands under one name, without any yet."""
    return typer.Typer(
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


app = command_group(
    "se-gnn",
    about="Classify the nodes of a graph, and show for every prediction the labeled nodes it rests on.",
    epilog=(
        "\b\n"
        "Start here (nothing to download):\n"
        "  se-gnn train digits --out model\n"
        "  se-gnn explain model --node digit-0003"
    ),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"se-gnn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options that go before a command."""


app.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn train digits --out model\n"
        "  se-gnn train cora --out cora --preset paper --seed 1\n"
        "  se-gnn train digits --out model --set num_nearest=10\n"
        "  torchrun --nproc-per-node 2 -m se_gnn train digits --out model"
    )
)(train)
app.command(epilog="\b\nExample:\n  se-gnn tune cora --out search --budget 10m")(tune)
app.command(epilog="\b\nExample:\n  se-gnn evaluate model")(evaluate)
app.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn predict model --out predictions.csv\n"
        "  se-gnn predict model --out two.jsonl --nodes digit-0003,digit-0005\n"
        "  torchrun --nproc-per-node 2 -m se_gnn predict model --out predictions"
    )
)(predict)
app.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn explain model --node digit-0003\n"
        "  se-gnn explain model --node digit-0003 --k 20 --json > why.json\n"
        "  torchrun --nproc-per-node 2 -m se_gnn explain model --all --out explanations"
    )
)(explain)
app.command(epilog="\b\nExample:\n  se-gnn verify predictions")(verify)
app.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn report model --out report.html\n"
        "  se-gnn report model --nodes digit-0003,digit-0005 --out two.html"
    )
)(report)
app.command(epilog="\b\nExamples:\n  se-gnn audit model\n  se-gnn audit model --out audit.csv --top 30")(audit)
app.command(epilog="\b\nExamples:\n  se-gnn suggest model --count 20\n  se-gnn suggest model --out next.csv")(suggest)
app.command(epilog="\b\nExamples:\n  se-gnn certify model\n  se-gnn certify model --out flips.jsonl")(certify)
app.add_typer(
    memory,
    name="memory",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn memory model remove digit-0003 --dry-run\n"
        "  se-gnn memory model relabel digit-0003=5 --reason 'read again'\n"
        "  se-gnn memory model history\n"
        "  se-gnn memory model restore 0"
    ),
)
app.command(
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn serve model\n"
        "  se-gnn serve model --host 0.0.0.0 --token-file token \\\n"
        "    --allow-host graphs.example.org"
    )
)(serve)
app.command(
    "import",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn import --nodes accounts.csv --edges payments.parquet --id account \\\n"
        "    --label fraud --source from --target to --out graph\n"
        "  se-gnn import --like model --nodes may.csv --edges may-payments.csv \\\n"
        "    --id account --label fraud --source from --target to --out may"
    ),
)(import_tables)
app.command(
    "import-large",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn import-large --nodes nodes.parquet --edges edges.parquet --out big\n"
        "  se-gnn predict model --graph big --sample 100000 --out predictions"
    ),
)(import_large)
app.command(epilog="\b\nExample:\n  se-gnn datasets")(datasets)


def main() -> None:
    """Entry point of the command `se-gnn`."""
    run(app, "se-gnn")


def run(commands: typer.Typer, name: str) -> None:
    """Run the command that this process was started with."""
    # Threads of PyTorch and numba that wait for each other must not spin for long: beside another busy process they
    # keep the threads they wait for from running. Read when PyTorch is first loaded; the user's own setting stays.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    open_standard_streams()
    gc.set_threshold(NEW_OBJECTS)
    try:
        commands(prog_name=name)
    finally:
        gc.freeze()  # the process ends: to look through all that was loaded once more would take most of a second
