"""A graph that is streamed from Parquet, mapped, embedded in blocks, predicted on, explained, reported on, served."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.cases import Case
from benchmarks.measure import Outcome, RunSettings, Spread
from benchmarks.memory import AllocatedPeak, peak_bytes, reset_peak, resident_bytes, run_apart, time_and_memory
from benchmarks.workloads.serving import explain_some as explain_over_http
from benchmarks.workloads.serving import serving
from se_gnn.device import memory_budget
from se_gnn.explain import explain
from se_gnn.model import SEGNN, Model
from se_gnn.settings import Settings
from se_gnn.tables import read_tables

EDGES_A_NODE = 10
NUM_FEATURES = 32
LABELED = 1_000
ROWS = 500_000  # that are made at a time


def sample_of_million(case: Case, run: RunSettings) -> Outcome:
    """1,000,000 nodes and 10,000,000 edges; 10,000 nodes are predicted."""
    return _measured(case, run, num_nodes=1_000_000, sample=10_000, max_memory="500MB")


def sample_of_ten_million(case: Case, run: RunSettings) -> Outcome:
    """10,000,000 nodes and 100,000,000 edges; 100,000 nodes are predicted."""
    return _measured(case, run, num_nodes=10_000_000, sample=100_000, max_memory="4GB")


def _measured(case: Case, run: RunSettings, *, num_nodes: int, sample: int, max_memory: str) -> Outcome:
    if run.quick:
        num_nodes, sample = 2_000, 50
    with tempfile.TemporaryDirectory(prefix="se-gnn-mapped-") as folder:
        write_tables(Path(folder), num_nodes, seed=run.seed)
        arguments = {"folder": folder, "sample": sample, "max_memory": max_memory, "seed": run.seed}
        report = run_apart(f"{__name__}:predict_sample", arguments)
    return time_and_memory([report])


def explaining(case: Case, run: RunSettings) -> Outcome:
    """Train on a part, import 10,000,000 nodes and 100,000,000 edges like it, explain, report, serve.

    ``SE_GNN_MAPPED_FOLDER`` names a folder in which graph, models and embeddings stay for the next run, which does not
    make them again.
    """
    num_nodes, part = (2_000, 500) if run.quick else (10_000_000, 20_000)
    with tempfile.TemporaryDirectory(prefix="se-gnn-mapped-") as temporary:
        place = Path(os.environ.get("SE_GNN_MAPPED_FOLDER", temporary))
        seconds = _made(place, num_nodes, part, seed=run.seed)
        single, five = (_on_whole(place, model, num_nodes) for model in MODELS)
    return Outcome(
        figures={
            "explanation": Spread.of(single["seconds of each explanation"]),
            "report": Spread.of([single["seconds of each command"]["report"]]),
            "server ready": Spread.of([single["server"]["seconds until ready"]]),
            "explanation by the server": Spread.of(single["server"]["seconds of each explanation"]),
        },
        samples={"seconds of each explanation": single["seconds of each explanation"]},
        details={
            "nodes": num_nodes,
            **_named("seconds to make", seconds),
            **_named("a single network", single),
            **_named("an ensemble of five, as the default", five),
        },
    )


def _named(what: str, values: dict[str, Any]) -> dict[str, Any]:
    """Values within values under one name each, so that the page lists them; of several numbers the median."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= _named(f"{what}: {name}", value)
        else:
            found[f"{what}: {name}"] = float(np.median(value)) if isinstance(value, list) else value
    return found


MODELS = {"model": ("members=1",), "model-of-five": ()}  # folders, and settings besides those of all


def _made(place: Path, num_nodes: int, part: int, *, seed: int) -> dict[str, float]:
    """Make tables, graphs and models as far as they are not there; seconds of each command."""
    part_graph, whole = (f"{place}/{name}/graph" for name in ("part", "whole"))
    steps: dict[str, tuple[str, ...]] = {part_graph: ("import", *_tables(place / "part"), "--out", part_graph)}
    for model, more in MODELS.items():
        given = [text for name in ("portfolio=false", "epochs=20", *more) for text in ("--set", name)]
        steps[f"{place}/{model}"] = ("train", part_graph, *given, "--out", f"{place}/{model}")
    steps[whole] = ("import", *_tables(place / "whole"), "--like", f"{place}/model", "--out", whole)
    seconds = {}
    for name, count in (("part", part), ("whole", num_nodes)):
        if not (place / name).exists():
            write_tables(place / name, count, seed=seed, part=part)
    for out, command in steps.items():
        if not Path(out).exists():
            seconds[f"{command[0]} {Path(out).relative_to(place)}"] = _measured_command(command)[0]
    return seconds


