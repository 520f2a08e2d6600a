"""`se-gnn verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.arguments import Quiet
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that predict or explain --all wrote.")],
    quiet: Quiet = False,
) -> None:
    """Check that a folder of predictions or explanations is whole: every file is there and as it was written."""
    from se_gnn.shards import verify_shards

    manifest = verify_shards(folder)
    if quiet:
        return
    size = sum(shard.bytes for shard in manifest.shards)
    say(
        f"{folder} is whole: {manifest.kind} of {count(manifest.num_nodes, 'node')} in "
        f"{count(len(manifest.shards), 'shard')}, {size:,} bytes."
    )
