"""A search for settings on validation nodes: Optuna proposes, successive halving stops what falls behind.

A trial is one training run; what it found is a line of `trials.jsonl`, so that an interrupted search can be resumed.
The first trials are the recipes of `best` as they are, and a later one must beat the best so far as a recipe must in
the portfolio: what is found is the default, or better on the validation nodes. Test nodes are not looked at: training
never does.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from se_gnn.errors import InputError
from se_gnn.files import (
    append_line,
    json_bytes,
    json_line,
    locked,
    parse_json,
    read_file,
    read_json_lines,
    replace_file,
)
from se_gnn.graph import Graph
from se_gnn.optional import require
from se_gnn.settings import Resolved, Settings, VoteObjective
from se_gnn.settings.presets import ALL_RECIPES
from se_gnn.settings.unread import unread
from se_gnn.training.checkpoint import fingerprint
from se_gnn.training.choice import warn_of_single_nodes
from se_gnn.training.portfolio import chosen_recipe, offered_recipes
from se_gnn.training.trainer import TrainingRun

TRIALS, ABOUT, BEST = "trials.jsonl", "tuning.json", "best.toml"
RANDOM_TRIALS = 8  # before the proposals follow what was found
FIRST_LOOK, FACTOR = 20, 3  # epochs before a trial may be ended; of three trials one goes on to three times as many
_UNITS = {"s": 1, "m": 60, "h": 3600}

# what is searched, beside the recipe: (low, high) are log-uniform, lists are choices
SPACE: Mapping[str, tuple[float, float] | list[Any]] = {
    "learning_rate": (0.003, 0.1),
    "weight_decay": (1e-4, 2e-2),
    "hidden_size": [64, 128, 256],
    "steps": [2, 4, 8, 10],
    "teleport": [0.1, 0.2, 0.35, 0.5],
    "attribute_scaling": ["raw", "unit"],
    "attribute_dropout": [0.0, 0.2, 0.5, 0.8],
    "hidden_dropout": [0.2, 0.5, 0.8],
    "temperature": (0.03, 0.5),
    "memory_dropout": [0.0, 0.5, 0.8],
    "label_smoothing": [0.0, 0.2],
    "consistency_weight": [0.0, 1.0, 2.0],
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What was tried, and how good it was on the validation nodes."""

    number: int
    settings: dict[str, Any]  # `recipe` and settings by their own names
    value: float  # by `best_by`, higher is better
    loss: float  # on the validation nodes
    epochs: int
    ended: bool  # successive halving ended it
    seconds: float


def parse_budget(text: str) -> float:
    """Seconds of a budget such as 90s, 10m or 1.5h.

    >>> parse_budget("10m"), parse_budget("1.5h")
    (600.0, 5400.0)
    """
    match = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smh])\s*", text)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if seconds <= 0:
        raise InputError(f"budget must be a time such as 90s, 10m or 2h, got {text[:40]!r}")
    return seconds


