"""A load run against `se-gnn serve` on loopback: bounded in requests and in time."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import load_graph
from benchmarks.measure import Outcome, RunSettings, Spread
from se_gnn.model.folder import save_model

READERS = 50
EXPLANATIONS = 500  # timed one after the other
REQUESTS = 10_000  # over which memory is watched
MOST_SECONDS = 240  # of that
TRAINING_EPOCHS = 5


def load(case: Case, run: RunSettings) -> Outcome:
    """Start the server on a trained model, time explanations, let 50 readers ask at once, watch the memory."""
    graph = load_graph(case.dataset, seed=run.seed)
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    trained = ours.trained_model(graph, chosen, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    nodes = np.random.default_rng(run.seed).permutation(graph.num_nodes)
    with tempfile.TemporaryDirectory(prefix="se-gnn-serve-") as folder:
        save_model(trained, Path(folder) / "model")
        with serving(Path(folder) / "model") as server:
            explain_some(server, nodes[:50])
            worked = server.worked()
            seconds = explain_some(server, np.resize(nodes, 20 if run.quick else EXPLANATIONS))
            worked = server.worked() - worked
            answered, asked = _read_at_once(server, nodes, each=2 if run.quick else 20)
            before = server.memory()
            requests = _ask_on(server, nodes, 50 if run.quick else REQUESTS)
            after = server.memory()
    slowest = float(np.percentile(seconds, 95)) * 1000
    return Outcome(
        figures={
            "explanation, 95th percentile": _exactly(slowest),
            "start-up": _exactly(server.start_up),
            "answered of 50 readers at once": _exactly(100 * answered / asked),
            "memory after 10,000 requests": _exactly(after / before),
        },
        samples={"seconds of an explanation": seconds, "bytes before": [before], "bytes after": [after]},
        details={
            "median of an explanation, ms": float(np.median(seconds)) * 1000,
            # the same on a machine that does other things as well
            "processor time of an explanation, ms": worked / len(seconds) * 1000,
            "processor seconds of the start-up": server.start_up_work,
            "requests while memory was watched": requests,
            "requests of the readers": asked,
        },
    )


@dataclass(slots=True)
class Server:
    """A server that answers on a port of this machine, and what it has used so far."""

    port: int
    process: psutil.Process
    start_up: float
    start_up_work: float = 0.0

    def get(self, path: str, connection: http.client.HTTPConnection) -> int:
        """The status of an answer, which is read to its end."""
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def answers(self, path: str) -> bool:
        """Whether it answers with 200."""
        try:
            with self.connect() as connection:
                return self.get(path, connection) == 200
        except OSError:
            return False

    def connect(self) -> contextlib.closing[http.client.HTTPConnection]:
        """A new connection."""
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60))

    def worked(self) -> float:
        """Seconds of processor time."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> float:
        """Bytes of memory."""
        return float(self.process.memory_info().rss)

    def own_memory(self) -> float:
        """Bytes of memory that no file backs and no other process shares."""
        return float(self.process.memory_full_info().uss)


@contextlib.contextmanager
def serving(folder: Path, *options: str, ready: bool = True, **environment: str) -> Iterator[Server]:
    """The server in a process of its own, ready unless not asked for; start-up is until it answers that it is alive."""
    command = [sys.executable, "-m", "se_gnn", "serve", str(folder), "--port", "0", "--set", "per_second=1000000"]
    began = time.perf_counter()
    own = {**os.environ, **environment}
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=own)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+)/", process.stdout.readline())
        if found is None:
            raise RuntimeError("the server did not start")
        server = Server(int(found[1]), psutil.Process(process.pid), 0.0)
        while not server.answers("/healthz"):
            time.sleep(0.01)
        server.start_up, server.start_up_work = time.perf_counter() - began, server.worked()
        while ready and not server.answers("/readyz"):
            time.sleep(0.05)
        yield server
    finally:
        process.terminate()
        process.wait(timeout=20)
        if process.stdout is not None:
            process.stdout.close()


def explain_some(server: Server, nodes: np.ndarray) -> list[float]:
    """Seconds of an explanation of each of some nodes, asked for one after the other."""
    seconds = []
    with server.connect() as connection:
        for node in nodes.tolist():
            began = time.perf_counter()
            if server.get(f"/v1/nodes/%23{node}/explanation", connection) != 200:
                raise RuntimeError(f"no explanation of node {node}")
            seconds.append(time.perf_counter() - began)
    return seconds


def _read_at_once(server: Server, nodes: np.ndarray, *, each: int) -> tuple[int, int]:
    """Readers that open pages and ask for explanations, all at the same time; how many requests were answered."""
    statuses: list[int] = []

    def read(reader: int) -> None:
        with server.connect() as connection:
            for turn in range(each):
                node = nodes[(reader * each + turn) % len(nodes)]
                path = f"/nodes/%23{node}" if turn % 2 else f"/v1/nodes?search={node}&limit=5"
                statuses.append(server.get(path, connection))

    readers = [threading.Thread(target=read, args=(reader,)) for reader in range(READERS)]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    return sum(status == 200 for status in statuses), READERS * each


def _ask_on(server: Server, nodes: np.ndarray, count: int) -> int:
    """Requests of all kinds, until there were enough or the time is over."""
    began = time.perf_counter()
    paths = (
        "/v1/nodes/%23{}/explanation",
        "/v1/nodes?search={}",
        "/v1/nodes/%23{}/nearest",
        "/v1/nodes/%23{}/local-graph",
    )
    with server.connect() as connection:
        for done in range(count):
            if time.perf_counter() - began > MOST_SECONDS:
                return done
            server.get(paths[done % len(paths)].format(nodes[done % len(nodes)]), connection)
    return count


def _exactly(value: float) -> Spread:
    return Spread.of([value])
