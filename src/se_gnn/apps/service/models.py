"""What requests and answers are made of; OpenAPI is written from it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Path, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

MOST_NODES = 1000  # of one request
MOST_ROWS = 200  # of one page
MOST_EDGES = 5000  # of one page
MOST_EXPLAINED = 20  # cases with matched edges: a hub has thousands of edges
MOST_NEAREST = 1000  # K of a what-if: each case is left out in turn
MOST_BATCH = 100  # explanations of one request
MOST_NEW = 10_000  # rows of one table in a request
LONGEST_NAME = 10_000
LONGEST_SEARCH = 200
LARGEST_ID = 2**31 - 1
STEPS = 65_535  # of a coordinate on the map: whole numbers are short
EXPLANATION: dict[str, JsonValue] = {"$ref": "#/components/schemas/Explanation"}


class Sort(StrEnum):
    """Columns to sort by; which of them there are depends on what is predicted."""

    node = "node"
    name = "name"
    predicted = "predicted"
    probability = "probability"
    label = "label"
    outcome = "outcome"
    part = "part"
    weight = "weight"
    error = "error"
    width = "width"
    links = "links"


class Part(StrEnum):
    """Part of the split."""

    labeled = "labeled"
    validation = "validation"
    test = "test"
    none = "none"


class Outcome(StrEnum):
    """What the known class says of the prediction."""

    right = "right"
    wrong = "wrong"
    unknown = "unknown"


NodeId = Annotated[int, Field(ge=0, le=LARGEST_ID)]
Blank = BeforeValidator(lambda given: None if given == "" else given)  # a field of a form that was left empty
Class = Annotated[NodeId | None, Blank, Query(description="number of a class")]
Bound = Annotated[float | None, Blank, Query(description="bound of the probability, or of the predicted number")]
Share = Annotated[float, Query(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeQuery:
    """Which nodes, in which order, as the query of an address gives it; None: any."""

    search: Annotated[str, Query(max_length=LONGEST_SEARCH, description="words of name or caption, or #POSITION")] = ""
    of: Annotated[Class, Query(description="number of the class whose probability is meant; it is sorted by")] = None
    predicted: Class = None
    label: Class = None
    part: Annotated[Part | None, Blank, Query(description="part of the split")] = None
    outcome: Annotated[Outcome | None, Blank, Query(description="whether the prediction is right")] = None
    answered: Annotated[bool | None, Blank, Query(description="whether the model gives an answer")] = None
    least: Bound = None
    most: Bound = None
    left: Annotated[Share, Query(description="region of the map, as a share of its width")] = 0.0
    bottom: Annotated[Share, Query(description="region of the map, as a share of its height")] = 0.0
    right: Share = 1.0
    top: Share = 1.0
    sort: Annotated[Sort, Query(description="column to sort by")] = Sort.node
    descending: bool = False

    def __post_init__(self) -> None:
        if self.of is not None and self.sort is Sort.node:  # a class to rank by comes with its order
            object.__setattr__(self, "sort", Sort.probability)
            object.__setattr__(self, "descending", True)

    @property
    def region(self) -> tuple[float, float, float, float] | None:
        """Left, bottom, right and top of a part of the map; None: the whole map."""
        corners = (self.left, self.bottom, self.right, self.top)
        return None if corners == (0, 0, 1, 1) else corners


def _writable(value: Any) -> Any:
    """A text that UTF-8 can write: halves of characters, which a broken table may hold, are replaced."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_writable)]
NodeName = Annotated[str, Field(max_length=LONGEST_NAME)]
Position = Annotated[int, Field(strict=True, ge=0, le=LARGEST_ID)]  # `true` is not a position
NodeKey = Annotated[Position | NodeName, Field(description="a node: an integer is its position, a text is its name")]
Cell = str | int | float | bool | None
Rows = list[dict[str, Cell]]
Table = Annotated[Rows, Field(min_length=1, max_length=MOST_NEW)]
Value = Annotated[str | float, BeforeValidator(_writable)]  # a class by its name, or a number in its column's unit
Probability = Annotated[float, Field(ge=0, le=1.000001)]
Interval = Annotated[
    tuple[float, float] | None, Field(description="of a number: low and high; null without calibration nodes")
]
NodePath = Annotated[
    str, Path(max_length=LONGEST_NAME, description="a node: its name, a caption that only one node has, or #POSITION")
]
Offset = Annotated[int, Query(ge=0, le=LARGEST_ID)]
NodeAsked = Annotated[str, Query(max_length=LONGEST_NAME, description="a node, as in the address of a node")]
OtherNearest = Annotated[int | None, Query(ge=1, le=MOST_NEAREST, description="K, not the model's")]
OtherWeight = Annotated[float | None, Query(ge=0, le=1, description="lambda, other than the model's")]
LeftOut = Annotated[list[str], Query(max_length=MOST_NODES, description="labeled nodes that do not vote")]
LinkType = Annotated[str | None, Query(max_length=LONGEST_NAME, description="type of the link, if there are several")]


