"""A fitted model of links: learned weights, the graph whose links vote, and how scores become probabilities.

`fit` hides some links for validation, learns on the others, and chooses K, lambda and the calibration on the hidden
ones. The model then keeps the graph as it was given: in use, all known links vote. A folder holds it as
`links.safetensors`, `links.json` and the graph, sealed by a manifest; no pickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as safetensors
from scipy.special import expit
from torch import Tensor

from se_gnn.errors import InputError
from se_gnn.files import commit_files, json_bytes, locked, parse_json, writing_to
from se_gnn.files.tensors import load_tensors
from se_gnn.graph import Graph, storage
from se_gnn.graph.arrays import Float64Array, IntArray
from se_gnn.links.negatives import hard_negatives, num_negatives, random_negatives
from se_gnn.links.pairs import Links, LinkType, link_types, type_joining
from se_gnn.links.scoring import Attributes, Scorer, SideWeights, Terms, link_metrics, ranks
from se_gnn.links.training import learn
from se_gnn.model.folder import LINKS_FORMAT, MANIFEST, is_links_folder, seal, unseal
from se_gnn.progress import phase
from se_gnn.settings.checks import at_least, between, ruled
from se_gnn.settings.sections import Section

VALIDATION = 0.05  # share of the links that is hidden; of few links more, up to a fifth
ENOUGH_VALIDATION, MOST_VALIDATION = 100, 500
FEWEST_LINKS = 20
NUM_NEAREST = (1, 2, 3)
NODE_WEIGHTS = (1.0, 0.9, 0.7)
SLACK = 0.5  # standard errors: the simplest setting that is no further from the best
PARAMETERS, ABOUT = "links.safetensors", "links.json"
NEEDED = (PARAMETERS, ABOUT, storage.HEADER)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings(Section):
    """How pairs are scored, and how scores become probabilities: 1 / (1 + exp(-offset - scale * score))."""

    num_nearest: int = ruled((at_least, 1))(1)  # K, neighbors of each side that vote
    node_weight: float = ruled((between, 0, 1))(1.0)  # lambda
    scale: float = 1.0
    offset: float = 0.0

    def probabilities(self, scores: Float64Array) -> Float64Array:
        """Probability of each score."""
        found: Float64Array = expit(self.offset + self.scale * scores)
        return found


@dataclass(frozen=True, eq=False)
class LinkModel:
    """Scores pairs of a graph. Frozen data; `fit` makes it."""

    graph: Graph
    attributes: Attributes
    sides: SideWeights
    settings: LinkSettings
    facts: Mapping[str, Any] = field(default_factory=dict)  # seed, what was given, what was chosen and why, figures

    @cached_property
    def types(self) -> tuple[LinkType, ...]:
        """The types of links that the graph has."""
        return link_types(self.graph)

    @cached_property
    def _scorers(self) -> dict[str, Scorer]:
        embeddings = self.attributes.embeddings()
        return {one.name: Scorer(Links(self.graph, one), embeddings, self.settings.node_weight) for one in self.types}

    def scorer(self, kind: LinkType) -> Scorer:
        """What scores pairs of one type."""
        return self._scorers[kind.name]

    def type_of(self, pairs: IntArray, name: str | None) -> LinkType:
        """The type of links that is asked for; pairs of other node types are refused."""
        return type_joining(self.graph, self.types, name, pairs)

    def scores(self, pairs: IntArray, kind: LinkType) -> Float64Array:
        """Score of each pair, [n]; a pair that is linked is scored as if it were not."""
        if not len(pairs):
            return np.empty(0)
        found = self.scorer(kind).scores(pairs, self.sides, self.settings.num_nearest)
        for row in self._seen(pairs, kind):
            found[row] = self.terms(pairs[row], kind).scores(self.sides, self.settings.num_nearest)[0]
        return found

    def terms(self, pair: IntArray, kind: LinkType) -> Terms:
        """What the score of one pair is made of; its own link, if there is one, is hidden."""
        scorer, row = self.scorer(kind), np.asarray(pair)[None]
        if len(self._seen(row, kind)):
            links = scorer.links.without(row)
            scorer = Scorer(links, scorer.embeddings, self.settings.node_weight)
        return next(scorer.terms(row))

    def _seen(self, pairs: IntArray, kind: LinkType) -> IntArray:
        """Pairs whose own link is part of a local graph that is compared: only where structure counts."""
        if self.settings.node_weight == 1:
            return np.empty(0, np.int64)
        links = self.scorer(kind).links
        return np.flatnonzero(links.exist(pairs) | links.exist(pairs[:, ::-1]))

    def save(self, folder: str | Path) -> None:
        """Write a model into a folder, in one step over what it holds of an earlier one."""
        arrays = {
            "attributes.columns": self.attributes.columns,
            "attributes.weights": self.attributes.weights,
            "sides.neighbor": self.sides.neighbor,
            "sides.direct": self.sides.direct,
        }
        files = {
            PARAMETERS: safetensors({name: np.ascontiguousarray(array) for name, array in arrays.items()}),
            ABOUT: json_bytes({"settings": asdict(self.settings), "facts": dict(self.facts)}),
        }
        sealed = seal(files, self.graph, LINKS_FORMAT)
        with writing_to(folder) as path, locked(path):
            commit_files(path, sealed, remove=(MANIFEST, *NEEDED, storage.ARRAY_FILES))

    @classmethod
    def load(cls, folder: str | Path) -> LinkModel:
        """Read a model back, after every file has been checked against the manifest."""
        path = Path(folder)
        if not is_links_folder(path):
            raise InputError(f"{path} does not hold a model of links; se-gnn train --task links makes one")
        files = unseal(path, LINKS_FORMAT, NEEDED)
        graph = storage.read_graph(path, files[storage.HEADER])
        tensors, about = load_tensors(files[PARAMETERS], path / PARAMETERS), parse_json(files[ABOUT], path / ABOUT)
        attributes, arrays = Attributes.of(graph), {name: tensor.numpy() for name, tensor in tensors.items()}
        try:
            if not np.array_equal(arrays["attributes.columns"], attributes.columns):
                raise InputError(f"{path / PARAMETERS} does not fit the graph: it has weights for other attributes")
            attributes = attributes.weighted(arrays["attributes.weights"])
            sides = SideWeights(arrays["sides.neighbor"], arrays["sides.direct"])
            return cls(graph, attributes, sides, LinkSettings(**about["settings"]), about["facts"])
        except (KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}") from error


def fit(
    graph: Graph,
    *,
    validation: IntArray | None = None,
    hard: IntArray | None = None,
    kind: str | None = None,
    num_nearest: int | None = None,
    node_weight: float | None = None,
    seed: int = 0,
    progress: bool = False,
) -> LinkModel:
    """Learn from the links of a graph; the arguments are those of `SEGNNLinkPredictor` and its `fit`, as arrays."""
    _check(graph)
    asked: dict[str, Any] = {"num_nearest": num_nearest, "node_weight": node_weight}
    given = {name: value for name, value in asked.items() if value is not None}
    LinkSettings(**given)  # refuses what makes no sense
    generator, types = np.random.default_rng([seed, 0]), link_types(graph)
    hidden = _hidden(graph, types, validation, kind, generator)
    rest = graph
    for one in types:
        if one.name in hidden:
            rest = Links(rest, one).without(hidden[one.name]).graph
    held = [(Links(rest, one), hidden[one.name]) for one in types if one.name in hidden]
    others = [Links(rest, one) for one in types if one.name not in hidden]
    plain = Attributes.of(graph)
    with phase("tempting pairs", shown=progress):
        usable = [one for one in [*(links for links, _ in held), *others] if len(one.pairs)]
        attributes, sides = learn(usable, plain, seed=seed, progress=progress)
        contests = []
        for links, pairs in held:
            tempting = hard
            if tempting is None:
                tempting = hard_negatives(links, pairs, num_negatives(graph), plain.unit, generator)
            contests.append((links, np.concatenate([pairs[:, None], tempting], axis=1)))
    embeddings = attributes.embeddings()
    tried = _tried(contests, embeddings, sides, given)
    (best_k, best_lambda), why = _chosen(tried)
    positive, negative = tried[best_k, best_lambda]
    drawn = [
        Scorer(links, embeddings, best_lambda).scores(random_negatives(links, pairs, generator), sides, best_k)
        for links, pairs in held
    ]
    against = np.concatenate(drawn)
    scale, offset = _calibrated(positive, negative.ravel(), against)
    settings = LinkSettings(num_nearest=best_k, node_weight=best_lambda, scale=scale, offset=offset)
    facts = {
        "seed": seed,
        "given": given,
        "decisions": why,
        "validation": link_metrics(positive, negative, against),
    }
    return LinkModel(graph, attributes, sides, settings, facts)


def _check(graph: Graph) -> None:
    if not graph.fits_memory:
        raise InputError(
            f"{graph.name} is mapped from files, and learning from links reads the whole graph: fit on a part of it "
            "that fits in memory (Graph.subgraph)"
        )
    if graph.num_edges < FEWEST_LINKS:
        raise InputError(f"link prediction needs at least {FEWEST_LINKS} edges, {graph.name} has {graph.num_edges}")


def _hidden(
    graph: Graph,
    types: tuple[LinkType, ...],
    validation: IntArray | None,
    kind: str | None,
    generator: np.random.Generator,
) -> dict[str, IntArray]:
    """The validation links of each type."""
    if validation is not None:
        if not len(validation):
            raise InputError("validation must hold at least one link")
        return {type_joining(graph, types, kind, validation).name: validation}
    found = {}
    for one in types:
        pairs = Links(graph, one).pairs
        enough = max(VALIDATION * len(pairs), min(ENOUGH_VALIDATION, len(pairs) / 5))
        count = min(MOST_VALIDATION, round(enough))
        if len(pairs) >= FEWEST_LINKS:
            found[one.name] = pairs[np.sort(generator.permutation(len(pairs))[:count])]
    if not found:
        raise InputError(f"link prediction needs at least {FEWEST_LINKS} edges of one type, {graph.name} has fewer")
    return found


Tried = dict[tuple[int, float], tuple[Float64Array, Float64Array]]


def _tried(
    contests: list[tuple[Links, IntArray]], embeddings: Tensor, sides: SideWeights, given: Mapping[str, Any]
) -> Tried:
    """Scores of the validation links, [n], and of their pairs, [n, M], for each K and lambda; nothing is done twice."""
    nearest = (given["num_nearest"],) if "num_nearest" in given else NUM_NEAREST
    weights = (given["node_weight"],) if "node_weight" in given else NODE_WEIGHTS
    found: dict[tuple[int, float], list[Any]] = {(k, one): [] for one in weights for k in nearest}
    for links, pairs in contests:
        scorer = Scorer(links, embeddings, min(weights))  # the lowest: structure is compared if any lambda reads it
        for terms in scorer.terms(pairs.reshape(-1, 2)):
            for (k, weight), rows in found.items():
                rows.append(terms.reweighted(weight).scores(sides, k))
    width = contests[0][1].shape[1]
    tables = {key: np.concatenate(rows).reshape(-1, width) for key, rows in found.items()}
    return {key: (table[:, 0], table[:, 1:]) for key, table in tables.items()}


def _chosen(tried: Tried) -> tuple[tuple[int, float], dict[str, Any]]:
    """The first setting, simplest first, whose MRR is within half a standard error of the best."""
    own = {key: 1 / ranks(*scores) for key, scores in tried.items()}
    best = max(own, key=lambda key: own[key].mean())
    slack = SLACK * own[best].std() / np.sqrt(len(own[best]))
    key = next(one for one in own if own[one].mean() >= own[best].mean() - slack)
    table = [{"num_nearest": k, "node_weight": w, "mrr": float(one.mean())} for (k, w), one in own.items()]
    reason = "the simplest setting within half a standard error of the best MRR on validation links"
    return key, {"reason": reason, "tried": table}


def _calibrated(positive: Float64Array, hard: Float64Array, random: Float64Array) -> tuple[float, float]:
    """Scale and offset of the logistic curve that fits links against other pairs, both with the same total weight.

    Half of the other pairs, by weight, are hard and half are random. A small penalty keeps the slope finite where a
    score separates them.
    """
    from sklearn.linear_model import LogisticRegression  # takes a second to import, and only fitting needs it

    parts = (positive, hard, random)
    weight = np.concatenate([np.full(len(one), share / len(one)) for one, share in zip(parts, (0.5, 0.25, 0.25))])
    scores, truth = np.concatenate(parts), np.repeat([1, 0], [len(positive), len(hard) + len(random)])
    center, spread = scores.mean(), max(float(scores.std()), 1e-9)
    curve = LogisticRegression(C=1e4, tol=1e-8).fit((scores[:, None] - center) / spread, truth, weight)
    scale = max(float(curve.coef_[0, 0]), 1e-6) / spread
    return scale, float(curve.intercept_[0]) - scale * float(center)
