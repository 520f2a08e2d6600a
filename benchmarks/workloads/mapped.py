"""A graph that is streamed from Parquet, mapped, embedded in blocks, predicted on, explained and reported on."""

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
    """Train on a part, import 10,000,000 nodes and 100,000,000 edges like it, explain a node, write the report."""
    num_nodes, part = (2_000, 500) if run.quick else (10_000_000, 20_000)
    quick = [text for name in ("portfolio=false", "members=1", "epochs=20") for text in ("--set", name)]
    with tempfile.TemporaryDirectory(prefix="se-gnn-mapped-") as folder:
        place = Path(folder)
        write_tables(place / "part", part, seed=run.seed, part=part)
        write_tables(place / "whole", num_nodes, seed=run.seed, part=part)
        model, part_graph, graph = (f"{place}/{name}" for name in ("model", "part/graph", "whole/graph"))
        steps = {
            "import the part": ("import", *_tables(place / "part"), "--out", part_graph),
            "train": ("train", part_graph, *quick, "--out", model),
            "import the whole": ("import", *_tables(place / "whole"), "--like", model, "--out", graph),
            "explain and store embeddings": ("explain", model, "--graph", graph, "--node", "#5"),
            "explain": ("explain", model, "--graph", graph, "--node", "#77"),
            "report": ("report", model, "--graph", graph, "--out", f"{place}/report.html"),
        }
        seconds, busy, peaks = {}, {}, {}
        for name, command in steps.items():
            seconds[name], busy[name], peaks[name] = _measured_command(command)
        opened = run_apart(f"{__name__}:explain_some", {"folder": folder, "num_nodes": num_nodes}).result
    first, *others = opened["seconds of each explanation"]
    return Outcome(
        figures={"explanation": Spread.of(others), "report": Spread.of([seconds["report"]])},
        samples={"seconds of each explanation": others},
        details={
            "nodes": num_nodes,
            "seconds of each command": seconds,
            "processor seconds of each command": busy,
            "peak memory of each command, mapped files included, GB": peaks,
            "seconds to open model and graph": opened["seconds to open"],
            "seconds of the first explanation": first,
            "labeled nodes": opened["labeled nodes"],
            "dimensions": opened["dimensions"],
        },
    )


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


def explain_some(folder: str, num_nodes: int) -> dict[str, Any]:
    """Job: open the model on the large graph and explain some nodes, one after the other."""
    start, seconds = time.perf_counter(), []
    trained = Model.load(Path(folder) / "model", Path(folder) / "whole" / "graph", max_memory="4GB")
    width = trained.embedded.embeddings.shape[1]
    opening = time.perf_counter() - start
    for node in np.linspace(0, num_nodes - 1, 11).astype(int).tolist():
        start = time.perf_counter()
        explain(trained, node, k=5)[0].to_text(5)
        seconds.append(time.perf_counter() - start)
    return {
        "seconds to open": opening,
        "seconds of each explanation": seconds,
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
    folder.mkdir(exist_ok=True)
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