def _node_query(**given: Any) -> NodeQuery:
    return NodeQuery(**given)


_node_query.__signature__ = inspect.signature(NodeQuery, eval_str=True)  # type: ignore[attr-defined]
Asked = Annotated[NodeQuery, Depends(_node_query)]


class Answer(BaseModel):
    """Nothing but what is described."""

    model_config = ConfigDict(extra="forbid")


class Node(Answer):
    """A node as people and programs know it."""

    id: NodeId = Field(description="position in the graph")
    name: Text = Field(description="unique in the graph")
    caption: Text = Field(description="what people see; the name if there is no caption")
    label: Value | None = Field(description="known class or number")


class NodeRow(Node):
    """A row of the table of nodes."""

    part: Part
    predicted: Value | None = Field(None, description="class or number; null if links are predicted")
    probability: Probability | None = Field(None, description="of the predicted class")
    interval: Interval = None
    links: int | None = Field(None, description="edges of the node, if links are predicted")
    outcome: Outcome = Field(description="of a number: right if the known one lies in its interval")
    answered: bool | None = Field(
        description="whether anything known is near enough for an answer; null if that was not judged"
    )
    closest: NodeId | None = Field(None, description="the most similar labeled node")
    weight: Probability | None = Field(None, description="its weight in the vote")


class Page(Answer):
    """A page of a list, and how long the list is."""

    total: int = Field(ge=0)
    offset: int = Field(ge=0)


class NodePage(Page):
    """Some rows."""

    every: bool = Field(
        description="whether the list is about all nodes; that of a graph of more than 200,000 nodes is about labeled, "
        "validation and test nodes, others, evenly spread, and a node whose name is searched"
    )
    rows: list[NodeRow] = Field(max_length=MOST_ROWS)


class PredictRequest(Answer):
    """Known nodes, or rows of nodes that the graph does not have yet, with their edges."""

    nodes: list[NodeKey] | None = Field(None, min_length=1, max_length=MOST_NODES, description="known nodes")
    new_nodes: Table | dict[str, Table] | None = Field(
        None,
        description="rows of new nodes, with the columns of the node table that was imported; if nodes have several "
        "types, a list of rows for each type",
    )
    new_edges: Table | dict[str, Table] | None = Field(
        None,
        description="rows of their edges, with the columns of the edge table; each end is the id of a known or a new "
        "node; if edge types had their own tables, a list of rows for each type",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.nodes is None) == (self.new_nodes is None):
            raise ValueError("give either nodes or new_nodes")
        if self.new_edges is not None and self.new_nodes is None:
            raise ValueError("new_edges have an effect only with new_nodes")
        return self


class ExplainRequest(PredictRequest):
    """What to explain."""

    nodes: list[NodeKey] | None = Field(None, min_length=1, max_length=MOST_BATCH, description="known nodes")
    k: int = Field(5, ge=1, le=MOST_EXPLAINED, description="cases with matched edges and shared attributes")


class Notes(Answer):
    """What was unusual about new rows."""

    notes: list[Text] = Field([], description="what was unusual about new rows: unknown categories, for example")


class Predictions(Notes):
    """Predictions in the order of the request."""

    predictions: list[dict[str, Any]] = Field(
        description="as `se-gnn predict` writes them to a .jsonl file: the node, its class and all probabilities, or "
        "its number and interval, and the nearest cases with their weights"
    )


class Explanations(Notes):
    """Explanations in the order of the request."""

    explanations: list[Any] = Field(json_schema_extra={"items": EXPLANATION})


class Nearest(Node):
    """A labeled node beside another node; None: one of the two has no edges."""

    rank: int = Field(ge=0)
    weight: Probability = Field(description="0 beyond the K nearest")
    similarity: float
    node_similarity: float
    structure_similarity: float | None


class NearestPage(Page):
    """All labeled nodes that can vote, nearest first, a page of them."""

    nearest: list[Nearest]


