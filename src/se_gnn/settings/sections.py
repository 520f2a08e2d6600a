"""Every setting, in words with the paper's symbol beside it, grouped by what reads it.

Names are unique across sections: people set `num_nearest`, never `vote.num_nearest`. Of the four objectives a model
has one, and each owns its settings; what two objectives share has one name, one meaning and one default.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from se_gnn.errors import InputError
from se_gnn.settings.checks import above_zero, at_least, between, check_types, each_above_zero, ruled, share_below_one

MOST_STEPS = 1000  # of a propagation: nothing in a model's file bounds the time that it takes
SMALLEST_TEMPERATURE = 1e-6  # a similarity divided by less may be too large for float32

MeasureName = Literal["cosine", "distance"]
Directions = Literal["one", "both"]
Aggregation = Literal["gcn", "mean", "pagerank", "steps", "layers", "own"]
Scaling = Literal["raw", "unit", "weighted", "pieces"]
MatchTypes = Literal["any", "own", "learned"]
BestBy = Literal["accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "loss", "r2"]
ObjectiveName = Literal["paper", "vote", "number", "agreement"]

_count = ruled((at_least, 1))
_share = ruled((between, 0, 1))
_part = ruled((share_below_one,))
_part_above_zero = ruled((share_below_one,), (above_zero,))
_weight = ruled((at_least, 0))
_power = ruled((between, 0.1, 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Settings that one part of the program reads; each is checked by its type and its rules."""

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSettings(Section):
    """Encoder, Eq. (1)."""

    hidden_size: int = _count(64)  # width of the hidden layers
    output_size: int | None = _count(None)  # D, width of the embedding; None: as wide as the hidden layers
    num_layers: int = _count(2)  # layers of the MLP
    aggregation: Aggregation = "gcn"  # see se_gnn.encoder.Network
    steps: int = ruled((between, 1, MOST_STEPS))(8)  # steps of `pagerank` and `steps`, residual layers of `layers`
    teleport: float = _share(0.2)  # of `pagerank`, and the initial weights of `steps`
    weight_init: Literal["xavier", "fan_in"] = "xavier"  # Xavier, or uniform within 1 / sqrt(fan-in) (PyTorch's own)
    scale_init: Literal["small", "uniform"] = "small"  # initial vector of `mean`: 0.01, or uniform in [0.01, 1)
    # unchanged; each node's attributes of length 1; the same, with a learned weight for each column; or in pieces
    attribute_scaling: Scaling = "raw"
    members: int = _count(1)  # encoders trained from different seeds, their embeddings side by side
    attribute_share: float = _part(0.0)  # share of the similarity that the attributes themselves have, nothing learned
    read_edges: bool = False  # a node also reads the data of its own edges, if they have any: see encoder.columns
    weighted_steps: bool = False  # neighbors are aggregated by edge weights, if the edges have any
    read_neighbors: bool = False  # a node also reads the means of its neighbors' attributes: see encoder.columns
    read_values: bool = False  # a node also reads the known values of its neighbors, if a number is predicted
    value_scale: Literal["raw", "log"] = "raw"  # how values are read, and how errors are measured in training

    def __post_init__(self) -> None:
        Section.__post_init__(self)
        if self.aggregation == "layers" and self.num_layers < 2:
            raise InputError(
                "num_layers must be at least 2 if aggregation is layers, which work on hidden units, got 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilaritySettings(Section):
    """Similarity, Eq. (2)-(7)."""

    node_weight: float = _share(0.5)  # lambda: share of node similarity, the rest is structure similarity
    hops: int = ruled((between, 1, 3))(2)  # n, radius of a local graph
    max_edges: int | None = _count(None)  # M, most edges of a local graph, among the nodes nearest by walks; None: all
    measure: MeasureName = "cosine"  # sim(a, b): cosine, or -||a - b||
    directions: Directions = "one"  # match the target's edges only (paper), or average both directions (authors)
    match_direction: bool = False  # edges that lead to the center match only such edges, if edges are directed
    match_types: MatchTypes = "any"  # edge types: match any, only the same type, or by learned vectors
    match_attributes: bool = False  # edge attributes are part of an edge's representation, if there are any
    weighted_mean: bool = False  # an edge counts with its weight in the mean of Eq. (6), if edges have weights


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteSettings(Section):
    """The vote, Eq. (8)-(9)."""

    num_nearest: int = _count(20)  # K
    temperature: float = ruled((above_zero,), (at_least, SMALLEST_TEMPERATURE))(1.0)  # tau
    reserve: float = _part(0.0)  # share of the vote that no case has, spread evenly over the classes
    class_factors: tuple[float, ...] | None = ruled((each_above_zero,))(None)  # how often a case of each class counts


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperObjective(Section):
    """The paper's loss, Eq. (11)-(14): sampled references, and self-supervision by contrast."""

    references: Literal["support", "nearest"] = "support"  # which cases a labeled node is compared with in Eq. (11)
    num_negatives: int = _count(20)  # Q
    support_size: int = _count(60)  # N, same-class cases among which the K nearest are the positives
    max_local_edges: int | None = _count(None)  # edges of a local graph that a training step looks at; None: all
    probability_floor: float = _share(
        0.0
    )  # share of positives below which Eq. (11) is flat (authors: 1e-8); 0: nowhere
    node_loss_weight: float = _weight(0.01)  # alpha
    edge_loss_weight: float = _weight(0.01)  # beta
    mask_rate: float = _share(0.2)  # share of the attributes set to zero in a view
    edge_noise: float = _share(0.1)  # share of the edges replaced by random ones in the second view
    node_batch: int = _count(32)  # |V_B|
    edge_batch: int = _count(128)  # |E_B|
    node_negatives: int = _count(100)  # Q_N
    edge_negatives: int = _count(100)  # Q_E
    negative_views: Literal["both", "second"] = "both"  # where negatives are taken from


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteObjective(Section):
    """The vote itself is learned: each labeled node is predicted from all others, and two views should agree."""

    compare: Literal["overall", "node"] = "overall"  # what training compares by; the vote is always overall
    attribute_dropout: float = _part(0.0)  # share of the attributes that a training step leaves out
    hidden_dropout: float = _part(0.0)  # share of the hidden units
    node_dropout: float = _part(0.0)  # share of the nodes that lose all their attributes
    memory_dropout: float = _part(0.0)  # share of the labeled nodes that do not vote in a training step
    label_batch: int = _count(2048)  # most labeled nodes that are predicted in a training step
    memory_batch: int = _count(2048)  # most labeled nodes that vote in a training step
    label_smoothing: float = _share(0.0)  # share of each label that is spread over all classes
    balance_classes: bool = False  # every class has the same share of the loss, whatever its number of labeled nodes
    consistency_weight: float = _weight(0.0)  # weight of the agreement of two views on unlabeled nodes
    consistency_power: float = ruled((at_least, 1))(2.0)  # how much the mean of the two votes is sharpened
    consistency_ramp: int = ruled((at_least, 0))(50)  # epochs until the weight is reached
    consistency_batch: int = _count(4096)  # most unlabeled nodes of a training step


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberObjective(Section):
    """The vote of numbers is learned: each labeled node is predicted from all others, by squared error."""

    attribute_dropout: float = _part(0.0)  # share of the attributes that a training step leaves out
    hidden_dropout: float = _part(0.0)  # share of the hidden units
    node_dropout: float = _part(0.0)  # share of the nodes that lose all their attributes
    hidden_values: float = _part_above_zero(0.3)  # labeled nodes that a step predicts, and whose values nothing reads


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementObjective(Section):
    """Cases for someone else's model: nothing is trained, and the vote should agree with that model."""

    probability_share: float = _share(0.5)  # share of the similarity that the model's class probabilities have
    sharpness: float = _power(1.0)  # power that the probabilities are raised to before they are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings(Section):
    """Optimization, Algorithm 1."""

    objective: ObjectiveName = "paper"  # loss of the paper, of the vote, of a vote of numbers; agreement with a model
    epochs: int = _count(200)
    patience: int | None = _count(50)  # epochs after the best one before training stops; None: never
    learning_rate: float = ruled((above_zero,))(0.01)
    weight_decay: float = _weight(5e-4)
    role_weight: float = _weight(0.0)  # weight of structural identity: similar nodes must tell a node's role


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings(Section):
    """What validation nodes choose."""

    best_by: BestBy = "accuracy"  # figure by which the best epoch and the best recipe are chosen
    choose_vote: bool = False  # choose K, lambda and tau when training has ended
    portfolio: bool = False  # choose between recipes: see se_gnn.settings.presets


Objective = PaperObjective | VoteObjective | NumberObjective | AgreementObjective

SECTIONS: dict[str, type[Section]] = {
    "encoder": EncoderSettings,
    "similarity": SimilaritySettings,
    "vote": VoteSettings,
    "training": TrainingSettings,
    "selection": SelectionSettings,
}
OBJECTIVES: dict[str, type[Objective]] = {
    "paper": PaperObjective,
    "vote": VoteObjective,
    "number": NumberObjective,
    "agreement": AgreementObjective,
}
OWNERS: dict[str, tuple[type[Section], ...]] = {}  # the section of each setting, or the objectives that share it
DEFAULTS: dict[str, Any] = {}
for _section in (*SECTIONS.values(), *OBJECTIVES.values()):
    for _field in dataclasses.fields(_section):
        OWNERS[_field.name] = (*OWNERS.get(_field.name, ()), _section)
        DEFAULTS[_field.name] = _field.default


def names_read(objective: str) -> list[str]:
    """Names of all settings that a model with this objective has, in the order of the sections."""
    read = {*SECTIONS.values(), OBJECTIVES[objective]}
    return [name for name, sections in OWNERS.items() if not read.isdisjoint(sections)]


def check_value(name: str, value: Any) -> None:
    """Check one value by the rules of its section."""
    OWNERS[name][0](**{name: value})
