"""Between which recipes validation nodes choose, how many members the ensemble has, and why, in sentences."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from se_gnn.config import Config
from se_gnn.graph import Graph
from se_gnn.recipes import RECIPES, Settings

LARGE = 100_000_000  # products of an epoch's forward pass above which a ensemble has fewer members
MEMBERS_OF_LARGE = 3


class Judged(Protocol):
    """What validation nodes have judged."""

    @property
    def standing(self) -> tuple[float, float]:
        """Of the best epoch on validation nodes: the figure that decides, and minus the loss."""


class Run(Judged, Protocol):
    """A training run that has ended."""

    @property
    def name(self) -> str:
        """Of its recipe."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """What is known of each epoch."""

    @property
    def best_epoch(self) -> int:
        """Its number."""


SomeRun = TypeVar("SomeRun", bound=Judged)


def portfolio(config: Config, recipes: Mapping[str, Settings] = RECIPES) -> dict[str, Config]:
    """Recipes as whole settings. A setting that differs from that of `best` was set by the user and holds in all.

    >>> several = portfolio(Config.preset("best").with_settings(hidden_size=16))
    >>> {name: (one.encoder.hidden_size, one.encoder.aggregation) for name, one in several.items()}
    {'smooth': (16, 'pagerank'), 'near': (16, 'pagerank'), 'sparing': (16, 'pagerank'), 'steps': (16, 'steps')}
    """
    given, base = config.to_dict(), Config.preset("best").to_dict()
    return {
        name: config.updated(
            {
                section: {key: value for key, value in values.items() if given[section][key] == base[section][key]}
                for section, values in recipe.items()
            }
        )
        for name, recipe in recipes.items()
    }


def chosen_recipe(runs: Sequence[SomeRun], best_by: str, num_val: int) -> SomeRun:
    """The best of the runs; a later one must be better by half a standard error of a share of so many nodes.

    Of several that are right on all of them, so that nothing can be better, the one with the lowest loss.
    """
    perfect = [run for run in runs if best_by != "loss" and run.standing[0] == 1]
    if perfect:
        return max(perfect, key=lambda run: run.standing[1])
    best = runs[0]
    for run in runs[1:]:
        figure, margin = best.standing[0], 0.0
        if best_by != "loss":
            margin = 0.5 * math.sqrt(max(0.0, figure * (1 - figure)) / max(1, num_val))
        if run.standing[0] > figure + margin:
            best = run
    return best


def member_seed(seed: int, member: int) -> int:
    """The seed of a further member: as good as independent of the first."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{member}".encode()).digest()[:7], "big")


def num_members(graph: Graph, config: Config) -> int:
    """As many as the settings ask for; under a portfolio fewer where an epoch is long."""
    wanted = config.encoder.members
    if config.training.portfolio and _products(graph, config) > LARGE:
        return min(wanted, MEMBERS_OF_LARGE)
    return wanted


def _products(graph: Graph, config: Config) -> int:
    """Products of numbers in one forward pass of the encoder."""
    features: Any = graph.features
    stored = features.size if isinstance(features, np.ndarray) else features.nnz
    encoder = config.encoder
    width = encoder.output_size or encoder.hidden_size
    layers = stored * encoder.hidden_size + graph.num_nodes * encoder.hidden_size * width
    return int(layers + encoder.steps * (2 * graph.num_edges + graph.num_nodes) * width)


def why_recipe(runs: Sequence[Run], best: Run, config: Config) -> str:
    """Why this one, with the figures of all."""
    if len(runs) == 1:
        return f"recipe {best.name!r}: there are no validation nodes to choose by"
    by = config.training.best_by
    figures = ", ".join(f"{run.name} {_figure(run, by)}" for run in runs)
    rule = "the first that no later one beats by half a standard error"
    if by != "loss" and best.standing[0] == 1:
        rule = "the lowest loss of those that are always right"
    return f"recipe {best.name!r}: {rule} on validation nodes, by {by.replace('_', ' ')} ({figures})"


def _figure(run: Run, by: str) -> str:
    value = run.history[run.best_epoch][f"val_{by}"]
    return f"{value:.3f}" if by == "loss" else f"{value:.1%}"


def why_members(graph: Graph, config: Config, members: int) -> str:
    """Why so many."""
    if members == config.encoder.members:
        return f"{members} {'member' if members == 1 else 'members'}: as set"
    millions = _products(graph, config) // 1_000_000
    return (
        f"{members} members instead of {config.encoder.members}: a pass over this graph takes {millions:,} million "
        f"products, more than {LARGE // 1_000_000} million"
    )
