"""How long a training will take and how much memory it needs, as its first epochs show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from se_gnn.device import free_memory
from se_gnn.display.terminal import paragraph
from se_gnn.training.objectives.paper import PaperLoss
from se_gnn.training.portfolio import FIRST_LOOK

if TYPE_CHECKING:
    from se_gnn.training.trainer import TrainingRun

USUAL_BEST = 4  # the best epoch is usually within the first quarter of all
LONG = 300.0  # seconds; a longer training gets suggestions
TIMED = 3  # epochs that say how long one takes; the first may compile
ENCODER_CALLS = 9  # three views forward and backward, and one for validation, in units of one forward call
BYTES_PER_MATCH = 16  # similarity and winner of each edge in each labeled local graph, and their gradient
BYTES_PER_MEMBER = 28  # an edge of a local graph: its id, its place, its row and its share of the mean


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a training will take: seconds for the epochs that are expected, and bytes beyond what is held already."""

    epochs: int  # expected: training usually stops before its last epoch
    seconds_per_epoch: float
    memory: int
    faster: str = ""  # what to change if it takes long
    most: int = 0  # epochs if nothing stops early

    @property
    def seconds(self) -> float:
        """Seconds for the expected epochs."""
        return self.epochs * self.seconds_per_epoch

    def __str__(self) -> str:
        at_most = f" (at most {self.most:,})" if self.most > self.epochs else ""
        text = (
            f"about {duration(self.seconds)} for about {self.epochs:,} epochs{at_most} of "
            f"{duration(self.seconds_per_epoch)}, {size(self.memory)} of memory"
        )
        if self.memory > free_memory():
            text += f"; only {size(free_memory())} are free"
        if self.faster and (self.seconds > LONG or self.memory > free_memory()):
            text += ".\n" + paragraph(f"Faster: {self.faster}", indent=12)
        return text


def estimate(run: TrainingRun, runs: int = 1, members: int = 1) -> Estimate:
    """What the rest of a run that has begun, and others like it, will take.

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
    compared = 4 * (run.graph.num_nodes + len(run.graph.train)) * len(run.graph.train)
    if isinstance(loss, PaperLoss):
        labeled, most = loss.asking.local, loss.objective.max_local_edges
        matched = len(labeled.union()) if most is None else int(np.minimum(labeled.sizes, most).sum())
        compared = BYTES_PER_MATCH * matched * len(loss.cases)
        compared += BYTES_PER_MEMBER * int(labeled.sizes.sum() + loss.queries.local.sizes.sum())
    done = max(0, run.epoch - TIMED)  # before it was interrupted
    most = max(0, runs * run.settings.training.epochs - done)
    training = run.settings.training
    whole = training.epochs  # of a run: the best epoch comes early, and patience is waited out
    if training.patience is not None and len(run.graph.validation):
        whole = min(whole, training.patience + training.epochs // USUAL_BEST)
    looked, recipes = min(FIRST_LOOK, whole), runs - members + 1
    expected = recipes * looked + min(2, recipes) * (whole - looked) + (members - 1) * whole  # two recipes go on
    epochs = min(most, max(0, expected - done))
    seconds = min(record["seconds"] for record in run.history[-TIMED:])
    return Estimate(epochs, seconds, memory + compared, _what_is_faster(run, runs, members), most)


def _what_is_faster(run: TrainingRun, runs: int, members: int) -> str:
    """What to change for a shorter training: only settings that have an effect here."""
    found = []
    if isinstance(run.loss, PaperLoss):
        found = [
            "--set max_local_edges=64 (a sample of each local graph in training)",
            "--set hops=1 (smaller local graphs)",
        ]
    if runs > members:
        found.append("--quick (one recipe, a single model)")
    elif members > 1:
        found.append("--set members=1 (a single model)")
    return ", ".join([*found, "--set epochs=100 (fewer epochs)", "or fewer labeled nodes"])


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
