"""The commands of `se-gnn`: first the six that everybody needs, then the others."""

from __future__ import annotations

import typer

from se_gnn.apps.cli.audit import audit
from se_gnn.apps.cli.certify import certify
from se_gnn.apps.cli.commands import add_command, command_group, run
from se_gnn.apps.cli.datasets import datasets
from se_gnn.apps.cli.evaluate import evaluate
from se_gnn.apps.cli.explain import explain
from se_gnn.apps.cli.import_large import import_large
from se_gnn.apps.cli.import_tables import import_tables
from se_gnn.apps.cli.label_edits import edit, history
from se_gnn.apps.cli.predict import predict
from se_gnn.apps.cli.report import report
from se_gnn.apps.cli.serve import serve
from se_gnn.apps.cli.suggest import suggest
from se_gnn.apps.cli.train import train
from se_gnn.apps.cli.tune import tune
from se_gnn.apps.cli.verify import verify

MORE = "More commands"

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
add_command(
    app,
    import_tables,
    name="import",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn import --nodes accounts.csv --edges payments.parquet --id account \\\n"
        "    --label fraud --source from --target to --out graph\n"
        "  se-gnn import --like model --nodes may.csv --edges may-payments.csv \\\n"
        "    --id account --label fraud --source from --target to --out may"
    ),
)
add_command(
    app,
    train,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn train digits --out model\n"
        "  se-gnn train cora --out cora --preset paper --seed 1\n"
        "  se-gnn train digits --out model --set num_nearest=10\n"
        "  torchrun --nproc-per-node 2 -m se_gnn train digits --out model"
    ),
)
add_command(
    app,
    predict,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn predict model --out predictions.csv\n"
        "  se-gnn predict model --out two.jsonl --nodes digit-0003,digit-0005\n"
        "  torchrun --nproc-per-node 2 -m se_gnn predict model --out predictions"
    ),
)
add_command(
    app,
    explain,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn explain model --node digit-0003\n"
        "  se-gnn explain model --node digit-0003 --k 20 --json > why.json\n"
        "  torchrun --nproc-per-node 2 -m se_gnn explain model --all --out explanations"
    ),
)
add_command(
    app,
    report,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn report model --out report.html\n"
        "  se-gnn report model --nodes digit-0003,digit-0005 --out two.html"
    ),
)
add_command(
    app,
    serve,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn serve model\n"
        "  se-gnn serve model --host 0.0.0.0 --token-file token \\\n"
        "    --allow-host graphs.example.org"
    ),
)
add_command(app, evaluate, epilog="\b\nExample:\n  se-gnn evaluate model", heading=MORE)

labels = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)
add_command(
    labels, audit, epilog="\b\nExamples:\n  se-gnn labels audit model\n  se-gnn labels audit model --out audit.csv"
)
add_command(
    labels, suggest, epilog="\b\nExamples:\n  se-gnn labels suggest model\n  se-gnn labels suggest model --out next.csv"
)
add_command(
    labels,
    certify,
    epilog="\b\nExamples:\n  se-gnn labels certify model\n  se-gnn labels certify model --out flips.jsonl",
)
add_command(
    labels,
    edit,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn labels edit model remove digit-0003 --dry-run\n"
        "  se-gnn labels edit model relabel digit-0003=5 --reason 'read again'\n"
        "  se-gnn labels edit model restore 0"
    ),
)
add_command(labels, history, epilog="\b\nExample:\n  se-gnn labels history model")
app.add_typer(
    labels,
    name="labels",
    help="Work on labels: find wrong ones, choose nodes to label next, edit labels without retraining.",
    epilog="\b\nExample:\n  se-gnn labels audit model",
    rich_help_panel=MORE,
)
add_command(app, tune, epilog="\b\nExample:\n  se-gnn tune cora --out search --budget 10m", heading=MORE)
add_command(
    app,
    import_large,
    name="import-large",
    epilog=(
        "\b\n"
        "Examples:\n"
        "  se-gnn import-large --nodes nodes.parquet --edges edges.parquet --out big\n"
        "  se-gnn predict model --graph big --sample 100000 --out predictions"
    ),
    heading=MORE,
)
add_command(app, verify, epilog="\b\nExample:\n  se-gnn verify predictions", heading=MORE)
add_command(app, datasets, epilog="\b\nExample:\n  se-gnn datasets", heading=MORE)


def main() -> None:
    """Entry point of the command `se-gnn`."""
    run(app, "se-gnn")
