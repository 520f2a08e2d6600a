"""Settings, named in words with the paper's symbol beside each, and the presets that fill them.

Three presets: `paper` (the equations as printed; what the paper leaves open chosen on validation nodes), `authors`
(what the published scripts do where they differ) and `best` (the default). `paper` and `authors` have settings for some
data sets of the registry; `best` is the same for every graph, and a graph of one's own never gets settings by its name.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.files import SMALL, read_file
from se_gnn.recipes import BEST

CUSTOM, DEFAULT_PRESET = "custom", "best"
LARGEST_FLOAT = 1e30  # float32, in which all is computed, ends at 3e38
LARGEST = 2**31 - 1  # of a whole number: what every array index and every sample can still count to
MOST_STEPS = 1000  # of a propagation: the time it takes is not bounded by the size of a model's file

MeasureName = Literal["cosine", "distance"]
Directions = Literal["one", "both"]
Aggregation = Literal["gcn", "mean", "pagerank", "steps", "own"]
Scaling = Literal["raw", "unit", "pieces"]
MatchTypes = Literal["any", "own", "learned"]
BestBy = Literal["accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision", "loss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """Encoder, Eq. (1)."""

    hidden_size: int = 64  # width of the hidden layers
    output_size: int | None = None  # D, width of the embedding; None: as wide as the hidden layers
    num_layers: int = 2  # layers of the MLP
    aggregation: Aggregation = "gcn"  # see se_gnn.encoder.Encoder
    steps: int = 8  # of `pagerank` and `steps`
    teleport: float = 0.2  # of `pagerank`, and where the weights of `steps` begin
    weight_init: Literal["xavier", "fan_in"] = "xavier"  # Xavier, or uniform within 1 / sqrt(fan-in) (PyTorch's own)
    scale_init: Literal["small", "uniform"] = "small"  # start of that vector: 0.01, or uniform in [0.01, 1)
    attribute_scaling: Scaling = "raw"  # attributes as they are, each node's of length 1, or each column in pieces
    attribute_dropout: float = 0.0  # share of the attributes that a training step leaves out
    hidden_dropout: float = 0.0  # share of the hidden units
    node_dropout: float = 0.0  # share of the nodes that lose all their attributes
    members: int = 1  # encoders trained from different seeds, their embeddings side by side
    read_edges: bool = False  # a node also reads what its own edges carry, where they do: see se_gnn.encoder.own_edges
    weighted_steps: bool = False  # neighbors are aggregated by the weights of the edges, where these have some
    attribute_share: float = 0.0  # share of the similarity that the attributes themselves have, nothing learned

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "hidden_size", "num_layers", "members")
        between(self, 1, MOST_STEPS, "steps")
        if self.output_size is not None:
            at_least(self, 1, "output_size")
        between(self, 0, 1, "teleport")
        for name in ("attribute_dropout", "hidden_dropout", "node_dropout", "attribute_share"):
            share_below_one(self, name)


SMALLEST_TEMPERATURE = 1e-6  # a similarity divided by less may be too large for float32


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityConfig:
    """Similarity and vote, Eq. (2)-(9)."""

    num_nearest: int = 20  # K
    node_weight: float = 0.5  # lambda: share of node similarity, the rest is structure similarity
    temperature: float = 1.0  # tau
    hops: int = 2  # n, radius of a local graph
    max_edges: int | None = None  # M, edges of a local graph at most, those among the nodes nearest by walks; None: all
    measure: MeasureName = "cosine"  # sim(a, b): cosine, or -||a - b||
    directions: Directions = "one"  # match target edges only (paper), or average both directions (authors)
    match_direction: bool = False  # edges that lead to the center match only such edges, where edges lead somewhere
    match_types: MatchTypes = "any"  # types of edges: match any, only their own, or by learned vectors
    match_attributes: bool = False  # what edges carry is part of their representation, where they carry attributes
    weighted_mean: bool = False  # an edge counts with its weight in the mean of Eq. (6), where edges have weights

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "num_nearest")
        between(self, 0, 1, "node_weight")
        above_zero(self, "temperature")
        at_least(self, SMALLEST_TEMPERATURE, "temperature")
        between(self, 1, 3, "hops")
        if self.max_edges is not None:
            at_least(self, 1, "max_edges")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastConfig:
    """Self-supervision, Eq. (12)-(13)."""

    node_loss_weight: float = 0.01  # alpha
    edge_loss_weight: float = 0.01  # beta
    mask_rate: float = 0.2  # share of the attributes set to zero in a view
    edge_noise: float = 0.1  # share of the edges replaced by random ones in the second view
    node_batch: int = 32  # |V_B|
    edge_batch: int = 128  # |E_B|
    node_negatives: int = 100  # Q_N
    edge_negatives: int = 100  # Q_E
    negative_views: Literal["both", "second"] = "both"  # where negatives are taken from

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 0, "node_loss_weight", "edge_loss_weight")
        between(self, 0, 1, "mask_rate", "edge_noise")
        at_least(self, 1, "node_batch", "edge_batch", "node_negatives", "edge_negatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """Classification loss, Eq. (11), and optimization, Algorithm 1."""

    epochs: int = 200
    patience: int | None = 50  # epochs after the best one before training stops; None: never
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    references: Literal["support", "nearest", "all"] = "support"  # whom a labeled node is compared with in the loss
    compare: Literal["overall", "node"] = "overall"  # what training compares by; the vote is always overall
    num_negatives: int = 20  # Q
    max_local_edges: int | None = None  # edges of a local graph that a training step looks at; None: all
    support_size: int = 60  # N, same-label nodes among which the K nearest are the positives
    memory_dropout: float = 0.0  # share of the labeled nodes that do not vote in a training step
    label_smoothing: float = 0.0  # share of each label that is spread over all classes
    balance_classes: bool = False  # every class counts alike in the loss, however many labeled nodes it has
    consistency_weight: float = 0.0  # of two views' votes for the same unlabeled nodes agreeing
    consistency_power: float = 2.0  # how much their mean is sharpened
    consistency_ramp: int = 50  # epochs until the weight is reached
    consistency_batch: int = 4096  # unlabeled nodes of a training step
    best_by: BestBy = "accuracy"  # which epoch is the best, on validation nodes
    choose_vote: bool = False  # K, lambda and tau are chosen on validation nodes when training has ended
    portfolio: bool = False  # validation nodes choose between recipes: see se_gnn.recipes
    probability_floor: float = 0.0  # share of the positives below which Eq. (11) is flat (authors: 1e-8); 0: nowhere

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "epochs", "num_negatives", "support_size")
        above_zero(self, "learning_rate")
        at_least(self, 0, "weight_decay")
        between(self, 0, 1, "probability_floor", "label_smoothing")
        share_below_one(self, "memory_dropout")
        at_least(self, 0, "consistency_weight", "consistency_ramp")
        at_least(self, 1, "consistency_power", "consistency_batch")
        for name in ("patience", "max_local_edges"):
            if getattr(self, name) is not None:
                at_least(self, 1, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All settings of a model and its training.

    >>> Config.preset("authors", dataset="cora").similarity.num_nearest
    30
    >>> Config().override(["similarity.num_nearest=7"]).similarity.num_nearest
    7
    """

    preset_name: str = CUSTOM
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    similarity: SimilarityConfig = field(default_factory=SimilarityConfig)
    contrast: ContrastConfig = field(default_factory=ContrastConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    why: tuple[str, ...] = ()  # what was decided from the graph or on validation nodes, and by which rule

    def __post_init__(self) -> None:
        if not all(isinstance(line, str) for line in self.why):
            raise InputError(f"why must be a list of sentences, got {shortened(self.why)}")
        if not isinstance(self.preset_name, str) or self.preset_name not in (CUSTOM, *PRESETS):
            hint = did_you_mean(str(self.preset_name), PRESETS)
            raise InputError(
                f"preset_name must be one of {', '.join(PRESETS)} or {CUSTOM}, got {self.preset_name!r}{hint}"
            )

    @classmethod
    def preset(cls, name: str, *, dataset: str | None = None) -> Config:
        """`paper`, `authors` or `best`, with the settings that the preset has for a data set of the registry.

        ``dataset`` is a name of the registry (``graph.dataset``, never ``graph.name``); any other has no settings.
        """
        if name not in PRESETS:
            raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}{did_you_mean(name, PRESETS)}")
        general, by_dataset = PRESETS[name]
        config = cls.from_dict({**general, "preset_name": name})
        return config.updated(by_dataset.get(settings_of(name, dataset) or "", {}))

    @classmethod
    def choose(
        cls, preset: str | None = None, values: Mapping[str, Any] | None = None, *, dataset: str | None = None
    ) -> Config:
        """A preset with changes to it, as nested plain values.

        The preset is the one asked for, else the one that ``values`` names as its ``preset_name``, else `best`; where
        ``values`` is called ``custom``, its values go over the defaults of each section.
        """
        changes = dict(values or {})
        named = changes.pop("preset_name", DEFAULT_PRESET)
        if preset is None and named == CUSTOM:
            return cls.from_dict(changes)
        if preset is None and (not isinstance(named, str) or named not in PRESETS):
            return cls.from_dict({"preset_name": named})  # says what is wrong with it
        return cls.preset(preset or named, dataset=dataset).updated(changes)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Build from nested plain values; an unknown key is an error."""
        return cls().updated(values)

    @classmethod
    def from_toml(cls, path: str | Path, *, base: Config | None = None) -> Config:
        """Read a TOML file with the sections `encoder`, `similarity`, `contrast`, `training` over `base`."""
        return (base or cls()).updated(read_toml(path))

    def updated(self, values: Mapping[str, Any]) -> Config:
        """A copy with some settings changed, given as nested plain values."""
        changes: dict[str, Any] = {}
        for key, value in values.items():
            if key == "preset_name":
                changes[key] = value
            elif key == "why":
                if not isinstance(value, list | tuple):
                    raise InputError(f"why must be a list of sentences, got {shortened(value)}")
                changes[key] = tuple(value)
            elif key in _SECTIONS:
                section = getattr(self, key)
                if not isinstance(value, Mapping):
                    raise InputError(f"config section {key!r} must be a table of settings, got {value!r}")
                changes[key] = _replace(section, key, value)
            else:
                raise InputError(
                    f"unknown config key {key!r}{did_you_mean(key, _SECTIONS)}; sections: {', '.join(_SECTIONS)}"
                )
        return dataclasses.replace(self, **changes)

    def with_settings(self, **settings: Any) -> Config:
        """A copy with some settings changed by their own names, which are unique across the sections.

        >>> Config().with_settings(num_nearest=7, epochs=20).training.epochs
        20
        """
        values: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            if name not in SECTION_OF:
                raise InputError(f"unknown setting {name!r}{did_you_mean(name, SECTION_OF)}")
            values.setdefault(SECTION_OF[name], {})[name] = value
        return self.updated(values)

    def override(self, assignments: Iterable[str]) -> Config:
        """A copy with `section.key=value` assignments applied, the values written as in TOML (bare words allowed)."""
        config = self
        for assignment in assignments:
            path, equals, text = assignment.partition("=")
            section, dot, key = path.strip().partition(".")
            if not (equals and dot):
                raise InputError(f"a setting must look like similarity.num_nearest=20, got {shortened(assignment)}")
            if section == "preset_name":
                raise InputError("preset_name is not a section of settings: choose a preset with --preset")
            config = config.updated({section: {key: _parse_value(text.strip())}})
        return config

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values; `from_dict` reads them back."""
        return {**dataclasses.asdict(self), "why": list(self.why)}

    def to_toml(self) -> str:
        """TOML text that `from_toml` reads back; TOML has no None, so that settings without a value are "none"."""
        lines = [f"# {line}" for line in self.why]
        lines.append(f'preset_name = "{self.preset_name}"')
        for name in _SECTIONS:
            lines += ["", f"[{name}]"]
            for key, value in dataclasses.asdict(getattr(self, name)).items():
                lines.append(f"{key} = {json.dumps(value)}" if value is not None else f'{key} = "none"')
        return "\n".join(lines) + "\n"


