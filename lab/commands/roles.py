"""`python -m lab roles`: the default on graphs in which roles or shared neighbors decide, as one table."""

from __future__ import annotations

from typing import Annotated

import typer

from se_gnn.apps.cli.commands import say
from se_gnn.apps.cli.options import Device, OnDevice
from se_gnn.errors import InputError

FIGURES = {  # each data set with the figure that it is judged by
    "grid-game": "roc_auc",
    "airports-brazil": "accuracy",
    "airports-europe": "accuracy",
    "airports-usa": "accuracy",
    "shared-authors": "accuracy",
}


def roles(
    only: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Only these data sets.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each data set, from 0.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Train one recipe and a single model.")] = False,
    device: OnDevice = Device.auto,
) -> None:
    """Train the default on the grid game, the airports and shared authors, and print the figures on their test nodes.

    The grid game takes minutes per seed on a CPU.
    """
    import numpy as np

    from lab.datasets import load_dataset
    from se_gnn.model.metrics import evaluate_nodes
    from se_gnn.settings import Settings
    from se_gnn.settings.reading import QUICK
    from se_gnn.training import fit

    unknown = [name for name in only or () if name not in FIGURES]
    if unknown:
        raise InputError(f"--only must be one of {', '.join(FIGURES)}, got {unknown[0]}")
    say("data set          figure     mean  deviation  calibration error  recipes")
    for name, figure in FIGURES.items():
        if only and name not in only:
            continue
        found, errors, chosen = [], [], []
        for seed in range(seeds):
            graph = load_dataset(name, seed=seed)
            asked = Settings.of("best", best_by=figure, **(QUICK if quick else {}))
            trained = fit(graph, asked, seed=seed, device=device.value)
            figures = evaluate_nodes(trained, graph.test)
            found.append(100 * figures[figure])
            errors.append(100 * figures["calibration_error"])
            chosen.append(trained.facts.chosen)
        recipes = ", ".join(f"{one} {chosen.count(one)}" for one in dict.fromkeys(chosen))
        spread = f"{np.std(found):9.1f}  {np.mean(errors):17.1f}"
        say(f"{name:<17} {figure:<9} {np.mean(found):5.1f}  {spread}  {recipes}")
