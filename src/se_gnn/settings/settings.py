"""What the user asked for, and what holds: `Settings`, and `Resolved`, which knows where each value comes from.

Precedence, lowest first: the default of a setting, the preset, the preset's settings for a data set of the registry,
the graph, the recipe, the choice of the validation nodes, the user. A value that the user gives is never replaced, and
one that nothing reads is refused (`se_gnn.settings.unread`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from se_gnn.errors import InputError, did_you_mean, shortened
from se_gnn.settings.presets import ALL_RECIPES, DEFAULT_PRESET, NOT_TRAINED, PRESETS
from se_gnn.settings.sections import (
    DEFAULTS,
    OBJECTIVES,
    OWNERS,
    SECTIONS,
    EncoderSettings,
    Objective,
    SelectionSettings,
    SimilaritySettings,
    TrainingSettings,
    VoteSettings,
    check_value,
    names_read,
)
from se_gnn.settings.unread import check_all_read

if TYPE_CHECKING:
    from se_gnn.graph import Graph

Value = int | float | bool | str | tuple[float, ...] | None
Source = Literal["python", "toml", "command line"]
Origin = Literal["default", "preset", "data set", "graph", "recipe", "validation", "given"]

RANKINGS = ("roc_auc", "average_precision")  # figures that depend on the order of all nodes
MOST_IN_RANKING = 2000  # most cases that vote if such a figure is asked for


@dataclass(frozen=True, slots=True)
class Given:
    """A value that the user gave, and where."""

    value: Value
    source: Source = "python"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _fixed(self.value))


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided from the graph or on validation nodes, and why."""

    what: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}" if self.reason else self.what


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for: a preset, and the settings that they gave, by name.

    >>> asked = Settings.of("authors", epochs=20)
    >>> asked.given["epochs"]
    Given(value=20, source='python')
    >>> resolved = asked.resolve(dataset="cora")
    >>> resolved.training.epochs, resolved.vote.num_nearest, resolved.origin["num_nearest"]
    (20, 30, 'data set')
    """

    preset: str = DEFAULT_PRESET
    given: Mapping[str, Given] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.preset, str) or self.preset not in {**PRESETS, **NOT_TRAINED}:
            hint = did_you_mean(str(self.preset), PRESETS)
            raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {shortened(self.preset)}{hint}")
        for name, one in self.given.items():
            _check_name(name)
            check_value(name, one.value)

    @classmethod
    def of(cls, preset: str = DEFAULT_PRESET, /, **values: Any) -> Settings:
        """A preset, and values given in Python; "none" stands for None."""
        return cls(preset).changed(**values)

    def changed(self, **values: Any) -> Settings:
        """The same with more values given in Python."""
        return self.with_given(values, "python")

    def with_given(self, values: Mapping[str, Any], source: Source) -> Settings:
        """The same with more values, which replace earlier ones of the same name."""
        return Settings(self.preset, {**self.given, **{k: Given(_plain(k, v), source) for k, v in values.items()}})

    def resolve(self, graph: Graph | None = None, *, dataset: str | None = None) -> Resolved:
        """Fill in everything that the user left open, and refuse what nothing would read.

        Args:
            graph: the graph to train on. None: rules that depend on the graph are not applied.
            dataset: instead of a graph, the name of a data set of the registry.
        """
        preset, dataset = {**PRESETS, **NOT_TRAINED}[self.preset], graph.dataset if graph is not None else dataset
        own = preset.by_dataset.get(preset.dataset_with_settings(dataset) or "", {})
        given = {name: one.value for name, one in self.given.items()}
        layers: list[tuple[Origin, Mapping[str, Value]]] = [
            ("default", DEFAULTS),
            ("preset", preset.values),
            ("data set", own),
            ("graph", _for_numbers(self) if graph is not None and graph.predicts_numbers else {}),
            ("given", given),
        ]
        names = names_read(next(values["objective"] for _, values in reversed(layers) if "objective" in values))  # type: ignore[arg-type]
        values, origin = {}, {}
        for layer, found in layers:
            for name in names:
                if name in found:
                    values[name], origin[name] = found[name], layer
        resolved = Resolved._from_values(self, values, origin)
        check_all_read(resolved, graph)
        return resolved if graph is None else _with_fitting_vote(resolved, graph)

    def to_toml(self, *comments: str) -> str:
        """TOML text that `read_toml` reads back."""
        lines = [*(f"# {line}" for line in comments), f'preset = "{self.preset}"']
        lines += [f"{name} = {json.dumps('none' if g.value is None else g.value)}" for name, g in self.given.items()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """All settings of a model and its training: values by section, and the origin of each."""

    asked: Settings
    encoder: EncoderSettings
    similarity: SimilaritySettings
    vote: VoteSettings
    objective: Objective
    training: TrainingSettings
    selection: SelectionSettings
    origin: Mapping[str, Origin]
    decisions: tuple[Decision, ...] = ()

    @classmethod
    def _from_values(
        cls,
        asked: Settings,
        values: Mapping[str, Any],
        origin: Mapping[str, Origin],
        decisions: tuple[Decision, ...] = (),
    ) -> Resolved:
        kinds: dict[str, Any] = {**SECTIONS, "objective": OBJECTIVES[values["objective"]]}
        sections = {
            section: kind(**{name: value for name, value in values.items() if kind in OWNERS[name]})
            for section, kind in kinds.items()
        }
        return cls(asked=asked, origin=dict(origin), decisions=decisions, **sections)

    @property
    def preset(self) -> str:
        """Name of the preset."""
        return self.asked.preset

    def is_given(self, name: str) -> bool:
        """Whether the user gave this setting."""
        return name in self.asked.given

    def among(self, labeled: int, of: str = "labeled nodes", remedy: str = "keep more labels") -> Resolved:
        """The same for so many labeled nodes: all of them vote if there are fewer than a K that training chose.

        Any other K is refused; the error calls the nodes ``of`` and ends with the ``remedy``.
        """
        wanted = self.vote.num_nearest
        if wanted <= labeled:
            return self
        if self.origin["num_nearest"] not in ("validation", "graph"):
            raise InputError(
                f"num_nearest must be between 1 and the {labeled} {of}, got {wanted}: train with a smaller "
                f"num_nearest, or {remedy}"
            )
        return dataclasses.replace(self, vote=dataclasses.replace(self.vote, num_nearest=labeled))

    def values(self) -> dict[str, Value]:
        """All values by name."""
        sections = (self.encoder, self.similarity, self.vote, self.objective, self.training, self.selection)
        return {name: value for section in sections for name, value in dataclasses.asdict(section).items()}

    def decided(self, origin: Origin, values: Mapping[str, Value], *decisions: Decision) -> Resolved:
        """The same with values that were decided, but for those that the user gave, and the reasons."""
        chosen = {name: value for name, value in values.items() if not self.is_given(name)}
        origins = {**self.origin, **dict.fromkeys(chosen, origin)}
        return Resolved._from_values(self.asked, {**self.values(), **chosen}, origins, (*self.decisions, *decisions))

    def with_recipe(self, name: str) -> Resolved:
        """The same with the settings of a recipe."""
        return self.decided("recipe", ALL_RECIPES[name])

    def changed(self, **values: Any) -> Resolved:
        """The same as if the user had given these values as well; they must be of the same objective."""
        if not values:
            return self
        asked = self.asked.changed(**values)
        given: dict[str, Any] = {name: asked.given[name].value for name in values}
        origins: dict[str, Origin] = {**self.origin, **dict.fromkeys(given, "given")}
        return Resolved._from_values(asked, {**self.values(), **given}, origins, self.decisions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `from_dict` reads them back."""
        return {
            "preset": self.preset,
            "given": {name: dataclasses.asdict(one) for name, one in self.asked.given.items()},
            "values": self.values(),
            "origin": dict(self.origin),
            "decisions": [dataclasses.asdict(one) for one in self.decisions],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Resolved:
        """What `to_dict` wrote, checked: every setting is there, once, and the given ones hold."""
        try:
            asked = Settings(stored["preset"], {name: Given(**one) for name, one in stored["given"].items()})
            values = {name: _fixed(value) for name, value in stored["values"].items()}
            origin = dict(stored["origin"])
            decisions = tuple(Decision(**one) for one in stored["decisions"])
            names = names_read(values["objective"])
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("settings must have preset, given, values, origin and decisions") from error
        if values.keys() != set(names) or origin.keys() != set(names):
            odd = next(iter(sorted((values.keys() | origin.keys()) ^ set(names), key=str)), "a setting")
            raise InputError(f"values and origin must name every setting once: {shortened(odd)} is missing or unknown")
        if not all(one in get_args(Origin) for one in origin.values()):
            raise InputError(f"origin must be one of {', '.join(get_args(Origin))}")
        if not all(one.source in get_args(Source) for one in asked.given.values()):
            raise InputError(f"source must be one of {', '.join(get_args(Source))}")
        if not all(isinstance(text, str) for one in decisions for text in (one.what, one.reason)):
            raise InputError("decisions must be texts")
        for name in values:
            given = asked.given.get(name)
            if (origin[name] == "given") != (given is not None) or (given is not None and given.value != values[name]):
                raise InputError(f"{name} must have the value that was given")
        return cls._from_values(asked, values, origin, decisions)


def _for_numbers(asked: Settings) -> Mapping[str, Value]:
    """What a preset fills in if a number is predicted."""
    found = PRESETS[asked.preset].for_numbers
    if found is None:
        raise InputError(f"preset {asked.preset!r} predicts classes, as the paper does: use 'best' to predict numbers")
    return found


def _check_name(name: str) -> None:
    if name == "preset":
        raise InputError("preset is not a setting: choose it with preset=..., or --preset on the command line")
    if name not in OWNERS:
        raise InputError(f"unknown setting {shortened(name)}{did_you_mean(str(name), OWNERS)}")


def _fixed(value: Any) -> Any:
    """A list of numbers as it is kept."""
    return tuple(value) if isinstance(value, list) and value else value


def _plain(name: str, value: Any) -> Any:
    """A value as it is kept: "none" stands for None, and scalars of NumPy become Python's."""
    _check_name(name)
    if value is None:
        raise InputError(f"{name} must have a value: leave it out, or write 'none' if you mean none")
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()
    elif hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, str) and value == "none" else value


def _with_fitting_vote(resolved: Resolved, graph: Graph) -> Resolved:
    """If K is chosen later, it starts at no more than the number of cases; for a ranking it starts with all of them.

    A figure like ROC-AUC depends on the order of all nodes, and nodes without any case of the class in question among
    their K nearest have none.
    """
    wanted, labeled = resolved.vote.num_nearest, len(graph.train)
    if resolved.selection.choose_vote and not resolved.is_given("num_nearest"):
        most = max(wanted, MOST_IN_RANKING) if resolved.selection.best_by in RANKINGS else wanted
        fitting = max(1, min(most, labeled))
        return resolved if fitting == wanted else resolved.decided("graph", {"num_nearest": fitting})
    if wanted > labeled:
        hint = "" if resolved.is_given("num_nearest") else f" from preset {resolved.preset!r}: set num_nearest"
        raise InputError(f"num_nearest must be between 1 and the {labeled} labeled nodes, got {wanted}{hint}")
    return resolved
