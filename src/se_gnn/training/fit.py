"""Training from settings to a model: one run, or several between which validation nodes choose.

1. Each recipe of the portfolio is trained once (without a portfolio: the settings as they are).
2. The best on validation nodes is trained again from other seeds: the members of an ensemble, whose embeddings stand
   side by side. The attributes themselves stand beside them, unless that costs accuracy on validation nodes.
3. K, lambda and tau are chosen on validation nodes.

Every decision is in the model's settings, with the reason. Test nodes are not looked at.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import resolve_device
from se_gnn.encoder import Encoder, encoder_features, principal_layer, scaled_attributes
from se_gnn.errors import InputError, shortened
from se_gnn.files import json_line, locked, replace_file
from se_gnn.files.tensors import load_sealed, sealed_tensors
from se_gnn.graph import Graph
from se_gnn.model import SEGNN, Run, TrainedModel, check_model_size
from se_gnn.model.evaluate import evaluate_nodes
from se_gnn.model.facts import versions
from se_gnn.number_format import known
from se_gnn.progress import announce_compilation, bar, phase, tell
from se_gnn.ranks import Ranks, alone
from se_gnn.settings import Resolved, Settings
from se_gnn.training.choice import with_chosen_vote
from se_gnn.training.estimate import estimate
from se_gnn.training.portfolio import (
    chosen_recipe,
    columns_offered,
    member_seed,
    offered_recipes,
    unused_edge_data,
    why_recipe,
    with_members,
)
from se_gnn.training.trainer import EPOCHS, TrainingRun, check_seed, is_split, warn_of_single_nodes


def fit(
    graph: Graph,
    settings: Settings,
    *,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = False,
    folder: Path | None = None,
    max_memory: int | str | None = None,
    calibration: float = 0.0,
    ranks: Ranks | None = None,
) -> TrainedModel:
    """Train a model. On the CPU the same seed gives the same bits, on any number of threads.

    Args:
        graph: a graph with labeled nodes of at least two classes.
        settings: what the user asked for.
        seed: random seed for initialization and every sample, from 0 to 2^63 - 1.
        device: ``cpu``, ``cuda`` or ``auto``.
        progress: print an estimate of the time, and show progress bars, on stderr.
        folder: where to write ``metrics.jsonl`` and checkpoints; a run that was interrupted there is resumed. Only one
            run at a time may write to it.
        max_memory: memory limit for comparisons, for example ``"4GB"``; None: a quarter of the free memory.
        calibration: share of the validation nodes to hold out, for prediction sets.
        ranks: processes that share the runs of a portfolio and its ensemble, each a whole run at a time: the same bits
            as one process. A single run of `paper` or `authors` they train together: the result of one process up to
            rounding. All call this with the same arguments, and each gets the model; None: one process.

    Returns:
        The model of the best epoch by ``best_by`` on validation nodes, ties broken by validation loss (the last epoch
        if there are no validation nodes), with its exact figures on the validation nodes.
    """
    graph.check_trainable()
    check_seed(seed)
    graph = with_calibration(graph, calibration, seed=seed)
    resolved = settings.resolve(graph)
    check_model_size(graph, resolved)
    where = resolve_device(device)
    warn_of_single_nodes(graph)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    together = alone() if ranks is None else ranks
    with (
        locked(folder) if folder is not None and together.first else contextlib.nullcontext(),
        announce_compilation(shown=progress),
        phase("comparing", shown=progress),
    ):
        trained = _Fit(graph, resolved, seed, where, folder, max_memory, progress, together).run()
    return trained.with_facts(calibration=float(calibration))


def with_calibration(graph: Graph, share: float, *, seed: int = 0) -> Graph:
    """The graph with a share of the validation nodes of each class moved to its calibration nodes.

    Validation nodes choose the epoch and the vote, so what a model says of them is too good. Prediction sets need nodes
    that chose nothing; these are drawn before training.

    Args:
        graph: a graph with validation nodes.
        share: from 0 (nothing is moved) to 0.9.
        seed: of the draw.

    >>> graph = Graph.build(features=[[0.0]] * 8, edges=[], labels=[0, 1] * 4, train=[0, 1], validation=range(2, 8))
    >>> held = with_calibration(graph, 0.34)
    >>> len(held.validation), len(held.calibration), graph.labels[held.calibration].tolist()
    (4, 2, [0, 1])
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 0.9:
        raise InputError(f"calibration must be a share of the validation nodes from 0 to 0.9, got {shortened(share)}")
    if share == 0:
        return graph
    generator = np.random.default_rng([seed, 0xCA11B])  # apart from what else the seed draws
    drawn = []
    for label in np.unique(graph.labels[graph.validation]):
        nodes = generator.permutation(graph.validation[graph.labels[graph.validation] == label])
        drawn.append(nodes[: round(share * len(nodes))])
    chosen = np.concatenate([np.empty(0, np.int64), *drawn])
    if not len(chosen):
        raise InputError(
            f"calibration = {share:g} of the {len(graph.validation)} validation nodes of {graph.name} is no node: use "
            "a larger share, or more validation nodes"
        )
    return graph.with_split(
        train=graph.train,
        validation=np.setdiff1d(graph.validation, chosen),
        test=graph.test,
        calibration=np.union1d(graph.calibration, chosen),
    )


