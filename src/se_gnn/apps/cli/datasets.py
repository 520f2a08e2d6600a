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
        ("Files to be put into the data folder, an error says which:", [info for info in infos if info.by_hand]),
    )
    for title, members in groups:
        typer.echo(title)
        for info in members:
            text = textwrap.wrap(info.description, WIDTH - indent - 2)
            typer.echo(f"  {info.name:<{indent}}" + f"\n{' ' * (indent + 2)}".join(text))
        typer.echo()
    typer.echo("Downloaded files are looked for in --data-dir or in the folder named by the")
    typer.echo("environment variable SE_GNN_DATA, then in the user's cache folder.")
