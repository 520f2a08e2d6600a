"""`python -m lab compare`: our explanations beside GNNExplainer, PGExplainer and gradients, on one's own graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import GraphName, Quiet, Seed
from se_gnn.datasets import load_data
from se_gnn.errors import InputError

HEADER = "accuracy  fidelity+  fidelity-  characterization  unfaithfulness  repeated  ms per node"


def compare(
    data: GraphName,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="How many test nodes to explain.")] = 30,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many edges an explanation names.")] = 10,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw the first node, as .png, .svg or .pdf.")
    ] = None,
    seed: Seed = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Train one recipe and a single model.")] = False,
    quiet: Quiet = False,
) -> None:
    """Compare explainers on the same nodes of a graph, by the same measures.

    SE-GNN explains itself; cases, GNNExplainer, PGExplainer, gradients and random edges explain a GCN. Each names the
    edges that matter most. fidelity+: how often the prediction changes without them (high is good). fidelity-: how
    often it changes if only they are left (low is good). characterization: both in one number. unfaithfulness: how far
    the probabilities move if only they are left (low is good). repeated: how much of the list is the same with another
    random seed of the explainer.
    """
    from lab.comparison import compare as compared
    from lab.comparison import nodes_to_compare, picture
    from se_gnn.settings import Settings
    from se_gnn.settings.reading import QUICK

    if out is not None and out.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"--out must end in .png, .svg or .pdf, got {out.name}")
    graph = load_data(data, seed)
    graph.check_trainable()
    chosen = nodes_to_compare(graph, nodes, top=top, seed=seed)
    progress = (lambda line: typer.echo(line, err=True)) if not quiet else (lambda _: None)
    asked = Settings.of("best", **(QUICK if quick else {}))
    found = compared(graph, chosen, asked, top=top, seed=seed, say=progress)
    say(f"{len(chosen)} test nodes of {graph.name}, {top} edges each, seed {seed}")
    say(f"{'explainer':<25} {HEADER}")
    for one in found:
        say(
            f"{one.name:<25} {100 * one.accuracy:7.1f}%  {one.fidelity.positive:9.2f}  {one.fidelity.negative:9.2f}"
            f"  {one.fidelity.characterization:16.2f}  {one.fidelity.unfaithfulness:14.2f}  {one.repeated:8.2f}"
            f"  {1000 * one.seconds:11.1f}"
        )
    if out is not None:
        picture(graph, int(chosen[0]), found, top=top).savefig(out, dpi=150)
        say(f"drew {graph.caption(int(chosen[0]))} into {out}")
