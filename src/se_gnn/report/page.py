"""The page: facts about the model, the graph and the nodes, rendered with the templates beside this file.

Everything that comes from data is escaped by the templates or by the writer of the SVG. The page asks the browser to
refuse whatever is not in it: no address but `data:` pictures, no style or script but the two that it names by digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from se_gnn import __version__
from se_gnn.errors import InputError
from se_gnn.explain import explain
from se_gnn.graph import Graph
from se_gnn.graph.arrays import IntArray
from se_gnn.graph.spread import listed_nodes, spread
from se_gnn.labels import Audit, AuditRow, Certificates, Finding, audit, certify
from se_gnn.labels.novelty import Novelty, page_novelty
from se_gnn.model import Model, Prediction
from se_gnn.model.numbers import NumberPrediction, predict
from se_gnn.report.card import card_values
from se_gnn.report.node import NodeImages, node_part
from se_gnn.report.predictions import UNITS, certainty, predicted_of, prediction_table, unlabeled
from se_gnn.report.templating import page_environment, script, stylesheet
from se_gnn.similarity import measure_named

if TYPE_CHECKING:
    from se_gnn.links import PairExplanation

CERTAIN, UNCERTAIN, MISTAKES = 2, 2, 4
NEIGHBORS = 4  # that come with a picture


def choose_nodes(prediction: Prediction | NumberPrediction, graph: Graph) -> IntArray:
    """The most certain of the correct predictions, the least certain ones, and the surest mistakes.

    If numbers are predicted: those that are closest to the known number, and furthest off. Test nodes where there are
    any, validation nodes otherwise, or else all nodes that do not vote.
    """
    pool = graph.test if len(graph.test) else graph.validation if len(graph.validation) else unlabeled(graph)
    pool = predicted_of(pool, prediction)
    found = prediction.of_nodes(pool)
    if isinstance(found, NumberPrediction):
        errors = np.abs(found.values - graph.values[pool])
        order = pool[np.argsort(np.nan_to_num(errors, nan=-1), kind="stable")]
        chosen = [*order[:CERTAIN], *order[::-1][:MISTAKES]]
    else:
        order = np.argsort(-certainty(found), kind="stable")
        pool, found = pool[order], found.rows(order)
        known = graph.labels[pool] >= 0
        right = found.classes == graph.labels[pool]
        chosen = [*pool[right | ~known][:CERTAIN], *pool[::-1][:UNCERTAIN], *pool[known & ~right][:MISTAKES]]
    return np.array(list(dict.fromkeys(int(node) for node in chosen)), dtype=np.int64)


def report_html(
    trained: Model,
    nodes: Sequence[int] | IntArray | None = None,
    *,
    k: int = NEIGHBORS,
    title: str | None = None,
    progress: bool = False,
    prediction: Prediction | NumberPrediction | None = None,
) -> str:
    """A report as one page that needs nothing else: no network, no other file.

    Args:
        trained: the model to report on.
        nodes: ids of the nodes to explain, in this order; None: a choice of certain, uncertain and wrong predictions.
        k: how many of the nearest labeled nodes are shown with local graph and matched edges.
        title: heading of the page; None: the name of the data set.
        progress: show a progress bar.
        prediction: of all nodes, where it is known already.

    A page about a graph of more than 200,000 nodes is about some of them: labeled, validation and test nodes, others,
    evenly spread, and the nodes to explain.
    """
    graph, settings = trained.graph, trained.in_use
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    wanted = None if nodes is None else np.array(list(dict.fromkeys(graph.node_ids(nodes).tolist())), dtype=np.int64)
    nodes = listed_nodes(graph) if wanted is None else np.union1d(listed_nodes(graph), wanted)
    every = len(nodes) == graph.num_nodes
    if not every:
        trained.ranker.hold(np.union1d(nodes, asked_for(graph)))  # all that follows asks for these nodes
    if prediction is None:
        prediction = predict(trained, None if every else nodes)
    prediction = prediction if len(prediction.nodes) == len(nodes) else prediction.of_nodes(nodes)
    if wanted is None:
        wanted = choose_nodes(prediction, graph)
    scores = page_novelty(trained)
    novelty = None if scores is None else scores.of(nodes)
    parts = []
    for node in tqdm(wanted.tolist(), desc="explaining", unit="node", disable=not progress):
        explanation = explain(trained, node, k=k, attributes=True)[0]
        if novelty is not None:
            explanation = explanation.abstaining(novelty.abstention(node))
        parts.append(node_part(explanation, k))
    return _page(
        "report.html",
        graph.name if title is None else title,
        0 if graph.predicts_numbers else graph.num_classes,
        graph=graph,
        settings=settings,
        measure=measure_named(settings.similarity.measure),
        numbered=graph.captions is None and all(graph.node_names[i].isdigit() for i in nodes.tolist()),
        images=NodeImages(graph),
        shown_name=graph.caption,
        node_href=lambda node: f"#node-{node}" if node in wanted else None,
        parts=parts,
        **card_values(trained, prediction),
        **(_about_classes(trained, prediction, wanted, novelty) if isinstance(prediction, Prediction) else {}),
    )


def _about_classes(
    trained: Model, prediction: Prediction, explained: IntArray, novelty: Novelty | None
) -> dict[str, Any]:
    """Facts about the labeled nodes and about all predictions."""
    memory = labeled_memory(trained, novelty, prediction.nodes)
    first = memory.strangers[:MOST_STRANGERS]
    scores = [] if novelty is None else novelty.of(first).score.tolist()
    return {
        "predictions": prediction_table(prediction, trained.graph, explained=explained, novelty=novelty),
        "units": UNITS,
        "memory": memory,
        "strangers": list(zip(first.tolist(), scores, prediction.of_nodes(first).cases[:, 0].tolist())),
        "history": trained.history,
        "findings": list(Finding),
        "novelty": novelty,
        "misleading": find_misleading(prediction, trained.graph),
    }


MOST_SUSPECTS = MOST_STRANGERS = 12
MOST_PAIRS = 10**8  # of nodes and labeled nodes that are ranked for a page
FEWEST_NODES = 1000
MOST_COMPARED = 10**7  # pairs of labeled and of labeled or validation nodes that are audited for a large graph


class LabeledMemory(NamedTuple):
    """The section on the labeled memory."""

    certified: Certificates  # of the nodes that were looked at
    audit: Audit | None  # None: there are too many labeled nodes to judge them for a page
    suspects: tuple[AuditRow, ...]  # labeled nodes with findings
    strangers: IntArray  # nodes too unlike anything known, the strangest first


def labeled_memory(trained: Model, novelty: Novelty | None, nodes: IntArray) -> LabeledMemory:
    """The smallest sets that change predictions, the audit, and the nodes without an answer (None: not judged).

    ``nodes`` are those that the page is about.
    """
    certified = certify(trained, _looked_at(trained.graph, nodes))
    judged = page_audit(trained, nodes)
    far = np.empty(0, np.int64) if novelty is None else np.flatnonzero(novelty.abstains)
    return LabeledMemory(
        certified=certified,
        audit=judged,
        suspects=tuple(row for row in judged or () if row.findings)[:MOST_SUSPECTS],
        strangers=far if novelty is None else novelty.nodes[far[np.argsort(-novelty.score[far], kind="stable")]],
    )


def page_audit(trained: Model, nodes: IntArray) -> Audit | None:
    """The audit of `se-gnn labels audit` for a page about some nodes.

    None: the graph is large, and has too many labeled nodes to judge them.
    """
    every = len(nodes) == trained.graph.num_nodes
    if not every and not _few_labeled(trained.graph):
        return None
    return audit(trained, None if every else nodes, seed=trained.facts.seed)


def asked_for(graph: Graph) -> IntArray:
    """Nodes that the page of a large graph asks for besides those that it is about."""
    audited = [graph.train] if _few_labeled(graph) else []
    return np.concatenate([graph.validation, graph.calibration, *audited])


def _few_labeled(graph: Graph) -> bool:
    """Whether the labeled nodes of a large graph can be judged for a page."""
    return len(graph.train) * (len(graph.train) + len(graph.validation)) <= MOST_COMPARED


def _looked_at(graph: Graph, nodes: IntArray) -> IntArray:
    """Those of some nodes that are predicted, as many as there is time for, evenly spread."""
    most = max(FEWEST_NODES, MOST_PAIRS // max(1, len(graph.train)))
    return spread(nodes[np.isin(nodes, graph.candidates)], most)


@dataclass(frozen=True, slots=True)
class Misleading:
    """A labeled node, the weight it gave in votes on nodes of known class, and how much of it was for a wrong one."""

    node: int
    label: int
    given: float
    wrong: float
    nodes: int  # that were predicted wrongly with its help

    @property
    def share(self) -> float:
        """Share of its weight that it gave to wrong predictions."""
        return self.wrong / self.given


def find_misleading(prediction: Prediction, graph: Graph) -> list[Misleading]:
    """Labeled nodes that voted for a wrong prediction on validation or test nodes, most weight first."""
    judged = predicted_of(np.concatenate([graph.validation, graph.test]), prediction)
    found = prediction.of_nodes(judged)
    neighbors, weights = found.cases, found.weights.astype(np.float64)  # [T, K]
    predicted, truth = found.classes, graph.labels[judged]
    for_it = graph.labels[neighbors] == predicted[:, None]
    astray = for_it & (predicted != truth)[:, None] & (weights > 0)

    def total(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        summed: npt.NDArray[Any] = np.bincount(neighbors.ravel(), values.ravel(), graph.num_nodes)
        return summed.astype(np.float64)

    given, wrong, count = total(weights), total(np.where(astray, weights, 0)), total(astray.astype(np.float64))
    order = np.argsort(-wrong, kind="stable")
    return [
        Misleading(int(node), int(graph.labels[node]), float(given[node]), float(wrong[node]), int(count[node]))
        for node in order[: int((wrong > 0).sum())]
    ]


def pairs_html(explanations: Sequence[PairExplanation], *, title: str) -> str:
    """A page about pairs of nodes: how likely each is linked, and the neighbors that vote."""
    return _page("pairs.html", title, 0, explanations=explanations)


def _page(template: str, title: str, num_classes: int, **values: Any) -> str:
    style, code = stylesheet(num_classes), script()
    policy, environment = content_policy(style, code), page_environment()
    return environment.get_template(template).render(
        title=title, version=__version__, style=style, script=code, policy=policy, **values
    )


def content_policy(style: str, script: str) -> str:
    """What the page may load: pictures inside it, this style, this script."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
