"""Choose settings of SE-GNN on validation nodes alone; the test nodes are never looked at.

python reproduce/search.py cora authors training.learning_rate=0.01,0.003 encoder.num_layers=2,3

Tries every combination with some seeds and writes searches/se-gnn/cora.json, best first. What was tried already, with
whichever grid, is not tried again, so that an interrupted search goes on.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from se_gnn.config import Config
from se_gnn.datasets import load_dataset
from se_gnn.files import replace_file, writing_to
from se_gnn.training import train

SEARCHES = Path(__file__).parent / "searches" / "se-gnn"
Tried = list[dict[str, Any]]  # rows of preset, settings and val_accuracy by seed


def main() -> None:
    """Try every combination and keep all of them, best first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("preset")
    parser.add_argument("grid", nargs="*", help="section.key=value,value,...; join keys that move together with +")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or auto")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time, each in a process of its own")
    args = parser.parse_intermixed_args()
    path = SEARCHES / f"{args.dataset}.json"
    tried: Tried = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    rows = [_row(tried, args.preset, settings) for settings in combinations(args.grid)]
    missing = [(row, seed) for row in rows for seed in range(args.seeds) if str(seed) not in row["val_accuracy"]]
    with ProcessPoolExecutor(args.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {
            pool.submit(val_accuracy, args.dataset, args.preset, row["settings"], seed, args.device): (row, seed)
            for row, seed in missing
        }
        for future in tqdm(as_completed(running), total=len(running), unit="training", dynamic_ncols=True):
            row, seed = running[future]
            row["val_accuracy"][str(seed)] = future.result()
            write(path, tried)
    for row in rows:
        print(f"{_mean(row):.4f}  {len(row['val_accuracy'])} seeds  {' '.join(row['settings'])}")


def combinations(grid: list[str]) -> list[list[str]]:
    """Every combination of the values, each as settings.

    >>> combinations(["a.x=1,2", "b.y+b.z=3"])
    [['a.x=1', 'b.y=3', 'b.z=3'], ['a.x=2', 'b.y=3', 'b.z=3']]
    """
    axes = []
    for axis in grid:
        keys, _, values = axis.partition("=")
        axes.append([[f"{key}={value}" for key in keys.split("+")] for value in values.split(",")])
    return [list(itertools.chain.from_iterable(one)) for one in itertools.product(*axes)]


def val_accuracy(dataset: str, preset: str, settings: list[str], seed: int, device: str) -> float:
    """Of the best epoch of one training."""
    config = Config.preset(preset, dataset=dataset).override(settings)
    graph = load_dataset(dataset, seed=seed)
    blind = graph.with_split(train=graph.train, val=graph.val)
    return float(train(blind, config, seed=seed, device=device).metrics["val_accuracy"])


def write(path: Path, tried: Tried) -> None:
    """All that was tried, best first."""
    done = sorted((row for row in tried if row["val_accuracy"]), key=_mean, reverse=True)
    with writing_to(path.parent):
        replace_file(path, (json.dumps(done, indent=1) + "\n").encode())


def _row(tried: Tried, preset: str, settings: list[str]) -> dict[str, Any]:
    """The row of these settings, a new one where there is none."""
    for row in tried:
        if row["preset"] == preset and sorted(row["settings"]) == sorted(settings):
            return row
    tried.append({"preset": preset, "settings": settings, "val_accuracy": {}})
    return tried[-1]


def _mean(row: dict[str, Any]) -> float:
    return float(np.mean(list(row["val_accuracy"].values())))


if __name__ == "__main__":
    main()
