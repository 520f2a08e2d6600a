"""Training from settings to a model: one run, or several between which validation nodes choose.

1. Each recipe of the portfolio is trained for a few epochs. Recipes that are then clearly behind on the validation
   nodes are given up, and the others are trained to the end. Without a portfolio there is one run.
2. The best recipe is trained again from other seeds. The embeddings of these members of the ensemble stand side by
   side, and the attributes themselves beside them.
3. K, lambda, tau and the share of the attributes are chosen on the validation nodes.

The model's settings hold every decision and its reason. Training never reads the labels of test nodes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from se_gnn.device import resolve_device
from se_gnn.encoder import Network, encoder_features, principal_layer, scaled_attributes
from se_gnn.errors import InputError, shortened
from se_gnn.files import json_line, locked, replace_file
from se_gnn.graph import Graph
from se_gnn.model import SEGNN, Model, Run, check_model_size
from se_gnn.model.facts import versions
from se_gnn.model.metrics import evaluate_nodes
from se_gnn.number_format import known
from se_gnn.progress import announce_compilation, bar, phase, tell
from se_gnn.ranks import Ranks, alone
from se_gnn.settings import AgreementObjective, EncoderSettings, Resolved, Settings
from se_gnn.training import checkpoint
from se_gnn.training.checkpoint import Kept, TrainingState, plain_record
from se_gnn.training.choice import (
    NUM_FOLDS,
    warn_of_lost_classes,
    warn_of_optimism,
    warn_of_single_nodes,
    with_chosen_vote,
)
from se_gnn.training.estimate import TIMED, estimate
from se_gnn.training.portfolio import (
    FIRST_LOOK,
    chosen_recipe,
    member_seed,
    offered_recipes,
    single_recipe,
    unused_edge_data,
    why_recipe,
    with_members,
    worth_more_epochs,
)
from se_gnn.training.trainer import EPOCHS, TrainingRun, check_seed, is_split, stopped_early


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
) -> Model:
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
        ranks: processes that divide the runs of a portfolio and its ensemble among them, with the same bits as one
            process. They train a single run of `paper` or `authors` together, with the result of one process up to
            rounding. All of them pass the same arguments, and each gets the model. None: one process.

    Returns:
        The model of the best epoch by ``best_by`` on validation nodes, ties broken by validation loss (the last epoch
        if there are no validation nodes), with its exact figures on the validation nodes.
    """
    graph.check_trainable()
    check_seed(seed)
    graph = with_calibration(graph, calibration, seed=seed)
    resolved = settings.resolve(graph)
    if isinstance(resolved.objective, AgreementObjective):
        raise InputError("objective = 'agreement' trains nothing: give the model to explain to a CaseExplainer")
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
        chosen = with_members(graph, resolved)
        trained = _Fit(graph, chosen, seed, where, folder, max_memory, progress, together).run()
    return trained.with_facts(calibration=float(calibration))


def with_calibration(graph: Graph, share: float, *, seed: int = 0) -> Graph:
    """The graph with a share of the validation nodes of each class moved to its calibration nodes.

    A model does too well on validation nodes, because they chose its epoch and its vote. Prediction sets need nodes
    that chose nothing, so these are drawn before training.

    Args:
        graph: a graph with validation nodes.
        share: from 0 (nothing is moved) to 0.9.
        seed: random seed for the draw.

    >>> graph = Graph.build(features=[[0.0]] * 8, edges=[], labels=[0, 1] * 4, train=[0, 1], validation=range(2, 8))
    >>> held = with_calibration(graph, 0.34)
    >>> len(held.validation), len(held.calibration), graph.labels[held.calibration].tolist()
    (4, 2, [0, 1])
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 0.9:
        raise InputError(f"calibration must be a share of the validation nodes from 0 to 0.9, got {shortened(share)}")
    if share == 0:
        return graph
    generator = np.random.default_rng([seed, 0xCA11B])  # independent of everything else that this seed draws
    drawn = []
    labels = np.zeros(graph.num_nodes, np.int64) if graph.predicts_numbers else graph.labels
    for label in np.unique(labels[graph.validation]):
        nodes = generator.permutation(graph.validation[labels[graph.validation] == label])
        drawn.append(nodes[: round(share * len(nodes))])
    chosen = np.concatenate([np.empty(0, np.int64), *drawn])
    if not len(chosen):
        raise InputError(
            f"calibration = {share:g} of the {len(graph.validation)} validation nodes of {graph.name} is less than "
            "one node: use "
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
class Finished:
    """The part of a training run that is kept."""

    name: str
    settings: Resolved
    seed: int
    kept: list[Kept]  # the best epoch by all validation nodes, then by those outside each fold
    history: list[dict[str, Any]]

    @property
    def best_epoch(self) -> int:
        """The best epoch by all validation nodes."""
        return self.kept[0].epoch

    def outside(self, fold: int) -> Kept:
        """The best epoch by the validation nodes outside a fold; -1: by all."""
        return self.kept[fold + 1]

    @property
    def facts(self) -> Run:
        """What the model's facts say about the run."""
        best = self.history[self.best_epoch]
        return Run(
            name=self.name,
            seed=self.seed,
            epochs=len(self.history),
            best_epoch=self.best_epoch,
            stopped_early=stopped_early(self.settings.training, self.history, self.kept),
            val_accuracy=known(best["val_accuracy"]),
            val_loss=known(best["val_loss"]),
            seconds_per_epoch=sum(record["seconds"] for record in self.history) / len(self.history),
        )


