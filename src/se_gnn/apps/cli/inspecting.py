"""`se-gnn evaluate`, `explain`, `report`, `serve` and `verify`: look at what there is."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from se_gnn.apps.cli.commands import Only, beside, say, without
from se_gnn.apps.cli.links import report_pairs, show_pair
from se_gnn.apps.cli.options import (
    SHARD_NODES,
    Device,
    ModelFolder,
    Nodes,
    OnDevice,
    OtherGraph,
    Overwrite,
    OverwriteFile,
    Quiet,
    QuietFile,
    Setting,
    node_ids,
    option,
    rare,
    read_settings,
    shows_progress,
    working,
)
from se_gnn.apps.cli.outputs import Make, check_file, is_shard_folder, write_file, write_folder
from se_gnn.display.terminal import count
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    from se_gnn.graph.arrays import IntArray
    from se_gnn.model import Model


def evaluate(
    folder: ModelFolder,
    graph: OtherGraph = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Measure a model on its validation and test nodes.

    Prints accuracy, precision@5 (the share of the 5 nearest labeled nodes that have the node's own class), balanced
    accuracy, macro-F1, loss and calibration error; for each class also its recall and precision on the test nodes. If a
    number is predicted: R2, mean absolute and root mean squared error, and how many 90% intervals hold the number.
    """
    from se_gnn.model.folder import load_model
    from se_gnn.model.metrics import evaluate as measure
    from se_gnn.model.metrics import figures_text

    trained = load_model(folder, graph)
    with working("scoring"):
        figures = measure(trained)
    if as_json:
        say(json.dumps(figures, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(figures_text(figures))


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
    from se_gnn.results import explanations_as_parquet

    if pair is not None:
        show_pair(folder, pair, as_json=as_json)
        return
    if out is not None:
        if not is_shard_folder(out):
            raise InputError(f"--out must name a folder, without an ending, got {out.name!r}")
        shard = read_settings(settings, {"shard": Setting(int, 1)}, {}).get("shard", SHARD_NODES)

        def every_node(trained: Model) -> tuple[IntArray, Make]:
            return trained.graph.candidates, lambda nodes: explanations_as_parquet(trained, nodes, k)

        write_folder(
            "explanations", folder, graph, every_node, out=out, shard_nodes=shard, device=device, overwrite=overwrite,
            quiet=quiet, explained=str(k),
        )  # fmt: skip
        return
    if node is None:
        raise InputError("give --node NAME to explain one node, or --out FOLDER to explain every node")
    trained = load_model(folder, graph, device=resolve_device(device.value))
    with working("explaining"):
        wanted = trained.graph.nodes.find(node)
        explanation = explained(trained, wanted, k=k, attributes=True)[0]
    say(explanation.to_json() if as_json else explanation.to_text(k))


def report(
    folder: ModelFolder,
    out: Annotated[Path, option("FILE", "File to write, ending in .html.")],
    nodes: Annotated[Nodes, OF_NODES] = None,
    pair: Annotated[
        list[str] | None, rare("A,B[,TYPE]", "For a model of links: a pair of nodes to explain. Repeatable.")
    ] = None,
    graph: Annotated[OtherGraph, OF_NODES] = None,
    k: Annotated[
        int, option("N", "How many of the most similar labeled nodes to draw.", "--k", "-k", min=1), OF_NODES
    ] = 4,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write a report about a model: one web page with explanations.

    The page is a single HTML file that works offline. It shows how accurate the model is and which predictions are
    certain or wrong. For each explained node it shows the vote, the matching local graphs, the shared attributes, and
    what would change the answer. Without --nodes, the report picks some certain and some wrong predictions.
    """
    from se_gnn.model.folder import load_model
    from se_gnn.report import report_html

    check_file(out, (".html", ".htm"), overwrite=overwrite)
    if pair:
        text = report_pairs(folder, pair, quiet=quiet)
    else:
        trained = load_model(folder, graph)
        wanted = node_ids(trained.graph, nodes)
        with working("scoring", quiet) as shown:
            text = report_html(trained, wanted, k=k, progress=shown)
    page = text.encode()
    write_file(out, page)
    if not quiet:
        say(f"Wrote {out} ({len(page) / 1e6:.1f} MB); open it in a browser.")


Host = Annotated[str, option("ADDRESS", "Address to listen on; every address but 127.0.0.1 needs a token.")]
Port = Annotated[int, option("N", "Port to listen on; 0: any free port.", min=0, max=65535)]
TokenFile = Annotated[Path | None, option("FILE", "File with a token that every request must send.")]
AllowHost = Annotated[list[str] | None, option("NAME", "Host name that browsers use for this server. Repeatable.")]
LIMITS = {"workers": Setting(int, 1, 64), "seconds": Setting(float, 1, 86_400), "per_second": Setting(float, 0.1, 1e9)}


def serve(
    folder: ModelFolder,
    graph: OtherGraph = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token_file: TokenFile = None,
    allow_host: AllowHost = None,
    limits: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "A limit: workers (requests computed at the same time, default 2), seconds (per answer, default 30), "
            "per_second (requests per address, default 200). Repeatable.",
            "--set",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Explore a model in the browser, and answer programs over HTTP.

    The pages show every prediction and the labeled nodes behind it. Programs get the same answers under /v1, which is
    documented at /docs; /healthz, /readyz and /metrics serve monitoring. Nothing is loaded from other servers. When the
    model or the graph in DIR changes, the server switches to the new one.
    """
    serve_model(
        folder, host, port, graph=graph, quiet=quiet, token_file=token_file, allow_hosts=tuple(allow_host or ()),
        limits=read_settings(limits, LIMITS, {}),
    )  # fmt: skip


def serve_model(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    graph: Path | None = None,
    browser: bool = False,
    quiet: bool = False,
    **access: Any,
) -> None:
    """Serve a model until Ctrl-C is pressed; ``browser``: open it there; ``access``: who may ask, and how much."""
    from se_gnn.optional import require

    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, extra="serve", feature="the explorer and the service")
    from se_gnn.apps.explorer import create_app
    from se_gnn.apps.service import Store
    from se_gnn.apps.web.server import run_server
    from se_gnn.apps.web.settings import settings_for

    settings = settings_for(host, **access)
    with announce_compilation(shown=shows_progress(quiet)):
        store = Store.of_folder(folder, graph)
    app = create_app(store, settings)

    def ready(address: str) -> None:
        if not quiet:
            say(f"Serving {folder} at {address} (press Ctrl-C to stop)")
        if browser:
            webbrowser.open(address)

    run_server(app, host=host, port=port, ready=ready)


def verify(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder written by predict, explain --out or import.")
    ],
) -> None:
    """Check that a folder of results or a graph is complete."""
    from se_gnn.graph.storage import holds_graph, load_graph
    from se_gnn.shards import verify_shards

    if holds_graph(folder):
        graph = load_graph(folder)
        say(f"{folder} is complete: {count(graph.num_nodes, 'node')}, {count(graph.num_edges, 'edge')}.")
        return
    manifest = verify_shards(folder)
    size = sum(shard.bytes for shard in manifest.shards)
    say(
        f"{folder} is complete: {manifest.run.kind} of {count(manifest.run.num_nodes, 'node')} in "
        f"{count(len(manifest.shards), 'shard')}, {size:,} bytes."
    )
    if not (folder / manifest.run.parts).is_dir():
        say("The command that wrote it was interrupted before its last step; run it again to make the files visible.")
