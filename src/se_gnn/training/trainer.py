"""Algorithm 1: epochs of Eq. (14), the best one by validation accuracy."""

from __future__ import annotations

import contextlib
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from se_gnn.config import Config
from se_gnn.errors import InputError, shortened
from se_gnn.figures import known
from se_gnn.files import append_line, json_line, locked, replace_file
from se_gnn.fixed_order import one_thread
from se_gnn.graph import AttributedGraph, LocalGraphs
from se_gnn.model import SEGNN, TrainedModel, Voter, check_model_size
from se_gnn.model.evaluate import evaluate_nodes
from se_gnn.model.prediction import accuracy, log_loss
from se_gnn.progress import bar, compilation_said, phase
from se_gnn.similarity import ComparisonPlan, can_record, compare
from se_gnn.training import checkpoint
from se_gnn.training.checkpoint import TrainingState
from se_gnn.training.classification import classification_loss
from se_gnn.training.contrast import ContrastDraws, contrast_loss
from se_gnn.training.draws import Draws
from se_gnn.training.estimate import estimate
from se_gnn.training.recorded import RecordedEpoch

EPOCHS = "metrics.jsonl"  # a line per epoch
SECONDS_BETWEEN_CHECKPOINTS = 5.0  # when they are written changes nothing but what a kill costs


def train(
    graph: AttributedGraph,
    config: Config,
    *,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = False,
    folder: Path | None = None,
    max_memory: int | str | None = None,
) -> TrainedModel:
    """Train a model; on the CPU the same seed gives the same bits, on any number of threads.

    Args:
        graph: a graph with labeled nodes of at least two classes.
        config: settings.
        seed: of initialization and of every sample, from 0 to 2^63 - 1.
        device: ``cpu``, ``cuda`` or ``auto``.
        progress: say on stderr how long it will take, and show bars.
        max_memory: what a comparison may take at a time, such as ``"4GB"``; None: a quarter of what is free.
        folder: where to write ``metrics.jsonl`` and a checkpoint; a run that was interrupted there goes on. One run
            at a time may write to it.

    Returns:
        The model of the best epoch by validation accuracy, ties by validation loss (the last epoch where there are no
        validation nodes), with its exact metrics on the validation nodes. Test nodes are not looked at.
    """
    graph.check_trainable()
    check_seed(seed)
    check_model_size(graph, config)
    where = resolve_device(device)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with (
        contextlib.nullcontext() if folder is None else locked(folder),
        compilation_said(shown=progress),
        phase("comparing", shown=progress),
    ):
        run = TrainingRun(graph, config, seed=seed, device=where, folder=folder, max_memory=max_memory)
        return _run_all(run, progress=progress)


def _run_all(run: TrainingRun, *, progress: bool) -> TrainedModel:
    if progress:
        print(f"  estimate  {estimate(run)}", file=sys.stderr)
    epochs = run.config.training.epochs
    with (
        phase("training", shown=False),
        bar(total=epochs, name="training", unit="epoch", shown=progress, initial=run.epoch) as shown,
    ):
        while not run.finished:
            record = run.step()
            shown.update()
            shown.set_postfix(loss=f"{record['loss']:.3f}", val=f"{record['val_accuracy']:.1%}")
        if run.stopped_early:
            shown.set_description("stopped early")
    return run.result()


