"""The commands of `se-gnn`: first those that everybody needs, then the others."""

from __future__ import annotations

from collections.abc import Callable

import typer

from se_gnn.apps.cli import labels as on_labels
from se_gnn.apps.cli.commands import add_command, command_group, run
from se_gnn.apps.cli.import_tables import import_tables
from se_gnn.apps.cli.inspecting import evaluate, explain, report, serve, verify
from se_gnn.apps.cli.links import recommend
from se_gnn.apps.cli.predict import predict
from se_gnn.apps.cli.train import datasets, start, train, tune

MORE = "More commands"


def examples(*lines: str) -> str:
    """Commands to try, shown below the help of a command."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


app = command_group(
    "se-gnn",
    about="Predict the nodes of a graph, and show the labeled nodes behind every prediction.",
    epilog="\b\nStart with your own tables:\n  se-gnn start accounts.csv payments.csv\n\n"
    "\b\nOr with an example (nothing to download):\n  se-gnn train digits --out model\n"
    "  se-gnn explain model --node digit-0003",
)
labels = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)
EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    start: (
        "se-gnn start accounts.csv payments.csv",
        "se-gnn start accounts.csv payments.csv --label fraud --yes --quick",
    ),
    import_tables: (
        "se-gnn import --nodes accounts.csv --edges payments.parquet --id account \\",
        "  --label fraud --source from --target to --out graph",
        "se-gnn import --like model --nodes may.csv --edges may-payments.csv \\",
        "  --id account --label fraud --source from --target to --out may",
    ),
    train: (
        "se-gnn train graph --out model",
        "se-gnn train digits --out model --set num_nearest=10",
        "se-gnn train cora --out cora --preset paper --seed 1",
        "torchrun --nproc-per-node 2 -m se_gnn train digits --out model",
    ),
    predict: (
        "se-gnn predict model --out predictions.csv",
        "se-gnn predict model --out two.jsonl --nodes digit-0003,digit-0005",
        "torchrun --nproc-per-node 2 -m se_gnn predict model --out predictions",
    ),
    explain: (
        "se-gnn explain model --node digit-0003",
        "se-gnn explain model --node digit-0003 --k 20 --json > why.json",
        "torchrun --nproc-per-node 2 -m se_gnn explain model --out explanations",
    ),
    report: (
        "se-gnn report model --out report.html",
        "se-gnn report model --nodes digit-0003,digit-0005 --out two.html",
    ),
    serve: (
        "se-gnn serve model",
        "se-gnn serve model --host 0.0.0.0 --token-file token \\",
        "  --allow-host graphs.example.org",
    ),
    on_labels.audit: ("se-gnn labels audit model", "se-gnn labels audit model --out audit.csv"),
    on_labels.suggest: ("se-gnn labels suggest model", "se-gnn labels suggest model --out next.csv"),
    on_labels.certify: ("se-gnn labels certify model", "se-gnn labels certify model --out sets.jsonl"),
    on_labels.edit: (
        "se-gnn labels edit model remove digit-0003 --dry-run",
        "se-gnn labels edit model relabel digit-0003=5 --reason 'checked again'",
        "se-gnn labels edit model restore 0",
    ),
    on_labels.history: ("se-gnn labels history model",),
    recommend: ("se-gnn recommend model --nodes digit-0003 --k 5", "se-gnn recommend model --out likely.csv"),
    evaluate: ("se-gnn evaluate model",),
    tune: ("se-gnn tune cora --out search --budget 10m",),
    verify: ("se-gnn verify predictions",),
    datasets: ("se-gnn datasets",),
}  # in the order of --help; the first seven are those that everybody needs
for place, (command, lines) in enumerate(EXAMPLES.items()):
    add_command(
        labels if command.__module__ == on_labels.__name__ else app,
        command,
        name=command.__name__.removesuffix("_tables"),
        epilog=examples(*lines),
        heading=MORE if place >= 7 else None,
    )
app.add_typer(
    labels,
    name="labels",
    help="Find wrong labels, choose nodes to label next, edit labels.",
    epilog=examples("se-gnn labels audit model"),
    rich_help_panel=MORE,
)


def main() -> None:
    """Entry point of the command `se-gnn`."""
    run(app, "se-gnn")
