"""Why a node was predicted as it was, as plain data: it holds no model and no graph, and JSON gives it back as it was.

An explanation is the computation itself, not a model of it. Everything that it mentions is in its two tables, once:
nodes by their id, edges by theirs. Text, tables, pictures and pages are functions of it. Shapes: M edges of a local
graph, d ranks, S edges of a crucial subgraph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from se_gnn.errors import InputError
from se_gnn.graph import UNKNOWN
from se_gnn.graph.arrays import BoolArray, FloatArray, IntArray
from se_gnn.number_format import number_text, tenths
from se_gnn.ranking import SmallestSet
from se_gnn.settings.sections import MeasureName

LEAST_EFFECT = 0.001  # of an attribute that is shown
CRUCIAL_EDGES = 5  # of a crucial subgraph, unless another size is asked for


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a table as it is shown; of a number or a date also where it lies among all values of its column."""

    text: str
    number: float | None = None  # in standard deviations of the column; None: it cannot be close to another
    below: float = 0.0  # share of all values that are less
    upto: float = 0.0  # share of all values that are not more


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node that an explanation mentions.

    ``values`` and ``image`` are there for the node in question and for cases that are explained in full.
    """

    kind: ClassVar[str] = "node"

    id: int
    name: str
    caption: str  # what people see; the name where there is no caption
    label: int = UNKNOWN  # known class, a position in ``answer.classes``
    number: float | None = None  # known number, if numbers are predicted
    case: bool = False  # labeled, so that it may vote
    type: str | None = None  # None: all nodes are of one type
    values: Mapping[str, Value] = field(default_factory=dict)  # its row of the table
    image: tuple[tuple[float, ...], ...] | None = None  # its pixels, where nodes are pictures


@dataclass(frozen=True, slots=True)
class EdgeInfo:
    """An edge that an explanation mentions; it leads from ``start`` to ``end`` if it is directed."""

    id: int  # its row in the edge list of the graph
    start: int
    end: int
    directed: bool = False
    type: str | None = None
    verb: str | None = None  # what a directed edge of this type does, for sentences; None: an arrow
    weight: float | None = None
    values: Mapping[str, Value] = field(default_factory=dict)  # weight and attributes as they are shown

    @property
    def ends(self) -> tuple[int, int]:
        """The two nodes, the lower id first."""
        return min(self.start, self.end), max(self.start, self.end)

    @property
    def facts(self) -> dict[str, str]:
        """Its type, weight and attributes."""
        shown = {name: value.text for name, value in self.values.items()}
        return {"type": self.type, **shown} if self.type is not None and not self.directed else shown


@dataclass(frozen=True, slots=True, eq=False)
class EdgeMatches:
    """Edges of one local graph, each with its best match in another, Eq. (5).

    ``above_average`` marks the edges whose match is at least as close as average. The average is that of the same edge
    over the cases that vote and have edges; on the way back, that of all edges of the cases that vote. Where edges
    match only those of their direction or type and the other local graph has none, ``matched_ids`` is -1 and the
    similarity is that of the edge with its own opposite.

    Shapes:
        - **edge_ids**, **matched_ids:** :math:`(M,)` ids of edges
        - **similarity**, **above_average:** :math:`(M,)`
    """

    edge_ids: IntArray
    matched_ids: IntArray
    similarity: FloatArray
    above_average: BoolArray

    def __len__(self) -> int:
        return len(self.edge_ids)

    @property
    def matched(self) -> BoolArray:
        """Which edges have a match, [M]."""
        return self.matched_ids >= 0


class MatchedEdge(NamedTuple):
    """An edge of the node in question beside its match in the local graph of a case."""

    edge: EdgeInfo
    match: EdgeInfo | None  # None: the case has none that may match
    similarity: float
    good: bool  # at least as close as average
    own: bool  # the match ends at the node in question: it is no evidence about it

    @property
    def same(self) -> bool:
        """Whether both local graphs have this edge."""
        return self.match is not None and self.match.id == self.edge.id


@dataclass(frozen=True, slots=True)
class SharedAttribute:
    """An attribute that both have, with the value of each and the similarity that is lost without it."""

    name: str
    value: str
    other_value: str
    effect: float


@dataclass(frozen=True, slots=True)
class SharedAttributes:
    """The attributes that two nodes share, or two edges (named by their ends), largest effect first.

    ``similarity`` is that of Eq. (2); ``num_shared`` counts all shared attributes, also those that are not listed;
    ``note`` says how exact this is.
    """

    node: int | tuple[int, ...]
    other: int | tuple[int, ...]
    similarity: float
    attributes: tuple[SharedAttribute, ...]
    num_shared: int
    note: str

    @property
    def that_matter(self) -> tuple[SharedAttribute, ...]:
        """Those without which the two would be noticeably less similar: by a hundredth of the similarity, or more."""
        least = max(LEAST_EFFECT, abs(self.similarity) / 100)
        return tuple(one for one in self.attributes if one.effect >= least)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CaseVote:
    """A case and its vote.

    ``weight`` is what it adds to the probability of its class, Eq. (8)-(9). ``similarity`` is the sum of
    ``node_term`` and ``structure_term``, Eq. (7). ``structure_similarity`` is None where one of the two nodes has no
    edges: then the two were compared by node similarity alone. The last four fields are there for cases that are
    explained in full (``explained``).
    """

    node: int
    label: int
    weight: float
    similarity: float
    node_similarity: float
    structure_similarity: float | None
    node_term: float  # lambda s^n
    structure_term: float  # (1 - lambda) s^e
    without: tuple[float, ...]  # class probabilities if this case were not labeled; all 0: nobody would be left
    explained: bool = False
    edge_ids: IntArray | None = None  # edges of its local graph, ascending
    matches: EdgeMatches | None = None  # edges of the node in question, matched in this local graph
    matches_back: EdgeMatches | None = None  # the other way, where both directions count
    attributes: SharedAttributes | None = None  # where they were asked for and have names
    number: float | None = None  # the number that it votes for; ``without`` is then the one number without it
    contribution: float | None = None  # weight times number; contributions add up to the prediction


@dataclass(frozen=True, slots=True)
class Abstention:
    """The node is too unlike anything known for an answer: its novelty is above the threshold."""

    novelty: float
    threshold: float
    false_alarms: float  # share of known nodes that would be turned away by mistake


@dataclass(frozen=True, slots=True)
class ExplainedModel:
    """The answer of a model that was trained elsewhere, which the vote explains, and how often the two agree."""

    predicted: int
    probability: float
    agreement: float  # share of held-out nodes on which vote and model agree


@dataclass(frozen=True, slots=True)
class ClassAnswer:
    """Probabilities of the classes; each is the sum of the weights of its cases, and its part of the reserve."""

    kind: ClassVar[str] = "class"

    classes: tuple[str, ...]
    probabilities: tuple[float, ...]
    predicted: int  # the most probable class; of equals the first
    abstained: Abstention | None = None  # then the vote is context, not an answer
    model: ExplainedModel | None = None  # None: the vote is the model


@dataclass(frozen=True, slots=True)
class NumberAnswer:
    """A number in the unit of its column: the sum of what the cases contribute, weight times their own number."""

    kind: ClassVar[str] = "number"

    name: str  # what people call the number
    value: float
    spread: float  # weighted standard deviation of the cases' numbers
    unit: str = ""
    decimals: int = 0  # digits that are shown; below 0: tens, hundreds
    low: float | None = None  # of the interval; None: there is none, or it is not bounded
    high: float | None = None
    coverage: float = 0.0  # probability that the interval promises
    guaranteed: bool = False  # calibrated on held-out nodes
    values_read: bool = False  # embeddings depend on known values, and a stated removal keeps them as they are
    abstained: Abstention | None = None  # then the vote is context, not an answer
    model: ExplainedModel | None = None  # always None: a vote of numbers explains itself

    def text(self, value: float, *, signed: bool = False) -> str:
        """A number as people read it, with its unit."""
        return number_text(value, self.decimals, self.unit, signed=signed)


@dataclass(frozen=True, slots=True, eq=False)
class RankRows:
    """The first cases that can vote, most similar first: enough to count every stated vote again, [d] each."""

    nodes: IntArray
    labels: IntArray  # none if numbers are predicted
    similarity: FloatArray
    numbers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Why this class and not another: the nearest case of the predicted class beside the nearest of any other.

    ``needed`` is exact: if ``other`` alone were more similar than this, and all else stayed, its class would be
    predicted.
    """

    chosen: CaseVote
    other: CaseVote
    needed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSettings:
    """What the nodes were compared by, and how the vote was counted."""

    num_nearest: int  # K
    temperature: float  # tau
    node_weight: float  # lambda
    hops: int  # n
    max_edges: int | None  # of a local graph; None: no limit
    measure: MeasureName  # sim
    directions: str
    match_direction: bool = False
    match_types: str = "any"
    match_attributes: bool = False
    weighted_mean: bool = False
    class_factors: tuple[float, ...] | None = None  # how often a case of each class counts; None: once