def _on_whole(place: Path, model: str, num_nodes: int) -> dict[str, Any]:
    """Store embeddings, explain, report and serve with one of the models."""
    folder, graph, seconds, busy, peaks = f"{place}/{model}", f"{place}/whole/graph", {}, {}, {}
    steps = {
        "explain and store embeddings, unless stored": ("explain", folder, "--graph", graph, "--node", "#5"),
        "explain": ("explain", folder, "--graph", graph, "--node", "#77"),
        "report": ("report", folder, "--graph", graph, "--overwrite", "--out", f"{place}/report.html"),
    }
    for name, command in steps.items():
        seconds[name], busy[name], peaks[name] = _measured_command(command)
    opened = run_apart(f"{__name__}:explain_some", {"folder": folder, "graph": graph}).result
    return {
        "seconds of each command": seconds,
        "processor seconds of each command": busy,
        "peak memory of each command, mapped files included, GB": peaks,
        **opened,
        "server": _served(Path(folder), graph, num_nodes),
    }


def _served(folder: Path, graph: str, num_nodes: int) -> dict[str, Any]:
    """Start the server, explain nodes, open pages."""
    began, nodes = time.perf_counter(), np.linspace(1, num_nodes - 2, 11).astype(int)
    with serving(folder, "--graph", graph, "--set", "seconds=600", ready=False, SE_GNN_MAX_MEMORY="4GB") as server:
        while not server.answers("/readyz"):
            time.sleep(0.05)
        ready, worked = time.perf_counter() - began, server.worked()
        (first, *later), pages = explain_over_http(server, nodes), dict[str, float]()
        with server.connect() as connection:
            for path in ("/", "/?search=%2377", "/map", "/model", "/labels", "/nodes/%2378", "/report?nodes=%2379"):
                start = time.perf_counter()
                if server.get(path, connection) != 200:
                    raise RuntimeError(f"{path} was not answered")
                pages[path] = time.perf_counter() - start
        memory = {"peak, mapped files included": peak_bytes(server.process.pid), "its own": server.own_memory()}
    return {
        "seconds until it listens": server.start_up,
        "seconds until ready": ready,
        "processor seconds until ready": worked,
        "seconds of the first explanation": first,
        "seconds of each explanation": later,
        "seconds of each page": pages,
        "memory, GB": {name: size / 1e9 for name, size in memory.items()},
    }


def _tables(folder: Path) -> list[str]:
    files = ["--nodes", f"{folder}/nodes.parquet", "--edges", f"{folder}/edges.parquet"]
    return [*files, "--id", "id", "--label", "label"]


