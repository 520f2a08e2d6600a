"""Settings, named in words with the paper's symbol beside each, and the presets that fill them.

Three presets: `paper` (the equations as printed; what the paper leaves open chosen on validation nodes), `authors`
(what the published scripts do where they differ) and `best` (the default: `authors`, which measured better than `paper`
on Cora, with K = 10 and lambda = 0.2 on `digits`, chosen on validation nodes). A preset may know the settings of a data
set by its name.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from se_gnn.errors import InputError, did_you_mean
from se_gnn.files import SMALL, read_file

MeasureName = Literal["cosine", "distance"]
Directions = Literal["one", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """Encoder, Eq. (1)."""

    hidden_size: int = 64  # D, width of every layer and of the embedding
    num_layers: int = 2  # layers of the MLP
    aggregation: Literal["gcn", "mean"] = "gcn"  # residual GCN layer, or neighbor mean times a learned vector
    weight_init: Literal["xavier", "fan_in"] = "xavier"  # Xavier, or uniform within 1 / sqrt(fan-in) (PyTorch's own)
    scale_init: Literal["small", "uniform"] = "small"  # start of that vector: 0.01, or uniform in [0.01, 1)

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "hidden_size", "num_layers")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityConfig:
    """Similarity and vote, Eq. (2)-(9)."""

    num_nearest: int = 20  # K
    node_weight: float = 0.5  # lambda: share of node similarity, the rest is structure similarity
    temperature: float = 1.0  # tau
    hops: int = 2  # n, radius of a local graph
    measure: MeasureName = "cosine"  # sim(a, b): cosine, or -||a - b||
    directions: Directions = "one"  # match target edges only (paper), or average both directions (authors)

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "num_nearest")
        between(self, 0, 1, "node_weight")
        above_zero(self, "temperature")
        between(self, 1, 3, "hops")


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
    references: Literal["support", "nearest"] = "support"  # positives: from a same-label support, or K nearest of all
    num_negatives: int = 20  # Q
    max_local_edges: int | None = None  # edges of a local graph that a training step looks at; None: all
    support_size: int = 60  # N, same-label nodes among which the K nearest are the positives
    probability_floor: float = 0.0  # share of the positives below which Eq. (11) is flat (authors: 1e-8); 0: nowhere

    def __post_init__(self) -> None:
        check_types(self)
        at_least(self, 1, "epochs", "num_negatives", "support_size")
        above_zero(self, "learning_rate")
        at_least(self, 0, "weight_decay")
        between(self, 0, 1, "probability_floor")
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

    preset_name: str = "custom"
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    similarity: SimilarityConfig = field(default_factory=SimilarityConfig)
    contrast: ContrastConfig = field(default_factory=ContrastConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    @classmethod
    def preset(cls, name: str, *, dataset: str | None = None) -> Config:
        """`paper`, `authors` or `best`, with the settings published or found for `dataset` where there are any.

        A data set without settings of its own has those of the one it is a variant of: `citeseer-metattack-0.25` and
        `citeseer-planetoid` those of `citeseer`.
        """
        if name not in PRESETS:
            raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}{did_you_mean(name, PRESETS)}")
        general, by_dataset = PRESETS[name]
        config = cls.from_dict({**general, "preset_name": name})
        known = dataset or ""
        while known and known not in by_dataset:
            known = known.rpartition("-")[0]
        return config.updated(by_dataset.get(known, {}))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Config:
        """Build from nested plain values; an unknown key is an error."""
        return cls().updated(values)

    @classmethod
    def from_toml(cls, path: str | Path, *, base: Config | None = None) -> Config:
        """Read a TOML file with the sections `encoder`, `similarity`, `contrast`, `training` over `base`."""
        if not os.path.lexists(path):
            raise InputError(f"config file {path} does not exist")
        try:
            content = read_file(Path(path), limit=SMALL)
        except InputError as error:
            raise InputError(f"config file {error}") from error
        try:
            values = tomllib.loads(content.decode("utf-8"))
        except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, and what is nested without end
            raise InputError(f"config file {path} is not valid TOML: {error}") from error
        return (base or cls()).updated(values)

    def updated(self, values: Mapping[str, Any]) -> Config:
        """A copy with some settings changed, given as nested plain values."""
        changes: dict[str, Any] = {}
        for key, value in values.items():
            if key == "preset_name":
                changes[key] = str(value)
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

    def override(self, assignments: Iterable[str]) -> Config:
        """A copy with `section.key=value` assignments applied, the values written as in TOML (bare words allowed)."""
        config = self
        for assignment in assignments:
            path, equals, text = assignment.partition("=")
            section, dot, key = path.strip().partition(".")
            if not (equals and dot):
                raise InputError(f"a setting must look like similarity.num_nearest=20, got {assignment!r}")
            config = config.updated({section: {key: _parse_value(text.strip())}})
        return config

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values; `from_dict` reads them back."""
        return dataclasses.asdict(self)

    def to_toml(self) -> str:
        """TOML text that `from_toml` reads back; TOML has no None, so that settings without a value are "none"."""
        # a JSON string is a TOML string but for escapes in pairs, which TOML refuses, and for a bare DEL
        name_text = json.dumps(self.preset_name, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines = [f"preset_name = {name_text}"]
        for name in _SECTIONS:
            lines += ["", f"[{name}]"]
            for key, value in dataclasses.asdict(getattr(self, name)).items():
                lines.append(f"{key} = {json.dumps(value)}" if value is not None else f'{key} = "none"')
        return "\n".join(lines) + "\n"


_SECTIONS = tuple(f.name for f in dataclasses.fields(Config) if f.name != "preset_name")


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
    except tomllib.TOMLDecodeError:
        return text


def check_types(section: Any) -> None:
    """Each value has the type its annotation names; whole numbers pass for floats."""
    for name, hint in get_type_hints(type(section)).items():
        value = getattr(section, name)
        if get_origin(hint) is Literal:
            if value not in get_args(hint):
                raise InputError(f"{name} must be one of {', '.join(get_args(hint))}, got {value!r}")
            continue
        allowed = get_args(hint) or (hint,)
        if float in allowed and isinstance(value, int) and not isinstance(value, bool):
            object.__setattr__(section, name, float(value))
        elif (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
            words = " or ".join(_TYPE_WORDS[kind] for kind in allowed)
            raise InputError(f"{name} must be {words}, got {value!r}")


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

# chosen on validation nodes: reproduce/searches/se-gnn.jsonl
_BEST_BY_DATASET: dict[str, Settings] = {
    **_AUTHORS_BY_DATASET,
    "cora": {
        "encoder": {"hidden_size": 128, "scale_init": "uniform"},
        "similarity": {"num_nearest": 10, "node_weight": 0.2},
        "contrast": {"mask_rate": 0.4, "edge_loss_weight": 0.03},
        "training": {"epochs": 100, "weight_decay": 0.005},
    },
    "citeseer": {
        "similarity": {"num_nearest": 25},
        "contrast": {"mask_rate": 0.4, "node_loss_weight": 0.001, "edge_loss_weight": 0.03},
        "training": {"weight_decay": 0.005},
    },
    "pubmed": {"contrast": {"mask_rate": 0.15, "edge_loss_weight": 0.03}},
    "digits": {"similarity": {"num_nearest": 10, "node_weight": 0.2}, "training": {"patience": 40}},
}

_PAPER: Settings = {
    "similarity": {"measure": "distance"},
    "contrast": {"edge_loss_weight": 0.001, "node_batch": 256, "edge_batch": 256},
    "training": {"patience": 40},
}

PRESETS: dict[str, tuple[Settings, dict[str, Settings]]] = {
    "paper": (_PAPER, {"cora": {"similarity": {"num_nearest": 40}}}),
    "authors": (_AUTHORS, _AUTHORS_BY_DATASET),
    "best": (_AUTHORS, _BEST_BY_DATASET),
}
