"""`python -m lab graphxai`: our explanations beside others, on GraphXAI's graphs and by its metrics."""

from __future__ import annotations

from typing import Annotated

import typer

from se_gnn.apps.cli.commands import say


def graphxai(
    seeds: Annotated[int, typer.Option(min=1, help="Graphs of each sort, drawn and trained with seeds from 0.")] = 1,
    nodes: Annotated[int, typer.Option(min=1, metavar="N", help="How many test nodes to explain per graph.")] = 5,
) -> None:
    """Compare explainers on graphs of GraphXAI, where the right explanations are known, by GraphXAI's metrics.

    GraphXAI must be cloned, and GRAPHXAI must name the folder. SE-GNN explains itself; the others explain a GIN. Each
    number is a mean over the nodes. High is good for accuracy, low for everything else. A dash: not computed, or not
    defined for these nodes. This takes minutes per graph.
    """
    import numpy as np

    from lab.graphxai import GRAPHS, METRICS, NAMES, compare, prepare

    for kind in GRAPHS:
        found: dict[str, list[dict[str, float | None]]] = {name: [] for name in NAMES}
        for seed in range(seeds):
            setting = prepare(kind, seed)
            shown = ", ".join(f"{100 * value:.1f}% {name}" for name, value in setting.accuracy.items())
            say(f"{setting.graph.name}, seed {seed}: {setting.graph.num_nodes} nodes; test accuracy {shown}")
            for name, measures in compare(setting, nodes).items():
                found[name].append(measures)
        say(f"{'explainer':<25} " + "  ".join(METRICS.values()))
        for name, runs in found.items():
            cells = []
            for metric, words in METRICS.items():
                values = [value for run in runs if (value := run[metric]) is not None]
                cells.append(f"{np.mean(values):{len(words)}.3f}" if values else f"{'-':>{len(words)}}")
            say(f"{NAMES[name]:<25} " + "  ".join(cells))
