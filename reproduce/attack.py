"""What our Metattack does to a GCN on Citeseer, beside the attacked graph that the Pro-GNN authors published.

python -m reproduce.attack --seeds 10    # attacks, trains, adds rows to results/attack.jsonl
python -m reproduce.attack --render      # puts all results into the table of docs/understanding/lab.md

The GCN is the one of Pro-GNN's evaluation: two layers, 16 hidden, dropout 0.5, Adam 0.01, weight decay 5e-4, 200
epochs, attributes as they are, the best epoch on the validation nodes. An interrupted run goes on from the flips in
--work.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from lab.attack import MetattackConfig, add_random_edges, flip_pairs, metattack
from lab.baselines import baseline
from lab.datasets import load_dataset
from reproduce.job import Job, Series
from reproduce.markdown import measured, percent, table
from reproduce.runner import Making, made_with
from reproduce.store import Result, Store
from se_gnn.errors import InputError
from se_gnn.graph import Graph

PAGE = Path(__file__).parents[1] / "docs" / "understanding" / "lab.md"
START, END = "<!-- attack: python -m reproduce.attack --render -->", "<!-- end of attack -->"
DATASET, RATE = "citeseer", 0.25
GCN = {"hidden_size": 16, "dropout": 0.5, "input_dropout": 0.0, "features": "raw", "epochs": 200}
ATTACKS = {"Meta-Self": MetattackConfig(), "A-Meta-Self": MetattackConfig(approximate=True)}
GRAPHS = ("clean", "published", *ATTACKS, "random")


def on_graph(graph: str) -> Series:
    """The GCN on one of the graphs."""
    attack = {"attack": dataclasses.asdict(ATTACKS[graph])} if graph in ATTACKS else {}
    return Series(
        kind="attack", dataset=DATASET, method="gcn", noise=graph, settings={"gcn": GCN, "rate": RATE, **attack}
    )


def series() -> list[Series]:
    """The GCN on every graph."""
    return [on_graph(graph) for graph in GRAPHS]


def run(store: Store, making: Making, seeds: int, work: Path) -> None:
    """Attack, train a GCN per seed on each graph that has no result yet, and keep its test accuracy."""
    clean = load_dataset(DATASET)
    for name in GRAPHS:
        jobs = [Job(on_graph(name), seed, "attack") for seed in range(seeds)]
        missing = [job for job in jobs if store.get(job) is None]
        if missing:
            graph, about = _disturbed(clean, name, work)
            for job in missing:
                store.put(job, _measure(graph, about, job.seed, making))
        right = 100 * measured(store.of(on_graph(name)), "accuracy")
        print(f"{name:<12} {percent(right.mean(), right.std())}", flush=True)


def render(store: Store, page: Path = PAGE) -> None:
    """Rewrite the table of the page from the results."""
    rows, results = [], []
    for name in GRAPHS:
        found = store.of(on_graph(name))
        if found:
            right, first = 100 * measured(found, "accuracy"), found[0].measures
            spent = f"{first['attack_processor_seconds'] / 60:.1f} min" if "attack_processor_seconds" in first else ""
            rate = "" if name == "clean" else f"{RATE:g}"
            rows.append([name, rate, f"{first['edges']:,}", percent(right.mean(), right.std()), spent])
        results += found
    header = ["graph", "rate", "edges", "GCN, test accuracy", "processor time of the attack"]
    commands = ", ".join(f"`{command}`" for command in sorted({one.made["command"] for one in results}))
    note = f"Citeseer, {len({one.seed for one in results})} seeds of the GCN; {commands}."
    before, rest = page.read_text(encoding="utf-8").split(START)
    page.write_text(f"{before}{START}\n{table(header, rows)}\n\n{note}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _disturbed(clean: Graph, name: str, work: Path) -> tuple[Graph, dict[str, float]]:
    """One of the graphs, and what making it took."""
    if name == "clean":
        return clean, {}
    if name == "published":
        return load_dataset(f"{DATASET}-metattack-{RATE:g}"), {}
    if name == "random":
        noise = add_random_edges(clean.edges.ends, clean.num_nodes, RATE, generator=np.random.default_rng(0))
        return clean.with_edges(noise), {}
    flips, spent = _attack(clean, ATTACKS[name], work / name)
    return clean.with_edges(flip_pairs(clean.edges.ends, clean.num_nodes, flips)), {"flips": len(flips), **spent}


def _attack(graph: Graph, config: MetattackConfig, folder: Path) -> tuple[Any, dict[str, float]]:
    """The flips, and how long choosing them took, over all interruptions."""
    clock = folder / "clock.json"
    none = {"attack_seconds": 0.0, "attack_processor_seconds": 0.0}
    spent = json.loads(clock.read_text(encoding="utf-8")) if clock.exists() else none
    wall, processor = time.perf_counter(), time.process_time()
    try:
        flips = metattack(graph, RATE, config, seed=0, device="cpu", progress=True, folder=folder)
    finally:
        spent["attack_seconds"] = round(spent["attack_seconds"] + time.perf_counter() - wall, 1)
        processor = time.process_time() - processor
        spent["attack_processor_seconds"] = round(spent["attack_processor_seconds"] + processor, 1)
        folder.mkdir(parents=True, exist_ok=True)
        clock.write_text(json.dumps(spent), encoding="utf-8")
    return flips, spent


def _measure(graph: Graph, about: dict[str, float], seed: int, making: Making) -> Result:
    start = time.perf_counter()
    predicted = baseline("gcn", **GCN).fit(graph, seed=seed).predict()
    right = float((predicted == graph.labels)[graph.test].mean())
    seconds = time.perf_counter() - start
    return Result(seed, {"accuracy": right, "edges": graph.num_edges, **about}, seconds, made_with(making))


def main() -> int:
    """Read the arguments and run."""
    from reproduce.__main__ import source_commit

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("build/attack"), help="where flips are kept")
    parser.add_argument("--render", action="store_true", help="write the table instead of measuring")
    args = parser.parse_args()
    store = Store()
    if args.render:
        render(store)
        return 0
    try:
        commit = source_commit(None, trial=False)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    run(store, Making(f"python -m reproduce.attack --seeds {args.seeds}", commit, "cpu"), args.seeds, args.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
