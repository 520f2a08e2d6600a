"""`se-gnn explain`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.commands import Only, beside, without
from se_gnn.apps.cli.links import refuse_links_folder, show_pair
from se_gnn.apps.cli.options import (
    SHARD_NODES,
    Device,
    ModelFolder,
    OnDevice,
    OtherGraph,
    OverwriteFile,
    QuietFile,
    Setting,
    option,
    rare,
    read_settings,
    shows_progress,
)
from se_gnn.apps.cli.printing import say
from se_gnn.apps.cli.sharded import is_shard_folder, write_folder
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    from se_gnn.graph.arrays import IntArray
    from se_gnn.model import Model


EVERY_NODE = "To explain every node"
OF_NODES = without("--pair")


def explain(
    folder: ModelFolder,
    node: Annotated[
        str | None, option("NAME", "The node to explain: its name, caption or #POSITION."), OF_NODES
    ] = None,
    k: Annotated[
        int, option("N", "How many of the most similar labeled nodes to show.", "--k", "-k", min=1), OF_NODES
    ] = 5,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON for programs.", rich_help_panel="Options"),
        Only("with --node or --pair", lambda values: values["node"] is not None or values["pair"] is not None),
    ] = False,
    out: Annotated[
        Path | None,
        option("FOLDER", "Explain every node, and write Parquet files here.", heading=EVERY_NODE),
        without("--node"),
        OF_NODES,
    ] = None,
    overwrite: OverwriteFile = False,
    settings: Annotated[
        list[str] | None,
        option("NAME=VALUE", "shard=N writes N nodes per file (default 4096).", "--set"),
        beside("--out"),
    ] = None,
    graph: Annotated[OtherGraph, OF_NODES] = None,
    pair: Annotated[
        str | None,
        rare(
            "A,B[,TYPE]",
            "For a model of links: the pair of nodes to explain, and the type of link if there are several.",
        ),
    ] = None,
    device: Annotated[OnDevice, OF_NODES] = Device.cpu,
    quiet: QuietFile = False,
) -> None:
    """Show why a node gets its prediction.

    Prints the reasons in sentences; the most similar labeled nodes and how much each one counts; the node's table row
    beside that of the most similar one; and the edges that match and those that matter most. Use --json to pass the
    explanation to a program.

    With --out, every node is explained, and the results are written as tables. Several processes started by torchrun
    share this work.
    """
    from se_gnn.device import resolve_device
    from se_gnn.explain import explain as explained
    from se_gnn.model.folder import load_model

    if pair is not None:
        show_pair(folder, pair, as_json=as_json)
        return
    refuse_links_folder(folder, "explain a pair with --pair A,B")
    if out is not None:
        if not is_shard_folder(out):
            raise InputError(f"--out must name a folder, without an ending, got {out.name!r}")
        shard = read_settings(settings, {"shard": Setting(int, 1)}, {}).get("shard", SHARD_NODES)
        write_folder(
            "explanations", folder, graph, lambda trained: _every_node(trained, k), out=out, shard_nodes=shard,
            device=device, overwrite=overwrite, quiet=quiet, explained=str(k),
        )  # fmt: skip
        return
    if node is None:
        raise InputError("give --node NAME to explain one node, or --out FOLDER to explain every node")
    trained = load_model(folder, graph, device=resolve_device(device.value))
    with announce_compilation(shown=shows_progress()):
        wanted = trained.graph.nodes.find(node)
        explanation = explained(trained, wanted, k=k, attributes=True)[0]
    say(explanation.to_json() if as_json else explanation.to_text(k))


def _every_node(trained: Model, k: int) -> tuple[IntArray, Callable[[IntArray], bytes]]:
    from se_gnn.results import explanations_as_parquet

    return trained.graph.candidates, lambda nodes: explanations_as_parquet(trained, nodes, k)
