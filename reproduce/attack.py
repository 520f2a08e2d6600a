"""What our Metattack does to a GCN on Citeseer, beside the attacked graph that the Pro-GNN authors published.

python reproduce/attack.py --rate 0.25    # attacks, trains, writes results/attack-citeseer-0.25.json
python reproduce/attack.py --render       # puts all results into the table of docs/attack.md

The GCN is the one of Pro-GNN's evaluation: two layers, 16 hidden, dropout 0.5, Adam 0.01, weight decay 5e-4, 200
epochs, attributes as they are, the best epoch on the validation nodes. An interrupted run goes on from the flips in
--work.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from se_gnn.attack import MetattackConfig, metattack
from se_gnn.baselines import baseline
from se_gnn.datasets import load_dataset
from se_gnn.graph import AttributedGraph, add_random_edges, flip_pairs

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "attack.md"
START, END = "<!-- attack: reproduce/attack.py --render -->", "<!-- end of attack -->"
GCN = {"hidden_size": 16, "dropout": 0.5, "input_dropout": 0.0, "features": "raw", "epochs": 200}
ATTACKS = {"Meta-Self": MetattackConfig(), "A-Meta-Self": MetattackConfig(approximate=True)}


def run(rate: float, seeds: int, work: Path) -> None:
    """Attack, train a GCN a seed on each graph, and write down its test accuracy."""
    clean = load_dataset("citeseer")
    graphs: list[tuple[str, AttributedGraph, dict[str, Any]]] = [
        ("clean", clean, {}),
        ("published", load_dataset(f"citeseer-metattack-{rate:g}"), {}),
    ]
    for name, config in ATTACKS.items():
        flips, spent = _attack(clean, rate, config, work / name)
        about = {"settings": dataclasses.asdict(config), "seed": 0, "flips": len(flips), **spent}
        graphs.append((name, clean.with_edges(flip_pairs(clean.edges, clean.num_nodes, flips)), about))
    noise = add_random_edges(clean.edges, clean.num_nodes, rate, generator=np.random.default_rng(0))
    graphs.append(("random", clean.with_edges(noise), {"seed": 0}))
    result = {
        "dataset": "citeseer",
        "rate": rate,
        "command": f"python reproduce/attack.py --rate {rate:g} --seeds {seeds}",
        "commit": _commit(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, CPU, {torch.get_num_threads()} threads",
        "gcn": GCN,
        "graphs": {name: {**about, **_accuracy(graph, seeds, name)} for name, graph, about in graphs},
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"attack-citeseer-{rate:g}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(f"wrote {path}")


def render() -> None:
    """Rewrite the table of the page from the result files."""
    rows = [
        "| graph | rate | edges | GCN, test accuracy | processor time of the attack |",
        "| --- | --- | --- | --- | --- |",
    ]
    notes = [""]
    for path in sorted(RESULTS.glob("attack-*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        for name, graph in result["graphs"].items():
            values = 100 * np.array(graph["test_accuracy"])
            spent = f"{graph['processor_seconds'] / 60:.1f} min" if "processor_seconds" in graph else ""
            rate = "" if name == "clean" else f"{result['rate']:g}"
            rows.append(
                f"| {name} | {rate} | {graph['edges']:,} | {values.mean():.1f} ± {values.std():.1f} | {spent} |"
            )
        notes.append(f"Citeseer, {len(values)} seeds of the GCN, {result['machine']}; `{result['command']}`.")
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    PAGE.write_text(f"{before}{START}\n{chr(10).join(rows + notes)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _attack(graph: AttributedGraph, rate: float, config: MetattackConfig, folder: Path) -> tuple[Any, dict[str, float]]:
    """The flips, and how long choosing them took, over all interruptions."""
    clock = folder / "clock.json"
    spent = json.loads(clock.read_text()) if clock.exists() else {"seconds": 0.0, "processor_seconds": 0.0}
    wall, processor = time.perf_counter(), time.process_time()
    try:
        flips = metattack(graph, rate, config, seed=0, device="cpu", progress=True, folder=folder)
    finally:
        spent["seconds"] = round(spent["seconds"] + time.perf_counter() - wall, 1)
        spent["processor_seconds"] = round(spent["processor_seconds"] + time.process_time() - processor, 1)
        folder.mkdir(parents=True, exist_ok=True)
        clock.write_text(json.dumps(spent))
    return flips, spent


def _accuracy(graph: AttributedGraph, seeds: int, name: str) -> dict[str, Any]:
    right = []
    for seed in range(seeds):
        predicted = baseline("gcn", **GCN).fit(graph, seed=seed).predict()
        right.append(float((predicted == graph.labels)[graph.test].mean()))
    print(f"{name:<12} {100 * np.mean(right):.1f} ± {100 * np.std(right):.1f}", flush=True)
    return {"edges": graph.num_edges, "test_accuracy": right, "mean": float(np.mean(right))}


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=0.25)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--work", type=Path, default=Path("build/attack"), help="where flips are kept")
    parser.add_argument("--render", action="store_true", help="write the table instead of measuring")
    args = parser.parse_args()
    if args.render:
        render()
    else:
        run(args.rate, args.seeds, args.work)


if __name__ == "__main__":
    main()
