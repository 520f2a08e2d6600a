"""The portfolio of `best`: which recipes a graph is offered, which one is chosen, and the size of the ensemble.

Every decision comes with its reason.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from se_gnn.encoder.columns import MOST_FEATURES
from se_gnn.encoder.pieces import PIECES
from se_gnn.graph import UNKNOWN, Graph
from se_gnn.graph.columns import NumberColumn, StructureColumn
from se_gnn.graph.graph import homophily
from se_gnn.settings import Decision, Resolved
from se_gnn.settings.presets import DEFAULT_PRESET, FOR_ROLES, RECIPES

if TYPE_CHECKING:
    from se_gnn.training.fit import Finished

LARGE = 100_000_000  # products in the forward pass of an epoch above which the ensemble is smaller
MEMBERS_OF_LARGE = 3
SKEWED = 0.5  # skewness of values from which their logarithms are tried
FEW_WORDS = 0.2  # share of the attributes that are not 0
MOST_PIECES = 100_000_000  # numbers that a pass over all nodes may read
FIRST_LOOK = 40  # epochs after which recipes that are clearly behind are given up
BEHIND = 1.0  # standard errors of the leader's figure that are clearly behind


def offered_recipes(graph: Graph, settings: Resolved) -> tuple[dict[str, Resolved], list[Decision]]:
    """The recipes that validation nodes choose from, as complete settings; the reasons if most graphs have others.

    Settings that the user gave hold in all recipes.

    >>> from se_gnn.settings import Settings
    >>> graph = Graph.build(features=[[0.0]] * 4, edges=[], labels=[0, 1, 0, 1], train=[0, 1], validation=[2, 3])
    >>> several, _ = offered_recipes(graph, Settings.of("best", steps=3).resolve(graph))
    >>> {name: (one.encoder.steps, one.encoder.aggregation) for name, one in several.items() if name != "sparing"}
    {'smooth': (3, 'pagerank'), 'near': (3, 'pagerank'), 'steps': (3, 'steps'), 'layers': (3, 'layers')}
    """
    names, decisions = _offered(graph, settings)
    return {name: settings.with_recipe(name) for name in names}, decisions


def _offered(graph: Graph, settings: Resolved) -> tuple[Sequence[str], list[Decision]]:
    """Names of recipes, the first one first in doubt, and why they are others than those for every graph.

    ``weighted`` comes first if attributes are weights of words, unless the user said how attributes are scaled: then it
    would be ``smooth`` once more. ``columns`` is offered too if at least half of the columns of a table are numbers,
    unless the pieces of all columns would be too many numbers. If nodes have no attributes but those that their edges
    give, recipes that expect a node to be like its neighbors are left out: a few validation nodes could choose them by
    chance alone.
    """
    if graph.predicts_numbers:
        return _number_recipes(graph), []
    columns = graph.columns
    if columns is None and not settings.is_given("attribute_scaling") and _weights_of_words(graph):
        reason = "few attributes of a node are not 0, and these are weights, as of the words of a text"
        return ["weighted", *RECIPES], [Decision("recipe 'weighted' is offered first", reason)]
    if columns is None or not isinstance(graph.features, np.ndarray):
        return list(RECIPES), []
    if all(isinstance(column, StructureColumn) for column in columns):
        recipes = f"recipes {', '.join(FOR_ROLES)} are offered"
        return FOR_ROLES, [Decision(recipes, "nodes have no attributes of their own")]
    numbers, total = sum(type(column) is NumberColumn for column in columns), len(columns)  # not those that edges give
    if 2 * numbers < total or graph.features.size * PIECES > MOST_PIECES:
        return list(RECIPES), []
    decision = Decision("recipe 'columns' is offered too", f"{numbers} of {total} node columns are numbers")
    return [*RECIPES, "columns"], [decision]


def _weights_of_words(graph: Graph) -> bool:
    """Whether few attributes are not 0, and these are not just counts: weights of words, for example."""
    if not graph.fits_memory:
        return False
    features: Any = graph.features
    values = features.data if sp.issparse(features) else features[features != 0]
    return len(values) <= FEW_WORDS * math.prod(features.shape) and bool((values != np.rint(values)).any())


def _number_recipes(graph: Graph) -> list[str]:
    """The recipe that fits the attributes, and its log version if all values are above 0 and skewed to the right."""
    columns = isinstance(graph.features, np.ndarray) and graph.num_features <= MOST_FEATURES
    name, known = "values" if columns else "smooth-values", graph.values[graph.train]
    standard = (known - known.mean()) / known.std()
    skewed = bool((known > 0).all()) and float((standard**3).mean()) > SKEWED
    return [name, f"{name}-log"] if skewed else [name]


def single_recipe(graph: Graph, settings: Resolved) -> Resolved:
    """The settings of the only recipe, if there is no portfolio: those of `steps` if edges join different classes.

    Only the labels of training nodes count, so that nothing is learned about the others.
    """
    if settings.preset != DEFAULT_PRESET or settings.selection.portfolio or settings.is_given("aggregation"):
        return settings
    found = _edges_of_one_class(graph)
    if found is None or found.share >= found.chance - 2 * found.error:
        return settings
    reason = f"most recipes expect edges to join nodes of one class, but only {found}"
    return settings.with_recipe("steps").decided("graph", {}, Decision("recipe 'steps'", reason))


def quick_warning(graph: Graph) -> str | None:
    """A warning if `--quick` is likely to be inaccurate: its recipe expects that edges say something about classes.

    >>> known = {"features": [[0.0]] * 8, "labels": [0, 1] * 4, "train": range(8), "validation": []}
    >>> quick_warning(Graph.build(edges=[(i, i + 2) for i in range(6)], **known)) is None
    True
    >>> "but 50% of the 8 edges between" in quick_warning(
    ...     Graph.build(edges=[(i, i + 1) for i in range(0, 8, 2)] + [(i, i + 2) for i in range(4)], **known)
    ... )
    True
    """
    found = _edges_of_one_class(graph)
    if found is None or abs(found.share - found.chance) > 2 * found.error:
        return None
    return (
        f"--quick trains the recipe 'smooth', which expects edges to join nodes of one class, but {found}: train "
        "without --quick if its accuracy disappoints"
    )


class _OneClass(NamedTuple):
    """The share of some edges that join nodes of one class, what chance would give, and its standard error."""

    share: float
    chance: float
    error: float
    edges: int

    def __str__(self) -> str:
        return (
            f"{self.share:.0%} of the {self.edges:,} edges between training nodes do ({self.chance:.0%} expected by "
            "chance)"
        )


def _edges_of_one_class(graph: Graph) -> _OneClass | None:
    """How many edges between training nodes join nodes of one class; None: there are no such edges, or no classes."""
    if graph.predicts_numbers:
        return None
    labels = np.full(graph.num_nodes, UNKNOWN)
    labels[graph.train] = graph.labels[graph.train]
    share, chance, edges = homophily(graph, labels)
    if share is None or chance is None:
        return None
    return _OneClass(share, chance, math.sqrt(chance * (1 - chance) / edges), edges)


def chosen_recipe(figures: Sequence[float], best_by: str, num_val: int) -> int:
    """Which of some runs is the best, by the figure that decides on ``num_val`` validation nodes.

    A later one must be better by half a standard error. So the first of several that are always right is chosen: their
    losses, before the vote is calibrated, say little.

    >>> chosen_recipe([0.90, 0.91, 0.93], "accuracy", 70), chosen_recipe([0.98, 1.0, 1.0], "accuracy", 70)
    (2, 1)
    """
    best = 0
    for i, figure in enumerate(figures):
        if figure > figures[best] + 0.5 * standard_error(figures[best], best_by, num_val):
            best = i
    return best


def standard_error(figure: float, best_by: str, num_val: int) -> float:
    """Standard error of a share of some nodes; 0 for a loss and for R2, of which it is not known.

    Two nodes more that are right and two that are wrong are added (Agresti and Coull, 1998): a share of 100% is not
    certain either.
    """
    if best_by in ("loss", "r2") or figure == -math.inf:
        return 0.0
    count = num_val + 4
    share = (figure * num_val + 2) / count
    return math.sqrt(share * (1 - share) / count)


def worth_more_epochs(figures: Sequence[float], best_by: str, num_val: int) -> set[int]:
    """Positions of the recipes that are not clearly behind the best one; the best two always go on.

    Those after a recipe that none could clearly surpass are given up as well.

    >>> sorted(worth_more_epochs([0.80, 0.70, 0.79, 0.74], "accuracy", 500))
    [0, 2]
    >>> sorted(worth_more_epochs([0.90, 1.0, 1.0, 0.99], "accuracy", 500))
    [0, 1]
    """
    errors = [standard_error(figure, best_by, num_val) for figure in figures]
    limit = next((i for i, figure in enumerate(figures) if figure + 0.5 * errors[i] >= 1), len(figures))
    order = sorted(range(min(limit + 1, len(figures))), key=lambda i: -figures[i])
    best = figures[order[0]]
    margin = 0.1 * abs(best) if best_by in ("loss", "r2") else BEHIND * errors[order[0]]
    return {i for place, i in enumerate(order) if place < 2 or figures[i] >= best - margin}


def why_recipe(runs: Sequence[Finished], best: Finished, best_by: str) -> Decision:
    """Why this recipe was chosen, with the figures of all."""
    what = f"recipe {best.name!r}"
    if len(runs) == 1 and best_by == "r2":
        return Decision(what, "the only recipe that fits this target and these attributes")
    if len(runs) == 1:
        return Decision(what, "there are no validation nodes to choose by")
    figures = ", ".join(f"{run.name} {_figure(run, best_by)}" for run in runs)
    rule = "the simplest recipe within half a standard error of the best"
    if best_by in ("loss", "r2"):
        rule = "the best recipe"
    longest = max(len(run.history) for run in runs)
    behind = [run.name for run in runs if len(run.history) == FIRST_LOOK < longest]
    given_up = f"; given up after {FIRST_LOOK} epochs: {', '.join(behind)}" if behind else ""
    by = "R2" if best_by == "r2" else best_by.replace("_", " ")
    return Decision(what, f"{rule}, by {by} on validation nodes ({figures}){given_up}")


def _figure(run: Finished, by: str) -> str:
    value = run.history[run.best_epoch][f"val_{by}"]
    return f"{value:.3f}" if by in ("loss", "r2") else f"{value:.1%}"


def member_seed(seed: int, member: int) -> int:
    """The seed of another member of the ensemble, practically independent of the first."""
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
    used: Mapping[str, tuple[bool, str]] = {  # whether it is used, and the settings that would use it
        "direction": (similarity.match_direction, "match_direction"),
        "weight": (similarity.weighted_mean or settings.encoder.weighted_steps, "weighted_mean, weighted_steps"),
        "type": (similarity.match_types != "any", "match_types"),
        "attributes": (similarity.match_attributes, "match_attributes"),
    }
    words = graph.edge_values.edge_data_words
    left = {part: note for part, note in words.items() if part not in used or not (reads or used[part][0])}
    if not left:
        return None
    settings_for = [used[part][1] for part in left if part in used]
    how = [f"settings that use it: {', '.join(settings_for)}"] if settings_for else []
    if "time" in left:
        how.append("--set until=DATE of se-gnn import cuts edges at a date")
    return Decision("edge data that is not used", "; ".join([", ".join(left.values()), *how]))