_SECTIONS = tuple(f.name for f in dataclasses.fields(Config) if f.name not in ("preset_name", "why"))
SECTION_OF: dict[str, str] = {
    setting.name: section
    for section, kind in get_type_hints(Config).items()
    if section in _SECTIONS
    for setting in dataclasses.fields(kind)
}  # the section of each setting: a setting has the same name nowhere else


def read_toml(path: str | Path) -> dict[str, Any]:
    """The values of a TOML file with settings; a file that cannot be read is one clear error."""
    if not os.path.lexists(path):
        raise InputError(f"config file {path} does not exist")
    try:
        content = read_file(Path(path), limit=SMALL)
    except InputError as error:
        raise InputError(f"config file {error}") from error
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, a number of too many digits, nested too deep
        raise InputError(f"config file {path} is not valid TOML: {shortened(str(error), 200, quoted=False)}") from error


# settings that are gone, with what to say where one is set; a model saved when it was there holds it as null
_RETIRED = {"similarity.candidates": "the search is exact: leave it out, and train the model again"}


def _replace(section: Any, name: str, values: Mapping[str, Any]) -> Any:
    known = [f.name for f in dataclasses.fields(section)]
    values = {key: None if value == "none" else value for key, value in values.items()}
    for key in [key for key in values if f"{name}.{key}" in _RETIRED]:
        value = values.pop(key)
        if value is not None:
            raise InputError(f"{name}.{key} no longer exists, got {value!r}; {_RETIRED[f'{name}.{key}']}")
    for key in values:
        if key not in known:
            raise InputError(f"unknown config key '{name}.{key}'{did_you_mean(key, known)}; known: {', '.join(known)}")
    return dataclasses.replace(section, **values)


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # no TOML, or a number of more digits than Python reads
        return text