class _Planned(NamedTuple):
    """A run to be made."""

    name: str
    settings: Resolved
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class _Finished:
    """What is kept of a run."""

    name: str
    settings: Resolved
    seed: int
    parameters: dict[str, Tensor]
    history: list[dict[str, Any]]
    best_epoch: int
    stopped_early: bool
    standing: tuple[float, float]

    def to_bytes(self) -> bytes:
        """For another rank, which knows the settings."""
        about = {name: getattr(self, name) for name in ("history", "best_epoch", "stopped_early", "standing")}
        return sealed_tensors(self.parameters, {"about": json.dumps(about)})

    @classmethod
    def from_bytes(cls, content: bytes, plan: _Planned) -> _Finished:
        """What :meth:`to_bytes` made of a planned run, bit for bit."""
        parameters, texts = load_sealed(content, Path(plan.name))
        about = json.loads(texts["about"])
        return cls(
            *plan, parameters, about["history"], about["best_epoch"], about["stopped_early"], tuple(about["standing"])
        )

    @property
    def facts(self) -> Run:
        """What the model remembers of it."""
        best = self.history[self.best_epoch]
        return Run(
            name=self.name,
            seed=self.seed,
            epochs=len(self.history),
            best_epoch=self.best_epoch,
            stopped_early=self.stopped_early,
            val_accuracy=known(best["val_accuracy"]),
            val_loss=known(best["val_loss"]),
            seconds_per_epoch=sum(record["seconds"] for record in self.history) / len(self.history),
        )