@dataclass(eq=False)
class _Fit:
    graph: Graph
    settings: Resolved
    seed: int
    device: torch.device
    folder: Path | None
    max_memory: int | str | None
    progress: bool
    ranks: Ranks
    finished: list[Finished] = field(default_factory=list)
    planned: int = 0  # runs of recipes and of further members
    estimated: bool = False
    attribute_layers: dict[EncoderSettings, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def run(self) -> Model:
        """From settings to a model."""
        selection, members = self.settings.selection, self.settings.encoder.members
        validated = len(self.graph.validation) > 0
        variants = {"training": single_recipe(self.graph, self.settings)}
        if selection.portfolio:
            recipes, why_offered = offered_recipes(self.graph, self.settings)
            variants = recipes if validated else {name: recipes[name] for name in list(recipes)[:1]}
        self.planned = len(variants) + members - 1
        self._train_all([_Planned(name, settings, self.seed) for name, settings in variants.items()])
        best = self._best_outside(self.finished, -1)
        decisions = []
        if selection.portfolio:
            decisions = [why_recipe(self.finished, best, selection.best_by), *(why_offered if validated else ())]
        others = [_Planned(f"{best.name}-{i + 1}", best.settings, member_seed(self.seed, i)) for i in range(1, members)]
        chosen = [best, *self._train_all(others)]
        unused = unused_edge_data(self.graph, best.settings)
        settings = best.settings.decided("recipe", {}, *decisions, *([] if unused is None else [unused]))
        encoder, cross_fitted = self._voting(chosen, settings)
        trained = Model(encoder, self.graph, encoder.settings, max_memory=self.max_memory)
        validation = evaluate_nodes(trained, self.graph.validation)
        warn_of_optimism(validation, cross_fitted)
        warn_of_lost_classes(validation, self.graph)
        return trained.with_facts(
            seed=int(self.seed),
            device=str(self.device),
            versions=versions(),
            runs=tuple(run.facts for run in self.finished),
            chosen=best.name,
            validation=validation,
            cross_fitted=cross_fitted,
        )

    def _voting(self, chosen: list[Finished], settings: Resolved) -> tuple[SEGNN, dict[str, Any] | None]:
        """The members as one model, with its vote, and its cross-fitted figures."""
        if not settings.selection.choose_vote:
            return self._assembled(chosen, settings), None
        recipes = self.finished[: len(self.finished) - len(chosen) + 1]

        def model_of(wanted: Resolved, fold: int) -> SEGNN:
            """The model without a fold; of another recipe there is a single model, as nothing is retrained."""
            best = self._best_outside(recipes, fold)
            if best is chosen[0]:
                return self._assembled(chosen, wanted, fold)
            share = wanted.encoder.attribute_share
            encoder = dataclasses.replace(best.settings.encoder, members=1, attribute_share=share)
            return self._assembled([best], dataclasses.replace(best.settings, encoder=encoder), fold)

        return with_chosen_vote(self.graph, settings, model_of, self.max_memory)

    def _best_outside(self, recipes: list[Finished], fold: int) -> Finished:
        """The recipe that the validation nodes outside a fold choose; -1: all of them."""
        count = len(self.graph.validation)
        outside = count if fold < 0 else count - -(-count // NUM_FOLDS)
        figures = [run.outside(fold).standing[0] for run in recipes]
        return recipes[chosen_recipe(figures, self.settings.selection.best_by, outside)]

    def _train_all(self, plans: list[_Planned]) -> list[Finished]:
        """Train whole runs, each on the rank that claims it. Every rank then has all of them, in their order.

        All ranks train a single run together if its steps can be split.
        """
        place = len(self.finished)
        looks = not place and len(plans) > 1  # at recipes; all members of an ensemble are needed
        together = self.ranks.several and self.planned == len(plans) == 1 and is_split(plans[0].settings)
        claims = iter(lambda: self.ranks.claim(f"runs/{place}"), None)
        begun: dict[int, TrainingRun] = {}
        own: dict[int, Finished] = {}
        for number in [0] if together else itertools.takewhile(lambda number: number < len(plans), claims):
            run = self._begun(plans[number], self.ranks if together else None)
            self._go_on(run, plans[number], place + number, until=FIRST_LOOK if looks else None)
            if looks:
                begun[number] = run
            else:
                own[number] = self._ended(plans[number], run, together)
        promising = self._promising(plans, begun) if looks else set()
        for number, run in begun.items():
            if number in promising:
                self._go_on(run, plans[number], number)
            own[number] = self._ended(plans[number], run)
        found = [own[number] if number in own else self._received(plan) for number, plan in enumerate(plans)]
        self.finished += found
        if self.folder is not None and self.planned > 1 and self.ranks.first:
            self._write_epochs(self.folder)
        return found

    def _promising(self, plans: list[_Planned], begun: dict[int, TrainingRun]) -> set[int]:
        """Which recipes are worth more epochs, by their figures at the first look; all ranks agree on them."""
        seen: dict[int, float] = {}
        for number, run in begun.items():
            seen[number] = max(run.standing(epoch)[0] for epoch in range(min(run.epoch, FIRST_LOOK)))
            if self.ranks.several:
                self.ranks.broadcast(f"look/{plans[number].name}", json.dumps(seen[number]).encode())
        for number, plan in enumerate(plans):
            if number not in seen:
                seen[number] = json.loads(self.ranks.receive(f"look/{plan.name}"))
        figures = [seen[number] for number in range(len(plans))]
        return worth_more_epochs(figures, self.settings.selection.best_by, len(self.graph.validation))

    def _begun(self, plan: _Planned, together: Ranks | None) -> TrainingRun:
        """A run at its beginning, or where it was interrupted."""
        folder = self.folder if self.folder is None or self.planned == 1 else self.folder / plan.name
        if folder is not None:
            folder.mkdir(exist_ok=True)
        return TrainingRun(
            self.graph,
            plan.settings,
            seed=plan.seed,
            device=self.device,
            folder=folder,
            max_memory=self.max_memory,
            ranks=together,
        )

    def _go_on(self, run: TrainingRun, plan: _Planned, number: int, *, until: int | None = None) -> None:
        """Train a run up to an epoch, or to its end. The very first epochs show how long the rest will take."""
        last = run.settings.training.epochs if until is None else min(until, run.settings.training.epochs)
        if self.progress and not self.estimated:
            self.estimated = True
            self._epochs(run, min(last, run.epoch + TIMED))
            tell(f"  estimate  {estimate(run, runs=self.planned, members=self.settings.encoder.members)}")
        self._epochs(run, last, "training" if self.planned == 1 else f"{plan.name} ({number + 1} of {self.planned})")

    def _epochs(self, run: TrainingRun, last: int, label: str = "") -> None:
        """Train a run up to an epoch, with a bar if it has a label."""
        shown = self.progress and bool(label)
        with (
            phase("training", shown=False),
            bar(total=last, name=label, unit="epoch", shown=shown, initial=run.epoch) as progress,
        ):
            while not run.finished and run.epoch < last:
                record = run.step()
                self.ranks.heartbeat()
                self.ranks.check()
                progress.update()
                val = f"{record['val_r2']:.3f}" if "val_r2" in record else f"{record['val_accuracy']:.1%}"
                progress.set_postfix(loss=f"{record['loss']:.3f}", val=val)
            if run.stopped_early:
                progress.set_description(f"{label}, stopped early")

    def _ended(self, plan: _Planned, run: TrainingRun, together: bool = False) -> Finished:
        """The part of a run that is kept, and sent to the other ranks unless they trained it as well."""
        if self.ranks.several and not together:
            content = checkpoint.state_bytes(TrainingState({}, {}, run.kept, run.history), run.digest)
            self.ranks.broadcast(f"run/{plan.name}", content)
        return Finished(*plan, run.kept, run.history)

    def _received(self, plan: _Planned) -> Finished:
        """What is kept of a run of another rank, bit for bit."""
        state = checkpoint.kept_state(self.ranks.receive(f"run/{plan.name}"), Path(plan.name))
        return Finished(*plan, state.kept, state.history)

    def _write_epochs(self, folder: Path) -> None:
        """The epochs of all runs so far, each with the name of its run."""
        records = [{"run": run.name, **plain_record(record)} for run in self.finished for record in run.history]
        replace_file(folder / EPOCHS, b"".join(map(json_line, records)))

    def _assembled(self, chosen: list[Finished], settings: Resolved, fold: int = -1) -> SEGNN:
        """The members of the ensemble as one model, each at its best epoch outside a fold of the validation nodes."""
        model = SEGNN.for_graph(self.graph, settings)
        if isinstance(model.network, Network):
            model.load_state_dict(chosen[0].outside(fold).parameters)
        else:
            parameters = {
                name.replace("network.", f"network.members.{i}.", 1): tensor
                for i, run in enumerate(chosen)
                for name, tensor in run.outside(fold).parameters.items()
            }
            if settings.encoder.attribute_share:
                names = ("network.attributes.layers.0.weight", "network.attributes.layers.0.bias")
                parameters.update(zip(names, self._attribute_layer(settings.encoder)))
            model.load_state_dict(parameters)
        return model.to(self.device).eval()

    def _attribute_layer(self, encoder: EncoderSettings) -> tuple[Tensor, Tensor]:
        """The layer of the attributes themselves, which is the same in every fold: found once."""
        alone = dataclasses.replace(encoder, members=1, attribute_share=0.0)
        if alone not in self.attribute_layers:
            scaled = scaled_attributes(encoder_features(self.graph, encoder), encoder.attribute_scaling)
            self.attribute_layers[alone] = principal_layer(scaled)
        return self.attribute_layers[alone]
