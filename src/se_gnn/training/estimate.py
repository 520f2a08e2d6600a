"""How long a training will take and how much memory it needs, before it begins: a slice of the work is timed.

An epoch compares the labeled nodes with each other, forward and backward, and the validation nodes with them. Both take
time in proportion to the number of distinct edges that are matched (Q), at a rate that a few nodes show.
"""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from se_gnn.graph import LocalGraphs
from se_gnn.similarity.memory import free_memory
from se_gnn.training.objectives.paper import PaperLoss

if TYPE_CHECKING:
    from se_gnn.training.trainer import TrainingRun

WIDTH = 80
INDENT = " " * 12
LONG = 300.0  # seconds: above it, what to change is said
SLICE_SECONDS = 0.2  # a slice that takes this long says enough
FORWARD_AND_BACK = 3  # the gradient takes about twice the time of the matches
ENCODER_CALLS = 9  # three views forward and backward, and one for validation, in units of one forward call
BYTES_PER_MATCH = 16  # similarity and winner of each edge in each labeled local graph, and their gradient
BYTES_PER_MEMBER = 28  # an edge of a local graph: its id, its place, its row and its share of the mean


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training will take: seconds for all remaining epochs, and bytes beyond what is held already."""

    epochs: int
    seconds_per_epoch: float
    memory: int
    faster: str = ""  # what to change if it takes long

    @property
    def seconds(self) -> float:
        """Of all epochs; training may stop earlier."""
        return self.epochs * self.seconds_per_epoch

    def __str__(self) -> str:
        text = (
            f"about {duration(self.seconds)} for up to {self.epochs:,} epochs "
            f"({duration(self.seconds_per_epoch)} each), {size(self.memory)} of memory"
        )
        if self.memory > free_memory():
            text += f"; only {size(free_memory())} are free"
        if self.faster and (self.seconds > LONG or self.memory > free_memory()):
            lines = textwrap.wrap(f"Faster: {self.faster}", WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
            text += ".\n" + "\n".join(lines)
        return text


def estimate(run: TrainingRun, runs: int = 1, members: int = 1) -> Estimate:
    """What is left of a run, and of others like it: a step is timed, or a slice where comparisons are long.

    Args:
        run: the first of them.
        runs: how many there are, of recipes and of members of the ensemble.
        members: of the ensemble, the first of which is a run of a recipe.
    """
    loss, encoder = run.loss, run.settings.encoder
    parameters = sum(parameter.numel() for parameter in run.model.parameters())
    embeddings = run.graph.num_nodes * (
        encoder.hidden_size + encoder.steps * (encoder.output_size or encoder.hidden_size)
    )
    memory = 4 * (4 * parameters + ENCODER_CALLS * embeddings)
    if isinstance(loss, PaperLoss):
        per_epoch, compared = _sliced_epoch(run, loss)
    else:
        per_epoch, compared = _timed_epoch(run), 4 * (run.graph.num_nodes + len(run.graph.train)) * len(run.graph.train)
    epochs = run.settings.training.epochs
    return Estimate(
        max(0, runs * epochs - run.epoch), per_epoch, memory + compared, _what_is_faster(run, runs, members)
    )


def _what_is_faster(run: TrainingRun, runs: int, members: int) -> str:
    """What to change for a shorter training: only settings that have an effect here."""
    found = []
    if isinstance(run.loss, PaperLoss):
        found = [
            "--set max_local_edges=64 (a sample of each local graph in training)",
            "--set hops=1 (smaller local graphs)",
        ]
    if runs > members:
        found.append("--set portfolio=false (only the first recipe)")
    if members > 1:
        found.append("--set members=1 (a single model)")
    return ", ".join([*found, "--set epochs=100 (fewer epochs)", "or fewer labeled nodes"])


def _timed_epoch(run: TrainingRun) -> float:
    """Seconds of one epoch without a step: nothing is learned from it."""
    seconds = 0.0
    for _ in range(2):  # the first compiles
        start = time.perf_counter()
        losses = run.loss.losses(run.loss.draw(0).to(run.model.device))
        losses[0].backward()  # type: ignore[no-untyped-call]
        run.optimizer.zero_grad()
        with torch.no_grad():
            run.loss.probabilities().sum().item()
        seconds = time.perf_counter() - start
    return seconds


def _sliced_epoch(run: TrainingRun, loss: PaperLoss) -> tuple[float, int]:
    """Seconds of one epoch, from a slice of its comparisons and one call of the encoder; bytes that they hold."""
    labeled, queries = loss.asking.local, loss.queries.local
    matched_in_training = _edges_in_training(labeled, loss.objective.max_local_edges)
    matched_in_validation = len(queries.union())
    encoder, per_edge = _encoder_seconds(run), _seconds_per_edge(run, loss.objective.max_local_edges)
    per_epoch = ENCODER_CALLS * encoder + per_edge * (FORWARD_AND_BACK * matched_in_training + matched_in_validation)
    members = int(labeled.sizes.sum() + queries.sizes.sum())
    return per_epoch, BYTES_PER_MATCH * matched_in_training * len(run.voter.cases) + BYTES_PER_MEMBER * members


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> [duration(seconds) for seconds in (0.0314, 1.9, 47, 200, 5400, 40000)]
    ['0.03 s', '1.9 s', '47 s', '3 min', '1.5 h', '11 h']
    """
    if seconds < 1:
        return f"{seconds:.1g} s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.{1 if seconds < 36000 else 0}f} h"


def size(num_bytes: int) -> str:
    """Bytes as people say them.

    >>> size(30 << 20), size(5 << 30)
    ('30 MB', '5.0 GB')
    """
    return f"{num_bytes / 2**20:.0f} MB" if num_bytes < 2**30 else f"{num_bytes / 2**30:.1f} GB"


def _edges_in_training(labeled: LocalGraphs, most: int | None) -> int:
    """Distinct edges of the labeled nodes' local graphs, or at most those of their samples."""
    every = len(labeled.union())
    return every if most is None else min(every, int(np.minimum(labeled.sizes, most).sum()))


@torch.no_grad()
def _encoder_seconds(run: TrainingRun) -> float:
    run.model(run.loss.inputs)
    start = time.perf_counter()
    run.model(run.loss.inputs).sum().item()
    return time.perf_counter() - start


@torch.no_grad()
def _seconds_per_edge(run: TrainingRun, most_edges: int | None) -> float:
    """Time of a comparison with all labeled nodes per distinct edge, on ever more nodes until it can be told."""
    h, nodes = run.model(run.loss.inputs), np.concatenate([run.graph.validation, run.graph.train])
    count = 1
    while True:
        some = nodes[np.linspace(0, len(nodes) - 1, count).astype(np.int64)]
        queries = run.voter.items(np.unique(some), most_edges=most_edges, seed=run.seed)
        run.voter.probabilities(h, queries).sum().item()  # compiled and in the cache
        start = time.perf_counter()
        run.voter.probabilities(h, queries).sum().item()
        seconds = time.perf_counter() - start
        if seconds >= SLICE_SECONDS or count >= len(nodes):
            return seconds / max(1, len(queries.local.union()))
        count = min(len(nodes), 4 * count)
