"""`python -m lab rate`: people rate explanations without knowing the method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.inspecting import AllowHost, Host, Port, TokenFile
from se_gnn.apps.cli.options import Quiet, Seed, shows_progress
from se_gnn.display.terminal import count
from se_gnn.errors import InputError
from se_gnn.progress import announce_compilation

if TYPE_CHECKING:
    from lab.rating.plan import RatingPlan
    from lab.rating.prepare import ModelToRate


def rate(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Model folders, as `se-gnn train` writes.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="SQLite file that keeps pairs and answers.")],
    items: Annotated[int, typer.Option(metavar="N", help="Targets per model, drawn from its test nodes.")] = 15,
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Methods to rate, with commas between.")
    ] = "se-gnn,mlp-k,gcn-k,gin-k",
    seed: Seed = 0,
    prepare_only: Annotated[bool, typer.Option("--prepare-only", help="Make FILE and stop; open no page.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8001,
    token_file: TokenFile = None,
    allow_host: AllowHost = None,
    quiet: Quiet = False,
) -> None:
    """Let people rate explanations: a target and the nearest labeled node, without the method's name.

    The paper's human evaluation. For targets of each model the nearest labeled node is found by SE-GNN, and by MLP-K,
    GCN-K and GIN-K, which are trained on the model's graph; this is done once and kept in FILE. Raters open the page,
    several at once, and say whether the two local graphs are similar. Run the same command again to go on.
    `python -m lab ratings FILE` shows what they said.
    """
    from se_gnn.optional import require

    for package in ("fastapi", "uvicorn"):
        require(package, extra="serve", feature="rating pages")
    from lab.rating import RatingPlan, RatingStore, read_models
    from lab.rating.application import create_app
    from lab.rating.plan import methods_of
    from se_gnn.apps.web.server import run_server
    from se_gnn.apps.web.settings import settings_for

    shown = shows_progress(quiet)
    settings = settings_for(host, token_file=token_file, allow_hosts=tuple(allow_host or ()))
    chosen = methods_of(methods.split(","))
    known = _known_plan(out)
    models = read_models(folders)
    digests = tuple((one.name, one.digest) for one in models)
    plan = RatingPlan(models=digests, methods=chosen, items=items, seed=seed)
    if known is None:
        _prepare(models, plan, out, shown=shown, quiet=quiet)
    elif (other := known.difference(plan)) is not None:
        raise InputError(f"{out} was prepared with {other}; give the same again, or name another file by --out")
    if prepare_only:
        return
    store = RatingStore(out)
    run_server(
        create_app(store, settings),
        host=host,
        port=port,
        ready=lambda address: None if quiet else say(f"Rate at {address} (answers go to {out}; Ctrl-C ends)"),
    )
    store.close()


def _known_plan(out: Path) -> RatingPlan | None:
    """The plan of a file that is there; a file of something else is refused."""
    from lab.rating import RatingStore
    from lab.rating.database import is_prepared
    from se_gnn.apps.cli.outputs import check_file

    if not is_prepared(out):
        check_file(out, overwrite=True)
        return None
    store = RatingStore(out)
    store.close()
    return store.plan


def _prepare(models: list[ModelToRate], plan: RatingPlan, out: Path, *, shown: bool, quiet: bool) -> None:
    from lab.rating.database import write_pairs
    from lab.rating.prepare import check_can_prepare, prepare_pairs

    def tell(text: str) -> None:
        if not quiet:
            say(text)

    check_can_prepare(models, plan)
    with announce_compilation(shown=shown):
        pairs = list(prepare_pairs(models, plan, say=tell, shown=shown))
    write_pairs(out, plan, pairs)
    tell(f"Prepared {count(len(pairs), 'pair')} in {out}.")
