"""`se-gnn labels certify`: what would change the predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.arguments import (
    ModelFolder,
    Nodes,
    OtherGraph,
    OverwriteFile,
    node_ids,
    shows_progress,
)
from se_gnn.apps.cli.commands import beside
from se_gnn.apps.cli.output import say
from se_gnn.apps.cli.record_files import Record, check_record_file, write_records
from se_gnn.apps.cli.tables import count, percent, table
from se_gnn.progress import announce_compilation, phase

if TYPE_CHECKING:
    from se_gnn.labels import Certificates
    from se_gnn.ranking import SmallestSets

WRITES = beside("--out")


def certify(
    folder: ModelFolder,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write every node with its sets to this file; .csv or .jsonl."),
    ] = None,
    nodes: Nodes = None,
    graph: OtherGraph = None,
    overwrite: Annotated[OverwriteFile, WRITES] = False,
    quiet: Annotated[bool, WRITES] = False,
    progress: bool = False,
) -> None:
    """Find the fewest labeled nodes that change each prediction if they are removed, or get another class.

    Printed is the share of predictions that no removal (or relabeling) of up to r labeled nodes changes: those are
    certified. The search is exact. Embeddings stay as they are: a training without those nodes is another matter.
    """
    if out is not None:
        check_record_file(out, overwrite=overwrite)
    from se_gnn.labels import certify as search
    from se_gnn.model.folder import load_model_on

    trained, shown = load_model_on(folder, graph), shows_progress(progress, quiet)
    wanted = node_ids(trained.graph, nodes)
    with announce_compilation(shown=shown), phase("certificates", shown=shown):
        found = search(trained, wanted)
    if out is not None:
        write_records([_record(found, i) for i in range(len(found))], out)
    if not quiet:
        say(_show(found))
        if out is not None:
            say(f"\nWrote {count(len(found), 'node')} to {out}.")


def _record(found: Certificates, i: int) -> Record:
    graph = found.graph
    return {
        "node": graph.node_names[found.nodes[i]],
        "class": graph.class_names[found.predicted[i]],
        **_set(found, found.removal, i, "removal"),
        **_set(found, found.relabeling, i, "relabeling"),
    }


def _set(found: Certificates, sets: SmallestSets, i: int, name: str) -> dict[str, Any]:
    never = sets.sizes[i] < 0
    return {
        f"{name}_size": None if never else int(sets.sizes[i]),
        f"{name}_becomes": None if never else found.graph.class_names[sets.becomes[i]],
        f"{name}_nodes": [found.graph.node_names[node] for node in sets.nodes(i)],
    }


def _show(found: Certificates) -> str:
    rows = [
        [f"{r:,}", percent(found.removal.share_certified(r)), percent(found.relabeling.share_certified(r))]
        for r in found.counts
    ]
    return (
        f"{found.graph.name}: share of {count(len(found), 'prediction')} that no change of up to r labeled nodes "
        f"changes\n\n{table(['r', 'removed', 'relabeled'], rows, names=())}"
    )