class Tuning:
    """A search in a folder. Settings that the user gave hold in every trial, and are not searched."""

    def __init__(self, graph: Graph, asked: Settings, folder: Path, *, seed: int, device: torch.device) -> None:
        graph.check_trainable()
        if not len(graph.validation):
            raise InputError("tune chooses on validation nodes, and the graph has none: give it a split that has some")
        warn_of_single_nodes(graph)
        self.optuna: Any = require("optuna", extra="tune", feature="searches for settings")
        self.base = asked.resolve(graph)
        if graph.predicts_numbers:
            raise InputError(
                "tune searches recipes for classes; train compares the few recipes for numbers on the validation nodes "
                "itself: use train, and --set for settings of your own"
            )
        if not isinstance(self.base.objective, VoteObjective):
            raise InputError("tune searches the recipes of preset 'best': objective must be 'vote'")
        self.graph, self.asked, self.folder, self.seed, self.device = graph, asked, folder, seed, device
        self.recipes, _ = offered_recipes(graph, self.base)
        self.space = _space(self.recipes)
        self.optuna.logging.set_verbosity(self.optuna.logging.ERROR)
        self.study = self.optuna.create_study(
            direction="maximize",
            sampler=self.optuna.samplers.TPESampler(seed=seed, n_startup_trials=RANDOM_TRIALS),
            pruner=self.optuna.pruners.SuccessiveHalvingPruner(min_resource=FIRST_LOOK, reduction_factor=FACTOR),
        )
        self.trials = self._recalled()

    def run(
        self, budget: float, *, max_trials: int | None = None, say: Callable[[Trial], None] = lambda trial: None
    ) -> list[Trial]:
        """Try settings until the time, in seconds, or the number of trials is used up; all trials, the best first."""
        deadline = time.monotonic() + budget
        with locked(self.folder):
            while time.monotonic() < deadline and (max_trials is None or len(self.trials) < max_trials):
                trial = self._try(deadline)
                if trial is None:
                    break
                self.trials.append(trial)
                append_line(self.folder / TRIALS, json_line(dataclasses.asdict(trial)))
                replace_file(self.folder / BEST, self.best_toml().encode())
                say(trial)
        return self.ranking()

    def best(self) -> Trial:
        """The trial that no later one beats by half a standard error."""
        figures = [trial.value for trial in self.trials]
        return self.trials[chosen_recipe(figures, self.base.selection.best_by, len(self.graph.validation))]

    def ranking(self) -> list[Trial]:
        """All trials: the one that is taken, then the others by their figure; of equals the earlier."""
        best = self.best()
        return sorted(self.trials, key=lambda trial: (trial is not best, -trial.value, trial.number))

    def best_settings(self) -> Settings:
        """The settings of the best trial as given ones: no portfolio, the ensemble and vote of `best`."""
        trial = self.best()
        settings = self._settings(trial.settings)
        recipe = ALL_RECIPES[trial.settings["recipe"]]
        found = {name: settings.values()[name] for name in (*recipe, *self.space) if not settings.is_given(name)}
        useless = unread(settings, self.graph)
        given = {name: "none" if value is None else value for name, value in found.items() if name not in useless}
        return self.asked.changed(**{**given, "portfolio": False})

    def best_toml(self) -> str:
        """The best settings as a file for `se-gnn train --config`."""
        best, figure = self.best(), self.base.selection.best_by.replace("_", " ")
        found = f"recipe {best.settings['recipe']!r} as it is" if best.number < len(self.recipes) else "a search"
        why = f"{figure} {best.value:.4f} on validation nodes; no later of {len(self.trials)} trials is clearly better"
        return self.best_settings().to_toml(f"trial {best.number}, {found}: {why}")

    def _settings(self, tried: Mapping[str, Any]) -> Resolved:
        values = {name: value for name, value in tried.items() if name != "recipe"}
        return self.recipes[tried["recipe"]].decided("validation", values)

    def _try(self, deadline: float) -> Trial | None:
        """One training run; None if the time was used up before its first epoch."""
        of_recipe = len(self.trials) < len(self.recipes)
        if of_recipe:
            name, recipe = list(self.recipes.items())[len(self.trials)]
            self.study.enqueue_trial({"recipe": name, **{key: recipe.values()[key] for key in self.space}})
        asked = self.study.ask(fixed_distributions=self.distributions)
        settings = {
            name: value if isinstance(self.space.get(name, []), list) else float(f"{value:.3g}")
            for name, value in asked.params.items()
        }
        start = time.monotonic()
        run = TrainingRun(self.graph, self._settings(settings), seed=self.seed, device=self.device, folder=None)
        ended = False
        while not run.finished and not ended:
            run.step()
            asked.report(run.standing(run.best_epoch)[0], run.epoch)
            ended = asked.should_prune() and not of_recipe
            ended = ended or (time.monotonic() > deadline and run.epoch >= FIRST_LOOK)
            if time.monotonic() > deadline and run.epoch < FIRST_LOOK and self.trials:
                return None
        value, minus_loss = run.standing(run.best_epoch)
        self.study.tell(asked, value, state=self.optuna.trial.TrialState.COMPLETE)
        seconds = round(time.monotonic() - start, 2)
        return Trial(len(self.trials), settings, value, -minus_loss, run.epoch, ended, seconds)

    def _recalled(self) -> list[Trial]:
        """The trials of an earlier run here, which the proposals then know; those of other data are refused."""
        self.folder.mkdir(parents=True, exist_ok=True)
        digest = fingerprint(self.graph, {**self.base.values(), "given": sorted(self.asked.given)}, self.seed)
        about = self.folder / ABOUT
        if about.exists():
            if parse_json(read_file(about), about).get("fingerprint") != digest:
                raise InputError(f"{self.folder} holds a search with other data, settings or seed: name another folder")
        else:
            replace_file(about, json_bytes({"fingerprint": digest}))
        path = self.folder / TRIALS
        trials = [self._trial(row, path) for row in read_json_lines(path)] if path.exists() else []
        for trial in trials:
            known = {"params": trial.settings, "distributions": self.distributions, "value": trial.value}
            self.study.add_trial(self.optuna.trial.create_trial(**known))
        return trials

    @cached_property
    def distributions(self) -> dict[str, Any]:
        """The recipe, and what else is searched, as Optuna draws it."""
        of = self.optuna.distributions
        found = {"recipe": of.CategoricalDistribution(list(self.recipes))}
        for name, values in self.space.items():
            numbers = not isinstance(values, list)
            found[name] = of.FloatDistribution(*values, log=True) if numbers else of.CategoricalDistribution(values)
        return found

    def _trial(self, row: Mapping[str, Any], path: Path) -> Trial:
        try:
            trial = Trial(**row)
            known = trial.settings.keys() == {"recipe", *self.space} and trial.settings["recipe"] in self.recipes
        except (TypeError, AttributeError) as error:
            raise InputError(f"{path} is damaged, or of another version: a line is not a trial") from error
        if not known:
            raise InputError(f"{path} holds trials of another version: name another folder")
        return trial


def _space(recipes: Mapping[str, Resolved]) -> dict[str, tuple[float, float] | list[Any]]:
    """What is searched: all that the user did not give, with the values of the recipes among the choices."""
    space: dict[str, tuple[float, float] | list[Any]] = {}
    for name, values in SPACE.items():
        if not next(iter(recipes.values())).is_given(name):
            own = dict.fromkeys(recipe.values()[name] for recipe in recipes.values())
            space[name] = [*values, *(one for one in own if one not in values)] if isinstance(values, list) else values
    return space