class _Fit:
    def __init__(
        self,
        graph: Graph,
        settings: Resolved,
        seed: int,
        device: torch.device,
        folder: Path | None,
        max_memory: int | str | None,
        progress: bool,
        ranks: Ranks,
    ) -> None:
        self.graph, self.settings, self.seed, self.device = graph, with_members(graph, settings), seed, device
        self.folder, self.max_memory, self.progress, self.ranks = folder, max_memory, progress, ranks
        self.members = self.settings.encoder.members
        self.finished: list[_Finished] = []

    def run(self) -> TrainedModel:
        """From settings to a model."""
        selection, validated = self.settings.selection, len(self.graph.validation) > 0
        variants = {"training": self.settings}
        if selection.portfolio:
            recipes = offered_recipes(self.graph, self.settings)
            variants = recipes if validated else {name: recipes[name] for name in list(recipes)[:1]}
        self.planned = len(variants) + self.members - 1
        self._train_all([_Planned(name, settings, self.seed) for name, settings in variants.items()])
        best = chosen_recipe(self.finished, selection.best_by, len(self.graph.validation))
        decisions = []
        if selection.portfolio:
            offered = columns_offered(self.graph) if validated else None
            decisions = [why_recipe(self.finished, best, selection.best_by), *([] if offered is None else [offered])]
        plans = [
            _Planned(f"{best.name}-{i + 1}", best.settings, member_seed(self.seed, i)) for i in range(1, self.members)
        ]
        chosen = [best, *self._train_all(plans)]
        unused = unused_edge_data(self.graph, best.settings)
        settings = best.settings.decided("recipe", {}, *decisions, *([] if unused is None else [unused]))
        trained = TrainedModel(self._voting(chosen, settings), self.graph, max_memory=self.max_memory)
        return trained.with_facts(
            seed=int(self.seed),
            device=str(self.device),
            versions=versions(),
            runs=tuple(run.facts for run in self.finished),
            chosen=best.name,
            validation=evaluate_nodes(trained, self.graph.validation),
        )

    def _voting(self, chosen: list[_Finished], settings: Resolved) -> SEGNN:
        """The members as one model, with its vote."""
        if not settings.selection.choose_vote:
            return self._assembled(chosen, settings)
        return with_chosen_vote(self.graph, settings, lambda one: self._assembled(chosen, one), self.max_memory)

    def _train_all(self, plans: list[_Planned]) -> list[_Finished]:
        """Whole runs, each by the rank that takes it; then every rank has all of them, in the order of the plans.

        A single run is trained by all ranks together, if its steps can be split.
        """
        if self._together(plans):
            self.finished = [self._train(plans[0], 0)]
            return self.finished
        place, own = len(self.finished), {}
        while (number := self.ranks.claim(f"runs/{place}")) < len(plans):
            own[number] = self._train(plans[number], place + number)
            if self.ranks.several:
                self.ranks.broadcast(f"run/{plans[number].name}", own[number].to_bytes())
        found = [
            own[number] if number in own else _Finished.from_bytes(self.ranks.receive(f"run/{plan.name}"), plan)
            for number, plan in enumerate(plans)
        ]
        self.finished += found
        if self.folder is not None and self.planned > 1 and self.ranks.first:
            self._write_epochs(self.folder)
        return found

    def _together(self, plans: list[_Planned]) -> bool:
        """Whether all ranks train one run."""
        return self.ranks.several and self.planned == len(plans) == 1 and is_split(plans[0].settings)

    def _train(self, plan: _Planned, number: int) -> _Finished:
        """One run to its end, or from where it was interrupted."""
        name, settings, seed = plan
        alone = self.planned == 1
        folder = self.folder if self.folder is None or alone else self.folder / name
        if folder is not None:
            folder.mkdir(exist_ok=True)
        ranks = self.ranks if self._together([plan]) else None
        run = TrainingRun(
            self.graph, settings, seed=seed, device=self.device, folder=folder, max_memory=self.max_memory, ranks=ranks
        )
        if self.progress and not number:
            tell(f"  estimate  {estimate(run, runs=self.planned, members=self.members)}")
        label = "training" if alone else f"{name} ({number + 1} of {self.planned})"
        _run_epochs(run, label, self.ranks, progress=self.progress)
        return _Finished(
            name, settings, seed, run.best_parameters, run.history, run.best_epoch, run.stopped_early,
            run.standing(run.best_epoch),
        )  # fmt: skip

    def _write_epochs(self, folder: Path) -> None:
        """The epochs of all runs so far, each with the name of its run."""
        lines = [
            json_line({"run": run.name, **{key: known(value) for key, value in record.items()}})
            for run in self.finished
            for record in run.history
        ]
        replace_file(folder / EPOCHS, b"".join(lines))

    def _assembled(self, chosen: list[_Finished], settings: Resolved) -> SEGNN:
        """The members of the ensemble as one model."""
        model = SEGNN.for_graph(self.graph, settings)
        if isinstance(model.encoder, Encoder):
            model.load_state_dict(chosen[0].parameters)
        else:
            parameters = {
                name.replace("encoder.", f"encoder.members.{i}.", 1): tensor
                for i, run in enumerate(chosen)
                for name, tensor in run.parameters.items()
            }
            if settings.encoder.attribute_share:
                read = encoder_features(self.graph, settings.encoder)
                scaled = scaled_attributes(read, settings.encoder.attribute_scaling)
                names = ("encoder.attributes.layers.0.weight", "encoder.attributes.layers.0.bias")
                parameters.update(zip(names, principal_layer(scaled)))
            model.load_state_dict(parameters)
        return model.to(self.device).eval()


def _run_epochs(run: TrainingRun, label: str, ranks: Ranks, *, progress: bool) -> None:
    epochs = run.settings.training.epochs
    with (
        phase("training", shown=False),
        bar(total=epochs, name=label, unit="epoch", shown=progress, initial=run.epoch) as shown,
    ):
        while not run.finished:
            record = run.step()
            ranks.heartbeat()
            ranks.check()
            shown.update()
            shown.set_postfix(loss=f"{record['loss']:.3f}", val=f"{record['val_accuracy']:.1%}")
        if run.stopped_early:
            shown.set_description(f"{label}, stopped early")
