"""An epoch on a CUDA device as one recorded graph: some hundred launches, replayed at the cost of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from se_gnn.training.draws import Draws

WARM_EPOCHS = 3  # run plainly first, so that kernels are compiled and the state of Adam exists

Results = tuple[Tensor, Tensor]


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    draws: Draws  # where it reads
    results: Results  # where it writes


class RecordedEpoch:
    """Runs an epoch plainly at first, then records it once and replays it with new draws in the same place.

    The epoch must read nothing but its draws and what stays where it is (parameters, state of Adam, the graph), and
    must not look at a value on the way.
    """

    def __init__(self, epoch: Callable[[Draws], Results], device: torch.device) -> None:
        self.epoch, self.device = epoch, device
        self.runs = 0
        self.recording: _Recording | None = None

    def __call__(self, draws: Draws) -> Results:
        """Start one epoch; its results are there when the device gets to them."""
        self.runs += 1
        if self.runs <= WARM_EPOCHS:
            return self._run_plainly(draws.to(self.device))
        if self.recording is None:
            self.recording = self._record(draws.to(self.device))
        else:
            self.recording.draws.copy_(draws)
        self.recording.graph.replay()
        return self.recording.results

    def _run_plainly(self, draws: Draws) -> Results:
        here, beside = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        beside.wait_stream(here)
        with torch.cuda.stream(beside):  # as recording does: what is set up on the default stream could not be recorded
            results = self.epoch(draws)
        here.wait_stream(beside)
        return results

    def _record(self, draws: Draws) -> _Recording:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = self.epoch(draws)
        return _Recording(graph, draws, results)
