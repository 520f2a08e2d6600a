"""A graph that is streamed from Parquet, mapped, embedded in blocks and predicted on, in a process of its own."""

from __future__ import annotations

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
from benchmarks.measure import Outcome, RunSettings
from benchmarks.memory import AllocatedPeak, peak_bytes, reset_peak, resident_bytes, run_apart, time_and_memory
from se_gnn.device import memory_budget
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


def write_tables(folder: Path, num_nodes: int, *, seed: int) -> None:
    """Random edges, features by class; written some rows at a time."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng([seed, num_nodes])
    labeled = set(generator.choice(num_nodes, min(LABELED, num_nodes // 10), replace=False).tolist())
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
