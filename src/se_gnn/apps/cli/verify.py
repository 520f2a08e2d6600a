"""`se-gnn verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder that predict, explain --all or an import wrote.")
    ],
    quiet: bool = False,
) -> None:
    """Check that predictions, explanations or a graph are whole: every file is there and as it was written."""
    from se_gnn.graph.storage import holds_graph, load_graph
    from se_gnn.shards import verify_shards

    if holds_graph(folder):
        graph = load_graph(folder)
        if not quiet:
            say(f"{folder} is whole: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}.")
        return

    manifest = verify_shards(folder)
    if quiet:
        return
    size = sum(shard.bytes for shard in manifest.shards)
    say(
        f"{folder} is whole: {manifest.kind} of {count(manifest.num_nodes, 'node')} in "
        f"{count(len(manifest.shards), 'shard')}, {size:,} bytes."
    )
    if not (folder / manifest.parts).is_dir():
        say("The command that wrote it was ended before its last step: the same command again shows it to readers.")
