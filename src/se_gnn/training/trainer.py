"""Algorithm 1: epochs of one training run, and the best of them by validation nodes.

Shapes: T validation nodes, C classes.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from se_gnn.deterministic import one_thread
from se_gnn.encoder import encoder_features
from se_gnn.errors import InputError, shortened
from se_gnn.files import append_line, json_line, replace_file
from se_gnn.graph import Graph
from se_gnn.graph.arrays import BoolArray, FloatArray
from se_gnn.model import SEGNN
from se_gnn.model.metrics import classification_metrics
from se_gnn.model.numbers import r_squared
from se_gnn.model.prediction import accuracy, log_loss
from se_gnn.ranks import Ranks
from se_gnn.settings import PaperObjective, Resolved, TrainingSettings
from se_gnn.similarity import can_record
from se_gnn.training import checkpoint
from se_gnn.training.checkpoint import Kept, TrainingState, plain_record
from se_gnn.training.choice import FEW, NUM_FOLDS, folds_of
from se_gnn.training.objectives.loss import Loss
from se_gnn.training.objectives.number import NumberLoss
from se_gnn.training.objectives.paper import PaperLoss
from se_gnn.training.objectives.vote import VoteLoss
from se_gnn.training.share import Share

EPOCHS = "metrics.jsonl"  # one line per epoch
SECONDS_BETWEEN_CHECKPOINTS = 5.0  # affects only how much work a killed run loses
WARM_EPOCHS = 3  # run normally before recording, so that kernels are compiled and the state of Adam exists

Results = tuple[Tensor, Tensor]  # losses, and answers for the validation nodes


def check_seed(seed: int) -> None:
    """A seed is a whole number that NumPy and PyTorch take."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to {2**63 - 1}, got {shortened(seed)}")


def is_split(settings: Resolved) -> bool:
    """Whether ranks can train one run with these settings together: only the paper's loss can be divided."""
    return isinstance(settings.objective, PaperObjective)


def stopped_early(settings: TrainingSettings, history: list[dict[str, Any]], kept: list[Kept]) -> bool:
    """Whether a run ended because its best epoch lies too far back: not all epochs were done, nor was it given up."""
    if settings.patience is None or not kept:
        return False
    return settings.patience <= len(history) - 1 - kept[0].epoch and len(history) < settings.epochs