_hints = cache(get_type_hints)  # each explanation makes settings of its own, and looking them up takes a millisecond


def check_types(section: Any) -> None:
    """Each value has the type its annotation names; whole numbers pass for floats and are not beyond all bounds."""
    for name, hint in _hints(type(section)).items():  # type: ignore[arg-type]  # a class can be hashed
        value = getattr(section, name)
        if get_origin(hint) is Literal:
            if not isinstance(value, str) or value not in get_args(hint):
                raise InputError(f"{name} must be one of {', '.join(get_args(hint))}, got {shortened(value)}")
            continue
        allowed = get_args(hint) or (hint,)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if whole and not -LARGEST <= value <= LARGEST:
            raise InputError(f"{name} must be at most {LARGEST}, got {shortened(value)}")
        if isinstance(value, float) and LARGEST_FLOAT < abs(value) < float("inf"):
            raise InputError(f"{name} must be at most {LARGEST_FLOAT:g}, got {value!r}")
        if float in allowed and whole:
            object.__setattr__(section, name, float(value))
        elif (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
            words = " or ".join(_TYPE_WORDS[kind] for kind in allowed)
            raise InputError(f"{name} must be {words}, got {shortened(value)}")


_TYPE_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    type(None): "none",
}


def at_least(section: Any, low: float, *names: str) -> None:
    """Each of these settings is finite and not below ``low``."""
    for name in names:
        value = getattr(section, name)
        if not low <= value < float("inf"):  # `not <=` also refuses NaN
            rule = "finite" if value == float("inf") else f"at least {low}"
            raise InputError(f"{name} must be {rule}, got {value!r}")