def _measured_command(command: tuple[str, ...]) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory in GB of a command in a process of its own."""
    start, environment = time.perf_counter(), {**os.environ, "SE_GNN_MAX_MEMORY": "4GB"}
    process = subprocess.Popen([sys.executable, "-m", "se_gnn", *command], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"se-gnn {' '.join(command)} ended with status {status}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9


def explain_some(folder: str, graph: str) -> dict[str, Any]:
    """Job: open the model on the large graph and explain some nodes, one after the other."""
    start, seconds = time.perf_counter(), []
    trained = Model.load(folder, graph, max_memory="4GB")
    width = trained.embedded.embeddings.shape[1]
    opening = time.perf_counter() - start
    for node in np.linspace(0, trained.graph.num_nodes - 1, 11).astype(int).tolist():
        start = time.perf_counter()
        explain(trained, node, k=5)[0].to_text(5)
        seconds.append(time.perf_counter() - start)
    first, *others = seconds
    return {
        "seconds to open model and graph": opening,
        "seconds of the first explanation": first,
        "seconds of each explanation": others,
        "labeled nodes": len(trained.graph.train),
        "dimensions": width,
    }


def predict_sample(folder: str, sample: int, max_memory: str, seed: int) -> dict[str, Any]:
    """Job: import, embed, predict a sample; weights are those that training starts from."""
    place, seconds, start, busy = Path(folder), {}, time.perf_counter(), time.process_time()
    write_tables(place / "warm-up", 500, seed=seed)
    _run(place / "warm-up", 20, memory_budget(max_memory), seed, {})  # compiled code and its memory are not measured
    begun, allocated = resident_bytes(), {}
    reset_peak()
    result = _run(place, sample, memory_budget(max_memory), seed, seconds, allocated)
    return {
        "seconds of each phase": seconds,
        "allocated in each phase at most, GB": {name: size / 1e9 for name, size in allocated.items()},
        "resident at most, mapped files included, GB": (peak_bytes() - begun) / 1e9,
        "seconds with warm-up": time.perf_counter() - start,
        "processor seconds with warm-up": time.process_time() - busy,
        "max_memory": max_memory,
        **result,
    }


def _run(
    place: Path, sample: int, budget: int, seed: int, seconds: dict[str, float], allocated: dict[str, int] | None = None
) -> dict[str, Any]:
    @contextmanager
    def phase(name: str) -> Iterator[None]:
        start = time.perf_counter()
        with AllocatedPeak() as peak:
            yield
        seconds[name] = time.perf_counter() - start
        if allocated is not None:
            allocated[name] = peak.bytes - peak.at_start

    tables, out = (place / "nodes.parquet", place / "edges.parquet"), place / "graph"
    streamed = min(budget, 400 * pq.read_metadata(tables[0]).num_rows)  # less than the tables take in memory
    with phase("import"):
        graph = read_tables(*tables, id="id", label="label", out=out, max_memory=streamed).graph
    chosen = Settings.of("best", portfolio=False, num_nearest=20).resolve()
    model = SEGNN(graph.num_features, chosen, generator=torch.Generator().manual_seed(seed)).eval()
    trained = Model(model, graph, model.settings, max_memory=budget)
    with phase("embed"):
        width = trained.embedded.embeddings.shape[1]
    nodes = np.sort(np.random.default_rng(seed).choice(graph.num_nodes, sample, replace=False))
    with phase("predict"):
        trained.predict(nodes)
    sizes = {"nodes": graph.num_nodes, "edges": graph.num_edges, "labeled nodes": len(graph.train)}
    return {**sizes, "dimensions": width, "predicted": sample}


def write_tables(folder: Path, num_nodes: int, *, seed: int, part: int | None = None) -> None:
    """Random edges, features by class; written some rows at a time. All labeled nodes are among the first ``part``."""
    folder.mkdir(exist_ok=True, parents=True)
    generator, first = np.random.default_rng([seed, num_nodes]), part or num_nodes
    drawn = generator if part is None else np.random.default_rng(seed)  # the same nodes, however large the graph is
    labeled = set(drawn.choice(first, min(LABELED, first // 10), replace=False).tolist())
    kinds = [("id", pa.int64()), *((f"x{i}", pa.float32()) for i in range(NUM_FEATURES)), ("label", pa.string())]
    with pq.ParquetWriter(folder / "nodes.parquet", pa.schema(kinds)) as writer:
        for low in range(0, num_nodes, ROWS):
            ids = np.arange(low, min(low + ROWS, num_nodes))
            rows = generator.standard_normal((len(ids), NUM_FEATURES), dtype=np.float32)
            rows[:, :7] += np.eye(7, dtype=np.float32)[ids % 7]
            labels = [f"class {i % 7}" if i in labeled else None for i in ids.tolist()]
            writer.write_table(pa.table([ids, *rows.T.copy(), pa.array(labels, pa.string())], schema=pa.schema(kinds)))
    ends = pa.schema([("source", pa.int64()), ("target", pa.int64())])
    with pq.ParquetWriter(folder / "edges.parquet", ends) as writer:
        for low in range(0, num_nodes * EDGES_A_NODE, ROWS):
            count = min(ROWS, num_nodes * EDGES_A_NODE - low)
            writer.write_table(pa.table(list(generator.integers(num_nodes, size=(2, count))), schema=ends))
