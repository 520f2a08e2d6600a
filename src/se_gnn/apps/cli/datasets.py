"""`se-gnn datasets`."""

from __future__ import annotations

import textwrap

import typer

from se_gnn.apps.cli.tables import WIDTH


def datasets() -> None:
    """List the data sets that `se-gnn train` knows by name."""
    from se_gnn.datasets import dataset_infos

    infos = dataset_infos()
    indent = max(len(info.name) for info in infos) + 2
    groups = (
        ("Embedded, nothing to download:", [info for info in infos if info.embedded]),
        ("Downloaded on first use:", [info for info in infos if not info.embedded and not info.by_hand]),
        ("From files that you put into the data folder:", [info for info in infos if info.by_hand]),
    )
    for title, members in groups:
        typer.echo(title)
        for info in members:
            text = textwrap.wrap(info.description, WIDTH - indent - 2)
            typer.echo(f"  {info.name:<{indent}}" + f"\n{' ' * (indent + 2)}".join(text))
        typer.echo()
    typer.echo("Files are looked for in the data folder, which --data-dir or the environment")
    typer.echo("variable SE_GNN_DATA names, then in the user's cache folder. Where one is")
    typer.echo("missing, the error says what to get, from where, and where to put it.")