def above_zero(section: Any, name: str) -> None:
    """The setting is finite and above 0."""
    if not 0 < getattr(section, name) < float("inf"):
        raise InputError(f"{name} must be a finite number above 0, got {getattr(section, name)!r}")


def share_below_one(section: Any, name: str) -> None:
    """The setting is a share of at least 0 and below 1."""
    if not 0 <= getattr(section, name) < 1:
        raise InputError(f"{name} must be at least 0 and below 1, got {getattr(section, name)!r}")


def between(section: Any, low: float, high: float, *names: str) -> None:
    """Each of these settings lies within the bounds, which are allowed themselves."""
    for name in names:
        if not low <= getattr(section, name) <= high:
            raise InputError(f"{name} must be between {low} and {high}, got {getattr(section, name)!r}")


Settings = dict[str, Any]

_AUTHORS: Settings = {
    "encoder": {"aggregation": "mean", "weight_init": "fan_in"},
    "similarity": {"measure": "distance", "directions": "both"},
    "contrast": {"node_negatives": 31, "negative_views": "second"},
    "training": {"references": "nearest", "num_negatives": 15, "patience": None, "probability_floor": 1e-8},
}

_AUTHORS_BY_DATASET: dict[str, Settings] = {
    "cora": {
        "encoder": {"hidden_size": 128, "scale_init": "uniform"},
        "similarity": {"num_nearest": 30, "node_weight": 0.2},
        "contrast": {"mask_rate": 0.4},
        "training": {"epochs": 100},
    },
    "citeseer": {
        "similarity": {"num_nearest": 25},
        "contrast": {"mask_rate": 0.4, "node_loss_weight": 0.001, "edge_loss_weight": 0.001},
    },
    "pubmed": {"encoder": {"num_layers": 3}, "contrast": {"mask_rate": 0.15}},
    "syn-cora": {
        "similarity": {"num_nearest": 5},
        "contrast": {
            "node_loss_weight": 1.0, "edge_loss_weight": 1.0,
            "node_batch": 128, "node_negatives": 127, "edge_batch": 512,
        },
        "training": {"epochs": 50},
    },
    "ba-shapes": {
        "encoder": {"hidden_size": 128},
        "similarity": {"num_nearest": 10, "hops": 1},
        "contrast": {
            "mask_rate": 0.5, "node_loss_weight": 1.0, "edge_loss_weight": 1.0,
            "node_batch": 128, "node_negatives": 127, "edge_batch": 512,
        },
        "training": {"epochs": 100},
    },
}  # fmt: skip