class Edge(Answer):
    """An edge, as explanations mention it; it leads from start to end if it is directed."""

    id: NodeId = Field(description="its row in the edge list of the graph")
    start: NodeId
    end: NodeId
    directed: bool
    type: Text | None
    weight: float | None
    facts: dict[Text, Text] = Field(description="type, weight and attributes as they are shown, by their names")


class LocalGraphPage(Page):
    """A page of the edges among all nodes within a number of hops, and their nodes."""

    node: Node
    hops: int = Field(ge=1)
    edges: list[Edge]
    nodes: list[Node]


class SimilarityRequest(Answer):
    """Two nodes to compare, labeled or not; edges of the first are matched with edges of the second."""

    one: NodeKey
    other: NodeKey


class MatchedEdge(Answer):
    """An edge of the first node's local graph and its best match in the second's."""

    edge: Edge
    matched: Edge
    similarity: float
    alike: list[Text] = Field(description="what both edges have in common: type, weight, attributes by name")


class SimilarityAnswer(Answer):
    """How similar two nodes are; structure is None if one of them has no edges."""

    one: Node
    other: Node
    similarity: float
    node_similarity: float
    structure_similarity: float | None
    node_weight: float = Field(description="lambda")
    measure: str
    matches: list[MatchedEdge] = Field(description="best first")
    num_matches: int = Field(ge=0, description="all of them; the best are listed")


class PairsRequest(Answer):
    """Pairs of nodes, source first if links have a direction."""

    pairs: list[tuple[NodeKey, NodeKey]] = Field(min_length=1, max_length=MOST_NODES)
    type: str | None = Field(None, max_length=LONGEST_NAME, description="type of the links, if there are several")


class Pair(Answer):
    """A pair, and how likely it is linked; a link that exists is scored as if it did not."""

    source: Node
    target: Node
    probability: Probability


class Pairs(Answer):
    """Pairs in the order of the request."""

    pairs: list[Pair]


class Recommended(Node):
    """A node that another node is likely to be linked with."""

    probability: Probability


class Recommendations(Answer):
    """The likeliest new links of a node, likeliest first."""

    node: Node
    recommendations: list[Recommended]


class PartFigures(Answer):
    """How good the model is on a part of the split: accuracy of classes, or R2 and errors of numbers."""

    part: Part
    nodes: int = Field(ge=0)
    accuracy: float | None = Field(None, ge=0, le=1)
    r2: float | None = None
    mae: float | None = None
    rmse: float | None = None


class ModelCard(Answer):
    """The model that is served."""

    name: Text = Field(description="of the data set")
    digest: str = Field(description="of the model folder's manifest; changes with the model")
    predicts: Literal["classes", "numbers", "links"]
    preset: str | None = None
    nodes: int = Field(ge=1)
    edges: int = Field(ge=0)
    features: int = Field(ge=0)
    classes: list[Text] = Field([], description="empty unless classes are predicted")
    number: Text | None = Field(None, description="name of the number that is predicted")
    unit: Text = ""
    link_types: list[Text] = Field([], description="types of links, if links are predicted")
    num_nearest: int = Field(ge=1, description="K")
    node_weight: float = Field(ge=0, le=1, description="lambda")
    temperature: float | None = Field(None, gt=0, description="tau")
    hops: int | None = Field(None, ge=1, description="n")
    measure: str | None = None
    directions: str | None = None
    scored: bool = Field(description="whether the listed nodes have been scored yet")
    listed: int | None = Field(
        None, description="nodes of the list and the map: all, or of a graph of more than 200,000 nodes some"
    )
    agreement: float | None = Field(
        None, description="share of held-out nodes on which the vote and the model that it explains agree"
    )
    accuracy: list[PartFigures] = Field([], description="of the listed nodes; empty until they have been scored")
    validation: dict[str, float] | None = Field(None, description="figures on validation links")


class MapAnswer(Answer):
    """Nodes on a plane, by columns; x and y are whole numbers from 0 to `steps`."""

    total: int = Field(ge=0, description="nodes of the graph; of more than 200,000 nodes some are on the map")
    steps: int
    classes: list[Text] = Field(description="classes, ranges of numbers, or node types")
    colors: list[str] = Field(description="one for each of them")
    node: list[int]
    x: list[int]
    y: list[int]
    predicted: list[int]
    labeled: list[int] = Field(description="1: the node is labeled")
