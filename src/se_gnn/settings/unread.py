"""Settings that nothing would read are refused if the user gave them: with the reason, and what to do instead."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Protocol

from se_gnn.errors import InputError
from se_gnn.settings.presets import RECIPES
from se_gnn.settings.sections import PaperObjective, VoteObjective, names_read

if TYPE_CHECKING:
    from se_gnn.settings.settings import Resolved

CONTRAST = ("mask_rate", "edge_noise", "negative_views", "node_batch", "node_negatives", "edge_batch", "edge_negatives")
_WORDS = {"paper": "the paper's objective", "vote": "the vote's objective"}


class EdgeFacts(Protocol):
    """Which data the edges of a graph have; None: none of it."""

    @property
    def direction(self) -> object | None:
        """Which end an edge leads to."""

    @property
    def weight(self) -> object | None:
        """Weights."""

    @property
    def type(self) -> object | None:
        """Types."""

    @property
    def attributes(self) -> object | None:
        """Attributes."""


class GraphFacts(Protocol):
    """A graph, as far as settings depend on it."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def dataset(self) -> str | None:
        """Its name in the registry of data sets; None: it is not from there."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""

    @property
    def train(self) -> Sized:
        """Labeled nodes."""

    @property
    def validation(self) -> Sized:
        """Validation nodes."""

    @property
    def edge_values(self) -> EdgeFacts | None:
        """Edge data; None: there is none."""


def check_all_read(resolved: Resolved, graph: GraphFacts | None) -> None:
    """Refuse given settings that the others make useless, and settings that contradict each other."""
    _check_objective(resolved)
    variants = [resolved]
    if resolved.selection.portfolio:
        variants = [resolved.with_recipe(name) for name in RECIPES]
    reasons = [unread(one, graph) for one in variants]
    for name in resolved.asked.given:
        if all(name in found for found in reasons):
            raise InputError(f"{name} = {_shown(resolved, name)} would have no effect: {reasons[0][name]}")


def unread(resolved: Resolved, graph: GraphFacts | None = None) -> dict[str, str]:
    """The settings that nothing reads beside these others, each with the reason and a remedy."""
    found: dict[str, str] = {}

    def add(reason: str, *names: str) -> None:
        found.update(dict.fromkeys(names, reason))

    encoder, objective = resolved.encoder, resolved.objective
    propagated = encoder.aggregation in ("pagerank", "steps") or (
        encoder.attribute_share > 0 and encoder.aggregation != "own"  # the attributes themselves are propagated
    )
    if not propagated:
        remedy = "leave it out, or set aggregation to pagerank or steps"
        add(f"aggregation = {encoder.aggregation} does not propagate in steps; {remedy}", "steps", "teleport")
    if encoder.aggregation != "mean":
        add(f"only aggregation = mean has a scale, not {encoder.aggregation}; leave it out", "scale_init")
    if encoder.num_layers == 1:
        add("an encoder of one layer has no hidden units; leave it out, or raise num_layers", "hidden_dropout")
        if encoder.output_size is not None:
            add("an encoder of one layer is as wide as output_size; leave one of them out", "hidden_size")
    if isinstance(objective, PaperObjective):
        if objective.references != "support":
            add(f"references = {objective.references} draws no support set; leave it out", "support_size")
        off = "leave it out, or give this loss a weight"
        if objective.node_loss_weight == 0:
            add(f"node_loss_weight is 0; {off}", "node_batch", "node_negatives")
        if objective.edge_loss_weight == 0:
            add(f"edge_loss_weight is 0; {off}", "edge_batch", "edge_negatives")
        if objective.node_loss_weight == objective.edge_loss_weight == 0:
            add(f"node_loss_weight and edge_loss_weight are 0; {off}", *CONTRAST)
    elif objective.consistency_weight == 0:
        names = ("consistency_power", "consistency_ramp", "consistency_batch")
        add("consistency_weight is 0; leave it out, or set consistency_weight", *names)
    chosen = ["num_nearest", "node_weight", "temperature", *(["attribute_share"] if encoder.attribute_share else [])]
    if resolved.selection.choose_vote and all(resolved.is_given(name) for name in chosen):
        add(f"{', '.join(chosen)} are all given, so nothing is left to choose", "choose_vote")
    return found if graph is None else {**found, **_unread_on(resolved, graph)}


def _unread_on(resolved: Resolved, graph: GraphFacts) -> dict[str, str]:
    """What has no effect on this graph. Settings that are off ask for nothing, and are not listed."""
    encoder, similarity, values = resolved.encoder, resolved.similarity, graph.edge_values
    weighted = values is not None and values.weight is not None
    edges = f"the edges of {graph.name}"
    asks: dict[str, tuple[bool, bool, str]] = {  # whether it is on, whether it can be read, why not
        "read_edges": (encoder.read_edges, values is not None, f"{edges} have no data"),
        "weighted_steps": (encoder.weighted_steps, weighted, f"{edges} have no weights"),
        "weighted_mean": (similarity.weighted_mean, weighted, f"{edges} have no weights"),
        "match_direction": (
            similarity.match_direction,
            values is not None and values.direction is not None,
            f"{edges} are not directed",
        ),
        "match_types": (
            similarity.match_types != "any",
            values is not None and values.type is not None,
            f"{edges} have no types",
        ),
        "match_attributes": (
            similarity.match_attributes,
            values is not None and values.attributes is not None,
            f"{edges} have no attributes",
        ),
    }
    if weighted and encoder.aggregation == "own":
        asks["weighted_steps"] = (encoder.weighted_steps, False, "aggregation = own does not propagate")
    if isinstance(resolved.objective, VoteObjective):
        unlabeled = graph.num_nodes > len(graph.train)
        on = resolved.objective.consistency_weight > 0
        asks["consistency_weight"] = (on, unlabeled, f"all nodes of {graph.name} are labeled")
    selection, validated = resolved.selection, len(graph.validation) > 0
    none = f"{graph.name} has no validation nodes to choose by"
    asks["best_by"] = (True, validated, none)
    asks["patience"] = (resolved.training.patience is not None, validated, none)
    asks["choose_vote"] = (selection.choose_vote, validated, none)
    asks["portfolio"] = (selection.portfolio, validated, none)
    return {name: f"{why}; leave it out" for name, (on, readable, why) in asks.items() if on and not readable}


def _check_objective(resolved: Resolved) -> None:
    """Each objective owns its settings; a portfolio holds recipes for the vote's objective alone."""
    name, other = ("paper", "vote") if isinstance(resolved.objective, PaperObjective) else ("vote", "paper")
    for given in resolved.asked.given:
        if given not in names_read(name):
            origin = "" if resolved.is_given("objective") else f" (preset {resolved.preset!r})"
            remedy = {"paper": "use the preset 'paper' or 'authors'", "vote": "set objective to 'vote'"}[other]
            raise InputError(f"{given} is not read by {_WORDS[name]}{origin}: leave it out, or {remedy}")
    if resolved.selection.portfolio and name == "paper":
        origin = "" if resolved.is_given("portfolio") else f" (preset {resolved.preset!r})"
        raise InputError(
            f"portfolio = True{origin} cannot be combined with objective = 'paper': every recipe of the portfolio "
            "minimizes the loss of the vote; set portfolio to false, or objective to 'vote'"
        )


def _shown(resolved: Resolved, name: str) -> str:
    value = resolved.asked.given[name].value
    return "none" if value is None else str(value)