_PAPER: Settings = {
    "similarity": {"measure": "distance"},
    "contrast": {"edge_loss_weight": 0.001, "node_batch": 256, "edge_batch": 256},
    "training": {"patience": 40},
}

PRESETS: dict[str, tuple[Settings, dict[str, Settings]]] = {
    "paper": (_PAPER, {"cora": {"similarity": {"num_nearest": 40}}}),
    "authors": (_AUTHORS, _AUTHORS_BY_DATASET),
    "best": (BEST, {}),  # one setting for every graph: never any by data set
}

# data sets of the registry that have the settings of another one, whose variants they are
_RATES = ("0.05", "0.1", "0.15", "0.2", "0.25")
VARIANT_OF: dict[str, str] = {
    "citeseer-planetoid": "citeseer",
    "cora-nettack": "cora",
    "syn-cora-authors": "syn-cora",
    "ba-shapes-pgexplainer": "ba-shapes",
    **{f"{name}-metattack-{rate}": name for name in ("cora", "citeseer") for rate in _RATES},
}


def settings_of(preset: str, dataset: str | None) -> str | None:
    """The data set whose own settings a preset takes for a data set of the registry; None: the general ones alone.

    >>> settings_of("authors", "citeseer-metattack-0.25"), settings_of("best", "cora")
    ('citeseer', None)
    """
    known = VARIANT_OF.get(dataset or "", dataset or "")
    return known if known in PRESETS[preset][1] else None
