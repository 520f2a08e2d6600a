"""Training from settings to a model: one run, or several between which validation nodes choose.

1. Each recipe of the portfolio is trained once (without a portfolio: the settings as they are).
2. The best on validation nodes is trained again from other seeds: the members of a ensemble, whose embeddings stand
   side by side. The attributes themselves stand beside them, unless validation nodes are better off without.
3. K, lambda and tau are chosen on validation nodes: the vote is cheap, nothing is trained again.

What was decided, and by which rule, is in the model's settings as `why`. Test nodes are not looked at.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.device import resolve_device
from se_gnn.encoder import Encoder, encoder_features, principal_layer, scaled_attributes
from se_gnn.files import json_line, locked, replace_file
from se_gnn.files.tensors import load_sealed, sealed_tensors
from se_gnn.graph import Graph
from se_gnn.model import SEGNN, TrainedModel, Voter, check_model_size
from se_gnn.model.evaluate import evaluate_nodes
from se_gnn.number_format import known
from se_gnn.progress import announce_compilation, bar, phase, tell
from se_gnn.ranks import Ranks, alone
from se_gnn.training.estimate import estimate
from se_gnn.training.offered import offered_recipes, why_columns
from se_gnn.training.portfolio import (
    chosen_recipe,
    member_seed,
    num_members,
    portfolio,
    why_members,
    why_recipe,
)
from se_gnn.training.trainer import EPOCHS, TrainingRun, check_seed, is_split, warn_of_single_nodes
from se_gnn.training.unused_values import unused_values
from se_gnn.training.vote_choice import choose_vote

RANKINGS = ("roc_auc", "average_precision")  # figures of the order of all nodes
MOST_IN_RANKING = 2000  # labeled nodes that vote at most, where such a figure is asked for


def train(
    graph: Graph,
    config: Config,
    *,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = False,
    folder: Path | None = None,
    max_memory: int | str | None = None,
    ranks: Ranks | None = None,
) -> TrainedModel:
    """Train a model; on the CPU the same seed gives the same bits, on any number of threads.

    Args:
        graph: a graph with labeled nodes of at least two classes.
        config: settings.
        seed: of initialization and of every sample, from 0 to 2^63 - 1.
        device: ``cpu``, ``cuda`` or ``auto``.
        progress: say on stderr how long it will take, and show bars.
        max_memory: what a comparison may take at a time, such as ``"4GB"``; None: a quarter of what is free.
        folder: where to write ``metrics.jsonl`` and checkpoints; a run that was interrupted there goes on. One run
            at a time may write to it.
        ranks: processes that share the runs of a portfolio and its ensemble, each a whole run at a time: the same bits
            as one process. A single run of `paper` or `authors` they train together: the result of one process up to
            rounding. All call this with the same arguments, and each gets the model; None: one process.

    Returns:
        The model of the best epoch by ``training.best_by`` on validation nodes, ties by validation loss (the last epoch
        where there are no validation nodes), with its exact metrics on the validation nodes. Test nodes are not looked
        at.
    """
    graph.check_trainable()
    check_seed(seed)
    check_model_size(graph, config)
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
        return _Training(graph, config, seed, where, folder, max_memory, progress, together).run()


class _Planned(NamedTuple):
    """A run to be made."""

    name: str
    config: Config
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class _Finished:
    """What is kept of a run."""

    name: str
    config: Config
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


class _Training:
    def __init__(
        self,
        graph: Graph,
        config: Config,
        seed: int,
        device: torch.device,
        folder: Path | None,
        max_memory: int | str | None,
        progress: bool,
        ranks: Ranks,
    ) -> None:
        self.fixed = set_by_user(config)
        self.graph, self.config, self.seed, self.device = graph, self._with_fitting_vote(graph, config), seed, device
        self.folder, self.max_memory, self.progress = folder, max_memory, progress
        self.members = num_members(graph, config)
        self.finished: list[_Finished] = []
        self.ranks = ranks

    def _with_fitting_vote(self, graph: Graph, config: Config) -> Config:
        """Where K is chosen anyway, it is never more than the labeled nodes there are; for a ranking it begins as all.

        A figure of ranks asks for the order of all nodes, and those among whose K nearest nobody is of the class in
        question have none.
        """
        settings, wanted = config.training, config.similarity.num_nearest
        if not settings.choose_vote or "num_nearest" in self.fixed:
            return config
        if settings.best_by in RANKINGS:
            wanted = max(wanted, MOST_IN_RANKING)
        return config.with_settings(num_nearest=min(wanted, len(graph.train)))

    def run(self) -> TrainedModel:
        """From settings to a model."""
        variants = {"training": self.config}
        if self.config.training.portfolio:
            recipes = portfolio(self.config, offered_recipes(self.graph))
            variants = recipes if len(self.graph.validation) else {name: recipes[name] for name in list(recipes)[:1]}
        self.planned = len(variants) + self.members - 1
        self._train_all([_Planned(name, config, self.seed) for name, config in variants.items()])
        best = chosen_recipe(self.finished, self.config.training.best_by, len(self.graph.validation))
        why = [why_recipe(self.finished, best, self.config)] if self.config.training.portfolio else []
        others = range(1, self.members)
        chosen = [
            best,
            *self._train_all(
                [_Planned(f"{best.name}-{i + 1}", best.config, member_seed(self.seed, i)) for i in others]
            ),
        ]
        if self.config.training.portfolio:
            offered = why_columns(self.graph) if len(variants) > 1 else None  # nobody chooses between recipes
            why += [] if offered is None else [offered]
            why.append(why_members(self.graph, self.config, self.members))
        unused = unused_values(self.graph, best.config)
        model = self._voting(chosen, (*why, *([unused] if unused else [])))
        return self._with_metrics(TrainedModel(model, self.graph, max_memory=self.max_memory), chosen)

    def _voting(self, chosen: list[_Finished], why: tuple[str, ...]) -> SEGNN:
        """The members as one model whose vote was chosen; attributes keep their share where that costs little."""
        share = self.config.encoder.attribute_share
        model = self._assembled(chosen, share, why)
        if not self.config.training.choose_vote:
            return model
        choice = choose_vote(model, self.graph, self._voter(model), self.fixed)
        if share and choice.right is not None and "attribute_share" not in self.fixed:
            learned = self._assembled(chosen, 0.0, why)
            other = choose_vote(learned, self.graph, self._voter(learned), self.fixed)
            assert other.right is not None
            kept = other.right - choice.right <= len(self.graph.validation) // 100
            reason = _why_share(share, kept=kept, with_it=choice.right, without_it=other.right)
            if not kept:
                model, choice = learned, other
            model.config = dataclasses.replace(model.config, why=(*model.config.why, reason))
        model.config = choice.applied(model.config)
        return model

    def _voter(self, model: SEGNN) -> Voter:
        terms = model.edge_terms(self.graph)
        return Voter(self.graph, model.config, max_memory=self.max_memory, edge_terms=terms)

    def _train_all(self, plans: list[_Planned]) -> list[_Finished]:
        """Whole runs, each by the rank that takes it; then every rank has all of them, in the order of the plans.

        A single run is trained by all ranks together, where its steps can be split.
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
        return self.ranks.several and self.planned == len(plans) == 1 and is_split(plans[0].config)

    def _train(self, plan: _Planned, number: int) -> _Finished:
        """One run to its end, or from where it was interrupted."""
        name, config, seed = plan
        alone = self.planned == 1
        folder = self.folder if self.folder is None or alone else self.folder / name
        if folder is not None:
            folder.mkdir(exist_ok=True)
        ranks = self.ranks if self._together([plan]) else None
        run = TrainingRun(
            self.graph, config, seed=seed, device=self.device, folder=folder, max_memory=self.max_memory, ranks=ranks
        )
        if self.progress and not number:
            tell(f"  estimate  {estimate(run, runs=self.planned, members=self.members)}")
        label = "training" if alone else f"{name} ({number + 1} of {self.planned})"
        _run_epochs(run, label, self.ranks, progress=self.progress)
        return _Finished(
            name, config, seed, run.best_parameters, run.history, run.best_epoch, run.stopped_early,
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

    def _assembled(self, chosen: list[_Finished], attribute_share: float, why: tuple[str, ...]) -> SEGNN:
        """The members of the ensemble as one model, its settings as they were decided."""
        decided = chosen[0].config
        config = dataclasses.replace(
            decided,
            encoder=dataclasses.replace(decided.encoder, members=len(chosen), attribute_share=attribute_share),
            training=dataclasses.replace(decided.training, portfolio=False, choose_vote=False),
            why=(*self.config.why, *why),
        )
        model = SEGNN.for_graph(self.graph, config)
        if isinstance(model.encoder, Encoder):
            model.load_state_dict(chosen[0].parameters)
        else:
            parameters = {
                name.replace("encoder.", f"encoder.members.{i}.", 1): tensor
                for i, run in enumerate(chosen)
                for name, tensor in run.parameters.items()
            }
            if attribute_share:
                read = encoder_features(self.graph, config.encoder)
                scaled = scaled_attributes(read, config.encoder.attribute_scaling)
                names = ("encoder.attributes.layers.0.weight", "encoder.attributes.layers.0.bias")
                parameters.update(zip(names, principal_layer(scaled)))
            model.load_state_dict(parameters)
        return model.to(self.device).eval()

    def _with_metrics(self, trained: TrainedModel, chosen: list[_Finished]) -> TrainedModel:
        validation = evaluate_nodes(trained, self.graph.validation)
        seconds = [record["seconds"] for run in self.finished for record in run.history]
        trained.metrics.update(
            dataset=self.graph.name,
            preset=self.config.preset_name,
            seed=self.seed,
            device=str(self.device),
            val_accuracy=validation["accuracy"],
            validation=validation,
            max_local_edges=self.config.training.max_local_edges,
            epochs=len(seconds),
            best_epoch=chosen[0].best_epoch,
            stopped_early=chosen[0].stopped_early,
            seconds_per_epoch=float(np.mean(seconds)),
        )
        if len(self.finished) > 1:
            trained.metrics["runs"] = [
                {
                    "name": run.name,
                    "epochs": len(run.history),
                    "best_epoch": run.best_epoch,
                    "val_accuracy": known(run.history[run.best_epoch]["val_accuracy"]),
                    "val_loss": known(run.history[run.best_epoch]["val_loss"]),
                }
                for run in self.finished
            ]
        return trained


def _run_epochs(run: TrainingRun, label: str, ranks: Ranks, *, progress: bool) -> None:
    epochs = run.config.training.epochs
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


def set_by_user(config: Config) -> frozenset[str]:
    """Of what is chosen after training that which differs from `best`: the user set it, and it is not chosen."""
    base = Config.preset("best")
    names = ("num_nearest", "node_weight", "temperature")
    found = {name for name in names if getattr(config.similarity, name) != getattr(base.similarity, name)}
    if config.encoder.attribute_share != base.encoder.attribute_share:
        found.add("attribute_share")
    return frozenset(found)


def _why_share(share: float, *, kept: bool, with_it: int, without_it: int) -> str:
    figures = f"more than one validation node in a hundred ({with_it} right with it, {without_it} without)"
    if kept:
        return f"attribute_share = {share:g}: it does not cost {figures}"
    return f"attribute_share = 0: a share of {share:g} costs {figures}"
