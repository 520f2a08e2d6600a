"""Settings that nothing would read are refused if the user gave them: with the reason, and what to do instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from se_gnn.errors import InputError
from se_gnn.settings.presets import FOR_NUMBERS, NOT_TRAINED, RECIPES
from se_gnn.settings.sections import (
    OBJECTIVES,
    OWNERS,
    SECTIONS,
    AgreementObjective,
    NumberObjective,
    PaperObjective,
    VoteObjective,
    names_read,
)

if TYPE_CHECKING:
    from se_gnn.graph import Graph
    from se_gnn.settings.settings import Resolved

CONTRAST = ("mask_rate", "edge_noise", "negative_views", "node_batch", "node_negatives", "edge_batch", "edge_negatives")
_WORDS = {
    "paper": "the paper's objective",
    "vote": "the vote's objective",
    "number": "the objective for numbers",
    "agreement": "a CaseExplainer, which trains nothing",
}
_REMEDIES = {
    "paper": "use the preset 'paper' or 'authors'",
    "vote": "set objective to 'vote'",
    "number": "predict a number",
    "agreement": "give it to a CaseExplainer",
}  # what to do to have a setting of this objective read


def check_all_read(resolved: Resolved, graph: Graph | None) -> None:
    """Refuse given settings that the others make useless, and settings that contradict each other."""
    _check_target(resolved, graph)
    _check_objective(resolved)
    variants = [resolved]
    if resolved.selection.portfolio:
        offered = FOR_NUMBERS if isinstance(resolved.objective, NumberObjective) else RECIPES
        variants = [resolved.with_recipe(name) for name in offered]
    reasons = [unread(one, graph) for one in variants]
    for name in resolved.asked.given:
        if all(name in found for found in reasons):
            raise InputError(f"{name} = {_shown(resolved, name)} would have no effect: {reasons[0][name]}")


def unread(resolved: Resolved, graph: Graph | None = None) -> dict[str, str]:
    """The settings that nothing reads beside these others, each with the reason and a remedy."""
    found: dict[str, str] = {}

    def add(reason: str, *names: str) -> None:
        found.update(dict.fromkeys(names, reason))

    encoder, objective = resolved.encoder, resolved.objective
    if isinstance(objective, AgreementObjective):
        trains = tuple(SECTIONS[name] for name in ("encoder", "training", "selection"))
        add("a CaseExplainer trains nothing; leave it out", *(n for n, own in OWNERS.items() if own[0] in trains))
        if resolved.similarity.match_attributes:
            add("a CaseExplainer learns nothing about edge attributes; leave it out", "match_attributes")
        return found if graph is None else {**found, **_unread_on(resolved, graph)}
    # the attributes themselves are propagated as well, if they have a share
    spread = encoder.attribute_share > 0 and encoder.aggregation != "own"
    remedy = "leave it out, or set aggregation to pagerank or steps"
    if not (spread or encoder.aggregation in ("pagerank", "steps", "layers")):
        add(f"aggregation = {encoder.aggregation} does not propagate in steps; {remedy}", "steps", "teleport")
    elif not spread and encoder.aggregation == "layers":
        add(f"aggregation = layers does not teleport; {remedy}", "teleport")
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
        identity = resolved.training.role_weight > 0  # also by a batch of nodes in the second view
        if objective.node_loss_weight == 0:
            add(f"node_loss_weight is 0; {off}", "node_negatives", *([] if identity else ["node_batch"]))
        if objective.edge_loss_weight == 0:
            add(f"edge_loss_weight is 0; {off}", "edge_batch", "edge_negatives")
        if objective.node_loss_weight == objective.edge_loss_weight == 0:
            read = ("mask_rate", "edge_noise", "node_batch") if identity else ()
            add(f"node_loss_weight and edge_loss_weight are 0; {off}", *(one for one in CONTRAST if one not in read))
    elif isinstance(objective, NumberObjective) and not encoder.read_values:
        add("read_values is off, so no value has to be hidden; leave it out, or set read_values", "hidden_values")
    elif isinstance(objective, VoteObjective) and objective.consistency_weight == 0:
        names = ("consistency_power", "consistency_ramp", "consistency_batch")
        add("consistency_weight is 0; leave it out, or set consistency_weight", *names)
    chosen = ["num_nearest", "node_weight", "temperature", "reserve", "class_factors"]
    chosen += ["attribute_share"] if encoder.attribute_share else []
    if resolved.selection.choose_vote and all(resolved.is_given(name) for name in chosen):
        add(f"{', '.join(chosen)} are all given, so nothing is left to choose", "choose_vote")
    return found if graph is None else {**found, **_unread_on(resolved, graph)}


def _unread_on(resolved: Resolved, graph: Graph) -> dict[str, str]:
    """What has no effect on this graph. Settings that are off ask for nothing, and are not listed."""
    encoder, similarity, selection = resolved.encoder, resolved.similarity, resolved.selection
    found: dict[str, str] = {}

    def need(name: str, on: bool, readable: bool, why: str) -> None:
        if on and not readable:
            found[name] = f"{why}; leave it out"

    values, edges = graph.edge_values, f"the edges of {graph.name}"
    has = () if values is None else values.edge_data
    need("read_edges", encoder.read_edges, values is not None, f"{edges} have no data")
    need("weighted_steps", encoder.weighted_steps, encoder.aggregation != "own", "aggregation = own does not propagate")
    need("weighted_steps", encoder.weighted_steps, "weight" in has, f"{edges} have no weights")
    need("weighted_mean", similarity.weighted_mean, "weight" in has, f"{edges} have no weights")
    need("match_direction", similarity.match_direction, "direction" in has, f"{edges} are not directed")
    need("match_types", similarity.match_types != "any", "type" in has, f"{edges} have no types")
    need("match_attributes", similarity.match_attributes, "attributes" in has, f"{edges} have no attributes")
    if isinstance(resolved.objective, VoteObjective):
        unlabeled = graph.num_nodes > len(graph.train)
        weight = resolved.objective.consistency_weight
        need("consistency_weight", weight > 0, unlabeled, f"all nodes of {graph.name} are labeled")
    validated, none = len(graph.validation) > 0, f"{graph.name} has no validation nodes to choose by"
    need("best_by", True, validated, none)
    need("patience", resolved.training.patience is not None, validated, none)
    need("choose_vote", selection.choose_vote, validated, none)
    need("portfolio", selection.portfolio, validated, none)
    return found


def _check_target(resolved: Resolved, graph: Graph | None) -> None:
    """Classes and numbers have objectives, figures and things to read of their own."""
    numbers, chosen = isinstance(resolved.objective, NumberObjective), resolved.training.objective
    if graph is not None and graph.predicts_numbers != numbers:
        has = "a number" if graph.predicts_numbers else "classes"
        raise InputError(f"objective = {chosen} does not fit {graph.name}, which has {has} to predict: leave it out")
    best_by = resolved.selection.best_by
    if numbers and best_by not in ("r2", "loss"):
        raise InputError(f"best_by must be r2 or loss if a number is predicted, got {best_by}")
    if not numbers and best_by == "r2":
        raise InputError("best_by = r2 is for numbers; classes are predicted here: use accuracy, for example")
    factors = resolved.vote.class_factors
    if graph is not None and factors is not None and not numbers and len(factors) != graph.num_classes:
        count, names = graph.num_classes, ", ".join(graph.class_names)
        raise InputError(
            f"class_factors must be {count} numbers, in the order of the classes {names}, got {len(factors)}"
        )
    for name in ("reserve", "role_weight", "class_factors"):
        if numbers and resolved.is_given(name):
            raise InputError(f"{name} is for classes; a number is predicted here: leave it out")
    for name in ("read_values", "value_scale"):
        if not numbers and resolved.is_given(name):
            raise InputError(f"{name} is for numbers; classes are predicted here: leave it out")


def _check_objective(resolved: Resolved) -> None:
    """Each objective owns its settings; a portfolio holds recipes for the vote's objective alone."""
    objective = resolved.training.objective
    if resolved.preset in NOT_TRAINED and objective != "agreement":
        raise InputError(f"objective = {objective!r} is not for a CaseExplainer, which trains nothing: leave it out")
    for given in resolved.asked.given:
        if given not in names_read(objective):
            origin = "" if resolved.is_given("objective") else f" (preset {resolved.preset!r})"
            remedy = next(_REMEDIES[name] for name, section in OBJECTIVES.items() if section in OWNERS[given])
            raise InputError(f"{given} is not read by {_WORDS[objective]}{origin}: leave it out, or {remedy}")
    if resolved.selection.portfolio and objective not in ("vote", "number"):
        origin = "" if resolved.is_given("portfolio") else f" (preset {resolved.preset!r})"
        raise InputError(
            f"portfolio = True{origin} cannot be combined with objective = {objective!r}: every recipe of the "
            "portfolio minimizes the loss of the vote; set portfolio to false, or objective to 'vote'"
        )


def _shown(resolved: Resolved, name: str) -> str:
    value = resolved.asked.given[name].value
    return "none" if value is None else str(value)
