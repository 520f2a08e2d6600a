"""`python -m lab`: commands for research, and those of `se-gnn` that take a data set, with the data sets of the lab.

Nothing heavy is imported before a command needs it, so that `python -m lab --help` answers at once.
"""

from __future__ import annotations

from lab import datasets as lab_datasets
from lab.commands.attack import attack
from lab.commands.compare import compare
from lab.commands.graphxai import graphxai
from lab.commands.rate import rate
from lab.commands.ratings import ratings
from lab.commands.roles import roles
from se_gnn.apps.cli.commands import add_command, command_group, run
from se_gnn.apps.cli.train import datasets, train, tune

NAME = "python -m lab"

app = command_group(
    NAME,
    about="Research around SE-GNN: compare explainers, attack graphs, let people rate, train on more data sets.",
    epilog="\b\nMore about each:\n  docs/understanding/lab.md, docs/reference/datasets.md",
    begin=lab_datasets.register,
)
add_command(
    app,
    attack,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  python -m lab attack citeseer --rate 0.25 --out attacked\n"
        "  python -m lab attack citeseer --method random --rate 0.25 --out noisy"
    ),
)
add_command(
    app,
    rate,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  python -m lab rate model --out ratings.sqlite\n"
        "  python -m lab rate cora citeseer pubmed --out ratings.sqlite --items 30"
    ),
)
add_command(
    app,
    ratings,
    epilog=(
        "\b\n"
        "Examples:\n"
        "  python -m lab ratings ratings.sqlite\n"
        "  python -m lab ratings ratings.sqlite --out answers.csv"
    ),
)
add_command(app, compare, epilog="\b\nExample:\n  python -m lab compare cora --nodes 30 --out compared.png")
add_command(app, graphxai, epilog="\b\nExample:\n  python -m lab graphxai --seeds 3 --nodes 8")
add_command(app, roles, epilog="\b\nExample:\n  python -m lab roles --only airports-brazil --seeds 2")
add_command(app, datasets, epilog="\b\nExample:\n  python -m lab datasets")
add_command(app, train, epilog="\b\nExample:\n  python -m lab train syn-cora --preset authors --out model")
add_command(app, tune, epilog="\b\nExample:\n  python -m lab tune syn-cora --out search --budget 10m")


def main() -> None:
    """Entry point of `python -m lab`."""
    run(app, NAME)