@dataclass(frozen=True, slots=True, eq=False)
class CrucialSubgraph:
    """The edges of a local graph that matter most, most important first."""

    nodes: IntArray  # ids of their ends, ascending
    edge_ids: IntArray  # [S]
    edges: IntArray  # node ids, [S, 2]
    importance: FloatArray  # [S]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Explanation:
    """The answer for one query and the evidence it is made of.

    Attributes:
        query: the node in question.
        answer: what is predicted.
        votes: the K most similar cases, nearest first.
        reserve: share of the vote that no case has: it is spread evenly over the classes.
        ranks: the first cases in order, enough to recount a stated removal.
        removal: the fewest cases whose removal changes the prediction; None: no removal does.
        relabeling: the fewest cases that change the prediction if they get another class; None: none do.
        contrast: the nearest case of the predicted class beside that of another; None: all cases have one class.
        edge_ids: the edges of the local graph of the query, ascending, :math:`(M,)`.
        importance: mean similarity of each edge with its matches, Eq. (10), :math:`(M,)`; NaN if no case has edges.
        roles: where each of these edges leads, seen from the query, in words; None: it has no direction.
        nodes: all nodes that are mentioned, by id.
        edges: all edges that are mentioned, by id.
        edge_types: the types that edges have, in the order of the graph.
        settings: what the nodes were compared by.
    """

    query: NodeInfo
    answer: ClassAnswer | NumberAnswer
    votes: tuple[CaseVote, ...]
    reserve: float = 0.0
    ranks: RankRows
    removal: SmallestSet | None = None
    relabeling: SmallestSet | None = None
    contrast: Contrast | None = None
    edge_ids: IntArray
    importance: FloatArray
    roles: tuple[str | None, ...] = ()
    nodes: Mapping[int, NodeInfo]
    edges: Mapping[int, EdgeInfo]
    edge_types: tuple[str, ...] = ()
    settings: CompareSettings

    @property
    def node(self) -> int:
        """Id of the node in question."""
        return self.query.id

    @property
    def name(self) -> str:
        """Name of the node in question."""
        return self.query.name

    @property
    def label(self) -> int:
        """Known class of the node in question, or -1."""
        return self.query.label

    @property
    def left_out(self) -> bool:
        """Whether the node is a case itself: then it was explained by the others."""
        return self.query.case

    @property
    def classes(self) -> ClassAnswer:
        """The answer, if classes are predicted; refused otherwise."""
        if isinstance(self.answer, NumberAnswer):
            raise InputError(f"this needs classes, but {self.answer.name} is a number")
        return self.answer

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, in the order of ``probabilities``."""
        return self.classes.classes

    @property
    def probabilities(self) -> tuple[float, ...]:
        """One per class."""
        return self.classes.probabilities

    @property
    def predicted(self) -> int:
        """The most probable class."""
        return self.classes.predicted

    @property
    def predicted_name(self) -> str:
        """Name of the most probable class."""
        return self.class_names[self.predicted]

    @property
    def shares(self) -> list[tuple[int, float]]:
        """The classes that have any probability, the most probable first; of equals the first."""
        order = sorted(range(len(self.class_names)), key=lambda label: -self.probabilities[label])
        return [(label, self.probabilities[label]) for label in order if self.probabilities[label] > 0]

    @property
    def has_structure(self) -> bool:
        """Whether the node has edges; without, it was compared by node similarity alone."""
        return len(self.edge_ids) > 0

    @cached_property
    def has_edge_values(self) -> bool:
        """Whether edges carry something besides their ends."""
        return any(edge.directed or edge.type is not None or edge.values for edge in self.edges.values())

    @cached_property
    def full(self) -> tuple[CaseVote, ...]:
        """The cases that are explained in full, nearest first."""
        return tuple(one for one in self.votes if one.explained)

    @cached_property
    def deciding(self) -> tuple[CaseVote, ...]:
        """The cases each of which decides the prediction alone: without it, another class would be predicted."""
        return tuple(one for one in self.votes if any(one.without) and int(np.argmax(one.without)) != self.predicted)

    @cached_property
    def weightiest(self) -> CaseVote:
        """The case without which the predicted class would be least probable, or the number would change most."""
        if isinstance(self.answer, NumberAnswer):
            return max(self.votes, key=lambda one: one.weight)
        return min(self.votes, key=lambda one: one.without[self.predicted])

    def caption(self, node: int) -> str:
        """What people see for a node that is mentioned."""
        return self.nodes[node].caption

    def answer_of(self, one: CaseVote | NodeInfo) -> str:
        """What a case votes for, or what is known of a node: a class, or a number with its unit; empty: not known."""
        if isinstance(self.answer, NumberAnswer):
            return "" if one.number is None else self.answer.text(one.number)
        return "" if one.label == UNKNOWN else self.answer.classes[one.label]

    @property
    def answer_text(self) -> str:
        """What is predicted: the name of a class, or a number with its unit."""
        return self.answer.text(self.answer.value) if isinstance(self.answer, NumberAnswer) else self.predicted_name

    def matched_edges(self, vote: CaseVote) -> list[MatchedEdge]:
        """The edges of the node, each with its match in a case; none if the two were not compared by their edges."""
        found = vote.matches
        if found is None:
            return []
        rows = []
        for edge, matched, similarity, good in zip(
            found.edge_ids.tolist(), found.matched_ids.tolist(), found.similarity.tolist(), found.above_average.tolist()
        ):
            match = self.edges.get(matched)
            own = match is not None and self.node in (match.start, match.end)
            rows.append(MatchedEdge(self.edges[edge], match, similarity, good, own))
        return rows

    def ends(self, edge_ids: IntArray) -> IntArray:
        """Node ids of the ends of some edges, [S, 2]."""
        pairs = [self.edges[edge].ends for edge in edge_ids.tolist()]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def crucial_subgraph(self, *, size: int | None = None, threshold: float | None = None) -> CrucialSubgraph:
        """The ``size`` most important edges, Eq. (10), or those at or above a ``threshold``; equals by edge order.

        Without either there are five.
        """
        if threshold is not None and size is not None:
            raise InputError("crucial_subgraph takes threshold or size, not both")
        if size is not None and size < 0:
            raise InputError(f"size must be at least 0, got {size}")
        known = np.flatnonzero(np.isfinite(self.importance))
        order = known[np.argsort(-self.importance[known], kind="stable")]
        if threshold is not None:
            order = order[self.importance[order] >= threshold]
        else:
            order = order[: CRUCIAL_EDGES if size is None else size]
        ids = self.edge_ids[order]
        edges = self.ends(ids)
        return CrucialSubgraph(np.unique(edges), ids, edges, self.importance[order])

    def abstaining(self, abstention: Abstention | None) -> Explanation:
        """The same where the model does not answer, because the node is too unlike anything known."""
        return replace(self, answer=replace(self.answer, abstained=abstention))

    def sentence(self) -> str:
        """The explanation in words."""
        return "".join(word.text for word in self.words())

    def words(self) -> list[Any]:
        """The sentence in pieces: names of nodes and classes apart, so that a page can color and link them."""
        from se_gnn.explain.text import words_of

        return list(words_of(self))

    def to_text(self, k: int = 5) -> str:
        """What `se-gnn explain` prints: the sentence, then tables of the ``k`` nearest cases, rows and edges."""
        from se_gnn.explain.sections import to_text

        return to_text(self, k)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `explanation.schema.json` describes them."""
        from se_gnn.explain.json_format import to_dict

        return to_dict(self)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Versioned JSON; :meth:`from_json` reads it."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """The explanation that :meth:`to_json` wrote."""
        from se_gnn.explain.json_format import from_json

        return from_json(text)

    def to_pyg(self, graph: Any, *, features: bool = True) -> Any:
        """A ``torch_geometric.explain.Explanation`` on the whole graph; needs `pip install 'se-gnn[data]'`.

        ``edge_mask`` is the share of the edges of the local graph that an edge is at least as important as: 1 for the
        most important one, 0 outside. ``features=False`` leaves out ``x``, which is dense there.
        """
        from se_gnn.explain.pyg import to_pyg

        return to_pyg(self, graph, features=features)

    def to_networkx(self) -> Any:
        """The local graph and the cases as a ``networkx.Graph``; needs `pip install 'se-gnn[interop]'`."""
        from se_gnn.explain.tables import to_networkx

        return to_networkx(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each vote; needs `pip install 'se-gnn[interop]'`."""
        from se_gnn.explain.tables import to_pandas

        return to_pandas(self)

    def matches_to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each matched edge; needs `pip install 'se-gnn[interop]'`."""
        from se_gnn.explain.tables import matches_to_pandas

        return matches_to_pandas(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from se_gnn.explain.sections import to_html

        return to_html(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.to_dict() == other.to_dict()

    def __str__(self) -> str:
        return self.sentence()

    def __repr__(self) -> str:
        by = f"by {len(self.votes)} cases, {len(self.edge_ids)} edges in its local graph"
        if self.answer.abstained is not None:
            return f"Explanation({self.name!r}: no answer, compared {by})"
        if isinstance(self.answer, NumberAnswer):
            return f"Explanation({self.name!r}: {self.answer.name} {self.answer_text} {by})"
        share = tenths(self.probabilities[self.predicted])
        return f"Explanation({self.name!r}: predicted {self.predicted_name!r} ({share}) {by})"
