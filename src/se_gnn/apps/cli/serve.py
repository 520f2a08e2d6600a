"""`se-gnn serve`: the explorer and the REST service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.arguments import ModelFolder
from se_gnn.apps.cli.output import say
from se_gnn.progress import announce_compilation

Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; beyond 127.0.0.1 a token is needed.")]
TokenFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File with the token that every request has to bring.")
]
AllowHost = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A name under which browsers reach the server. Repeatable.")
]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0: any free one.")]
Workers = Annotated[int, typer.Option(min=1, max=64, metavar="N", help="Requests that compute at the same time.")]
Rate = Annotated[float, typer.Option(min=0.1, metavar="N", help="Requests per second that one address may send.")]


def serve(
    folder: ModelFolder,
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0: any free one.")
    ] = 8000,
    token_file: TokenFile = None,
    allow_host: AllowHost = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, metavar="N", help="Requests that compute at the same time.")
    ] = 2,
    seconds: Annotated[float, typer.Option(min=1, metavar="N", help="How long an answer may take.")] = 30.0,
    rate: Rate = 200.0,
    quiet: bool = False,
) -> None:
    """Open a model in the browser: all its predictions, and the labeled nodes behind each.

    The pages are the explorer; the same is there for programs under /v1 (OpenAPI: /v1/openapi.json), with /healthz,
    /readyz and /metrics. Nothing is loaded from elsewhere. When the folder's model changes, the new one is served.
    """
    from se_gnn.optional import require

    for package in ("fastapi", "uvicorn", "jinja2", "prometheus_client"):
        require(package, extra="serve", feature="the explorer and the service")
    from se_gnn.apps.explorer import create_app
    from se_gnn.apps.service import Store
    from se_gnn.apps.web.server import run_server
    from se_gnn.apps.web.settings import settings_for

    settings = settings_for(
        host, token_file=token_file, allow_hosts=tuple(allow_host or ()), workers=workers, seconds=seconds,
        per_second=rate, burst=max(1, round(2 * rate)),
    )  # fmt: skip
    with announce_compilation(shown=not quiet):
        store = Store.of_folder(folder)
    app = create_app(store, settings)
    run_server(
        app,
        host=host,
        port=port,
        ready=lambda address: None if quiet else say(f"Serving {folder} at {address}; Ctrl-C ends it."),
    )
