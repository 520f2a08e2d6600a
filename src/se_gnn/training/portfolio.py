"""The portfolio of `best`: which recipes a graph is offered, which one is chosen, and the size of the ensemble.

Every decision comes with its reason.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from se_gnn.encoder.pieces import PIECES
from se_gnn.graph import Graph
from se_gnn.graph.columns import NumberColumn
from se_gnn.settings import Decision, Resolved
from se_gnn.settings.presets import FOR_COLUMNS, RECIPES

LARGE = 100_000_000  # products in the forward pass of an epoch above which the ensemble is smaller
MEMBERS_OF_LARGE = 3
MOST_PIECES = 100_000_000  # numbers that a pass over all nodes may read


class Judged(Protocol):
    """What validation nodes have judged."""

    @property
    def standing(self) -> tuple[float, float]:
        """At the best epoch on validation nodes: the figure that decides, and minus the loss."""


class Finished(Judged, Protocol):
    """A training run that has ended."""

    @property
    def name(self) -> str:
        """Name of its recipe."""

    @property
    def history(self) -> list[dict[str, Any]]:
        """A record per epoch."""

    @property
    def best_epoch(self) -> int:
        """Number of the best epoch."""


SomeJudged = TypeVar("SomeJudged", bound=Judged)


def offered_recipes(graph: Graph, settings: Resolved) -> dict[str, Resolved]:
    """The recipes between which validation nodes choose, as whole settings. What the user gave holds in all of them.

    >>> from se_gnn.settings import Settings
    >>> graph = Graph.build(features=[[0.0]] * 4, edges=[], labels=[0, 1, 0, 1], train=[0, 1], validation=[2, 3])
    >>> several = offered_recipes(graph, Settings.of("best", steps=3).resolve(graph))
    >>> {name: (one.encoder.steps, one.encoder.aggregation) for name, one in several.items()}
    {'smooth': (3, 'pagerank'), 'near': (3, 'pagerank'), 'sparing': (3, 'pagerank'), 'steps': (3, 'steps')}
    """
    names = [*RECIPES, *([] if columns_offered(graph) is None else FOR_COLUMNS)]
    return {name: settings.with_recipe(name) for name in names}


def columns_offered(graph: Graph) -> Decision | None:
    """Why the recipe for columns of numbers is offered; None: it is not.

    It is offered if at least half of the columns of a table are numbers, unless the pieces of all columns would be too
    many numbers.
    """
    if graph.columns is None or not isinstance(graph.features, np.ndarray):
        return None
    numbers = sum(type(column) is NumberColumn for column in graph.columns)  # not those that edges give
    if 2 * numbers < len(graph.columns) or graph.features.size * PIECES > MOST_PIECES:
        return None
    names = " and ".join(repr(name) for name in FOR_COLUMNS)
    return Decision(f"recipe {names} is offered too", f"{numbers} of {len(graph.columns)} node columns are numbers")


def chosen_recipe(runs: Sequence[SomeJudged], best_by: str, num_val: int) -> SomeJudged:
    """The best of the runs. A later one must be better by half a standard error of a share of ``num_val`` nodes.

    If several are always right, so that none can be better, the one with the lowest loss is chosen.
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


def why_recipe(runs: Sequence[Finished], best: Finished, best_by: str) -> Decision:
    """Why this recipe was chosen, with the figures of all."""
    what = f"recipe {best.name!r}"
    if len(runs) == 1:
        return Decision(what, "there are no validation nodes to choose by")
    figures = ", ".join(f"{run.name} {_figure(run, best_by)}" for run in runs)
    rule = "the simplest recipe within half a standard error of the best"
    if best_by != "loss" and best.standing[0] == 1:
        rule = "the lowest loss of the recipes that are always right"
    elif best_by == "loss":
        rule = "the best recipe"
    return Decision(what, f"{rule}, by {best_by.replace('_', ' ')} on validation nodes ({figures})")


def _figure(run: Finished, by: str) -> str:
    value = run.history[run.best_epoch][f"val_{by}"]
    return f"{value:.3f}" if by == "loss" else f"{value:.1%}"


def member_seed(seed: int, member: int) -> int:
    """The seed of a further member of the ensemble: as good as independent of the first."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{member}".encode()).digest()[:7], "big")


def with_members(graph: Graph, settings: Resolved) -> Resolved:
    """Under a portfolio the ensemble is smaller if an epoch is long, unless the user gave its size; the reason is kept.

    Without a portfolio nothing is decided.
    """
    wanted = settings.encoder.members
    if not settings.selection.portfolio:
        return settings
    products = _products(graph, settings)
    if not settings.is_given("members") and products > LARGE and wanted > MEMBERS_OF_LARGE:
        millions = f"{products // 1_000_000:,} million products, more than {LARGE // 1_000_000} million"
        decision = Decision(
            f"ensemble of {MEMBERS_OF_LARGE} models instead of {wanted}", f"a pass over this graph takes {millions}"
        )
        return settings.decided("graph", {"members": MEMBERS_OF_LARGE}, decision)
    models = "a single model" if wanted == 1 else f"ensemble of {wanted} models"
    origin = "given" if settings.is_given("members") else "default"
    return settings.decided("graph", {}, Decision(f"{models} ({origin})"))


def _products(graph: Graph, settings: Resolved) -> int:
    """Products of numbers in one forward pass of the encoder."""
    features: Any = graph.features
    stored = features.size if isinstance(features, np.ndarray) else features.nnz
    encoder = settings.encoder
    width = encoder.output_size or encoder.hidden_size
    layers = stored * encoder.hidden_size + graph.num_nodes * encoder.hidden_size * width
    return int(layers + encoder.steps * (2 * graph.num_edges + graph.num_nodes) * width)


def unused_edge_data(graph: Graph, settings: Resolved) -> Decision | None:
    """Names the edge data that a model does not use, and the settings that would use it; None: all of it is used."""
    if graph.edge_values is None:
        return None
    similarity, reads = settings.similarity, settings.encoder.read_edges
    used: Mapping[str, bool] = {
        "direction": reads or similarity.match_direction,
        "weight": reads or similarity.weighted_mean or settings.encoder.weighted_steps,
        "type": reads or similarity.match_types != "any",
        "attributes": reads or similarity.match_attributes,
    }
    names = {
        "direction": "match_direction",
        "weight": "weighted_mean, weighted_steps",
        "type": "match_types",
        "attributes": "match_attributes",
    }
    left = {part: words for part, words in graph.edge_values.carried_words.items() if not used.get(part, False)}
    if not left:
        return None
    settings_for = [names[part] for part in left if part in names]
    how = [f"settings that use it: {', '.join(settings_for)}"] if settings_for else []
    if "time" in left:
        how.append("--until of se-gnn import cuts edges at a date")
    return Decision("edge data that is not used", "; ".join([", ".join(left.values()), *how]))
