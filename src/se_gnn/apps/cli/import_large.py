"""`se-gnn import-large`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.tables import count


class FeatureKind(StrEnum):
    """How features are stored."""

    float32 = "float32"
    float16 = "float16"


def import_large(
    nodes: Annotated[Path, typer.Option(metavar="FILE", help="Parquet file with a row per node.", show_default=False)],
    edges: Annotated[Path, typer.Option(metavar="FILE", help="Parquet file with a row per edge.", show_default=False)],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the graph.", show_default=False)],
    id: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the id of a node, a whole number.")] = "id",
    source: Annotated[str, typer.Option(metavar="COLUMN", help="Column with one end of an edge.")] = "source",
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the other end.")] = "target",
    label: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column with the class, empty where it is not known.")
    ] = "label",
    split: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with train, validation, test or calibration.  [default: all labeled nodes vote]",
        ),
    ] = None,
    features: Annotated[FeatureKind, typer.Option(help="How features are stored.")] = FeatureKind.float32,
    max_memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory to work within, as 4GB.")] = "2GB",
    quiet: bool = False,
) -> None:
    """Make a graph of Parquet tables that do not fit the memory, to predict on with predict --graph.

    Both tables are read some rows at a time. Ids are whole numbers, and all other columns of the node table numbers,
    taken as they are. The arrays of the graph are files that commands map and do not load.
    """
    from se_gnn.datasets.tables.streaming import StreamedTables, import_streaming
    from se_gnn.similarity.memory import memory_budget

    tables = StreamedTables(
        nodes=nodes, edges=edges, id=id, source=source, target=target, label=label, split=split, kind=features.value
    )
    graph = import_streaming(tables, out, memory_budget(max_memory), name=out.name or "graph")
    if not quiet:
        say(
            f"{out}: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}, {graph.num_features:,} "
            f"features as {features.value}, {count(graph.num_classes, 'class', 'classes')}, {len(graph.train):,} "
            "labeled"
        )
        merged = graph.merged
        say(
            f"{count(merged.given, 'edge')} given: {merged.duplicates:,} given again or in both directions were merged,"
            f" {count(merged.self_loops, 'self-loop')} removed"
        )
