"""What a person and a program wait for: a slider of the explorer in a real browser, and a batch of new rows."""

from __future__ import annotations

import json
import runpy
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.graphs import load_graph
from benchmarks.measure import Outcome, RunSettings, Spread, Unavailable
from benchmarks.workloads.serving import TRAINING_EPOCHS, Server, serving
from se_gnn.graph import Graph
from se_gnn.model.folder import save_model

NUM_NEW = 100
NODES, MOVES = 8, 12  # nodes that are looked at, and moves of the slider on each of them
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# From the event of the slider until the new vote is part of the page, and until the browser has drawn it.
MOVE = """async (value) => {
  const slider = document.querySelector("input[name=num_nearest]");
  const vote = document.getElementById("vote");
  const changed = new Promise((done) => new MutationObserver(done).observe(vote, { childList: true }));
  const began = performance.now();
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const drawn = performance.now();
  const asked = performance.getEntriesByType("resource").at(-1);
  return [drawn - began, asked.responseStart - asked.requestStart];
}"""


def slider(case: Case, run: RunSettings) -> Outcome:
    """Move the slider K on the pages of ordinary nodes and of the largest hubs, in chromium."""
    browser_path = shutil.which("chromium")
    if browser_path is None:
        raise Unavailable("chromium was not found")
    from playwright.sync_api import sync_playwright

    graph = load_graph(case.dataset, seed=run.seed)
    some = np.random.default_rng(run.seed).choice(graph.num_nodes, NODES // 2, replace=False)
    nodes = [*some.tolist(), *np.argsort(-graph.degrees, kind="stable")[: NODES - len(some)].tolist()]
    waits, worked = list[list[float]](), 0.0
    with tempfile.TemporaryDirectory(prefix="se-gnn-slider-") as folder:
        _save(graph, Path(folder), case, run)
        with serving(Path(folder)) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=browser_path, args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for node in nodes[: 1 if run.quick else None]:
                page.goto(f"http://127.0.0.1:{server.port}/nodes/%23{node}", wait_until="networkidle")
                worked -= server.worked()
                for value in range(4, 4 + (2 if run.quick else MOVES)):
                    waits.append(page.evaluate(MOVE, value))
                    page.wait_for_timeout(50)
                worked += server.worked()
            browser.close()
    drawn, answered = ([row[part] for row in waits] for part in (0, 1))
    return Outcome(
        figures={"slider": Spread.of(drawn)},
        samples={
            "until the page is drawn": [one / 1000 for one in drawn],
            "until the server answers": [one / 1000 for one in answered],
        },
        details={
            "95th percentile, ms": float(np.percentile(drawn, 95)),
            "until the server answers, median, ms": float(np.median(answered)),
            # the same on a machine that does other things as well
            "processor time of the server, ms": worked / len(waits) * 1000,
            "largest degree": int(graph.degrees.max()),
        },
    )


def batch(case: Case, run: RunSettings) -> Outcome:
    """Accounts that arrive after training, with their payments: predicted and explained in one request each."""
    from se_gnn.tables import read_tables

    example = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "fraud.py"))
    accounts, payments = example["make_tables"](400 if run.quick else example["NUM_ACCOUNTS"], seed=run.seed)
    is_new = np.arange(len(accounts)) >= len(accounts) - NUM_NEW
    arrives = payments[["from", "to"]].isin(set(accounts.account[is_new])).any(axis=1)
    known = read_tables(accounts[~is_new], payments[~arrives], example["TABLES"]).graph
    rows = accounts[is_new].drop(columns="fraud")
    body = {"new_nodes": _rows(rows), "new_edges": _rows(payments[arrives])}
    seconds: dict[str, list[float]] = {"predict": [], "explain": []}
    worked = dict.fromkeys(seconds, 0.0)
    with tempfile.TemporaryDirectory(prefix="se-gnn-batch-") as folder:
        _save(known, Path(folder), case, run)
        with serving(Path(folder)) as server:
            for name in seconds:
                _post(server, name, body, len(rows))  # the first one loads what tables need
            for _ in range(run.rounds(case.rounds)):
                for name, found in seconds.items():
                    worked[name] -= server.worked()
                    found.append(_post(server, name, body, len(rows)))
                    worked[name] += server.worked()
    return Outcome(
        figures={name: Spread.of(found) for name, found in seconds.items()},
        samples=seconds,
        details={
            "known nodes": known.num_nodes,
            "new nodes": len(rows),
            "new edges": int(arrives.sum()),
            **{f"processor seconds of {name}": worked[name] / len(found) for name, found in seconds.items()},
        },
    )


def _save(graph: Graph, folder: Path, case: Case, run: RunSettings) -> None:
    chosen = ours.settings_for(graph, preset=case.preset, settings=case.settings)
    trained = ours.trained_model(graph, chosen, seed=run.seed, num_epochs=1 if run.quick else TRAINING_EPOCHS)
    save_model(trained, folder)


def _rows(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(table.to_json(orient="records", date_format="iso"))
    return found


def _post(server: Server, name: str, body: dict[str, Any], expected: int) -> float:
    """Seconds of a request, from its first byte to the last byte of the answer."""
    sent = json.dumps(body)
    with server.connect() as connection:
        began = time.perf_counter()
        connection.request("POST", f"/v1/{name}", sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        seconds = time.perf_counter() - began
    found = json.loads(text)
    if answer.status != 200 or len(found["predictions" if name == "predict" else "explanations"]) != expected:
        raise RuntimeError(f"/v1/{name} answered {answer.status}: {text[:300]!r}")
    return seconds