class TrainingRun:
    """One training run, of one encoder: its fixed parts, and the state that an epoch changes.

    Several ``ranks`` train it together: each computes a share of every step, and all have the same parameters. Only the
    first rank writes to the folder; when an interrupted run resumes, it sends its state to the others.
    """

    def __init__(
        self,
        graph: Graph,
        settings: Resolved,
        *,
        seed: int,
        device: torch.device,
        folder: Path | None,
        max_memory: int | str | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        encoder = dataclasses.replace(settings.encoder, members=1, attribute_share=0.0)
        settings = dataclasses.replace(settings, encoder=encoder)
        self.graph, self.settings, self.seed, self.folder = graph, settings, seed, folder
        self.model = SEGNN.for_graph(graph, settings, generator=torch.Generator().manual_seed(seed)).to(device)
        self.model.network.fit(encoder_features(graph, encoder))
        self.share = Share(ranks)
        self.loss: Loss
        if is_split(settings):
            self.loss = PaperLoss(self.model, graph, seed, max_memory, self.share)
        else:
            self.loss = (NumberLoss if graph.predicts_numbers else VoteLoss)(self.model, graph, seed, max_memory)
        plain = torch.are_deterministic_algorithms_enabled()  # of what PyTorch then calls, some waits for the host
        recorded = can_record(device) and self.loss.recordable and self.share.whole and not plain
        self.optimizer = torch.optim.Adam(
            _parameter_groups(self.model, settings.training.weight_decay),
            lr=settings.training.learning_rate,
            capturable=recorded,
        )
        self.run_epoch: Callable[[Any], Results] = (
            RecordedEpoch(self.run_draws, device) if recorded else lambda draws: self.run_draws(draws.to(device))
        )
        self.next_draws: Any = None  # of the next epoch, drawn while the device is busy with this one
        self.history: list[dict[str, Any]] = []
        count = len(graph.validation) if settings.selection.choose_vote and not graph.predicts_numbers else 0
        self.folds = folds_of(graph.labels[graph.validation]) if count >= FEW else None  # [T]
        self.kept: list[Kept] = []  # the best epoch by all validation nodes, then by those outside each fold
        self.digest = checkpoint.fingerprint(graph, settings.values(), seed)
        self.last_checkpoint = time.monotonic()
        self._resume()

    @property
    def epoch(self) -> int:
        """How many epochs are done."""
        return len(self.history)

    @property
    def best_epoch(self) -> int:
        """The best epoch by all validation nodes; -1: there is none yet."""
        return self.kept[0].epoch if self.kept else -1

    @property
    def finished(self) -> bool:
        """All epochs are done, or training stopped early."""
        return self.epoch >= self.settings.training.epochs or self.stopped_early

    @property
    def stopped_early(self) -> bool:
        """Training ended because the best epoch lies too far back, not because all epochs are done."""
        return stopped_early(self.settings.training, self.history, self.kept)

    def step(self) -> dict[str, Any]:
        """One epoch: the losses, one step of Adam, validation."""
        start = time.perf_counter()
        losses, answers = self.run_epoch(self.next_draws or self.loss.draw(self.epoch))
        waiting = losses.device.type != "cpu" and self.epoch + 1 < self.settings.training.epochs
        self.next_draws = self.loss.draw(self.epoch + 1) if waiting else None
        found = answers.cpu().numpy()
        record = {
            "epoch": self.epoch,
            **dict(zip(self.loss.names, losses.tolist())),
            **self._figures(found),
            "seconds": time.perf_counter() - start,
        }
        if not np.isfinite(record["loss"]):
            raise InputError(f"the loss of epoch {self.epoch} is {record['loss']}: lower learning_rate")
        self.history.append(record)
        self._keep_best(found)
        self._write(record)
        return record

    def _figures(self, answers: FloatArray, rows: BoolArray | slice = slice(None)) -> dict[str, float]:
        """How good the answers for the validation nodes are, or for some of them; NaN where a figure is not defined.

        If numbers are predicted, the loss is 1 - R2: the squared error as a share of the variance.
        """
        graph, by = self.graph, self.settings.selection.best_by
        if graph.predicts_numbers:
            r2 = r_squared(answers[:, 0], graph.values[graph.validation])
            return {"val_accuracy": float("nan"), "val_loss": 1 - r2, "val_r2": r2}
        answers, labels = answers[rows], graph.labels[graph.validation][rows]
        found = {"val_accuracy": accuracy(answers, labels), "val_loss": log_loss(answers, labels)}
        if by not in ("accuracy", "loss"):
            value = classification_metrics(answers, labels)[by]
            found[f"val_{by}"] = float("nan") if value is None else float(value)
        return found

    @one_thread()
    def run_draws(self, draws: Any) -> Results:
        """One step of Adam: the losses before it, and the answers for the validation nodes after it."""
        self.model.train()
        self.optimizer.zero_grad()
        losses = self.loss.losses(draws)
        losses[0].backward()  # type: ignore[no-untyped-call]
        self.share.sum_gradients(list(self.model.parameters()))
        self.optimizer.step()
        self.model.eval()
        with torch.no_grad():
            answers = self.loss.answers()
        return losses.detach(), answers

    def _keep_best(self, found: FloatArray) -> None:
        """Keep the parameters if this epoch beats the best: by the named figure, then by lower loss, then earlier.

        The same is done for the validation nodes outside each fold, so that a fold can be answered by a model that its
        own nodes did not choose.
        """
        standings = [self.standing(self.epoch - 1)]
        if self.folds is not None:
            outside = [self.folds != fold for fold in range(NUM_FOLDS)]
            standings += [self._standing_of(self._figures(found, rows)) for rows in outside]
        current: dict[str, Tensor] | None = None
        for i, standing in enumerate(standings):
            if i < len(self.kept) and len(found) and standing <= self.kept[i].standing:
                continue
            current = current or {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
            self.kept[i : i + 1] = [Kept(self.epoch - 1, standing, current)]

    def standing(self, epoch: int) -> tuple[float, float]:
        """How good an epoch was on the validation nodes: higher is better; a figure that is not defined is worst."""
        return self._standing_of(self.history[epoch])

    def _standing_of(self, record: Mapping[str, float]) -> tuple[float, float]:
        by = self.settings.selection.best_by
        figure = -record["val_loss"] if by == "loss" else record[f"val_{by}"]
        return tuple(value if value == value else -np.inf for value in (figure, -record["val_loss"]))  # type: ignore[return-value]

    def _write(self, record: dict[str, Any]) -> None:
        if self.folder is None or not self.share.ranks.first:
            return
        append_line(self.folder / EPOCHS, json_line(plain_record(record)))
        if time.monotonic() - self.last_checkpoint >= SECONDS_BETWEEN_CHECKPOINTS or self.finished:
            adam = checkpoint.optimizer_tensors(self.optimizer)
            state = TrainingState(self.model.state_dict(), adam, self.kept, self.history)
            checkpoint.save_checkpoint(self.folder, state, self.digest)
            self.last_checkpoint = time.monotonic()

    def _resume(self) -> None:
        """Resume from the checkpoint, if there is one; all ranks resume from that of the first."""
        ranks, folder = self.share.ranks, self.folder
        state = None
        if folder is not None and ranks.first:
            state = checkpoint.load_checkpoint(folder, self.digest, like=self.model, optimizer=self.optimizer)
        if not self.share.whole:
            if ranks.first:
                ranks.broadcast("state", b"" if state is None else checkpoint.state_bytes(state, self.digest))
            elif content := ranks.receive("state", [0]):
                state = checkpoint.state_from_bytes(
                    content, self.digest, like=self.model, optimizer=self.optimizer, path=Path("state of rank 0")
                )
        if state is not None:
            self.model.load_state_dict(state.parameters)
            checkpoint.restore_optimizer(self.optimizer, state.optimizer)
            self.kept, self.history = state.kept, state.history
        if folder is not None and ranks.first:
            # the log keeps the epochs of the checkpoint alone: later ones are computed again
            replace_file(folder / EPOCHS, b"".join(json_line(plain_record(record)) for record in self.history))


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    draws: Any  # where it reads
    results: Results  # where it writes


class RecordedEpoch:
    """Runs an epoch plainly at first, then records it once and replays it with new draws in the same place.

    The epoch must read nothing but its draws and what stays where it is (parameters, state of Adam, the graph), and
    must not look at a value on the way.
    """

    def __init__(self, epoch: Callable[[Any], Results], device: torch.device) -> None:
        self.epoch, self.device = epoch, device
        self.runs = 0
        self.recording: _Recording | None = None

    def __call__(self, draws: Any) -> Results:
        """Start one epoch; its results are ready once the device has computed them."""
        self.runs += 1
        if self.runs <= WARM_EPOCHS:
            return self._run_plainly(draws.to(self.device))
        if self.recording is None:
            self.recording = self._record(draws.to(self.device))
        else:
            self.recording.draws.copy_(draws)
        self.recording.graph.replay()
        return self.recording.results

    def _run_plainly(self, draws: Any) -> Results:
        here, beside = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        beside.wait_stream(here)
        with torch.cuda.stream(beside):  # as recording does: what is set up on the default stream could not be recorded
            results = self.epoch(draws)
        here.wait_stream(beside)
        return results

    def _record(self, draws: Any) -> _Recording:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = self.epoch(draws)
        return _Recording(graph, draws, results)


def _parameter_groups(model: SEGNN, weight_decay: float) -> list[dict[str, Any]]:
    """All parameters decay except the weights of propagation steps, which have no reason to be small."""
    named = list(model.named_parameters())
    free = [parameter for name, parameter in named if name.endswith("step_weights")]
    held = [parameter for name, parameter in named if not name.endswith("step_weights")]
    groups = [{"params": held, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]
