"""`python -m lab attack`: a graph with noise or an attack on its edges, stored for `se-gnn train`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import Device, GraphName, OnDevice, Quiet, Seed, shows_progress
from se_gnn.datasets import dataset_name, load_data
from se_gnn.display.terminal import count, percent
from se_gnn.errors import InputError

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.graph.arrays import IntArray


ATTACK = ".attack"  # folder for work in progress, inside that of the changed graph


class Method(StrEnum):
    """What happens to the edges."""

    random = "random"
    metattack = "metattack"
    approximate = "metattack-approximate"


def attack(
    data: GraphName,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the changed graph.", show_default=False)],
    method: Annotated[
        Method, typer.Option(help="random adds edges; metattack adds and takes out those that hurt a GCN most.")
    ] = Method.metattack,
    rate: Annotated[float, typer.Option(min=0, metavar="SHARE", help="Changes as a share of the edges.")] = 0.05,
    labeled_weight: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="LAMBDA", help="Metattack: 0 Meta-Self, 1 Meta-Train, between them Meta-Both."
        ),
    ] = 0.0,
    keep_degrees: Annotated[
        bool, typer.Option("--keep-degrees", help="Metattack: the degrees must still pass for the same power law.")
    ] = False,
    seed: Seed = 0,
    device: OnDevice = Device.auto,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the attacked graph that DIR holds.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the interrupted attack in DIR.")] = False,
    quiet: Quiet = False,
) -> None:
    """Change the edges of a graph by random noise or by an attack, and store the graph that results.

    DIR then is a graph for `se-gnn train`. After Metattack it also holds attack.json: the pairs of nodes that were
    flipped, in their order.
    """
    from lab.attack.journal import NAME as JOURNAL
    from lab.attack.noise import num_changes
    from se_gnn.device import resolve_device
    from se_gnn.files import commit_files, writing_to
    from se_gnn.graph.storage import ARRAY_FILES, graph_files

    shown = shows_progress(quiet)
    _check_folder(out, (JOURNAL,), overwrite=overwrite, resume=resume)
    if method is Method.random and (labeled_weight or keep_degrees):
        raise InputError("--labeled-weight and --keep-degrees belong to metattack, not to random")
    resolve_device(device.value)
    if dataset_name(data) is None and Path(data).resolve() == out.resolve():
        raise InputError(f"--out {out} is the graph to change; name another folder")
    graph = load_data(data, seed)
    if method is Method.random:
        changed = graph.with_edges(_random(graph, rate, seed))
        with writing_to(out):
            commit_files(out, graph_files(changed), remove=(JOURNAL, ARRAY_FILES))
    else:
        graph.check_trainable()
        num_changes(rate, graph.num_edges)
        changed = _metattack(
            graph,
            rate,
            out,
            resume=resume,
            approximate=method is Method.approximate,
            labeled_weight=labeled_weight,
            keep_degrees=keep_degrees,
            seed=seed,
            device=device.value,
            progress=shown,
        )
    if not quiet:
        say(_report(graph, changed))
        typer.echo(f"\nSaved to {out}. Now see what it does to a model:\n  se-gnn train {out} --out model")


def _check_folder(folder: Path, ours: tuple[str, ...], *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder whose files would be lost by an attack; nothing is written yet."""
    from se_gnn.apps.cli.outputs import check_folder
    from se_gnn.graph.storage import holds_graph, is_graph_file

    def is_ours(name: str) -> bool:
        return name in ours or is_graph_file(name)

    check_folder(folder, "graph", is_ours, holds_graph(folder), ATTACK, overwrite=overwrite, resume=resume)


def _random(graph: Graph, rate: float, seed: int) -> IntArray:
    import numpy as np

    from lab.attack import add_random_edges

    return add_random_edges(graph.edges.ends, graph.num_nodes, rate, generator=np.random.default_rng(seed))


def _metattack(
    graph: Graph,
    rate: float,
    out: Path,
    *,
    resume: bool,
    approximate: bool,
    labeled_weight: float,
    keep_degrees: bool,
    seed: int,
    device: str,
    progress: bool,
) -> Graph:
    """Attack with the journal in a folder inside ``out``; what ``out`` holds is replaced when the attack is whole."""
    from lab.attack import MetattackConfig, flip_pairs, metattack
    from lab.attack.journal import NAME
    from se_gnn.apps.cli.outputs import output_folder
    from se_gnn.files import commit_files, read_file
    from se_gnn.graph.storage import ARRAY_FILES, graph_files

    config = MetattackConfig(approximate=approximate, labeled_weight=labeled_weight, keep_degrees=keep_degrees)
    try:
        with output_folder(out, ATTACK, resume=resume) as work:
            flips = metattack(graph, rate, config, seed=seed, device=device, progress=progress, folder=work)
            changed = graph.with_edges(flip_pairs(graph.edges.ends, graph.num_nodes, flips))
            files = graph_files(changed)
            if (work / NAME).exists():
                files[NAME] = read_file(work / NAME)
            commit_files(out, files, remove=(NAME, ARRAY_FILES))
    except KeyboardInterrupt as interrupt:
        kept = (out / ATTACK / NAME).exists()
        hint = "To resume from its last flip" if kept else "Nothing was saved yet. To start again"
        typer.echo(f"\ninterrupted. {hint}, run the same command with --resume.", err=True)
        raise typer.Exit(130) from interrupt
    return changed


def _report(before: Graph, after: Graph) -> str:
    """What changed, and how much more often edges now join different classes."""
    old, new = (set(map(tuple, graph.edges.ends.tolist())) for graph in (before, after))
    return "\n".join(
        [
            f"{before.name}: {count(len(new - old), 'edge')} added, {count(len(old - new), 'edge')} taken out of "
            f"{before.num_edges:,}; {after.num_edges:,} edges now",
            f"edges within a class  {percent(_within_class(before))} before, {percent(_within_class(after))} now",
        ]
    )


def _within_class(graph: Graph) -> float | None:
    """Share of the edges between nodes of known class that join one class; None where there are none."""
    labels = graph.labels[graph.edges.ends]
    known = labels[(labels >= 0).all(axis=1)]
    return float((known[:, 0] == known[:, 1]).mean()) if len(known) else None