def check_seed(seed: int) -> None:
    """A seed is a whole number that NumPy and PyTorch take."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to {2**63 - 1}, got {shortened(seed)}")


def resolve_device(device: str) -> torch.device:
    """The device asked for, if it is there; ``auto`` takes CUDA where it is."""
    present = torch.cuda.is_available()
    if device == "auto":
        return torch.device("cuda" if present else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise InputError(f"device must be auto, cpu or cuda, got {device!r}")
    if device != "cpu" and not present:
        raise InputError(f"device {device!r} was asked for, but PyTorch sees no CUDA device here; use cpu or auto")
    return torch.device(device)


class TrainingRun:
    """One training run: its fixed parts, and the state that an epoch changes."""

    def __init__(
        self,
        graph: AttributedGraph,
        config: Config,
        *,
        seed: int,
        device: torch.device,
        folder: Path | None,
        max_memory: int | str | None = None,
    ) -> None:
        self.graph, self.config, self.seed, self.folder = graph, config, seed, folder
        self.voter = Voter(graph, config, max_memory=max_memory)
        self.classes = torch.tensor(graph.labels[graph.train], device=device)  # [L]
        _warn_of_single_nodes(graph)
        self.model = SEGNN(graph.num_features, config, generator=torch.Generator().manual_seed(seed)).to(device)
        self.inputs = self.model.inputs(graph)
        settings = config.training
        recorded = can_record(device) and settings.max_local_edges is None
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, capturable=recorded
        )
        self.run_epoch = (
            RecordedEpoch(self.run_draws, device) if recorded else lambda draws: self.run_draws(draws.to(device))
        )
        self.next_draws: Draws | None = None  # of the next epoch, drawn while the device is busy with this one
        self.labeled_plan = self._plan_labeled()
        self.val_plan = self.voter.plan(graph.val, most_edges=settings.max_local_edges, seed=seed)
        self.history: list[dict[str, Any]] = []
        self.best_epoch = -1
        self.best_parameters: dict[str, Tensor] = {}
        self.digest = checkpoint.fingerprint(graph, config, seed)
        self.last_checkpoint = time.monotonic()
        if folder is not None:
            self._resume(folder)

    def _plan_labeled(self, sample: LocalGraphs | None = None) -> ComparisonPlan:
        """Labeled nodes with each other, on all their edges or on a sample of them."""
        return ComparisonPlan.among(self.graph.edges, self.voter.labeled, self.config.similarity, sample=sample)

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.history)

    @property
    def finished(self) -> bool:
        """All epochs are done, or the best one lies too far back."""
        settings = self.config.training
        stale = settings.patience is not None and self.epoch - 1 - self.best_epoch >= settings.patience
        return self.epoch >= settings.epochs or (stale and self.epoch > 0 and len(self.graph.val) > 0)

    @property
    def stopped_early(self) -> bool:
        """Training ended because the best epoch lies too far back, not because all epochs are done."""
        return self.finished and self.epoch < self.config.training.epochs

    def step(self) -> dict[str, Any]:
        """One epoch: Eq. (14), one step of Adam, validation."""
        start = time.perf_counter()
        losses, probabilities = self.run_epoch(self.next_draws or self._draw(self.epoch))
        waiting = losses.device.type != "cpu" and self.epoch + 1 < self.config.training.epochs
        self.next_draws = self._draw(self.epoch + 1) if waiting else None
        loss, class_loss, node_loss, edge_loss = losses.tolist()
        found, labels = probabilities.cpu().numpy(), self.graph.labels[self.graph.val]
        record = {
            "epoch": self.epoch,
            "loss": loss,
            "class_loss": class_loss,
            "node_loss": node_loss,
            "edge_loss": edge_loss,
            "val_accuracy": accuracy(found, labels),
            "val_loss": log_loss(found, labels),
            "seconds": time.perf_counter() - start,
        }
        if not np.isfinite(record["loss"]):
            raise InputError(f"the loss of epoch {self.epoch} is {record['loss']}: lower training.learning_rate")
        self.history.append(record)
        self._keep_best()
        self._write(record)
        return record

    def _draw(self, epoch: int) -> Draws:
        """What is random in an epoch follows from the seed and the number of the epoch."""
        generator = np.random.default_rng([self.seed, epoch])
        plan, settings, weights = self.labeled_plan, self.config.training, self.config.contrast
        if settings.max_local_edges is not None:
            plan = self._plan_labeled(self.voter.labeled.sampled(settings.max_local_edges, generator=generator))
        references = torch.from_numpy(generator.random((len(self.classes), len(self.classes))))
        contrast = None
        if weights.node_loss_weight > 0 or weights.edge_loss_weight > 0:
            contrast = ContrastDraws.draw(self.inputs, self.graph.edges, self.config, generator=generator)
        return Draws(plan, references, contrast)

    @one_thread()
    def run_draws(self, draws: Draws) -> tuple[Tensor, Tensor]:
        """Eq. (14) with its three parts, [4], after a step of Adam; class probabilities of the validation nodes."""
        self.model.train()
        self.optimizer.zero_grad()
        overall = compare(self.model(self.inputs), draws.plan).overall
        loss = class_loss = classification_loss(overall, self.classes, draws.references, self.config)
        node_loss = edge_loss = torch.zeros_like(loss)
        if draws.contrast is not None:
            node_loss, edge_loss = contrast_loss(self.model, self.inputs, draws.contrast)
            weights = self.config.contrast
            loss = loss + weights.node_loss_weight * node_loss + weights.edge_loss_weight * edge_loss
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            probabilities = self.voter.probabilities(self.model(self.inputs), self.val_plan)
        return torch.stack([loss, class_loss, node_loss, edge_loss]).detach(), probabilities

    def result(self) -> TrainedModel:
        """The best model, with exact figures on the validation nodes, whatever part of the edges training looked at."""
        self.model.load_state_dict(self.best_parameters)
        self.model.eval()
        trained = TrainedModel(self.model, self.graph, max_memory=self.voter.max_memory)
        validation = evaluate_nodes(trained, self.graph.val)
        trained.metrics.update(
            dataset=self.graph.name,
            preset=self.config.preset_name,
            seed=self.seed,
            device=str(self.model.device),
            val_accuracy=validation["accuracy"],
            validation=validation,
            max_local_edges=self.config.training.max_local_edges,
            epochs=self.epoch,
            best_epoch=self.best_epoch,
            stopped_early=self.stopped_early,
            seconds_per_epoch=float(np.mean([record["seconds"] for record in self.history])),
        )
        return trained

    def _keep_best(self) -> None:
        """Keep the parameters if this epoch beats the best: higher accuracy, then lower loss, then earlier."""
        now = self.history[-1]
        if self.best_epoch >= 0 and len(self.graph.val):
            best = self.history[self.best_epoch]
            if (now["val_accuracy"], -now["val_loss"]) <= (best["val_accuracy"], -best["val_loss"]):
                return
        self.best_epoch = self.epoch - 1
        self.best_parameters = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}

    def _write(self, record: dict[str, Any]) -> None:
        if self.folder is None:
            return
        append_line(self.folder / EPOCHS, json_line(_plain(record)))
        if time.monotonic() - self.last_checkpoint >= SECONDS_BETWEEN_CHECKPOINTS or self.finished:
            state = TrainingState(
                parameters=self.model.state_dict(),
                optimizer=checkpoint.optimizer_tensors(self.optimizer),
                best_parameters=self.best_parameters,
                best_epoch=self.best_epoch,
                history=self.history,
            )
            checkpoint.save_checkpoint(self.folder, state, self.digest)
            self.last_checkpoint = time.monotonic()

    def _resume(self, folder: Path) -> None:
        state = checkpoint.load_checkpoint(folder, self.digest, like=self.model)
        if state is not None:
            self.model.load_state_dict(state.parameters)
            checkpoint.restore_optimizer(self.optimizer, state.optimizer)
            self.best_parameters, self.best_epoch, self.history = state.best_parameters, state.best_epoch, state.history
        # of this run alone: lines of another one, and of epochs that are computed again, go
        replace_file(folder / EPOCHS, b"".join(json_line(_plain(record)) for record in self.history))


def _warn_of_single_nodes(graph: AttributedGraph) -> None:
    counts = np.bincount(graph.labels[graph.train], minlength=graph.num_classes)
    alone = [graph.class_names[c] for c in np.flatnonzero(counts == 1)]
    if alone:
        warnings.warn(
            "classes with one labeled node have nothing to be similar to and are left out of the loss: "
            + ", ".join(alone),
            stacklevel=4,
        )


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record as `metrics.jsonl` holds it: what is not known is None."""
    return {name: known(value) for name, value in record.items()}
