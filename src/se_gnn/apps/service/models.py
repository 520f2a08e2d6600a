"""What requests and answers are made of; OpenAPI is written from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from se_gnn.apps.service.node_table import Outcome, Part

MOST_NODES = 1000  # of one request
MOST_ROWS = 200  # of one page
MOST_EDGES = 5000  # of one page
MOST_EXPLAINED = 20  # neighbors with matched edges: a hub has thousands of them
MOST_NEAREST = 1000  # K of a what-if: each neighbor is left out in turn
LARGEST_ID = 2**31 - 1
LONGEST_NAME = 10_000

NodeName = Annotated[str, Field(max_length=LONGEST_NAME)]
NodeId = Annotated[int, Field(ge=0, le=LARGEST_ID)]
Position = Annotated[int, Field(strict=True, ge=0, le=LARGEST_ID)]  # `true` is no position
NodeKey = Annotated[Position | NodeName, Field(description="a node: an integer is its position, a text is its name")]
Probability = Annotated[float, Field(ge=0, le=1.000001)]
Probabilities = Annotated[dict[str, Probability], Field(description="one per class, by name; they add up to 1")]


class Answer(BaseModel):
    """Nothing but what is described."""

    model_config = ConfigDict(extra="forbid")


class Node(Answer):
    """A node as people and programs know it."""

    id: NodeId = Field(description="position in the graph")
    name: str = Field(description="unique in the graph")
    caption: str = Field(description="what people see; the name where it has no caption")
    label: str | None = Field(description="known class")


class NodeRow(Node):
    """A row of the table of all nodes."""

    part: Part
    predicted: str
    probability: Probability = Field(description="of the predicted class")
    outcome: Outcome
    answered: bool | None = Field(
        description="whether anything known is near enough for an answer; null where it is not judged"
    )
    closest: NodeId = Field(description="the most similar labeled node")
    weight: Probability = Field(description="its weight in the vote")


class NodePage(Answer):
    """Some rows, and how many there are."""

    total: int = Field(ge=0)
    offset: int = Field(ge=0)
    rows: list[NodeRow] = Field(max_length=MOST_ROWS)


class PredictRequest(Answer):
    """Nodes to predict."""

    nodes: list[NodeKey] = Field(min_length=1, max_length=MOST_NODES)


class Vote(Answer):
    """A labeled neighbor and its weight."""

    id: NodeId
    name: str
    label: str
    weight: Probability


class PredictedNode(Node):
    """What the model says of one node."""

    predicted: str
    probabilities: Probabilities
    votes: list[Vote] = Field(description="the K nearest labeled nodes, nearest first")


class Predictions(Answer):
    """Predictions in the order of the request."""

    predictions: list[PredictedNode]


class Nearest(Node):
    """A labeled node beside another node; None: one of the two has no edges."""

    rank: int = Field(ge=0)
    weight: Probability = Field(description="0 beyond the K nearest")
    similarity: float
    node_similarity: float
    structure_similarity: float | None


class NearestPage(Answer):
    """All labeled nodes that can vote, nearest first, a page of them."""

    total: int = Field(ge=0)
    offset: int = Field(ge=0)
    nearest: list[Nearest]


class EdgeValue(Answer):
    """What an edge carries; None: edges of this graph have no such thing, or it has no direction."""

    start: NodeId | None = Field(description="the node it starts at; null: no direction")
    end: NodeId | None = Field(description="the node it leads to; null: no direction")
    type: str | None = Field(description="its type")
    weight: float | None
    facts: dict[str, str] = Field(description="weight and attributes as they are shown, by their names")


class LocalEdge(Answer):
    """An edge: its id, a row of the graph's edge list, and its two nodes."""

    id: NodeId
    ends: Annotated[list[NodeId], Field(min_length=2, max_length=2)]
    carries: EdgeValue | None = Field(None, description="null: edges of this graph carry nothing but their ends")


class LocalGraphPage(Answer):
    """The edges among all nodes that are at most so many hops away, a page of them, and the nodes of these."""

    node: Node
    hops: int = Field(ge=1)
    total: int = Field(ge=0, description="edges of the local graph")
    offset: int = Field(ge=0)
    edges: list[LocalEdge]
    nodes: list[Node]


class SimilarityRequest(Answer):
    """Two nodes to compare, labeled or not; edges of the first are matched with edges of the second."""

    one: NodeKey
    other: NodeKey


class MatchedEdge(Answer):
    """An edge of the first node's local graph and its best match in the second's."""

    edge: LocalEdge
    matched: LocalEdge
    similarity: float
    alike: list[str] = Field(description="what both edges carry alike: type, weight, attributes by their names")


class SimilarityAnswer(Answer):
    """How similar two nodes are; structure is None where one of them has no edges."""

    one: Node
    other: Node
    similarity: float
    node_similarity: float
    structure_similarity: float | None
    node_weight: float = Field(description="lambda")
    measure: str
    matches: list[MatchedEdge] = Field(description="best first")
    num_matches: int = Field(ge=0, description="all of them; the best are listed")


class WhatIfRequest(Answer):
    """Other settings of the vote on one node; None: as the model has it."""

    node: NodeKey
    num_nearest: int | None = Field(None, strict=True, ge=1, le=MOST_NEAREST, description="K")
    node_weight: float | None = Field(None, strict=True, ge=0, le=1, description="lambda")
    without: list[NodeKey] = Field(default=[], max_length=MOST_NODES, description="labeled nodes that do not vote")


class Outlook(Answer):
    """A prediction under some settings."""

    num_nearest: int = Field(ge=1)
    node_weight: float = Field(ge=0, le=1)
    predicted: str
    probabilities: Probabilities
    votes: list[Vote]


class WhatIfAnswer(Answer):
    """The model's own prediction, and the one under the other settings."""

    node: Node
    before: Outlook
    after: Outlook
    without: list[Node]


class PartAccuracy(Answer):
    """How many nodes of a part of the split are predicted right."""

    part: Part
    nodes: int = Field(ge=0)
    accuracy: float | None = Field(ge=0, le=1)


class ModelCard(Answer):
    """The model that is served."""

    name: str = Field(description="of the data set")
    digest: str = Field(description="of the model folder's manifest; changes with the model")
    preset: str
    nodes: int = Field(ge=1)
    edges: int = Field(ge=0)
    features: int = Field(ge=0)
    classes: list[str]
    num_nearest: int = Field(ge=1, description="K")
    node_weight: float = Field(ge=0, le=1, description="lambda")
    temperature: float = Field(gt=0, description="tau")
    hops: int = Field(ge=1, description="n")
    measure: str
    directions: str
    scored: bool = Field(description="whether all nodes have been scored yet")
    accuracy: list[PartAccuracy] = Field(description="empty until all nodes have been scored")


class MapAnswer(Answer):
    """Nodes on a plane, by columns; x and y are whole numbers from 0 to `steps`."""

    total: int = Field(ge=0, description="nodes of the graph; of very many a part is drawn")
    steps: int
    classes: list[str]
    colors: list[str] = Field(description="one per class")
    node: list[int]
    x: list[int]
    y: list[int]
    predicted: list[int]
    labeled: list[int] = Field(description="1: the node is labeled")


class Health(Answer):
    """The server is there."""

    status: str


class Readiness(Answer):
    """The server can answer."""

    status: str
    digest: str
    scored: bool
    refused: str | None = Field(description="why the folder's changed model is not served")
