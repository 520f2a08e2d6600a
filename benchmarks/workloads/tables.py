"""Importing two large tables, in a process of its own, so that its peak memory is its own."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from benchmarks.cases import Case
from benchmarks.measure import Outcome, RunSettings
from benchmarks.memory import run_apart, time_and_memory
from se_gnn.tables import ImportSettings, read_tables

NUM_EDGES = 10_000_000
NODES_AN_EDGE = 10  # edges for each node


def importing(case: Case, run: RunSettings) -> Outcome:
    """Write two CSV files, then import them and write the graph; the files are not part of the measurement."""
    num_edges = 10_000 if run.quick else NUM_EDGES
    with tempfile.TemporaryDirectory(prefix="se-gnn-tables-") as folder:
        write_tables(Path(folder), num_edges, seed=run.seed)
        arguments = {"folder": folder}
        reports = [run_apart(f"{__name__}:import_folder", arguments) for _ in range(run.rounds(case.rounds))]
        sizes = {file.name: file.stat().st_size for file in Path(folder).glob("*.csv")}
    return time_and_memory(reports, {"bytes of the files": sizes})


def import_folder(folder: str) -> dict[str, Any]:
    """Job: read both tables, fit and encode the columns, build the graph, write it."""
    start, busy = time.perf_counter(), time.process_time()
    imported = read_tables(
        Path(folder) / "accounts.csv",
        Path(folder) / "payments.csv",
        ImportSettings(id="account", label="fraud", source="from", target="to"),
    )
    read = time.perf_counter()
    imported.save(Path(folder) / "graph")
    return {
        "seconds of each phase": {"import": read - start, "save": time.perf_counter() - read},
        "processor seconds": time.process_time() - busy,  # the same on a machine that does other things as well
        "nodes": imported.graph.num_nodes,
        "edges given": imported.summary.edges_given,
        "edges kept": imported.graph.num_edges,
        "features": imported.graph.num_features,
    }


def write_tables(folder: Path, num_edges: int, *, seed: int) -> None:
    """A node table with a column of every kind, and an edge table with an amount; ids are text."""
    generator = np.random.default_rng([seed, num_edges])
    num_nodes = num_edges // NODES_AN_EDGE
    ids = pc.binary_join_element_wise("ACC-", pa.array(np.arange(num_nodes)).cast(pa.string()), "")
    missing = generator.random(num_nodes) < 0.05
    days = np.datetime64("2015-01-01") + generator.integers(0, 3_000, num_nodes).astype("timedelta64[D]")
    notes = np.array(["paid in time", "late again", "asked for a refund", "card was blocked", "new address given"])
    nodes = {
        "account": ids,
        "country": generator.choice(["DE", "FR", "GB", "PL", "US"], num_nodes),
        "balance": pa.array(generator.lognormal(6, 1.5, num_nodes).round(2), mask=missing),
        "opened": pa.array(days),
        "verified": pa.array(generator.random(num_nodes) < 0.8),
        "note": generator.choice(notes, num_nodes),
        "fraud": pa.array((generator.random(num_nodes) < 0.02).astype(int)),
    }
    pa_csv.write_csv(pa.table(nodes), folder / "accounts.csv")
    ends = {name: ids.take(pa.array(generator.integers(0, num_nodes, num_edges))) for name in ("from", "to")}
    amounts = pa.array(generator.lognormal(4, 1, num_edges).round(2))
    pa_csv.write_csv(pa.table({**ends, "amount": amounts}), folder / "payments.csv")
